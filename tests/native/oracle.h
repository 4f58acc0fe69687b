/* SPDX-License-Identifier: GPL-2.0-only */
/* Comparison of the emulator with the CPU. */
#ifndef TESTS_NATIVE_ORACLE_H
#define TESTS_NATIVE_ORACLE_H

#include <linux/ptrace.h>
#include <linux/types.h>

/* The longest instruction that a CPU accepts. */
#define ORACLE_MAX	15

/**
 * struct oracle_case - one instruction and the state it starts from
 * @code: the instruction and further bytes
 * @offset: its offset in the sandbox, 0 .. ORACLE_OFFSETS - 1
 * @regs: every register and flag; the oracle sets ip, and sp of a call
 */
struct oracle_case {
	u8 code[ORACLE_MAX];
	u32 offset;
	struct pt_regs regs;
};

/* Offsets in two pages: instructions may cross the boundary between them. */
#define ORACLE_OFFSETS	(2 * 4096 - ORACLE_MAX)

/* Stack of the oracle's signal handler.  A case with sp inside it gets another sp. */
#define ORACLE_STACK_BYTES	(1 << 16)
extern u8 oracle_stack[ORACLE_STACK_BYTES];

/* Fill in the next case.  Return false if there is none. */
typedef bool oracle_next(struct oracle_case *test);

/* Numbers of cases, and the first difference. */
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
 * are no more or one differs.  SIGTRAP, SIGSEGV, SIGILL and SIGBUS have handlers of the
 * oracle meanwhile.  Only one thread may call this.
 * Return 0 or a negative errno.
 */
int oracle_run(oracle_next *next, struct oracle_result *result);

/* Print the first difference to stderr. */
void oracle_print(const struct oracle_result *result);

#endif /* TESTS_NATIVE_ORACLE_H */
