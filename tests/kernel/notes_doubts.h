/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of notes_doubts.c that contain notes. */
#ifndef TESTS_KERNEL_NOTES_DOUBTS_H
#define TESTS_KERNEL_NOTES_DOUBTS_H

#include <linux/types.h>

void notes_alone(int value);
void notes_refused(void);

#endif /* TESTS_KERNEL_NOTES_DOUBTS_H */
