/* SPDX-License-Identifier: GPL-2.0-only */
/* Data that the functions of notes_hits.h pass to notes, SDT sites without an instruction. */
#ifndef TESTS_COMMON_NOTES_H
#define TESTS_COMMON_NOTES_H

#include <linux/types.h>

struct notes_frame {
	long many[4];
	s16 few[4];
	u8 text[4];
};

struct notes_bits {
	unsigned int a : 3;
	int b : 5;
	u64 c : 40;
	bool d : 1;
};

extern long notes_sink;
extern int notes_global;
extern struct notes_bits notes_bits;

void fill_notes_frame(struct notes_frame *frame, long seed);

#endif /* TESTS_COMMON_NOTES_H */
