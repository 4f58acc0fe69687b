// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parse the formats of markers, and print the arguments of hits.  Neither formats nor arguments are
 * trusted.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include "format.h"

/* Maximum width or precision of a conversion. */
#define WIDTH_MAX	255

static const char *parse_flags(const char *at, char *flags)
{
	unsigned int nr = 0;

	while (*at && strchr("-+ #0", *at)) {
		if (!memchr(flags, *at, nr))
			flags[nr++] = *at;
		at++;
	}
	flags[nr] = '\0';
	return at;
}

/*
 * Parse a width or a precision at @at.  Return the character behind it, or NULL if the number is
 * larger than WIDTH_MAX.
 */
static const char *parse_width_or_precision(const char *at, int *number)
{
	if (*at == '*') {
		*number = FORMAT_FROM_ARGUMENT;
		return at + 1;
	}
	for (*number = 0; *at >= '0' && *at <= '9'; at++) {
		*number = *number * 10 + *at - '0';
		if (*number > WIDTH_MAX)
			return NULL;
	}
	return at;
}

static const char *parse_size_modifier(const char *at, unsigned int *bytes)
{
	*bytes = sizeof(int);
	if (*at == 'h') {
		*bytes = at[1] == 'h' ? sizeof(char) : sizeof(short);
		return at[1] == 'h' ? at + 2 : at + 1;
	}
	if (!*at || !strchr("lLzt", *at))
		return at;
	*bytes = sizeof(long);
	return at[0] == 'l' && at[1] == 'l' ? at + 2 : at + 1;
}

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static void set_byte_array(struct format_conversion *conversion, unsigned int bytes, char separator)
{
	conversion->array = bytes;
	conversion->separator = separator;
	/* Keep a width given as *: it takes an argument, although the width has no effect. */
	if (conversion->width != FORMAT_FROM_ARGUMENT)
		conversion->width = FORMAT_NONE;
}

static char get_byte_separator(char letter)
{
	return letter == 'C' ? ':' : letter == 'D' ? '-' : letter == 'N' ? '\0' : ' ';
}

/*
 * Parse all letters and digits behind %p, which the kernel's printf treats as part of the
 * conversion.  Return the first other character.
 */
static const char *parse_pointer_suffix(const char *at, struct format_conversion *conversion)
{
	if (*at && strchr("sSB", *at))
		conversion->pointer = *at;
	else if (*at == 'M' || *at == 'm')
		set_byte_array(conversion, 6, *at == 'M' ? ':' : '\0');
	else if (*at == 'h' && conversion->width > 0 && conversion->width <= FORMAT_ARRAY)
		set_byte_array(conversion, conversion->width, get_byte_separator(at[1]));
	while (is_alphanumeric(*at))
		at++;
	return at;
}

/**
 * kmarkers_format_parse_conversion() - parse a conversion of a marker's format
 * @at: the character behind the % of the conversion
 * @conversion: set to the flags, width, precision and type of the conversion
 *
 * The function accepts the conversions d i u x X o c s p of the kernel's printf, with flags, with
 * a width and a precision up to 255, and with size modifiers.  %ps, %pS and %pB print a symbol.
 * %pM and %pm print a MAC address of six bytes.  %16ph prints 16 bytes in hexadecimal; at most
 * FORMAT_ARRAY bytes can be printed.  A letter C, D or N behind %16ph selects the separator.  Other
 * letters and digits behind %p are skipped, and the pointer is printed hashed.
 *
 * Context: any.
 * Return: the character behind the conversion, or NULL if the function does not accept it.
 */
const char *kmarkers_format_parse_conversion(const char *at, struct format_conversion *conversion)
{
	memset(conversion, 0, sizeof(*conversion));
	conversion->width = FORMAT_NONE;
	conversion->precision = FORMAT_NONE;
	at = parse_flags(at, conversion->flags);
	if (*at == '*' || (*at >= '1' && *at <= '9'))
		at = parse_width_or_precision(at, &conversion->width);
	if (at && *at == '.')
		at = parse_width_or_precision(at + 1, &conversion->precision);
	if (!at)
		return NULL;
	at = parse_size_modifier(at, &conversion->bytes);
	if (!*at || !strchr("diuxXocsp%", *at))
		return NULL;
	conversion->type = *at++;
	/* A %% takes no argument, so its width and precision must not come from an argument (*). */
	if (conversion->type == '%' && (conversion->width == FORMAT_FROM_ARGUMENT ||
					conversion->precision == FORMAT_FROM_ARGUMENT))
		return NULL;
	return conversion->type == 'p' ? parse_pointer_suffix(at, conversion) : at;
}

/*
 * A text buffer of @size bytes.  @at is the number of characters in the buffer, at most @size - 1,
 * so that a terminating NUL fits, too.
 */
struct output {
	char *text;
	unsigned int size;
	unsigned int at;
};

static bool is_output_full(const struct output *out)
{
	return out->at + 1 >= out->size;
}

static void put_char(struct output *out, char c)
{
	if (!is_output_full(out))
		out->text[out->at++] = c;
}

static void put_spaces(struct output *out, int nr)
{
	while (nr-- > 0 && !is_output_full(out))
		put_char(out, ' ');
}

/*
 * Increase the length of the text, after a call of snprintf() that should append @printed
 * characters.  If the buffer was too small for all characters, the buffer is full now.
 */
static void add_printed_length(struct output *out, int printed)
{
	unsigned int left = out->size - out->at - 1;

	if (printed > 0)
		out->at += printed < left ? printed : left;
}

/* Limit the width or precision that an argument gives, to keep the kernel's printf from warning. */
static int limit_width(int width)
{
	if (width > WIDTH_MAX)
		return WIDTH_MAX;
	return width < -WIDTH_MAX ? -WIDTH_MAX : width;
}

static unsigned int count_readable_chars(const struct output *out, const char *string,
					 unsigned int max_chars)
{
	unsigned int nr;
	char c;

	for (nr = 0; nr < max_chars && nr < out->size; nr++)
		if (copy_from_kernel_nofault(&c, string + nr, 1) || !c)
			break;
	return nr;
}

/*
 * Print a string, padded to the width of its conversion.  Copy the string byte by byte, because
 * unreadable memory may follow it.
 */
static void put_padded_string(struct output *out, const struct format_conversion *conv,
			      const char *string)
{
	unsigned int i, most = conv->precision < 0 ? out->size : conv->precision, nr;
	bool left = strchr(conv->flags, '-') || conv->width < 0;
	int width = conv->width == FORMAT_NONE ? 0 : conv->width;
	char c;

	if (most && copy_from_kernel_nofault(&c, string, 1)) {
		string = string ? "(fault)" : "(null)";
		most = out->size;
	}
	nr = count_readable_chars(out, string, most);
	width = (width < 0 ? -width : width) - (int)nr;
	if (!left)
		put_spaces(out, width);
	for (i = 0; i < nr && !copy_from_kernel_nofault(&c, string + i, 1); i++)
		put_char(out, c);
	if (left)
		put_spaces(out, width);
}

/* Print a %c, padded to the width.  Do not print a NUL, because a NUL would end the text. */
static void put_padded_char(struct output *out, const struct format_conversion *conv, char c)
{
	char string[] = { c, '\0' };
	struct format_conversion letter = *conv;

	letter.precision = FORMAT_NONE;
	put_padded_string(out, &letter, string);
}

static void put_pointer(struct output *out, const struct format_conversion *conv, void *pointer)
{
	char format[] = { '%', 'p', conv->pointer, '\0' };

	add_printed_length(out, snprintf(out->text + out->at, out->size - out->at, format,
					 pointer));
}

static void put_byte_array(struct output *out, const struct format_conversion *conv,
			   const u8 *array)
{
	static const char digits[] = "0123456789abcdef";
	u8 bytes[FORMAT_ARRAY];
	unsigned int i;

	if (copy_from_kernel_nofault(bytes, array, conv->array)) {
		add_printed_length(out, snprintf(out->text + out->at, out->size - out->at,
						 "(fault)"));
		return;
	}
	for (i = 0; i < conv->array; i++) {
		if (i && conv->separator)
			put_char(out, conv->separator);
		put_char(out, digits[bytes[i] >> 4]);
		put_char(out, digits[bytes[i] & 15]);
	}
}

static long long sign_extend(long long value, unsigned int bytes)
{
	switch (bytes) {
	case 1:
		return (s8)value;
	case 2:
		return (s16)value;
	case 4:
		return (s32)value;
	default:
		return value;
	}
}

static void put_number(struct output *out, const struct format_conversion *conv, long long value)
{
	bool with_sign = conv->type == 'd' || conv->type == 'i';
	int width = conv->width == FORMAT_NONE ? 0 : conv->width;
	char format[16];

	if (with_sign)
		value = sign_extend(value, conv->bytes);
	else if (conv->bytes < sizeof(value))
		value &= (1ULL << conv->bytes * 8) - 1;
	snprintf(format, sizeof(format), "%%%s*%sll%c", conv->flags,
		 conv->precision < 0 ? "" : ".*", conv->type);
	if (conv->precision < 0)
		add_printed_length(out, snprintf(out->text + out->at, out->size - out->at, format,
						 width, value));
	else
		add_printed_length(out, snprintf(out->text + out->at, out->size - out->at, format,
						 width, conv->precision, value));
}

/*
 * Print a conversion.  @slot is the first argument of the conversion; a width or precision given as
 * * takes a slot of its own.  Return the slot of the next conversion.
 */
static const unsigned long *put_conversion(struct output *out, struct format_conversion *conv,
					   const unsigned long *slot)
{
	if (conv->width == FORMAT_FROM_ARGUMENT)
		conv->width = limit_width((int)*slot++);
	/*
	 * The precision of a string needs no limit, because strings are not printed by the kernel's
	 * printf.
	 */
	if (conv->precision == FORMAT_FROM_ARGUMENT)
		conv->precision = conv->type == 's' ? (int)*slot++ : limit_width((int)*slot++);
	switch (conv->type) {
	case '%':
		put_char(out, '%');
		return slot;
	case 'c':
		put_padded_char(out, conv, (int)*slot++);
		break;
	case 's':
		put_padded_string(out, conv, (const char *)*slot++);
		break;
	case 'p':
		if (conv->array)
			put_byte_array(out, conv, (const u8 *)*slot++);
		else
			put_pointer(out, conv, (void *)*slot++);
		break;
	default:
		put_number(out, conv, *slot++);
	}
	return slot;
}

/**
 * kmarkers_format_print() - print arguments by a marker's format
 * @text: buffer for the text
 * @size: size of the buffer, at least 1
 * @format: the marker's format
 * @slots: the arguments, eight bytes each; for a string, the address of the string
 *
 * A string that cannot be read is printed as "(fault)".  A conversion that
 * kmarkers_format_parse_conversion() does not accept ends the text, because the type of its
 * argument is not known.
 *
 * Context: any, NMI included.
 * Return: the length of the text, less than @size; a NUL follows.
 */
unsigned int kmarkers_format_print(char *text, unsigned int size, const char *format,
				   const unsigned long *slots)
{
	struct output out = { text, size, 0 };
	struct format_conversion conversion;

	while (*format && !is_output_full(&out)) {
		if (*format != '%') {
			put_char(&out, *format++);
			continue;
		}
		format = kmarkers_format_parse_conversion(format + 1, &conversion);
		if (!format)
			break;
		slots = put_conversion(&out, &conversion, slots);
	}
	text[out.at] = '\0';
	return out.at;
}
