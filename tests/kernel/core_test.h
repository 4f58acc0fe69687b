/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_KERNEL_CORE_TEST_H
#define TESTS_KERNEL_CORE_TEST_H

#include <linux/types.h>

void count_mappings(unsigned long addr, char *answer, unsigned int size);

#endif /* TESTS_KERNEL_CORE_TEST_H */
