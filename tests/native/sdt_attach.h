/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of sdt_attach.c: memory for the handlers of SDT sites. */
#ifndef TESTS_NATIVE_SDT_ATTACH_H
#define TESTS_NATIVE_SDT_ATTACH_H

#include "../common/test.h"

extern const struct test_case sdt_attach_cases[];
extern const unsigned int sdt_attach_nr_cases;

#endif /* TESTS_NATIVE_SDT_ATTACH_H */
