/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of engine.c: the patcher in states that its public interface cannot cause. */
#ifndef TESTS_NATIVE_ENGINE_H
#define TESTS_NATIVE_ENGINE_H

#include "../common/test.h"

extern const struct test_case engine_cases[];
extern const unsigned int engine_nr_cases;

#endif /* TESTS_NATIVE_ENGINE_H */
