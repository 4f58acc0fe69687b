// SPDX-License-Identifier: GPL-2.0-only
/* The fields of a record, from the format of its marker. */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format.h"
#include "layout.h"
#include "print_fmt.h"

/* What tracers cannot take for the name of a field. */
static const char *const taken[] = {
	"auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double",
	"else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
	"restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
	"union", "unsigned", "void", "volatile", "while",
};

static bool begins_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word_part(char c)
{
	return begins_word(c) || (c >= '0' && c <= '9');
}

static bool is_free(const struct record_layout *layout, const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(taken); i++)
		if (!strcmp(name, taken[i]))
			return false;
	for (i = 0; i < layout->nr; i++)
		if (!strcmp(name, layout->field[i].name))
			return false;
	return strncmp(name, "common_", strlen("common_"));
}

/*
 * The word in front of a conversion, as in "sector %llu", "sector=%llu" and "sector: 0x%llx".
 * The text begins at @text and ends before @end.
 */
static void name_field(struct record_layout *layout, const char *text, const char *end)
{
	struct layout_field *field = &layout->field[layout->nr];
	const char *start;

	if (end - text >= 2 && end[-2] == '0' && end[-1] == 'x')
		end -= 2;
	while (end > text && strchr(" =:", end[-1]))
		end--;
	for (start = end; start > text && is_word_part(start[-1]); )
		start--;
	snprintf(field->name, sizeof(field->name), "%.*s", (int)(end - start), start);
	if (end - start < LAYOUT_NAME && begins_word(*start) && is_free(layout, field->name))
		return;
	snprintf(field->name, sizeof(field->name), "arg%u", layout->nr + 1);
}

static const char *number_type(unsigned int bytes, bool is_signed)
{
	switch (bytes) {
	case 1:
		return is_signed ? "signed char" : "unsigned char";
	case 2:
		return is_signed ? "short" : "unsigned short";
	case 4:
		return is_signed ? "int" : "unsigned int";
	default:
		return is_signed ? "long" : "unsigned long";
	}
}

static void set_number(struct layout_field *field, unsigned int bytes, bool is_signed)
{
	field->bytes = bytes;
	field->is_signed = is_signed;
	field->type = number_type(bytes, is_signed);
}

static void set_string(struct layout_field *field, const struct format_conversion *how,
		       unsigned int nr)
{
	field->bytes = sizeof(u32);
	field->is_string = true;
	field->type = "__data_loc char[]";
	field->most = how->precision == FORMAT_FROM_ARGUMENT ? LAYOUT_ENDLESS : how->precision;
	field->most_slot = how->precision == FORMAT_FROM_ARGUMENT ? nr : 0;
}

static void set_pointer(struct layout_field *field, unsigned int array)
{
	field->bytes = array ?: sizeof(void *);
	field->is_array = array;
	snprintf(field->array_type, sizeof(field->array_type), "u8[%u]", array);
	field->type = array ? field->array_type : "void *";
}

static void set_type(struct layout_field *field, const struct format_conversion *how,
		     unsigned int nr)
{
	switch (how->type) {
	case 'c':
		field->bytes = 1;
		field->type = "char";
		break;
	case 's':
		set_string(field, how, nr);
		break;
	case 'p':
		set_pointer(field, how->array);
		break;
	default:
		set_number(field, how->bytes, how->type == 'd' || how->type == 'i');
	}
}

/* What the offset of a field in a record is a multiple of. */
unsigned int marker_field_align(const struct layout_field *field)
{
	return field->is_array ? 1 : field->bytes;
}

/* Behind the fields that there are. */
static int place_field(struct record_layout *layout)
{
	struct layout_field *field = &layout->field[layout->nr];

	if (layout->nr == MARKER_MAX_ARGS)
		return -E2BIG;
	layout->bytes = ALIGN(layout->bytes, marker_field_align(field));
	field->offset = layout->bytes;
	layout->bytes += field->bytes;
	layout->nr++;
	return 0;
}

/* A width or a precision that is an argument. */
static int add_star(struct record_layout *layout)
{
	struct layout_field *field = &layout->field[layout->nr];

	set_number(field, sizeof(int), true);
	snprintf(field->name, sizeof(field->name), "arg%u", layout->nr + 1);
	return place_field(layout);
}

static int add_conversion(struct record_layout *layout, const struct format_conversion *how,
			  const char *text, const char *percent)
{
	int err = 0;

	if (how->type == '%')
		return 0;
	if (how->width == FORMAT_FROM_ARGUMENT)
		err = add_star(layout);
	if (!err && how->precision == FORMAT_FROM_ARGUMENT)
		err = add_star(layout);
	if (err)
		return err;
	name_field(layout, text, percent);
	set_type(&layout->field[layout->nr], how, layout->nr);
	return place_field(layout);
}

static int add_fields(struct record_layout *layout, const char *format)
{
	struct format_conversion how;
	const char *percent;
	int err = 0;

	while (!err && (percent = strchr(format, '%'))) {
		const char *next = marker_format_read(percent + 1, &how);

		if (!next)
			return -EINVAL;
		err = add_conversion(layout, &how, format, percent);
		format = next;
	}
	return err;
}

/* At least as many as the format has arguments, and not many more than an event takes. */
static unsigned int most_fields(const char *format)
{
	unsigned int nr = 0;

	for (; *format && nr <= MARKER_MAX_ARGS; format++)
		nr += *format == '%' || *format == '*';
	return nr;
}

/**
 * marker_layout_make() - lay out the records of a marker
 * @format: the marker's format
 * @head: bytes in front of the first field
 *
 * Context: may sleep.
 * Return: the layout; or ERR_PTR(): -EINVAL for a format that marker_format_check() refuses,
 * -E2BIG for more than MARKER_MAX_ARGS arguments or LAYOUT_RECORD bytes, -ENOMEM.
 */
struct record_layout *marker_layout_make(const char *format, unsigned int head)
{
	struct record_layout *layout;
	int err;

	layout = kzalloc(sizeof(*layout) + most_fields(format) * sizeof(layout->field[0]),
			 GFP_KERNEL);
	if (!layout)
		return ERR_PTR(-ENOMEM);
	layout->bytes = head;
	err = add_fields(layout, format);
	/* Each string has room for its NUL at least. */
	if (!err && layout->bytes + layout->nr > LAYOUT_RECORD)
		err = -E2BIG;
	if (!err)
		layout->print_fmt = marker_print_fmt(layout, format);
	if (!err && !layout->print_fmt)
		err = -ENOMEM;
	if (!err)
		return layout;
	kfree(layout);
	return ERR_PTR(err);
}

void marker_layout_free(struct record_layout *layout)
{
	kfree(layout->print_fmt);
	kfree(layout);
}
