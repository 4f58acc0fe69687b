/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checking and printing formats of markers, one conversion at a time.
 *
 * Formats and arguments come from code that is not trusted.  So each conversion is parsed, and
 * its argument is fetched with the type that the conversion gives and printed with a newly made
 * format.  Strings are copied with copy_from_kernel_nofault().  A conversion that cannot be parsed
 * ends the text.
 */
#ifndef EVENTS_FORMAT_H
#define EVENTS_FORMAT_H

#include <linux/kernel.h>
#include <linux/types.h>

#define FORMAT_ARRAY	64	/* maximum size of an array in bytes, as in the kernel's printf */
#define FORMAT_NONE		-1
#define FORMAT_FROM_ARGUMENT	-2

/**
 * struct format_conversion - a parsed conversion of a format
 * @flags: the flag characters, each once, with a NUL behind them
 * @width: a number, FORMAT_NONE or FORMAT_FROM_ARGUMENT
 * @precision: a number, FORMAT_NONE or FORMAT_FROM_ARGUMENT
 * @bytes: size of the integer argument, in bytes
 * @type: the conversion character
 * @pointer: for %ps, %pS and %pB the letter behind the p, else NUL
 * @array: number of bytes that %pM, %pm, or %ph with a width prints, else 0
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
unsigned int kmarkers_format_print(char *text, unsigned int size, const char *format,
				   const unsigned long *slots);

#endif /* EVENTS_FORMAT_H */
