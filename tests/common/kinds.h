/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Patch sites for every kind of instruction, and the expected results of the code that contains
 * these sites.  Each site holds one of two instructions.
 */
#ifndef TESTS_COMMON_KINDS_H
#define TESTS_COMMON_KINDS_H

#include <linux/types.h>

#include <kmarkers/patcher.h>

#define KINDS_COPIES	4
#define MANY_COPIES	500
#define RUN_PASSES	64
#define RUN_LEN		11

/*
 * The compiled bytes of a run, a site of several instructions: five jumps, each to the next
 * instruction, and a nop.  Without jumps, no task would be preempted inside the run under emulators
 * that check for interrupts only after a jump.  The patcher replaces the run by a jump to its end,
 * with ud2 instructions behind the jump.  If the patcher does not wait for a task inside the run,
 * the task executes a ud2, and the test fails.
 */
#define RUN_BYTES	0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0x90

/*
 * The kinds of sites.  NOP + n: a nop of the n-th length.  REG + r: a mov of a constant into
 * register r.  JCC + c and NEAR + c: the short jump and the near jump on condition c.  CMP + n: the
 * n-th encoding of a comparison.
 */
enum kind {
	JMP32, JMP8, JCC8, JCC32, MOV8, MOV16, MOV32, MOV64, CALL32,
	NOP, REG = 16, JCC = REG + 16, NEAR = JCC + 16, CMP = NEAR + 16,
	RUN = CMP + 16,
};

/**
 * struct kinds_record - a site in the code of kinds.c
 * @addr: offset of the site from this field
 * @kind: enum kind; but in the array test_prefixes, 0 for a LOCK prefix and 1 for a DS prefix
 */
struct kinds_record {
	s32 addr;
	s32 kind;
};

extern const struct kinds_record test_kinds[], test_kinds_end[];
extern const struct kinds_record test_many[], test_many_end[];
extern const struct kinds_record test_runs[], test_runs_end[];
extern const struct kinds_record test_prefixes[], test_prefixes_end[];

u8 *kinds_get_site_addr(const struct kinds_record *record);
unsigned int kinds_get_site_len(const struct kinds_record *record);

/* Write the first or the second instruction of a site to @insn. */
void kinds_write_insn(const struct kinds_record *record, bool second, u8 *insn);

/*
 * The passes: functions that execute sites and return a number.  PASS_SHORT and PASS_NEAR are each
 * the first of three passes, one for each pattern of CPU flags.
 */
enum kinds_pass {
	PASS_BRANCHES, PASS_MOVES, PASS_CALLS, PASS_NOPS, PASS_REGISTERS, PASS_COMPARISONS,
	PASS_SHORT, PASS_NEAR = PASS_SHORT + 3,
	PASS_MANY = PASS_NEAR + 3, NR_PASSES,
};

/* The function that a site of the kind CALL32 calls while the site holds its second instruction. */
u64 kinds_increment(u64 value);

u64 kinds_execute_pass(enum kinds_pass pass);
u64 kinds_execute_multi_insn_sites(void);

/*
 * Return the result that a pass must have if site i, described by records[i], holds its first
 * instruction where state[i] is 0, and its second instruction where state[i] is 1.
 */
u64 kinds_compute_expected_result(enum kinds_pass pass, const struct kinds_record *records,
				  unsigned int nr, const u8 *state);

/*
 * Return true if @seen is the result of a pass for some choice of one of the two instructions at
 * each site.
 */
bool kinds_is_possible_result(enum kinds_pass pass, u64 seen);

/*
 * Increment @counter with xadd, which kinds_add_locked() has with a LOCK prefix, and
 * kinds_add_unlocked() with a DS prefix, until a test replaces the prefix.  Return the old value of
 * @counter.
 */
u32 kinds_add_locked(u32 *counter);
u32 kinds_add_unlocked(u32 *counter);

#endif /* TESTS_COMMON_KINDS_H */
