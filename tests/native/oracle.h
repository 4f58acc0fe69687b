/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPU as the judge of the emulator. */
#ifndef TESTS_NATIVE_ORACLE_H
#define TESTS_NATIVE_ORACLE_H

#include <linux/ptrace.h>
#include <linux/types.h>

/* The longest instruction that a CPU accepts. */
#define ORACLE_MAX	15

/**
 * struct oracle_case - one instruction and the state it starts from
 * @code: it, and whatever follows
 * @offset: where in the sandbox, 0 .. ORACLE_OFFSETS - 1
 * @regs: every register and flag; ip, and sp of a call, are set by the oracle
 */
struct oracle_case {
	u8 code[ORACLE_MAX];
	u32 offset;
	struct pt_regs regs;
};

/* Offsets cross the boundary of two pages. */
#define ORACLE_OFFSETS	(2 * 4096 - ORACLE_MAX)

/* What the oracle's signal handler runs on; a case with its sp there gets another. */
#define ORACLE_STACK_BYTES	(1 << 16)
extern u8 oracle_stack[ORACLE_STACK_BYTES];

/* Fill in the next case; false if there is none. */
typedef bool oracle_next(struct oracle_case *test);

/* What was compared, and the first difference. */
struct oracle_result {
	u64 compared;
	u64 refused;	/* cases whose bytes the decoder does not know */
	u64 different;
	struct oracle_case test;
	struct pt_regs expected, got;
	const char *what;
};

/*
 * Run each case through decoder and emulator, and through the CPU, until there
 * are no more or one differs.  Handles SIGTRAP, SIGSEGV, SIGILL and SIGBUS while it
 * runs; call it from one thread.
 * Return 0 or a negative errno.
 */
int oracle_run(oracle_next *next, struct oracle_result *result);

/* The first difference, for a person. */
void oracle_print(const struct oracle_result *result);

#endif /* TESTS_NATIVE_ORACLE_H */
