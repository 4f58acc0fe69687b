/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of listings.c: lists of sites, values and samples; setup and teardown of runs. */
#ifndef TESTS_NATIVE_LISTINGS_H
#define TESTS_NATIVE_LISTINGS_H

#include "../common/test.h"

extern const struct test_case listing_cases[];
extern const unsigned int listing_nr_cases;

#endif /* TESTS_NATIVE_LISTINGS_H */
