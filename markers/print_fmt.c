// SPDX-License-Identifier: GPL-2.0-only
/*
 * How tracers outside the kernel print a record: as C, a format in quotes and what stands for
 * its arguments.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format.h"
#include "layout.h"
#include "print_fmt.h"

/* What is written is counted, and kept as long as there is room. */
struct writer {
	char *text;
	unsigned int room;
	unsigned int nr;
};

static void write_char(struct writer *to, char c)
{
	if (to->nr < to->room)
		to->text[to->nr] = c;
	to->nr++;
}

static void write_word(struct writer *to, const char *word)
{
	while (*word)
		write_char(to, *word++);
}

/* As it has to stand between quotes, where libtraceevent takes ASCII alone. */
static void write_quoted(struct writer *to, char c)
{
	static const char plain[] = "\"\\\n\t\r", letters[] = "\"\\ntr";
	const char *found = strchr(plain, c);

	/* Of a letter in UTF-8, what follows its first byte. */
	if ((c & 0xc0) == 0x80)
		return;
	if (c & 0x80)
		c = '?';
	if (found) {
		write_char(to, '\\');
		c = letters[found - plain];
	}
	write_char(to, c);
}

/**
 * struct told - what tracers are told of a conversion
 * @how: the conversion
 * @value: the field that it prints
 * @star: the field that is its width or its precision, or NULL
 * @prefix: what stands in front of a number
 * @sign: what stands in front of a number that is not negative, or NUL
 * @align: "-", "0" or ""
 * @alternate: with #
 * @width: a number, FORMAT_NONE or FORMAT_FROM_ARGUMENT
 * @precision: the same
 *
 * Tracers print with the printf() of C, and parse what they print themselves: of Debian 12's,
 * libtraceevent takes no argument for what it does not know, such as %c, %td and the flags + and
 * blank, and prints the next argument in its place.  It takes one star for a conversion.
 */
struct told {
	struct format_conversion how;
	const struct layout_field *value;
	const struct layout_field *star;
	const char *prefix;
	char sign;
	const char *align;
	bool alternate;
	int width;
	int precision;
};

static bool has_flag(const struct told *told, char flag)
{
	return strchr(told->how.flags, flag);
}

/* The kernel has 0x in front of a 0 as well, which C has not. */
static void tell_prefix(struct told *told)
{
	char type = told->how.type;

	told->alternate = has_flag(told, '#') && strchr("oxX", type);
	if (!told->alternate || type == 'o' || told->width == FORMAT_FROM_ARGUMENT)
		return;
	if (told->width != FORMAT_NONE && !*told->align)
		return;
	told->prefix = type == 'x' ? "0x" : "0X";
	told->alternate = false;
	if (told->width != FORMAT_NONE)
		told->width = told->width > 2 ? told->width - 2 : FORMAT_NONE;
}

/* The kernel fills up with zeros also where C does not since there is a precision. */
static void tell_zeros(struct told *told)
{
	if (told->precision == 0)
		told->precision = FORMAT_NONE;
	if (*told->align != '0' || told->precision == FORMAT_NONE)
		return;
	if (told->width == FORMAT_FROM_ARGUMENT || told->precision < told->width) {
		told->precision = FORMAT_NONE;
		return;
	}
	told->width = FORMAT_NONE;
	told->align = "";
}

static void tell_number(struct told *told)
{
	told->precision = told->how.precision;
	if (!*told->align && has_flag(told, '0'))
		told->align = "0";
	tell_prefix(told);
	tell_zeros(told);
	if (told->width == FORMAT_NONE && strchr("di", told->how.type))
		told->sign = has_flag(told, '+') ? '+' : has_flag(told, ' ') ? ' ' : '\0';
	if (told->width == FORMAT_FROM_ARGUMENT && told->precision == FORMAT_FROM_ARGUMENT)
		told->width = FORMAT_NONE;
}

/*
 * Read a conversion whose first field is @field.  Return the next field, or NULL if it is a percent
 * sign.  A string is in the record as its precision says.
 */
static const struct layout_field *tell(struct told *told, const struct layout_field *field)
{
	const struct layout_field *width = NULL, *precision = NULL;

	if (told->how.width == FORMAT_FROM_ARGUMENT)
		width = field++;
	if (told->how.precision == FORMAT_FROM_ARGUMENT)
		precision = field++;
	told->value = field;
	told->prefix = "";
	told->width = told->how.width;
	told->precision = FORMAT_NONE;
	told->align = has_flag(told, '-') ? "-" : "";
	if (told->how.type == 'p')
		told->width = FORMAT_NONE;
	else if (!strchr("cs", told->how.type))
		tell_number(told);
	told->star = told->width == FORMAT_FROM_ARGUMENT ? width :
		     told->precision == FORMAT_FROM_ARGUMENT ? precision : NULL;
	return field + 1;
}

/* A width or a precision. */
static void write_size(struct writer *to, const char *before, int size)
{
	char digits[8];

	if (size == FORMAT_NONE)
		return;
	write_word(to, before);
	snprintf(digits, sizeof(digits), "%d", size);
	write_word(to, size == FORMAT_FROM_ARGUMENT ? "*" : digits);
}

static const char *length_of(unsigned int bytes)
{
	return bytes == 1 ? "hh" : bytes == 2 ? "h" : bytes == 4 ? "" : "l";
}

static void write_number(struct writer *to, const struct told *told)
{
	if (told->sign)
		write_word(to, "%s");
	write_word(to, told->prefix);
	write_char(to, '%');
	if (told->alternate)
		write_char(to, '#');
	write_word(to, told->align);
	write_size(to, "", told->width);
	write_size(to, ".", told->precision);
	write_word(to, length_of(told->how.bytes));
	write_char(to, told->how.type);
}

/* As a symbol or as a number: tracers know no more, or take it for an address in the record. */
static void write_pointer(struct writer *to, const struct told *told)
{
	char kind = told->how.pointer;

	write_word(to, "%p");
	if (kind)
		write_char(to, kind == 'B' ? 'S' : kind);
}

/* A field of one character that is printed as a string is that character. */
static void write_string(struct writer *to, const struct told *told)
{
	write_char(to, '%');
	write_word(to, told->align);
	write_size(to, "", told->width);
	write_char(to, 's');
}

/* Tracers print arrays with blanks or nothing between the bytes, with colons if they are six. */
static bool is_mac(const struct told *told)
{
	return told->how.array == 6 && told->how.separator == ':';
}

static void write_conversion(struct writer *to, const struct told *told)
{
	if (is_mac(told))
		write_word(to, "%pM");
	else if (told->how.array)
		write_word(to, "%s");
	else if (told->how.type == 'p')
		write_pointer(to, told);
	else if (strchr("cs", told->how.type))
		write_string(to, told);
	else
		write_number(to, told);
}

static void write_rec(struct writer *to, const char *before, const char *name, const char *behind)
{
	write_word(to, before);
	write_word(to, name);
	write_word(to, behind);
}

/* A width that is negative or too large is none; a precision is that of a number, at least 1. */
static void write_star(struct writer *to, const struct told *told)
{
	const char *name = told->star->name;

	write_rec(to, ", (REC->", name, " & 0xffffff00)");
	write_rec(to, told->precision == FORMAT_FROM_ARGUMENT ? " ? 1 : REC->" : " ? 0 : REC->",
		  name, "");
}

/* The bit that is set in a negative number. */
static void write_sign(struct writer *to, const struct told *told)
{
	char text[64];

	snprintf(text, sizeof(text), " & 0x%lx) ? \"\" : \"%c\"",
		 1UL << (told->how.bytes * 8 - 1), told->sign);
	write_rec(to, ", (REC->", told->value->name, text);
}

static void write_array(struct writer *to, const struct told *told)
{
	char bytes[8];

	snprintf(bytes, sizeof(bytes), ", %u)", told->value->bytes);
	write_rec(to, told->how.separator ? ", __print_hex(REC->" : ", __print_hex_str(REC->",
		  told->value->name, bytes);
}

static void write_arguments(struct writer *to, const struct told *told)
{
	if (told->sign)
		write_sign(to, told);
	if (told->star)
		write_star(to, told);
	if (told->value->is_array && !is_mac(told))
		write_array(to, told);
	else if (told->value->is_string)
		write_rec(to, ", __get_str(", told->value->name, ")");
	else
		write_rec(to, ", REC->", told->value->name, "");
}

typedef void told_writer(struct writer *to, const struct told *told);

/* Each conversion through one function, and the text between them if there is to be any. */
static void write_parts(struct writer *to, const struct record_layout *layout, const char *format,
			told_writer *write, bool with_text)
{
	const struct layout_field *field = layout->field;

	while (*format) {
		struct told told = { };

		if (*format != '%') {
			if (with_text)
				write_quoted(to, *format);
			format++;
			continue;
		}
		format = marker_format_read(format + 1, &told.how);
		if (!format)
			return;
		if (told.how.type != '%') {
			field = tell(&told, field);
			write(to, &told);
		} else if (with_text) {
			write_word(to, "%%");
		}
	}
}

static void write_all_fields(struct writer *to, const struct record_layout *layout, const char *format)
{
	write_char(to, '"');
	write_parts(to, layout, format, write_conversion, true);
	write_char(to, '"');
	write_parts(to, layout, format, write_arguments, false);
	write_char(to, '\0');
}

/* To be freed by kfree(); NULL without memory. */
char *marker_print_fmt(const struct record_layout *layout, const char *format)
{
	struct writer to = { NULL, 0, 0 };

	write_all_fields(&to, layout, format);
	to.text = kzalloc(to.nr, GFP_KERNEL);
	if (!to.text)
		return NULL;
	to.room = to.nr;
	to.nr = 0;
	write_all_fields(&to, layout, format);
	return to.text;
}
