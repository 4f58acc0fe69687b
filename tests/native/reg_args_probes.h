/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test cases of reg_args_probes.c: probes registered by name, each with a second function that gets
 * the arguments in registers.
 */
#ifndef TESTS_NATIVE_REG_ARGS_PROBES_H
#define TESTS_NATIVE_REG_ARGS_PROBES_H

#include "../common/test.h"

extern const struct test_case reg_args_probe_cases[];
extern const unsigned int reg_args_probe_nr_cases;

#endif /* TESTS_NATIVE_REG_ARGS_PROBES_H */
