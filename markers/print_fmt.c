// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make an event's print_fmt, by which tracers outside the kernel print records: a format in quotes,
 * and C expressions for its arguments.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format.h"
#include "layout.h"
#include "print_fmt.h"

/* Append a character: always count it, and store it while there is room. */
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

/* Escape a character for a quoted string; libtraceevent accepts only ASCII. */
static void write_quoted(struct writer *to, char c)
{
	static const char plain[] = "\"\\\n\t\r", letters[] = "\"\\ntr";
	const char *found = strchr(plain, c);

	/* True for the second and later bytes of a UTF-8 character. */
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
 * struct conversion_text - a conversion as it is written into print_fmt
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
struct conversion_text {
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

static bool has_flag(const struct conversion_text *text, char flag)
{
	return strchr(text->how.flags, flag);
}

/* The kernel prints 0x before a 0 as well, and C does not. */
static void set_prefix(struct conversion_text *text)
{
	char type = text->how.type;

	text->alternate = has_flag(text, '#') && strchr("oxX", type);
	if (!text->alternate || type == 'o' || text->width == FORMAT_FROM_ARGUMENT)
		return;
	if (text->width != FORMAT_NONE && !*text->align)
		return;
	text->prefix = type == 'x' ? "0x" : "0X";
	text->alternate = false;
	if (text->width != FORMAT_NONE)
		text->width = text->width > 2 ? text->width - 2 : FORMAT_NONE;
}

/* The kernel pads with zeros even with a precision, and C does not. */
static void set_zeros(struct conversion_text *text)
{
	if (text->precision == 0)
		text->precision = FORMAT_NONE;
	if (*text->align != '0' || text->precision == FORMAT_NONE)
		return;
	if (text->width == FORMAT_FROM_ARGUMENT || text->precision < text->width) {
		text->precision = FORMAT_NONE;
		return;
	}
	text->width = FORMAT_NONE;
	text->align = "";
}

static void set_number(struct conversion_text *text)
{
	text->precision = text->how.precision;
	if (!*text->align && has_flag(text, '0'))
		text->align = "0";
	set_prefix(text);
	set_zeros(text);
	if (text->width == FORMAT_NONE && strchr("di", text->how.type))
		text->sign = has_flag(text, '+') ? '+' : has_flag(text, ' ') ? ' ' : '\0';
	if (text->width == FORMAT_FROM_ARGUMENT && text->precision == FORMAT_FROM_ARGUMENT)
		text->width = FORMAT_NONE;
}

/*
 * Read a conversion whose first field is @field.  Return the next field, or NULL if it is a percent
 * sign.  A string is in the record as its precision says.
 */
static const struct layout_field *describe(struct conversion_text *text,
					   const struct layout_field *field)
{
	const struct layout_field *width = NULL, *precision = NULL;

	if (text->how.width == FORMAT_FROM_ARGUMENT)
		width = field++;
	if (text->how.precision == FORMAT_FROM_ARGUMENT)
		precision = field++;
	text->value = field;
	text->prefix = "";
	text->width = text->how.width;
	text->precision = FORMAT_NONE;
	text->align = has_flag(text, '-') ? "-" : "";
	if (text->how.type == 'p')
		text->width = FORMAT_NONE;
	else if (!strchr("cs", text->how.type))
		set_number(text);
	text->star = text->width == FORMAT_FROM_ARGUMENT ? width :
		     text->precision == FORMAT_FROM_ARGUMENT ? precision : NULL;
	return field + 1;
}

/* Append a width or a precision. */
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

static void write_number(struct writer *to, const struct conversion_text *text)
{
	if (text->sign)
		write_word(to, "%s");
	write_word(to, text->prefix);
	write_char(to, '%');
	if (text->alternate)
		write_char(to, '#');
	write_word(to, text->align);
	write_size(to, "", text->width);
	write_size(to, ".", text->precision);
	write_word(to, length_of(text->how.bytes));
	write_char(to, text->how.type);
}

/*
 * Print a pointer as a symbol or a number: tracers know no other form, or take it for an address in
 * the record.
 */
static void write_pointer(struct writer *to, const struct conversion_text *text)
{
	char kind = text->how.pointer;

	write_word(to, "%p");
	if (kind)
		write_char(to, kind == 'B' ? 'S' : kind);
}

/* A field of one character that is printed as a string is that character. */
static void write_string(struct writer *to, const struct conversion_text *text)
{
	write_char(to, '%');
	write_word(to, text->align);
	write_size(to, "", text->width);
	write_char(to, 's');
}

/* Tracers print arrays with blanks or nothing between the bytes, with colons if they are six. */
static bool is_mac(const struct conversion_text *text)
{
	return text->how.array == 6 && text->how.separator == ':';
}

static void write_conversion(struct writer *to, const struct conversion_text *text)
{
	if (is_mac(text))
		write_word(to, "%pM");
	else if (text->how.array)
		write_word(to, "%s");
	else if (text->how.type == 'p')
		write_pointer(to, text);
	else if (strchr("cs", text->how.type))
		write_string(to, text);
	else
		write_number(to, text);
}

static void write_rec(struct writer *to, const char *before, const char *name, const char *behind)
{
	write_word(to, before);
	write_word(to, name);
	write_word(to, behind);
}

/* A width that is negative or too large is none; a precision is that of a number, at least 1. */
static void write_star(struct writer *to, const struct conversion_text *text)
{
	const char *name = text->star->name;

	write_rec(to, ", (REC->", name, " & 0xffffff00)");
	write_rec(to, text->precision == FORMAT_FROM_ARGUMENT ? " ? 1 : REC->" : " ? 0 : REC->",
		  name, "");
}

/* Return the sign bit of a field. */
static void write_sign(struct writer *to, const struct conversion_text *text)
{
	char text[64];

	snprintf(text, sizeof(text), " & 0x%lx) ? \"\" : \"%c\"",
		 1UL << (text->how.bytes * 8 - 1), text->sign);
	write_rec(to, ", (REC->", text->value->name, text);
}

static void write_array(struct writer *to, const struct conversion_text *text)
{
	char bytes[8];

	snprintf(bytes, sizeof(bytes), ", %u)", text->value->bytes);
	write_rec(to, text->how.separator ? ", __print_hex(REC->" : ", __print_hex_str(REC->",
		  text->value->name, bytes);
}

static void write_arguments(struct writer *to, const struct conversion_text *text)
{
	if (text->sign)
		write_sign(to, text);
	if (text->star)
		write_star(to, text);
	if (text->value->is_array && !is_mac(text))
		write_array(to, text);
	else if (text->value->is_string)
		write_rec(to, ", __get_str(", text->value->name, ")");
	else
		write_rec(to, ", REC->", text->value->name, "");
}

typedef void told_writer(struct writer *to, const struct conversion_text *text);

/* Visit each conversion, and the text between conversions if @text is set. */
static void write_parts(struct writer *to, const struct record_layout *layout, const char *format,
			told_writer *write, bool with_text)
{
	const struct layout_field *field = layout->field;

	while (*format) {
		struct conversion_text text = { };

		if (*format != '%') {
			if (with_text)
				write_quoted(to, *format);
			format++;
			continue;
		}
		format = marker_format_read(format + 1, &text.how);
		if (!format)
			return;
		if (text.how.type != '%') {
			field = describe(&text, field);
			write(to, &text);
		} else if (with_text) {
			write_word(to, "%%");
		}
	}
}

static void write_all_fields(struct writer *to, const struct record_layout *layout,
			     const char *format)
{
	write_char(to, '"');
	write_parts(to, layout, format, write_conversion, true);
	write_char(to, '"');
	write_parts(to, layout, format, write_arguments, false);
	write_char(to, '\0');
}

/* Return the print_fmt, to be freed by kfree(); NULL without memory. */
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
