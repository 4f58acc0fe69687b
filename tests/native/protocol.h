/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of protocol.c: the steps of the patcher's protocol. */
#ifndef TESTS_NATIVE_PROTOCOL_H
#define TESTS_NATIVE_PROTOCOL_H

#include "../common/test.h"

extern const struct test_case protocol_cases[];
extern const unsigned int protocol_nr_cases;

#endif /* TESTS_NATIVE_PROTOCOL_H */
