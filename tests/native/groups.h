/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of groups.c: benchmark groups. */
#ifndef TESTS_NATIVE_GROUPS_H
#define TESTS_NATIVE_GROUPS_H

#include "../common/test.h"

extern const struct test_case group_cases[];
extern const unsigned int group_nr_cases;

#endif /* TESTS_NATIVE_GROUPS_H */
