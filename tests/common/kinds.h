/* SPDX-License-Identifier: GPL-2.0-only */
/* Sites of every kind of instruction, and the results of the code around them. */
#ifndef TESTS_COMMON_KINDS_H
#define TESTS_COMMON_KINDS_H

#include <linux/types.h>

#include <kmarkers/patcher.h>

#define KINDS_COPIES	4
#define MANY_COPIES	500
#define RUN_PASSES	64
#define RUN_LEN		11

/*
 * Jumps to what follows them let an emulator, which looks for interrupts only
 * behind a jump, preempt inside a run.  A task that returns into the tail of the jump
 * that replaced the run executes ud2, and is noticed.
 */
#define RUN_BYTES	0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0x90

/*
 * The kinds of instruction that sites hold by turns.  NOP + n is the n-th length, REG + r
 * a mov into the register r, JCC + c the short jump on condition c and NEAR + c the long one.
 */
enum kind {
	JMP32, JMP8, JCC8, JCC32, MOV8, MOV16, MOV32, MOV64, CALL32,
	NOP, REG = 16, JCC = REG + 16, NEAR = JCC + 16, RUN = NEAR + 16,
};

/**
 * struct kinds_record - a site in the code of kinds.c
 * @addr: its address, relative to this field
 * @kind: enum kind; for prefixes, which of the two it is
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

/* The first or the second of the two instructions that a site holds by turns. */
void kinds_insn(const struct kinds_record *record, bool second, u8 *insn);

/* The passes: pieces of code with sites in them, which give a number. */
enum kinds_pass {
	PASS_BRANCHES, PASS_MOVES, PASS_CALLS, PASS_NOPS, PASS_REGISTERS,
	PASS_SHORT, PASS_NEAR = PASS_SHORT + 3,
	PASS_MANY = PASS_NEAR + 3, NR_PASSES,
};

/* The function that the second instruction of CALL32 calls. */
u64 kinds_callee(u64 value);

u64 kinds_run(enum kinds_pass pass);
u64 kinds_run_runs(void);

/* What a pass gives if records[i] holds its second instruction where state[i] is set. */
u64 kinds_expected(enum kinds_pass pass, const struct kinds_record *records, unsigned int nr,
		   const u8 *state);

/* Can a pass give this result if each of its sites is wholly old or wholly new? */
bool kinds_possible(enum kinds_pass pass, u64 seen);

/* xadd behind a LOCK prefix, and behind one that was compiled as DS. */
u32 kinds_add_locked(u32 *counter);
u32 kinds_add_unlocked(u32 *counter);

#endif /* TESTS_COMMON_KINDS_H */
