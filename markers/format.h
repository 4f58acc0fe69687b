/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checking and printing formats of markers, one conversion at a time.
 *
 * A format and its arguments come from other people's code and are not trusted: each
 * conversion is parsed, its argument is fetched with the type that it names, and
 * printed with a format of our own; strings are copied with copy_from_kernel_nofault().
 * A conversion that cannot be parsed ends the text.
 */
#ifndef MARKERS_FORMAT_H
#define MARKERS_FORMAT_H

#include <linux/kernel.h>
#include <linux/types.h>

#define FORMAT_ARRAY	64	/* the longest array, as in the kernel's printf */
#define FORMAT_NONE		-1
#define FORMAT_FROM_ARGUMENT	-2

/**
 * struct format_conversion - one % of a format, taken apart
 * @flags: as written; ends with NUL
 * @width: a number, FORMAT_NONE or FORMAT_FROM_ARGUMENT
 * @precision: the same
 * @bytes: size of the integer argument
 * @type: the conversion character
 * @pointer: how a %p goes on if that asks for a symbol, else NUL
 * @array: how many bytes a %pM or, with a width, a %ph prints, else 0
 * @separator: what stands between these, or NUL
 */
struct format_conversion {
	char flags[6];
	int width;
	int precision;
	unsigned int bytes;
	char type;
	char pointer;
	u8 array;
	char separator;
};

const char *marker_format_read(const char *at, struct format_conversion *conversion);
int marker_format_check(const char *format);
unsigned int marker_format_print(char *text, unsigned int size, const char *format, va_list *args);
unsigned int marker_format_print_slots(char *text, unsigned int size, const char *format,
				       const unsigned long *slots);

#endif /* MARKERS_FORMAT_H */
