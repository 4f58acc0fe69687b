/* SPDX-License-Identifier: GPL-2.0-only */
/* Parsing of a line that is in memory already. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <linux/types.h>

int kmarkers_end_line(char *text, size_t count);

#endif /* BASE_WORDS_H */
