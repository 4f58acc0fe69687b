// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make the print_fmt of a trace event: a format in quotes, and C expressions for its arguments.
 * Tracers in user space use it to print records.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format.h"
#include "layout.h"
#include "print_fmt.h"

/* A text buffer.  @nr counts all characters written to it, of which the first @room are stored. */
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

/*
 * Write a character of a quoted string, with a backslash if needed.  libtraceevent accepts only
 * ASCII, so any other character is written as one question mark.
 */
static void write_quoted(struct writer *to, char c)
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
 * @how: the conversion in the marker's format
 * @value: the field that it prints
 * @star: if the width or the precision is written as a star, the field that gives it; else NULL
 * @prefix: "0x", "0X" or "", written as text in front of a number
 * @sign: '+' or ' ', printed in front of a number that is not negative, or NUL
 * @align: the flag "-" or "0", or ""
 * @alternate: true to write the flag #
 * @width: a number, FORMAT_NONE or FORMAT_FROM_ARGUMENT
 * @precision: a number, FORMAT_NONE or FORMAT_FROM_ARGUMENT
 *
 * Tracers print like the printf() of C, not like the kernel's.  For a conversion that it does not
 * support, libtraceevent of Debian 12 consumes no argument, and the next conversion prints that
 * argument.  It does not support %c, %td, the flags + and blank, and two stars in a conversion.
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
 * Where possible, write 0x as text instead of the flag #.  With this flag the kernel prints 0x also
 * in front of the number 0, but the printf() of C does not.
 */
static void set_prefix(struct conversion_text *conv)
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
 * kernel pads the number with zeros to the larger one; C pads it with zeros only to the precision.
 */
static void set_zeros(struct conversion_text *conv)
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

static void set_number(struct conversion_text *conv)
{
	conv->precision = conv->how.precision;
	if (!*conv->align && has_flag(conv, '0'))
		conv->align = "0";
	set_prefix(conv);
	set_zeros(conv);
	if (conv->width == FORMAT_NONE && strchr("di", conv->how.type))
		conv->sign = has_flag(conv, '+') ? '+' : has_flag(conv, ' ') ? ' ' : '\0';
	if (conv->width == FORMAT_FROM_ARGUMENT && conv->precision == FORMAT_FROM_ARGUMENT)
		conv->width = FORMAT_NONE;
}

/*
 * Fill in @conv for the conversion whose first field is @field.  Return the first field of the next
 * conversion.  A string is written without precision: its copy in the record has been cut already.
 */
static const struct layout_field *fill_conversion(struct conversion_text *conv,
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
		set_number(conv);
	conv->star = conv->width == FORMAT_FROM_ARGUMENT ? width :
		     conv->precision == FORMAT_FROM_ARGUMENT ? precision : NULL;
	return field + 1;
}

/* Write a width or a precision with the text @before in front, or nothing for FORMAT_NONE. */
static void write_size(struct writer *to, const char *before, int size)
{
	char digits[8];

	if (size == FORMAT_NONE)
		return;
	write_word(to, before);
	snprintf(digits, sizeof(digits), "%d", size);
	write_word(to, size == FORMAT_FROM_ARGUMENT ? "*" : digits);
}

static const char *length_modifier(unsigned int bytes)
{
	return bytes == 1 ? "hh" : bytes == 2 ? "h" : bytes == 4 ? "" : "l";
}

static void write_number(struct writer *to, const struct conversion_text *conv)
{
	if (conv->sign)
		write_word(to, "%s");
	write_word(to, conv->prefix);
	write_char(to, '%');
	if (conv->alternate)
		write_char(to, '#');
	write_word(to, conv->align);
	write_size(to, "", conv->width);
	write_size(to, ".", conv->precision);
	write_word(to, length_modifier(conv->how.bytes));
	write_char(to, conv->how.type);
}

/*
 * Write a pointer as a symbol or a number.  Tracers do not support the other forms of %p that the
 * kernel has, or they take the pointer for an address inside the record.
 */
static void write_pointer(struct writer *to, const struct conversion_text *conv)
{
	char kind = conv->how.pointer;

	write_word(to, "%p");
	if (kind)
		write_char(to, kind == 'B' ? 'S' : kind);
}

/* Write %s for a string, and also for %c: tracers print a field of one character by %s. */
static void write_string(struct writer *to, const struct conversion_text *conv)
{
	write_char(to, '%');
	write_word(to, conv->align);
	write_size(to, "", conv->width);
	write_char(to, 's');
}

/* Return true for six bytes with colons between them: tracers print no other array with colons. */
static bool is_mac(const struct conversion_text *conv)
{
	return conv->how.array == 6 && conv->how.separator == ':';
}

static void write_conversion(struct writer *to, const struct conversion_text *conv)
{
	if (is_mac(conv))
		write_word(to, "%pM");
	else if (conv->how.array)
		write_word(to, "%s");
	else if (conv->how.type == 'p')
		write_pointer(to, conv);
	else if (strchr("cs", conv->how.type))
		write_string(to, conv);
	else
		write_number(to, conv);
}

static void write_rec(struct writer *to, const char *before, const char *name, const char *behind)
{
	write_word(to, before);
	write_word(to, name);
	write_word(to, behind);
}

/*
 * Write the argument of a star.  It is the value of the star's field, if that is between 0 and 255;
 * otherwise it is 0 for a width, and 1 for a precision.
 */
static void write_star(struct writer *to, const struct conversion_text *conv)
{
	const char *name = conv->star->name;

	write_rec(to, ", (REC->", name, " & 0xffffff00)");
	write_rec(to, conv->precision == FORMAT_FROM_ARGUMENT ? " ? 1 : REC->" : " ? 0 : REC->",
		  name, "");
}

/*
 * Write the argument that prints + or a blank in front of a number: "" if the number is negative.
 */
static void write_sign(struct writer *to, const struct conversion_text *conv)
{
	char text[64];

	snprintf(text, sizeof(text), " & 0x%lx) ? \"\" : \"%c\"",
		 1UL << (conv->how.bytes * 8 - 1), conv->sign);
	write_rec(to, ", (REC->", conv->value->name, text);
}

static void write_array(struct writer *to, const struct conversion_text *conv)
{
	char bytes[8];

	snprintf(bytes, sizeof(bytes), ", %u)", conv->value->bytes);
	write_rec(to, conv->how.separator ? ", __print_hex(REC->" : ", __print_hex_str(REC->",
		  conv->value->name, bytes);
}

static void write_arguments(struct writer *to, const struct conversion_text *conv)
{
	if (conv->sign)
		write_sign(to, conv);
	if (conv->star)
		write_star(to, conv);
	if (conv->value->is_array && !is_mac(conv))
		write_array(to, conv);
	else if (conv->value->is_string)
		write_rec(to, ", __get_str(", conv->value->name, ")");
	else
		write_rec(to, ", REC->", conv->value->name, "");
}

typedef void conversion_writer(struct writer *to, const struct conversion_text *conv);

/* Call @write for each conversion of a format; if @with_text, also write the text between them. */
static void write_parts(struct writer *to, const struct record_layout *layout, const char *format,
			conversion_writer *write, bool with_text)
{
	const struct layout_field *field = layout->field;

	while (*format) {
		struct conversion_text conv = { };

		if (*format != '%') {
			if (with_text)
				write_quoted(to, *format);
			format++;
			continue;
		}
		format = kmarkers_format_read(format + 1, &conv.how);
		if (!format)
			return;
		if (conv.how.type != '%') {
			field = fill_conversion(&conv, field);
			write(to, &conv);
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

/* Return a print_fmt, which the caller frees by kfree(), or NULL if there is no memory. */
char *kmarkers_print_fmt(const struct record_layout *layout, const char *format)
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
