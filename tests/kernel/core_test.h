/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_KERNEL_MAPPINGS_H
#define TESTS_KERNEL_MAPPINGS_H

void count_mappings(unsigned long addr, char *answer, unsigned int size);

#endif /* TESTS_KERNEL_MAPPINGS_H */
