/* SPDX-License-Identifier: GPL-2.0-only */
/* Cases for the steps of the protocol, one by one. */
#ifndef TESTS_NATIVE_PROTOCOL_H
#define TESTS_NATIVE_PROTOCOL_H

#include "../common/test.h"

extern const struct test_case protocol_cases[];
extern const unsigned int protocol_nr_cases;

#endif /* TESTS_NATIVE_PROTOCOL_H */
