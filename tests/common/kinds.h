/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Patch sites of every kind of instruction, and the expected results of the code around them.  Each
 * site holds one of two instructions.
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
 * A run, which is a site of several instructions: jumps, each to the next one.  An emulator
 * checks for interrupts only after a jump, so it can preempt a task inside this run.  A task that
 * continues behind the jump that replaced the run executes ud2, and the test fails.
 */
#define RUN_BYTES	0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0x90

/*
 * The kinds of sites.  NOP + n is a nop of the n-th length, REG + r is a mov of a constant into
 * register r, JCC + c is the short jump and NEAR + c the near jump on condition c.
 */
enum kind {
	JMP32, JMP8, JCC8, JCC32, MOV8, MOV16, MOV32, MOV64, CALL32,
	NOP, REG = 16, JCC = REG + 16, NEAR = JCC + 16, RUN = NEAR + 16,
};

/**
 * struct kinds_record - a site in the code of kinds.c
 * @addr: offset of the site from this field
 * @kind: enum kind; for a prefix, its number: 0 or 1
 */
struct kinds_record {
	s32 addr;
	s32 kind;
};

extern const struct kinds_record test_kinds[], test_kinds_end[];
extern const struct kinds_record test_many[], test_many_end[];
extern const struct kinds_record test_runs[], test_runs_end[];
extern const struct kinds_record test_prefixes[], test_prefixes_end[];

u8 *kinds_addr(const struct kinds_record *record);
unsigned int kinds_len(const struct kinds_record *record);

/* Write the first or the second instruction of a site to @insn. */
void kinds_insn(const struct kinds_record *record, bool second, u8 *insn);

/* The passes: functions with sites, which return a number.  SHORT and NEAR have three each. */
enum kinds_pass {
	PASS_BRANCHES, PASS_MOVES, PASS_CALLS, PASS_NOPS, PASS_REGISTERS,
	PASS_SHORT, PASS_NEAR = PASS_SHORT + 3,
	PASS_MANY = PASS_NEAR + 3, NR_PASSES,
};

/* Function that the second instruction of CALL32 calls. */
u64 kinds_callee(u64 value);

u64 kinds_execute(enum kinds_pass pass);
u64 kinds_pass_runs(void);

/* Return the result of a pass if records[i] holds its second instruction where state[i] is 1. */
u64 kinds_expected(enum kinds_pass pass, const struct kinds_record *records, unsigned int nr,
		   const u8 *state);

/* Return true if a pass can return @seen when each site holds one of its two instructions. */
bool kinds_possible(enum kinds_pass pass, u64 seen);

/* Increment @counter with xadd, compiled with a LOCK or a DS prefix.  Return its old value. */
u32 kinds_add_locked(u32 *counter);
u32 kinds_add_unlocked(u32 *counter);

#endif /* TESTS_COMMON_KINDS_H */
