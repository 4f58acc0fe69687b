/* SPDX-License-Identifier: GPL-2.0-only */
/* What functions with notes use: see notes_hits.h. */
#ifndef TESTS_COMMON_NOTES_H
#define TESTS_COMMON_NOTES_H

#include <linux/types.h>

struct notes_frame {
	long many[4];
	s16 few[4];
	u8 text[4];
};

extern long notes_sink;
extern int notes_global;

void notes_fill(struct notes_frame *frame, long seed);

#endif /* TESTS_COMMON_NOTES_H */
