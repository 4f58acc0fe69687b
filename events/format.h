/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checking and printing formats of markers, one conversion at a time.
 *
 * Formats and arguments come from code that is not trusted.  So each conversion, such as %llu, is
 * parsed.  The argument of the conversion is fetched with the type that the conversion gives, and
 * printed with a newly made format.  Strings are copied with copy_from_kernel_nofault().  A
 * conversion that cannot be parsed ends the text.
 */
#ifndef EVENTS_FORMAT_H
#define EVENTS_FORMAT_H

#include <linux/kernel.h>
#include <linux/types.h>

#define FORMAT_ARRAY	64	/* maximum number of bytes that %ph prints, as in printk */
#define FORMAT_NONE		-1
#define FORMAT_FROM_ARGUMENT	-2

/**
 * struct format_conversion - a parsed conversion of a format
 * @flags: the flag characters, each once, with a NUL behind them
 * @width: minimum number of characters, FORMAT_NONE, or FORMAT_FROM_ARGUMENT for a *
 * @precision: the precision, FORMAT_NONE, or FORMAT_FROM_ARGUMENT for a *
 * @bytes: size of the integer argument, in bytes
 * @type: the conversion character
 * @pointer: for %ps, %pS and %pB the letter behind the p, else NUL
 * @array: number of bytes that %pM, %pm, or %ph with a width prints, else 0
 * @separator: character that is printed between the bytes of @array, or NUL for none
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

const char *kmarkers_format_parse_conversion(const char *at, struct format_conversion *conversion);
unsigned int kmarkers_format_print(char *text, unsigned int size, const char *format,
				   const unsigned long *slots);

#endif /* EVENTS_FORMAT_H */
