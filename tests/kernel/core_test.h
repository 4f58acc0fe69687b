/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_KERNEL_CORE_TEST_H
#define TESTS_KERNEL_CORE_TEST_H

#include <linux/types.h>

/**
 * core_storm() - change a branch and a constant of the kernel while all CPUs execute them
 * @changes: how often, at least
 * @said: gets "changes N wrong N compared N N", the last two for either instruction
 * @size: bytes there
 *
 * Return: 0; -ENOENT if this kernel's functions have no such instructions; what
 * patcher_core_register() and patcher_apply() return.
 */
int core_storm(unsigned int changes, char *said, size_t size);
void count_mappings(unsigned long addr, char *answer, unsigned int size);

#endif /* TESTS_KERNEL_CORE_TEST_H */
