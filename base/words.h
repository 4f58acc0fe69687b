/* SPDX-License-Identifier: GPL-2.0-only */
/* Remove the newline at the end of a line that is already in memory. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <linux/types.h>

int kmarkers_strip_newline(char *text, size_t count);

#endif /* BASE_WORDS_H */
