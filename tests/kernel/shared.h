/* SPDX-License-Identifier: GPL-2.0-only */
/* An immediate value that kmarkers_test exports, and functions that set and read this value. */
#ifndef TESTS_KERNEL_SHARED_H
#define TESTS_KERNEL_SHARED_H

#include <kmarkers/immediate.h>

DECLARE_IMV(u64, test_shared);

int test_set_shared(u64 value);
u64 test_read_shared(void);

#endif /* TESTS_KERNEL_SHARED_H */
