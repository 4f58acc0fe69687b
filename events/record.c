// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert the arguments of a hit to a trace record, and a trace record back to arguments.  Records
 * are written in the context of the hit, which may be an NMI.
 */
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "layout.h"

#define OFFSET_BITS	16

static const char null[] = "(null)", fault[] = "(fault)";

/*
 * Return the string at the address @slot; or "(null)" if @slot is 0; or "(fault)" if the string
 * cannot be read.  If @max_len, the maximum length, is 0, do not try to read the string.
 */
static const char *get_readable_string(unsigned long slot, unsigned int max_len)
{
	const char *string = (const char *)slot;
	char c;

	if (!string)
		return null;
	return max_len && copy_from_kernel_nofault(&c, string, 1) ? fault : string;
}

/* Return the length of a string.  The returned length is at most @max_len, and less than @size. */
static unsigned int count_string_chars(const char *string, unsigned int max_len, unsigned int size)
{
	unsigned int nr = 0;
	char c;

	while (nr < max_len && nr + 1 < size && !copy_from_kernel_nofault(&c, string + nr, 1) && c)
		nr++;
	return nr;
}

static unsigned int get_max_string_length(const struct layout_field *field,
					  const unsigned long *slots)
{
	int most = field->most_slot ? (int)slots[field->most_slot - 1] : field->most;

	return most < 0 ? LAYOUT_STRING : most;
}

static unsigned int compute_string_size(const struct layout_field *field,
					const unsigned long *slots, unsigned int index,
					unsigned int max_bytes)
{
	unsigned int size = max_bytes < LAYOUT_STRING ? max_bytes : LAYOUT_STRING;
	unsigned int most = get_max_string_length(field, slots);

	return count_string_chars(get_readable_string(slots[index], most), most, size) + 1;
}

/**
 * kmarkers_layout_compute_size() - compute the size of a record
 * @layout: the fields of the record
 * @slots: the arguments
 * @lengths: for each field that is a string, set to the size of the string with its NUL, in bytes
 *
 * A string whose address cannot be read is recorded as "(fault)".
 *
 * Context: any, NMI included.
 * Return: the size in bytes, at most LAYOUT_RECORD.
 */
unsigned int kmarkers_layout_compute_size(const struct record_layout *layout,
					  const unsigned long *slots, u16 *lengths)
{
	/* Keep at least one byte free for the NUL of each string that follows. */
	unsigned int i, bytes = layout->bytes, later = layout->nr;

	for (i = 0; i < layout->nr; i++) {
		if (!layout->field[i].is_string)
			continue;
		later--;
		lengths[i] = compute_string_size(&layout->field[i], slots, i,
						 LAYOUT_RECORD - bytes - later);
		bytes += lengths[i];
	}
	return bytes;
}

/*
 * Copy a string of at most @length - 1 characters and fill the rest with zeros.  The string may
 * have changed since its length was computed.
 */
static void copy_string(char *to, unsigned long slot, unsigned int length)
{
	const char *string = get_readable_string(slot, length - 1);
	unsigned int i = 0;

	while (i + 1 < length && !copy_from_kernel_nofault(to + i, string + i, 1) && to[i])
		i++;
	memset(to + i, 0, length - i);
}

static void copy_array_or_zero(void *to, unsigned long slot, unsigned int bytes)
{
	if (copy_from_kernel_nofault(to, (const void *)slot, bytes))
		memset(to, 0, bytes);
}

static void store_number(void *to, unsigned long value, unsigned int bytes)
{
	switch (bytes) {
	case 1:
		*(u8 *)to = value;
		break;
	case 2:
		*(u16 *)to = value;
		break;
	case 4:
		*(u32 *)to = value;
		break;
	default:
		*(u64 *)to = value;
	}
}

/**
 * kmarkers_layout_write_record() - write the fields of a record
 * @layout: the fields of the record
 * @record: the record, of the size that kmarkers_layout_compute_size() returned; the bytes in front
 *	of the first field are not changed
 * @slots: the arguments
 * @lengths: sizes of the strings in bytes, from kmarkers_layout_compute_size()
 *
 * Context: any, NMI included.
 */
void kmarkers_layout_write_record(const struct record_layout *layout, void *record,
				  const unsigned long *slots, const u16 *lengths)
{
	unsigned int i, end = layout->bytes;

	for (i = 0; i < layout->nr; i++) {
		const struct layout_field *field = &layout->field[i];
		unsigned long value = slots[i];

		if (field->is_array) {
			copy_array_or_zero(record + field->offset, value, field->bytes);
			continue;
		}
		if (field->is_string) {
			copy_string(record + end, value, lengths[i]);
			value = end | (unsigned long)lengths[i] << OFFSET_BITS;
			end += lengths[i];
		}
		store_number(record + field->offset, value, field->bytes);
	}
}

static unsigned long load_field_value(const void *from, const struct layout_field *field)
{
	if (field->is_array)
		return (unsigned long)from;
	switch (field->bytes) {
	case 1:
		return field->is_signed ? *(s8 *)from : *(u8 *)from;
	case 2:
		return field->is_signed ? *(s16 *)from : *(u16 *)from;
	case 4:
		return field->is_signed ? *(s32 *)from : *(u32 *)from;
	default:
		return *(u64 *)from;
	}
}

/*
 * Return the address of a string in a record of @bytes bytes, or NULL if the string does not end
 * inside the record.  @word is the value of the string's field: the offset and size of the string.
 */
static const char *find_string_in_record(const void *record, unsigned int bytes, unsigned long word)
{
	unsigned int offset = word & ((1UL << OFFSET_BITS) - 1), length = word >> OFFSET_BITS;
	const char *string = record + offset;

	if (!length || offset + length > bytes || string[length - 1])
		return NULL;
	return string;
}

/**
 * kmarkers_layout_read_record() - get the arguments out of a record
 * @layout: the fields of the record
 * @record: the record
 * @bytes: size of the record, or LAYOUT_RECORD if it is not known
 * @slots: set to the arguments; for a string or an array, to the address of its copy in the record
 *
 * Context: any.
 * Return: true; or false if the record cannot have this layout, because the record is too short or
 * a string does not end inside the record.
 */
bool kmarkers_layout_read_record(const struct record_layout *layout, const void *record,
				 unsigned int bytes, unsigned long *slots)
{
	unsigned int i;

	if (bytes < layout->bytes)
		return false;
	for (i = 0; i < layout->nr; i++) {
		const struct layout_field *field = &layout->field[i];

		slots[i] = load_field_value(record + field->offset, field);
		if (!field->is_string)
			continue;
		slots[i] = (unsigned long)find_string_in_record(record, bytes, slots[i]);
		if (!slots[i])
			return false;
	}
	return true;
}
