/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checking and printing formats of markers, one conversion at a time.
 *
 * A format and its arguments come from other people's code and are not trusted: each
 * conversion is parsed, its argument is fetched with the type that it names, and
 * printed with a new format for this one; strings are copied with copy_from_kernel_nofault().
 * A conversion that cannot be parsed ends the text.
 */
#ifndef EVENTS_FORMAT_H
#define EVENTS_FORMAT_H

#include <linux/kernel.h>
#include <linux/types.h>

#define FORMAT_ARRAY	64	/* the longest array in bytes, as in the kernel's printf */
#define FORMAT_NONE		-1
#define FORMAT_FROM_ARGUMENT	-2

/**
 * struct format_conversion - a parsed conversion of a format
 * @flags: the flag characters, each once, with a NUL behind them
 * @width: a number, FORMAT_NONE or FORMAT_FROM_ARGUMENT
 * @precision: a number, FORMAT_NONE or FORMAT_FROM_ARGUMENT
 * @bytes: size of the integer argument, in bytes
 * @type: the conversion character
 * @pointer: the s, S or B behind a %p that prints a symbol, else NUL
 * @array: number of bytes that a %pM, %pm or, with a width, %ph prints, else 0
 * @separator: character that is printed between these bytes, or NUL for none
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

const char *kmarkers_format_read(const char *at, struct format_conversion *conversion);
int kmarkers_format_check(const char *format);
unsigned int kmarkers_format_print(char *text, unsigned int size, const char *format, va_list *args);
unsigned int kmarkers_format_print_slots(char *text, unsigned int size, const char *format,
				       const unsigned long *slots);

#endif /* EVENTS_FORMAT_H */
