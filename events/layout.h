/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layout of the records of trace events, and conversion of arguments to and from them.
 *
 * Outside a record, each argument is in a slot of eight bytes.  In a record, a number takes as many
 * bytes as its type.  An array of fixed length is copied into its field; if the array cannot be
 * read, the field is filled with zeros.  A string is copied behind all fields.  The field of a
 * string is a word of four bytes: bits 0 to 15 are the offset of the string in the record, bits 16
 * to 31 the size of the string in bytes, with its NUL.
 */
#ifndef EVENTS_LAYOUT_H
#define EVENTS_LAYOUT_H

#include <linux/types.h>

#include <kmarkers/arguments.h>

#define LAYOUT_NAME	32	/* size of a field's name with its NUL, in bytes */
#define LAYOUT_STRING	512	/* size of the longest string with its NUL, in bytes */
#define LAYOUT_RECORD	1536	/* size of the longest record, in bytes */
#define LAYOUT_ENDLESS	-1	/* the conversion of a string gives no maximum length */

/**
 * struct layout_field - the field of an argument in a record
 * @name: name of the field: the word in front of the conversion in the format, or arg1, arg2, ...
 * @type: C type of the field, or __data_loc char[] for a string
 * @bytes: size of the field, in bytes
 * @offset: offset of the field in the record, in bytes
 * @is_signed: true for a signed number
 * @is_string: true if the argument is the address of a string
 * @is_array: true if the argument is the address of an array, which is copied into the record
 * @array_type: buffer for the text of @type if the field is an array, such as u8[6]
 * @most: maximum number of characters of a string, or LAYOUT_ENDLESS
 * @most_slot: number, counted from 1, of the argument that gives the maximum number of characters
 *	of a string; 0 if @most is this maximum
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
 * struct record_layout - the fields of a marker's records
 * @print_fmt: the print_fmt of the trace event: how tracers in user space print a record
 * @bytes: size of a record without the copied strings, in bytes
 * @nr: number of fields
 * @field: the fields
 */
struct record_layout {
	char *print_fmt;
	unsigned int bytes;
	unsigned int nr;
	struct layout_field field[];
};

struct record_layout *kmarkers_layout_make(const char *format, unsigned int header_bytes);
void kmarkers_layout_free(struct record_layout *layout);

unsigned int kmarkers_layout_compute_size(const struct record_layout *layout,
					  const unsigned long *slots, u16 *lengths);
void kmarkers_layout_write_record(const struct record_layout *layout, void *record,
				  const unsigned long *slots, const u16 *lengths);
unsigned int kmarkers_field_get_alignment(const struct layout_field *field);
bool kmarkers_layout_read_record(const struct record_layout *layout, const void *record,
				 unsigned int bytes, unsigned long *slots);

#endif /* EVENTS_LAYOUT_H */
