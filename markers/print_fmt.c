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

/* As it has to stand between quotes. */
static void write_quoted(struct writer *to, char c)
{
	static const char plain[] = "\"\\\n\t\r", letters[] = "\"\\ntr";
	const char *found = strchr(plain, c);

	if (found) {
		write_char(to, '\\');
		c = letters[found - plain];
	}
	write_char(to, c);
}

/* Of a pointer only how it is printed as a symbol: tracers know no more, or take it for an address. */
static void write_conversion(struct writer *to, const struct format_conversion *how,
			     const char *percent, const char *next)
{
	if (how->array) {
		write_word(to, "%s");
		return;
	}
	if (how->type != 'p') {
		while (percent < next)
			write_char(to, *percent++);
		return;
	}
	write_word(to, "%p");
	if (how->pointer)
		write_char(to, how->pointer == 'B' ? 'S' : how->pointer);
}

static void write_format(struct writer *to, const char *format)
{
	struct format_conversion how;
	const char *next;

	while (*format) {
		if (*format != '%') {
			write_quoted(to, *format++);
			continue;
		}
		next = marker_format_read(format + 1, &how);
		if (!next)
			return;
		write_conversion(to, &how, format, next);
		format = next;
	}
}

static void write_field(struct writer *to, const struct layout_field *field)
{
	char bytes[8];

	write_word(to, field->is_string ? ", __get_str(" : field->is_array ? ", __print_hex(REC->" :
		   ", REC->");
	write_word(to, field->name);
	snprintf(bytes, sizeof(bytes), ", %u", field->bytes);
	if (field->is_array)
		write_word(to, bytes);
	if (field->is_string || field->is_array)
		write_char(to, ')');
}

static void write_all(struct writer *to, const struct record_layout *layout, const char *format)
{
	unsigned int i;

	write_char(to, '"');
	write_format(to, format);
	write_char(to, '"');
	for (i = 0; i < layout->nr; i++)
		write_field(to, &layout->field[i]);
	write_char(to, '\0');
}

/* To be freed by kfree(); NULL without memory. */
char *marker_print_fmt(const struct record_layout *layout, const char *format)
{
	struct writer to = { NULL, 0, 0 };

	write_all(&to, layout, format);
	to.text = kzalloc(to.nr, GFP_KERNEL);
	if (!to.text)
		return NULL;
	to.room = to.nr;
	to.nr = 0;
	write_all(&to, layout, format);
	return to.text;
}
