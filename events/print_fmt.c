// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make the print_fmt of a trace event: a printf() format in quotes, followed by C expressions for
 * its arguments.  Tracers in user space use the print_fmt to print records.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format.h"
#include "layout.h"
#include "print_fmt.h"

/* A text buffer.  @nr is the number of characters written; only the first @capacity are stored. */
struct writer {
	char *text;
	unsigned int capacity;
	unsigned int nr;
};

static void write_char(struct writer *to, char c)
{
	if (to->nr < to->capacity)
		to->text[to->nr] = c;
	to->nr++;
}

static void write_text(struct writer *to, const char *word)
{
	while (*word)
		write_char(to, *word++);
}

/*
 * Write a character of a quoted string, with a backslash if needed.  libtraceevent accepts only
 * ASCII, so any other character is written as one question mark.
 */
static void write_quoted_char(struct writer *to, char c)
{
	static const char plain[] = "\"\\\n\t\r", letters[] = "\"\\ntr";
	const char *found = strchr(plain, c);

	/* Skip the second and later bytes of a UTF-8 character. */
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
 * @how: the conversion, parsed from the marker's format
 * @value: the record field that the conversion prints
 * @star: the record field that is the argument of a * for width or precision; NULL without a *
 * @prefix: "0x", "0X" or "", written as text in front of a number
 * @sign: '+' or ' ' to be printed in front of a number that is not negative, or NUL
 * @align: the flag "-" or "0" to be written, or ""
 * @alternate: true to write the flag #
 * @width: minimum number of characters, FORMAT_NONE, or FORMAT_FROM_ARGUMENT for a *
 * @precision: the precision, FORMAT_NONE, or FORMAT_FROM_ARGUMENT for a *
 *
 * Tracers print like the printf() of C, not like the printf() of the kernel.  libtraceevent of
 * Debian 12 does not support %c, %td, the flags + and blank, and two stars in a conversion.  It
 * skips a conversion that it does not support, but not the argument of the conversion, which the
 * next conversion then prints.
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

static bool has_flag(const struct conversion_text *conv, char flag)
{
	return strchr(conv->how.flags, flag);
}

/*
 * Replace the flag # of a hexadecimal number by the text 0x if the width permits that.  With the
 * flag #, the kernel prints 0x even in front of the number 0; the printf() of C does not.
 */
static void set_hex_prefix(struct conversion_text *conv)
{
	char type = conv->how.type;

	conv->alternate = has_flag(conv, '#') && strchr("oxX", type);
	if (!conv->alternate || type == 'o' || conv->width == FORMAT_FROM_ARGUMENT)
		return;
	if (conv->width != FORMAT_NONE && !*conv->align)
		return;
	conv->prefix = type == 'x' ? "0x" : "0X";
	conv->alternate = false;
	if (conv->width != FORMAT_NONE)
		conv->width = conv->width > 2 ? conv->width - 2 : FORMAT_NONE;
}

/*
 * If a conversion has the flag 0 and a precision, keep only the larger of width and precision.  The
 * kernel pads the number with zeros to the larger of width and precision, but C only to the
 * precision.
 */
static void set_zero_padding(struct conversion_text *conv)
{
	if (conv->precision == 0)
		conv->precision = FORMAT_NONE;
	if (*conv->align != '0' || conv->precision == FORMAT_NONE)
		return;
	if (conv->width == FORMAT_FROM_ARGUMENT ||
	    (conv->width != FORMAT_NONE && conv->precision < conv->width)) {
		conv->precision = FORMAT_NONE;
		return;
	}
	conv->width = FORMAT_NONE;
	conv->align = "";
}

static void set_number_format(struct conversion_text *conv)
{
	conv->precision = conv->how.precision;
	if (!*conv->align && has_flag(conv, '0'))
		conv->align = "0";
	set_hex_prefix(conv);
	set_zero_padding(conv);
	if (conv->width == FORMAT_NONE && strchr("di", conv->how.type))
		conv->sign = has_flag(conv, '+') ? '+' : has_flag(conv, ' ') ? ' ' : '\0';
	if (conv->width == FORMAT_FROM_ARGUMENT && conv->precision == FORMAT_FROM_ARGUMENT)
		conv->width = FORMAT_NONE;
}

/*
 * Fill in @conv for a conversion.  @field is the first record field of the conversion; return the
 * first field of the next conversion.  A string is written without precision, because the copy of
 * the string in the record has been truncated already.
 */
static const struct layout_field *set_conversion_text(struct conversion_text *conv,
						      const struct layout_field *field)
{
	const struct layout_field *width = NULL, *precision = NULL;

	if (conv->how.width == FORMAT_FROM_ARGUMENT)
		width = field++;
	if (conv->how.precision == FORMAT_FROM_ARGUMENT)
		precision = field++;
	conv->value = field;
	conv->prefix = "";
	conv->width = conv->how.width;
	conv->precision = FORMAT_NONE;
	conv->align = has_flag(conv, '-') ? "-" : "";
	if (conv->how.type == 'p')
		conv->width = FORMAT_NONE;
	else if (!strchr("cs", conv->how.type))
		set_number_format(conv);
	conv->star = conv->width == FORMAT_FROM_ARGUMENT ? width :
		     conv->precision == FORMAT_FROM_ARGUMENT ? precision : NULL;
	return field + 1;
}

/* Write the text @before, and behind it a width or a precision.  Write nothing for FORMAT_NONE. */
static void write_width_or_precision(struct writer *to, const char *before, int size)
{
	char digits[8];

	if (size == FORMAT_NONE)
		return;
	write_text(to, before);
	snprintf(digits, sizeof(digits), "%d", size);
	write_text(to, size == FORMAT_FROM_ARGUMENT ? "*" : digits);
}

static const char *get_length_modifier(unsigned int bytes)
{
	return bytes == 1 ? "hh" : bytes == 2 ? "h" : bytes == 4 ? "" : "l";
}

static void write_number_conversion(struct writer *to, const struct conversion_text *conv)
{
	if (conv->sign)
		write_text(to, "%s");
	write_text(to, conv->prefix);
	write_char(to, '%');
	if (conv->alternate)
		write_char(to, '#');
	write_text(to, conv->align);
	write_width_or_precision(to, "", conv->width);
	write_width_or_precision(to, ".", conv->precision);
	write_text(to, get_length_modifier(conv->how.bytes));
	write_char(to, conv->how.type);
}

/*
 * Write %ps or %pS for a pointer that is printed as a symbol, else %p.  Tracers either do not
 * support the kernel's other forms of %p, or read memory as if the pointer pointed into the record.
 */
static void write_pointer_conversion(struct writer *to, const struct conversion_text *conv)
{
	char kind = conv->how.pointer;

	write_text(to, "%p");
	if (kind)
		write_char(to, kind == 'B' ? 'S' : kind);
}

/*
 * Write %s for a string, and also for a %c, because tracers print a field of one character by %s.
 */
static void write_string_conversion(struct writer *to, const struct conversion_text *conv)
{
	write_char(to, '%');
	write_text(to, conv->align);
	write_width_or_precision(to, "", conv->width);
	write_char(to, 's');
}

/*
 * Return true for an array of six bytes that is printed with colons, as %pM: tracers print no other
 * array with colons.
 */
static bool is_mac_address(const struct conversion_text *conv)
{
	return conv->how.array == 6 && conv->how.separator == ':';
}

static void write_conversion(struct writer *to, const struct conversion_text *conv)
{
	if (is_mac_address(conv))
		write_text(to, "%pM");
	else if (conv->how.array)
		write_text(to, "%s");
	else if (conv->how.type == 'p')
		write_pointer_conversion(to, conv);
	else if (strchr("cs", conv->how.type))
		write_string_conversion(to, conv);
	else
		write_number_conversion(to, conv);
}

static void write_name_between_texts(struct writer *to, const char *before, const char *name,
				     const char *behind)
{
	write_text(to, before);
	write_text(to, name);
	write_text(to, behind);
}

/*
 * Write the argument of a width or precision that is written as *.  The expression evaluates to the
 * value of the record field that gives the width or precision, if this value is between 0 and 255.
 * Otherwise the expression evaluates to 0 for a width, and to 1 for a precision.
 */
static void write_width_or_precision_argument(struct writer *to, const struct conversion_text *conv)
{
	const char *name = conv->star->name;

	write_name_between_texts(to, ", (REC->", name, " & 0xffffff00)");
	write_name_between_texts(to, conv->precision == FORMAT_FROM_ARGUMENT ?
				 " ? 1 : REC->" : " ? 0 : REC->", name, "");
}

/*
 * Write the argument of the %s in front of a number.  The expression evaluates to "" if the number
 * is negative, else to "+" or " ".
 */
static void write_sign_argument(struct writer *to, const struct conversion_text *conv)
{
	char text[64];

	snprintf(text, sizeof(text), " & 0x%lx) ? \"\" : \"%c\"",
		 1UL << (conv->how.bytes * 8 - 1), conv->sign);
	write_name_between_texts(to, ", (REC->", conv->value->name, text);
}

static void write_array_argument(struct writer *to, const struct conversion_text *conv)
{
	char bytes[8];

	snprintf(bytes, sizeof(bytes), ", %u)", conv->value->bytes);
	write_name_between_texts(to, conv->how.separator ?
				 ", __print_hex(REC->" : ", __print_hex_str(REC->",
				 conv->value->name, bytes);
}

static void write_conversion_arguments(struct writer *to, const struct conversion_text *conv)
{
	if (conv->sign)
		write_sign_argument(to, conv);
	if (conv->star)
		write_width_or_precision_argument(to, conv);
	if (conv->value->is_array && !is_mac_address(conv))
		write_array_argument(to, conv);
	else if (conv->value->is_string)
		write_name_between_texts(to, ", __get_str(", conv->value->name, ")");
	else
		write_name_between_texts(to, ", REC->", conv->value->name, "");
}

typedef void conversion_writer(struct writer *to, const struct conversion_text *conv);

/* Call @write for each conversion of @format; if @with_text, copy the text between conversions. */
static void write_each_conversion(struct writer *to, const struct record_layout *layout,
				  const char *format, conversion_writer *write, bool with_text)
{
	const struct layout_field *field = layout->field;

	while (*format) {
		struct conversion_text conv = { };

		if (*format != '%') {
			if (with_text)
				write_quoted_char(to, *format);
			format++;
			continue;
		}
		format = kmarkers_format_parse_conversion(format + 1, &conv.how);
		if (!format)
			return;
		if (conv.how.type != '%') {
			field = set_conversion_text(&conv, field);
			write(to, &conv);
		} else if (with_text) {
			write_text(to, "%%");
		}
	}
}

static void write_print_fmt(struct writer *to, const struct record_layout *layout,
			    const char *format)
{
	write_char(to, '"');
	write_each_conversion(to, layout, format, write_conversion, true);
	write_char(to, '"');
	write_each_conversion(to, layout, format, write_conversion_arguments, false);
	write_char(to, '\0');
}

/*
 * Make the print_fmt of a trace event, in two passes: compute its length, then write it.  Return
 * the print_fmt, which the caller frees by kfree(), or NULL if there is no memory.
 */
char *kmarkers_make_print_fmt(const struct record_layout *layout, const char *format)
{
	struct writer to = { NULL, 0, 0 };

	write_print_fmt(&to, layout, format);
	to.text = kzalloc(to.nr, GFP_KERNEL);
	if (!to.text)
		return NULL;
	to.capacity = to.nr;
	to.nr = 0;
	write_print_fmt(&to, layout, format);
	return to.text;
}
