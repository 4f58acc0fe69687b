/* SPDX-License-Identifier: GPL-2.0-only */
/* Parse numbers of the command line. */
#ifndef NATIVE_NUMBER_H
#define NATIVE_NUMBER_H

#include <stdbool.h>

#include <linux/types.h>

/*
 * Set @value to the decimal number in @text.  If @text is no whole number from @low to @high, print
 * a message about @name, such as the name of an option, and return false.
 */
bool native_parse_number(const char *name, const char *text, u64 low, u64 high, u64 *value);

#endif /* NATIVE_NUMBER_H */
