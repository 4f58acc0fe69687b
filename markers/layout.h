/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layout of the records of trace events, and conversion of arguments to and from them.
 *
 * An argument is kept in a slot of eight bytes.  A number has as many bytes in the record as its
 * type.  An array of fixed length is copied; one that cannot be read becomes zeros.  A
 * string is copied behind the numbers, where a word of four bytes in the place of its
 * field tells: its offset, and above bit 16 its bytes with the NUL at its end.
 */
#ifndef MARKERS_LAYOUT_H
#define MARKERS_LAYOUT_H

#include <linux/types.h>

#include <kmarkers/arguments.h>

#define LAYOUT_NAME	32
#define LAYOUT_STRING	512	/* the longest string, with its NUL */
#define LAYOUT_RECORD	1536	/* the longest record */
#define LAYOUT_ENDLESS	-1

/**
 * struct layout_field - an argument
 * @name: from the format, or arg1, arg2, ...
 * @type: as C and the tracers call it
 * @bytes: in the record
 * @offset: in the record
 * @is_signed: can the number be negative?
 * @is_string: is it an address of characters?
 * @is_array: is it an address of bytes, which are copied into the record?
 * @array_type: its @type
 * @most: how many characters the format asks for at most, or LAYOUT_ENDLESS
 * @most_slot: in which slot that stands, counted from 1; 0 for none
 */
struct layout_field {
	char name[LAYOUT_NAME];
	const char *type;
	u8 bytes;
	u16 offset;
	bool is_signed;
	bool is_string;
	bool is_array;
	char array_type[8];
	short most;
	u8 most_slot;
};

/**
 * struct record_layout - all arguments of a marker
 * @print_fmt: how tracers print a record, in their language
 * @bytes: of a record without what strings hold
 * @nr: how many fields
 * @field: the fields
 */
struct record_layout {
	char *print_fmt;
	unsigned int bytes;
	unsigned int nr;
	struct layout_field field[];
};

struct record_layout *marker_layout_make(const char *format, unsigned int head);
void marker_layout_free(struct record_layout *layout);

unsigned int marker_layout_measure(const struct record_layout *layout, const unsigned long *slots,
				   u16 *lengths);
void marker_layout_fill(const struct record_layout *layout, void *record,
			const unsigned long *slots, const u16 *lengths);
unsigned int marker_field_align(const struct layout_field *field);
bool marker_layout_read(const struct record_layout *layout, const void *record,
			unsigned int bytes, unsigned long *slots);

#endif /* MARKERS_LAYOUT_H */
