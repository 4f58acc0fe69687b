/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Formats of markers, read one conversion at a time.
 *
 * A format and its arguments come from other people's code.  Nothing in them is
 * trusted: each conversion is taken apart, its argument fetched with the type
 * that it names, and printed with a format of our own; strings are copied with
 * the kernel's fault-proof copy.  What cannot be understood ends the text.
 */
#ifndef MARKERS_FORMAT_H
#define MARKERS_FORMAT_H

#include <linux/kernel.h>
#include <linux/types.h>

int marker_format_check(const char *format);
unsigned int marker_format_print(char *text, unsigned int size, const char *format, va_list *args);

#endif /* MARKERS_FORMAT_H */
