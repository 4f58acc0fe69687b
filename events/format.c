// SPDX-License-Identifier: GPL-2.0-only
/* Check the formats of markers before use, and print arguments that are not trusted. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include "format.h"

/* Largest width or precision that is accepted. */
#define WIDTH_MAX	255
static const char *read_flags(const char *at, char *flags)
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

/* Read a width or precision.  Return NULL if it is out of range. */
static const char *read_number(const char *at, int *number)
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

static const char *read_size(const char *at, unsigned int *bytes)
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

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static void set_array(struct format_conversion *conversion, unsigned int bytes, char separator)
{
	conversion->array = bytes;
	conversion->separator = separator;
	conversion->width = FORMAT_NONE;
}

static char separator_of(char c)
{
	return c == 'C' ? ':' : c == 'D' ? '-' : c == 'N' ? '\0' : ' ';
}

/* Read all letters and digits behind %p: the kernel's printf treats them as one conversion. */
static const char *read_pointer(const char *at, struct format_conversion *conversion)
{
	if (*at && strchr("sSB", *at))
		conversion->pointer = *at;
	else if (*at == 'M' || *at == 'm')
		set_array(conversion, 6, *at == 'M' ? ':' : '\0');
	else if (*at == 'h' && conversion->width > 0 && conversion->width <= FORMAT_ARRAY)
		set_array(conversion, conversion->width, separator_of(at[1]));
	while (is_word(*at))
		at++;
	return at;
}

/**
 * kmarkers_format_read() - parse a conversion of a marker's format
 * @at: the character behind its %
 * @conversion: filled in
 *
 * The function accepts the conversions d i u x X o c s p of the kernel's printf, with flags, with
 * a width and a precision up to 255, and with size modifiers.  %ps, %pS and %pB print a symbol.
 * %pM and %pm print an address of six bytes.  %16ph prints 16 bytes; any number up to FORMAT_ARRAY
 * may stand there, and C, D or N may follow.  Other letters and digits behind %p are skipped, and
 * the pointer is printed hashed.
 *
 * Context: any.
 * Return: the character behind the conversion, or NULL if the function does not accept it.
 */
const char *kmarkers_format_read(const char *at, struct format_conversion *conversion)
{
	memset(conversion, 0, sizeof(*conversion));
	conversion->width = FORMAT_NONE;
	conversion->precision = FORMAT_NONE;
	at = read_flags(at, conversion->flags);
	if (*at == '*' || (*at >= '1' && *at <= '9'))
		at = read_number(at, &conversion->width);
	if (at && *at == '.')
		at = read_number(at + 1, &conversion->precision);
	if (!at)
		return NULL;
	at = read_size(at, &conversion->bytes);
	if (!*at || !strchr("diuxXocsp%", *at))
		return NULL;
	conversion->type = *at++;
	/* A %% takes no argument, so its width and precision must not be a star. */
	if (conversion->type == '%' && (conversion->width == FORMAT_FROM_ARGUMENT ||
					conversion->precision == FORMAT_FROM_ARGUMENT))
		return NULL;
	return conversion->type == 'p' ? read_pointer(at, conversion) : at;
}

/* A buffer of @size bytes that holds @at characters: at most @size - 1, so a NUL fits, too. */
struct output {
	char *text;
	unsigned int size;
	unsigned int at;
};

static bool is_full(const struct output *out)
{
	return out->at + 1 >= out->size;
}

static void put_char(struct output *out, char c)
{
	if (!is_full(out))
		out->text[out->at++] = c;
}

static void put_spaces(struct output *out, int nr)
{
	while (nr-- > 0 && !is_full(out))
		put_char(out, ' ');
}

/* Count the characters that snprintf() has written at the end of the text. */
static void advance_end(struct output *out, int printed)
{
	unsigned int left = out->size - out->at - 1;

	if (printed > 0)
		out->at += printed < left ? printed : left;
}

/* Limit the width or precision that an argument gives, to keep the kernel's printf from warning. */
static int limit_width(int number)
{
	if (number > WIDTH_MAX)
		return WIDTH_MAX;
	return number < -WIDTH_MAX ? -WIDTH_MAX : number;
}

static unsigned int measure_text(const struct output *out, const char *string, unsigned int most)
{
	unsigned int nr;
	char c;

	for (nr = 0; nr < most && nr < out->size; nr++)
		if (copy_from_kernel_nofault(&c, string + nr, 1) || !c)
			break;
	return nr;
}

/* Copy a string byte by byte: unreadable memory may follow its end. */
static void put_string(struct output *out, const struct format_conversion *how, const char *string)
{
	unsigned int i, most = how->precision < 0 ? out->size : how->precision, nr;
	bool left = strchr(how->flags, '-') || how->width < 0;
	int width = how->width == FORMAT_NONE ? 0 : how->width;
	char c;

	if (most && copy_from_kernel_nofault(&c, string, 1)) {
		string = string ? "(fault)" : "(null)";
		most = out->size;
	}
	nr = measure_text(out, string, most);
	width = (width < 0 ? -width : width) - (int)nr;
	if (!left)
		put_spaces(out, width);
	for (i = 0; i < nr && !copy_from_kernel_nofault(&c, string + i, 1); i++)
		put_char(out, c);
	if (left)
		put_spaces(out, width);
}

/* Print a character.  A NUL is not printed, because it would end the text. */
static void put_letter(struct output *out, const struct format_conversion *how, char c)
{
	char string[] = { c, '\0' };
	struct format_conversion letter = *how;

	letter.precision = FORMAT_NONE;
	put_string(out, &letter, string);
}

static void put_pointer(struct output *out, const struct format_conversion *how, void *pointer)
{
	char format[] = { '%', 'p', how->pointer, '\0' };

	advance_end(out, snprintf(out->text + out->at, out->size - out->at, format, pointer));
}

static void put_array(struct output *out, const struct format_conversion *how, const u8 *array)
{
	static const char digits[] = "0123456789abcdef";
	u8 bytes[FORMAT_ARRAY];
	unsigned int i;

	if (copy_from_kernel_nofault(bytes, array, how->array)) {
		advance_end(out, snprintf(out->text + out->at, out->size - out->at, "(fault)"));
		return;
	}
	for (i = 0; i < how->array; i++) {
		if (i && how->separator)
			put_char(out, how->separator);
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

static void put_number(struct output *out, const struct format_conversion *how, long long value)
{
	bool with_sign = how->type == 'd' || how->type == 'i';
	int width = how->width == FORMAT_NONE ? 0 : how->width;
	char format[16];

	if (with_sign)
		value = sign_extend(value, how->bytes);
	else if (how->bytes < sizeof(value))
		value &= (1ULL << how->bytes * 8) - 1;
	snprintf(format, sizeof(format), "%%%s*%sll%c", how->flags,
		 how->precision < 0 ? "" : ".*", how->type);
	if (how->precision < 0)
		advance_end(out, snprintf(out->text + out->at, out->size - out->at, format,
					  width, value));
	else
		advance_end(out, snprintf(out->text + out->at, out->size - out->at, format,
					  width, how->precision, value));
}

/* Print the argument of a conversion, which may be several slots. Return the slot behind it. */
static const unsigned long *put_argument(struct output *out, struct format_conversion *how,
					 const unsigned long *slot)
{
	if (how->width == FORMAT_FROM_ARGUMENT)
		how->width = limit_width((int)*slot++);
	if (how->precision == FORMAT_FROM_ARGUMENT)
		how->precision = limit_width((int)*slot++);
	switch (how->type) {
	case '%':
		put_char(out, '%');
		return slot;
	case 'c':
		put_letter(out, how, (int)*slot++);
		break;
	case 's':
		put_string(out, how, (const char *)*slot++);
		break;
	case 'p':
		if (how->array)
			put_array(out, how, (const u8 *)*slot++);
		else
			put_pointer(out, how, (void *)*slot++);
		break;
	default:
		put_number(out, how, *slot++);
	}
	return slot;
}

/**
 * kmarkers_format_print() - print arguments by a marker's format
 * @text: buffer for the text
 * @size: size of the buffer, at least 1
 * @format: the marker's format
 * @slots: the arguments, eight bytes each; for a string, its address
 *
 * A string that cannot be read is printed as "(fault)".  A conversion that kmarkers_format_read()
 * does not accept ends the text, because the type of its argument is not known.
 *
 * Context: any, NMI included.
 * Return: the length of the text, less than @size; a NUL follows.
 */
unsigned int kmarkers_format_print(char *text, unsigned int size, const char *format,
				   const unsigned long *slots)
{
	struct output out = { text, size, 0 };
	struct format_conversion conversion;

	while (*format && !is_full(&out)) {
		if (*format != '%') {
			put_char(&out, *format++);
			continue;
		}
		format = kmarkers_format_read(format + 1, &conversion);
		if (!format)
			break;
		slots = put_argument(&out, &conversion, slots);
	}
	text[out.at] = '\0';
	return out.at;
}
