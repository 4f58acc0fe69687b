/* SPDX-License-Identifier: GPL-2.0-only */
/* Cases for what is printed, and for how runs begin and end. */
#ifndef TESTS_NATIVE_LISTINGS_H
#define TESTS_NATIVE_LISTINGS_H

#include "../common/test.h"

extern const struct test_case listing_cases[];
extern const unsigned int listing_nr_cases;

#endif /* TESTS_NATIVE_LISTINGS_H */
