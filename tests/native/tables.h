/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of tables.c: tables that are made at run time. */
#ifndef TESTS_NATIVE_TABLES_H
#define TESTS_NATIVE_TABLES_H

#include "../common/test.h"

extern const struct test_case table_cases[];
extern const unsigned int table_nr_cases;

#endif /* TESTS_NATIVE_TABLES_H */
