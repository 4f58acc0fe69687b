// SPDX-License-Identifier: GPL-2.0-only
/* Compute the names, types and offsets of a record's fields from the format of the marker. */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format.h"
#include "layout.h"
#include "print_fmt.h"

/*
 * Words that no field may have as its name: keywords of C, and macros that bpftrace defines.
 * bpftrace turns an event into a C struct with the same fields.
 */
static const char *const taken[] = {
	"NULL", "alignas", "alignof", "asm", "auto", "bool", "break", "case", "char", "const",
	"constexpr", "continue", "default", "do", "double", "else", "enum", "extern", "false",
	"float", "for", "goto", "if", "inline", "int", "linux", "long", "nullptr", "register",
	"restrict", "return", "short", "signed", "sizeof", "static", "static_assert", "struct",
	"switch", "thread_local", "true", "typedef", "typeof", "typeof_unqual", "union", "unix",
	"unroll", "unsigned", "void", "volatile", "while",
};

static bool is_word_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/*
 * Return true for a character of a word.  The bytes of a UTF-8 character count as letters;
 * otherwise the ASCII letters behind such a character would be parsed as a separate word.
 */
static bool is_word_char(char c)
{
	return is_word_start(c) || (c >= '0' && c <= '9') || (u8)c >= 0x80;
}

/*
 * Return true for a name that no field may have: a word in @taken, a name that begins with common_
 * (as the trace core's fields do), or a name that C reserves (it begins with two underscores, or
 * with an underscore and a capital letter).
 */
static bool is_reserved_field_name(const char *name)
{
	unsigned int i;

	if (name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z')))
		return true;
	for (i = 0; i < ARRAY_SIZE(taken); i++)
		if (!strcmp(name, taken[i]))
			return true;
	return !strncmp(name, "common_", strlen("common_"));
}

static bool is_valid_field_name(const char *name)
{
	if (!is_word_start(*name) || is_reserved_field_name(name))
		return false;
	while (*name && is_word_char(*name) && (u8)*name < 0x80)
		name++;
	return !*name;
}

/*
 * Return another field that is one of the first @nr fields and has the same name as @field, or
 * NULL.
 */
static struct layout_field *find_field_of_same_name(struct record_layout *layout,
						    const struct layout_field *field,
						    unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (&layout->field[i] != field && !strcmp(layout->field[i].name, field->name))
			return &layout->field[i];
	return NULL;
}

static const char *skip_separators_back(const char *text, const char *end)
{
	while (end > text && strchr(" =:", end[-1]))
		end--;
	return end;
}

static const char *find_word_start(const char *text, const char *end)
{
	while (end > text && is_word_char(end[-1]))
		end--;
	return end;
}

/*
 * Set the name of a field to the word in front of its conversion: "sector" for "sector %llu",
 * "sector=%llu" and "sector: 0x%llx".  A # with letters is skipped, because these letters name the
 * type that LTTng stored: "ip #p%ld" gives "ip".  The text in front of the conversion begins at
 * @text and ends before @end.  If this text has no usable word, the name stays empty.
 */
static void set_field_name(struct record_layout *layout, const char *text, const char *end)
{
	struct layout_field *field = &layout->field[layout->nr];
	const char *start = find_word_start(text, end);

	if (start > text && start[-1] == '#')
		end = start - 1;
	else if (end - text >= 2 && end[-2] == '0' && end[-1] == 'x')
		end -= 2;
	end = skip_separators_back(text, end);
	start = find_word_start(text, end);
	if (end - start >= LAYOUT_NAME)
		return;
	snprintf(field->name, sizeof(field->name), "%.*s", (int)(end - start), start);
	if (!is_valid_field_name(field->name) || find_field_of_same_name(layout, field, layout->nr))
		field->name[0] = '\0';
}

/*
 * Name each field that has no name after its position: arg1, arg2, ... If the format gives this
 * name to another field, name the other field after its position, too.
 */
static void name_unnamed_fields(struct record_layout *layout)
{
	unsigned int i = 0;

	while (i < layout->nr) {
		struct layout_field *field = &layout->field[i++], *same;

		if (field->name[0])
			continue;
		snprintf(field->name, sizeof(field->name), "arg%u", i);
		same = find_field_of_same_name(layout, field, layout->nr);
		if (!same)
			continue;
		same->name[0] = '\0';
		if (same < field)
			i = same - layout->field;
	}
}

static const char *get_number_type(unsigned int bytes, bool is_signed)
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

static void set_number_type(struct layout_field *field, unsigned int bytes, bool is_signed)
{
	field->bytes = bytes;
	field->is_signed = is_signed;
	field->type = get_number_type(bytes, is_signed);
}

static void set_string_type(struct layout_field *field, const struct format_conversion *conv,
			    unsigned int fields_before)
{
	field->bytes = sizeof(u32);
	field->is_string = true;
	field->type = "__data_loc char[]";
	field->most = conv->precision == FORMAT_FROM_ARGUMENT ? LAYOUT_ENDLESS : conv->precision;
	field->most_slot = conv->precision == FORMAT_FROM_ARGUMENT ? fields_before : 0;
}

static void set_pointer_type(struct layout_field *field, unsigned int array_bytes)
{
	field->bytes = array_bytes ?: sizeof(void *);
	field->is_array = array_bytes;
	snprintf(field->array_type, sizeof(field->array_type), "u8[%u]", array_bytes);
	field->type = array_bytes ? field->array_type : "void *";
}

static void set_field_type(struct layout_field *field, const struct format_conversion *conv,
			   unsigned int fields_before)
{
	switch (conv->type) {
	case 'c':
		field->bytes = 1;
		field->is_signed = true;
		field->type = "char";
		break;
	case 's':
		set_string_type(field, conv, fields_before);
		break;
	case 'p':
		set_pointer_type(field, conv->array);
		break;
	default:
		set_number_type(field, conv->bytes, conv->type == 'd' || conv->type == 'i');
	}
}

/* Return the alignment of a field, in bytes. */
unsigned int kmarkers_field_get_alignment(const struct layout_field *field)
{
	return field->is_array ? 1 : field->bytes;
}

/*
 * Append the field whose name and type the caller has set in layout->field[layout->nr].  Set the
 * offset of the field, and increment the number of fields.  Return 0 or -E2BIG.
 */
static int append_field(struct record_layout *layout)
{
	struct layout_field *field = &layout->field[layout->nr];

	if (layout->nr == MARKER_MAX_ARGS)
		return -E2BIG;
	layout->bytes = ALIGN(layout->bytes, kmarkers_field_get_alignment(field));
	field->offset = layout->bytes;
	layout->bytes += field->bytes;
	layout->nr++;
	return 0;
}

/* Add an int field for a width or a precision that is an argument (* in the format). */
static int add_width_or_precision_field(struct record_layout *layout)
{
	struct layout_field *field = &layout->field[layout->nr];

	set_number_type(field, sizeof(int), true);
	return append_field(layout);
}

static int add_conversion_fields(struct record_layout *layout, const struct format_conversion *conv,
				 const char *text, const char *percent)
{
	int err = 0;

	if (conv->type == '%')
		return 0;
	if (conv->width == FORMAT_FROM_ARGUMENT)
		err = add_width_or_precision_field(layout);
	if (!err && conv->precision == FORMAT_FROM_ARGUMENT)
		err = add_width_or_precision_field(layout);
	if (err)
		return err;
	set_field_name(layout, text, percent);
	set_field_type(&layout->field[layout->nr], conv, layout->nr);
	return append_field(layout);
}

static int add_format_fields(struct record_layout *layout, const char *format)
{
	struct format_conversion conv;
	const char *percent;
	int err = 0;

	while (!err && (percent = strchr(format, '%'))) {
		const char *next = kmarkers_format_parse_conversion(percent + 1, &conv);

		if (!next)
			return -EINVAL;
		err = add_conversion_fields(layout, &conv, format, percent);
		format = next;
	}
	name_unnamed_fields(layout);
	return err;
}

/* Return an upper bound for the number of fields in a format, at most MARKER_MAX_ARGS + 1. */
static unsigned int compute_max_field_count(const char *format)
{
	unsigned int nr = 0;

	for (; *format && nr <= MARKER_MAX_ARGS; format++)
		nr += *format == '%' || *format == '*';
	return nr;
}

/**
 * kmarkers_layout_make() - compute the layout (the fields and their offsets) of a marker's records
 * @format: the marker's format
 * @header_bytes: number of bytes in front of the first field
 *
 * Context: may sleep.
 * Return: the layout; or ERR_PTR(): -EINVAL for a format that kmarkers_format_parse_conversion()
 * refuses, -E2BIG for more than MARKER_MAX_ARGS arguments or LAYOUT_RECORD bytes, -ENOMEM.
 */
struct record_layout *kmarkers_layout_make(const char *format, unsigned int header_bytes)
{
	struct record_layout *layout;
	int err;

	layout = kzalloc(sizeof(*layout) +
			 compute_max_field_count(format) * sizeof(layout->field[0]), GFP_KERNEL);
	if (!layout)
		return ERR_PTR(-ENOMEM);
	layout->bytes = header_bytes;
	err = add_format_fields(layout, format);
	/* Each field may be a string, which needs at least one byte in the record, for its NUL. */
	if (!err && layout->bytes + layout->nr > LAYOUT_RECORD)
		err = -E2BIG;
	if (!err)
		layout->print_fmt = kmarkers_make_print_fmt(layout, format);
	if (!err && !layout->print_fmt)
		err = -ENOMEM;
	if (!err)
		return layout;
	kfree(layout);
	return ERR_PTR(err);
}

void kmarkers_layout_free(struct record_layout *layout)
{
	kfree(layout->print_fmt);
	kfree(layout);
}
