/* SPDX-License-Identifier: GPL-2.0-only */
/* te_plain(), which the kernel's ftrace traces and kmarkers does not record. */
#ifndef TEST_ENTRY_PLAIN_H
#define TEST_ENTRY_PLAIN_H

int te_plain(int value);

#endif /* TEST_ENTRY_PLAIN_H */
