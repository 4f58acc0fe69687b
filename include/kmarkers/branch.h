/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A branch is an instruction that is changed between a nop and a jump to a label.
 *
 * A branch has 7 bytes.  In each form the last 4 bytes are the distance to the label:
 *
 *	3e 0f 85 distance	jne label, as compiled: objtool follows both paths
 *	0f 1f 80 distance	nop, while the branch is off
 *	2e 2e e9 distance	jmp label, while the branch is on
 *
 * So no table has to store the distance, and a change writes only three bytes.
 */
#ifndef KMARKERS_BRANCH_H
#define KMARKERS_BRANCH_H

#include <linux/string.h>
#include <linux/types.h>

#define KMARKERS_BRANCH_LEN	7

/* Assembly of the branch as it is compiled, for an asm goto statement. */
#define KMARKERS_BRANCH(label)	".byte 0x3e, 0x0f, 0x85\n	.long " label " - . - 4"

/* The three bytes before the distance: as compiled, off and on. */
#define KMARKERS_BRANCH_COMPILED	"\x3e\x0f\x85"
#define KMARKERS_BRANCH_OFF		"\x0f\x1f\x80"
#define KMARKERS_BRANCH_ON		"\x2e\x2e\xe9"
#define KMARKERS_BRANCH_HEAD		3

static inline bool kmarkers_is_branch(const u8 *insn)
{
	return !memcmp(insn, KMARKERS_BRANCH_COMPILED, KMARKERS_BRANCH_HEAD) ||
	       !memcmp(insn, KMARKERS_BRANCH_OFF, KMARKERS_BRANCH_HEAD) ||
	       !memcmp(insn, KMARKERS_BRANCH_ON, KMARKERS_BRANCH_HEAD);
}

static inline void kmarkers_switch_branch(u8 *insn, bool on)
{
	memcpy(insn, on ? KMARKERS_BRANCH_ON : KMARKERS_BRANCH_OFF, KMARKERS_BRANCH_HEAD);
}

/* Return the target of the branch at @insn, even while the branch is a nop. */
static inline unsigned long kmarkers_get_branch_target(const u8 *insn)
{
	s32 distance;

	memcpy(&distance, insn + KMARKERS_BRANCH_HEAD, sizeof(distance));
	return (unsigned long)insn + KMARKERS_BRANCH_LEN + distance;
}

#endif /* KMARKERS_BRANCH_H */
