// SPDX-License-Identifier: GPL-2.0-only
/* Formats of markers: checking them before use, and printing arguments without trusting them. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include "format.h"

/* Largest width or precision; larger ones are of no use in an event. */
#define WIDTH_MAX	255
#define NONE		-1
#define FROM_ARGUMENT	-2

/**
 * struct conversion - a parsed conversion of a format
 * @flags: its flags as written; ends with NUL
 * @width: a number, NONE or FROM_ARGUMENT
 * @precision: a number, NONE or FROM_ARGUMENT
 * @bytes: size of the integer argument
 * @type: the conversion character
 * @pointer: the letter after %p if it asks for a symbol, else NUL
 */
struct conversion {
	char flags[6];
	int width;
	int precision;
	unsigned int bytes;
	char type;
	char pointer;
};

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
		*number = FROM_ARGUMENT;
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

/* Read what follows %p: the kernel takes all letters and digits as part of the conversion. */
static const char *read_pointer(const char *at, struct conversion *conversion)
{
	if (*at && strchr("sSB", *at))
		conversion->pointer = *at;
	while (is_word(*at))
		at++;
	return at;
}

/* Parse a conversion; @at points behind its %.  Return the end of the conversion, or NULL. */
static const char *read_conversion(const char *at, struct conversion *conversion)
{
	memset(conversion, 0, sizeof(*conversion));
	conversion->width = NONE;
	conversion->precision = NONE;
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
	return conversion->type == 'p' ? read_pointer(at, conversion) : at;
}

/**
 * marker_format_check() - check whether a format can be used to print arguments
 * @format: a marker's format
 *
 * Conversions are those of the kernel's printf: d i u x X o c s p with flags,
 * width and precision up to 255, and sizes.  Letters and digits that follow %p are
 * skipped, except that %ps, %pS and %pB print a symbol; others print a hashed pointer.
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int marker_format_check(const char *format)
{
	struct conversion conversion;

	while ((format = strchr(format, '%'))) {
		format = read_conversion(format + 1, &conversion);
		if (!format)
			return -EINVAL;
	}
	return 0;
}

/* The buffer for the text; @at never exceeds @size - 1, and @text[@at] is free. */
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

/* Add to the text what snprintf() printed behind its end. */
static void advance(struct output *out, int printed)
{
	unsigned int left = out->size - out->at - 1;

	if (printed > 0)
		out->at += printed < left ? printed : left;
}

/* Limit a width or precision to what the kernel's printf takes without a warning. */
static int bounded(int number)
{
	if (number > WIDTH_MAX)
		return WIDTH_MAX;
	return number < -WIDTH_MAX ? -WIDTH_MAX : number;
}

static unsigned int length(const struct output *out, const char *string, unsigned int most)
{
	unsigned int nr;
	char c;

	for (nr = 0; nr < most && nr < out->size; nr++)
		if (copy_from_kernel_nofault(&c, string + nr, 1) || !c)
			break;
	return nr;
}

/* Copy a string byte by byte: unreadable memory may follow its end. */
static void put_string(struct output *out, const struct conversion *how, const char *string)
{
	unsigned int i, most = how->precision < 0 ? out->size : how->precision, nr;
	bool left = strchr(how->flags, '-') || how->width < 0;
	int width = how->width == NONE ? 0 : how->width;
	char c;

	if (most && copy_from_kernel_nofault(&c, string, 1)) {
		string = string ? "(fault)" : "(null)";
		most = out->size;
	}
	nr = length(out, string, most);
	width = (width < 0 ? -width : width) - (int)nr;
	if (!left)
		put_spaces(out, width);
	for (i = 0; i < nr && !copy_from_kernel_nofault(&c, string + i, 1); i++)
		put_char(out, c);
	if (left)
		put_spaces(out, width);
}

static void put_pointer(struct output *out, const struct conversion *how, void *pointer)
{
	char format[] = { '%', 'p', how->pointer, '\0' };

	advance(out, snprintf(out->text + out->at, out->size - out->at, format, pointer));
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

static void put_number(struct output *out, const struct conversion *how, long long value)
{
	bool with_sign = how->type == 'd' || how->type == 'i';
	int width = how->width == NONE ? 0 : how->width;
	char format[16];

	if (with_sign)
		value = sign_extend(value, how->bytes);
	else if (how->bytes < sizeof(value))
		value &= (1ULL << how->bytes * 8) - 1;
	snprintf(format, sizeof(format), "%%%s*%sll%c", how->flags,
		 how->precision < 0 ? "" : ".*", how->type);
	if (how->precision < 0)
		advance(out, snprintf(out->text + out->at, out->size - out->at, format,
				      width, value));
	else
		advance(out, snprintf(out->text + out->at, out->size - out->at, format,
				      width, how->precision, value));
}

static void put_argument(struct output *out, struct conversion *how, va_list *args)
{
	if (how->width == FROM_ARGUMENT)
		how->width = bounded(va_arg(*args, int));
	if (how->precision == FROM_ARGUMENT)
		how->precision = bounded(va_arg(*args, int));
	switch (how->type) {
	case '%':
		put_char(out, '%');
		break;
	case 'c':
		put_char(out, va_arg(*args, int));
		break;
	case 's':
		put_string(out, how, va_arg(*args, const char *));
		break;
	case 'p':
		put_pointer(out, how, va_arg(*args, void *));
		break;
	default:
		put_number(out, how, how->bytes == sizeof(long) ? va_arg(*args, long) :
						va_arg(*args, int));
	}
}

/**
 * marker_format_print() - print arguments by a marker's format
 * @text: buffer for the text
 * @size: size of the buffer, at least 1
 * @format: the marker's format
 * @args: the arguments that the probe was called with
 *
 * A string that cannot be read is printed as "(fault)".  A conversion that
 * marker_format_check() refuses ends the text, because its argument cannot be known.
 *
 * Context: any, NMI included.
 * Return: the length of the text, less than @size; a NUL follows.
 */
unsigned int marker_format_print(char *text, unsigned int size, const char *format, va_list *args)
{
	struct output out = { text, size, 0 };
	struct conversion conversion;

	while (*format && !is_full(&out)) {
		if (*format != '%') {
			put_char(&out, *format++);
			continue;
		}
		format = read_conversion(format + 1, &conversion);
		if (!format)
			break;
		put_argument(&out, &conversion, args);
	}
	text[out.at] = '\0';
	return out.at;
}
