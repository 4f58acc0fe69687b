/* SPDX-License-Identifier: GPL-2.0-only */
/* A function that the kernel's ftrace knows. */
#ifndef TEST_ENTRY_PLAIN_H
#define TEST_ENTRY_PLAIN_H

int te_plain(int value);

#endif /* TEST_ENTRY_PLAIN_H */
