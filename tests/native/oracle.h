/* SPDX-License-Identifier: GPL-2.0-only */
/* Comparison of the patcher's instruction emulator with the CPU. */
#ifndef TESTS_NATIVE_ORACLE_H
#define TESTS_NATIVE_ORACLE_H

#include <linux/ptrace.h>
#include <linux/types.h>

/* Maximum length of an instruction in bytes. */
#define ORACLE_MAX	15

/**
 * struct oracle_case - an instruction, and the registers before its execution
 * @code: bytes of the instruction, followed by other bytes
 * @offset: offset of the instruction in the sandbox (two pages), 0 .. ORACLE_OFFSETS - 1
 * @regs: all registers and flags; oracle_run_cases() sets ip and, for a call, sp
 */
struct oracle_case {
	u8 code[ORACLE_MAX];
	u32 offset;
	struct pt_regs regs;
};

/* Number of offsets in the sandbox: two pages, so that an instruction can cross a boundary. */
#define ORACLE_OFFSETS	(2 * 4096 - ORACLE_MAX)

/* Stack of the signal handler.  A case whose sp points into this stack is executed with sp = 0. */
#define ORACLE_STACK_BYTES	(1 << 16)
extern u8 oracle_stack[ORACLE_STACK_BYTES];

/* Fill in the next case.  Return false if there is no further case. */
typedef bool oracle_next(struct oracle_case *test);

/* Numbers of compared, refused and differing cases, and the case in which results differ. */
struct oracle_result {
	u64 compared;
	u64 refused;	/* cases with instructions that the decoder does not support */
	u64 different;
	struct oracle_case test;
	struct pt_regs expected, got;
	const char *what;
};

/*
 * Emulate and execute cases until @next returns false or the results of emulator and CPU differ.
 * Meanwhile SIGTRAP, SIGSEGV, SIGILL and SIGBUS have other handlers.  Only one thread may call this
 * function.  Return 0 or a negative errno.
 */
int oracle_run_cases(oracle_next *next, struct oracle_result *result);

/* Print to stderr the case in which results differ. */
void oracle_print_result(const struct oracle_result *result);

#endif /* TESTS_NATIVE_ORACLE_H */
