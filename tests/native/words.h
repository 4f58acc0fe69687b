/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of words.c: the parser of text that is written to control files. */
#ifndef TESTS_NATIVE_WORDS_H
#define TESTS_NATIVE_WORDS_H

#include "../common/test.h"

extern const struct test_case words_cases[];
extern const unsigned int words_nr_cases;

#endif /* TESTS_NATIVE_WORDS_H */
