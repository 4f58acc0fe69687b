/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_NATIVE_MAPPINGS_H
#define TESTS_NATIVE_MAPPINGS_H

/*
 * Return the number of writable mappings that are also executable, or that map the program's text.
 * Return -1 if the mappings cannot be read.  @in_text is an address in the text.
 */
int count_bad_mappings(const void *in_text);

/* Return the number of mappings, or -1 if the mappings cannot be read. */
int count_mappings(void);

#endif /* TESTS_NATIVE_MAPPINGS_H */
