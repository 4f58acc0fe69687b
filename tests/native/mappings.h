/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_NATIVE_MAPPINGS_H
#define TESTS_NATIVE_MAPPINGS_H

/*
 * How many mappings can be written and are of the program's text, or can be
 * written and executed; -1 if that cannot be found out.
 */
int bad_mappings(const void *in_text);

#endif /* TESTS_NATIVE_MAPPINGS_H */
