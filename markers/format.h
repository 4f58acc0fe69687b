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

int marker_format_check(const char *format);
unsigned int marker_format_print(char *text, unsigned int size, const char *format, va_list *args);

#endif /* MARKERS_FORMAT_H */
