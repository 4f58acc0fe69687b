/* SPDX-License-Identifier: GPL-2.0-only */
/* Cases in which every allocation fails once. */
#ifndef TESTS_USER_NOMEM_H
#define TESTS_USER_NOMEM_H

#include "../common/test.h"

extern const struct test_case nomem_cases[];
extern const unsigned int nomem_nr_cases;

#endif /* TESTS_USER_NOMEM_H */
