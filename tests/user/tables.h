/* SPDX-License-Identifier: GPL-2.0-only */
/* Cases for tables that no compiler made. */
#ifndef TESTS_USER_TABLES_H
#define TESTS_USER_TABLES_H

#include "../common/test.h"

extern const struct test_case table_cases[];
extern const unsigned int table_nr_cases;

#endif /* TESTS_USER_TABLES_H */
