// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the patcher's instruction emulator with the CPU.
 *
 * The CPU executes each instruction once in a sandbox.  The memory around the sandbox, as far as an
 * instruction can jump, consists of breakpoints: the CPU stops behind the instruction, and the
 * signal frame holds every register and flag.  The signal handler compares registers and flags,
 * writes the next case into the frame and returns to it, so that a comparison takes one signal.  An
 * instruction that jumps into itself is executed with the trap flag set, which takes a hundred
 * times as long on a virtual machine.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <linux/kernel.h>

#include "../../patcher/insn.h"
#include "oracle.h"

#define TRAP_FLAG	0x100UL
#define RESUME_FLAG	0x10000UL
/* The flags that a program can change and that a signal frame restores: CF PF AF ZF SF DF OF. */
#define FLAGS		0xcd5UL
#define ALWAYS_SET	0x202UL
#define STACK_WORDS	8

#define INT3		0xcc
#define REACH		(1UL << 31)
#define PIECE		(1UL << 24)
#define SANDBOX_BYTES	8192UL

static struct {
	oracle_next *next;
	struct oracle_result *result;
	struct oracle_case test;
	struct pt_regs expected;
	unsigned long stack[STACK_WORDS], expected_stack[STACK_WORDS];
	ucontext_t resume;	/* context of oracle_run_cases() at the int3 */
	bool running;
	u8 *sandbox;
} oracle;

/* Indices of the registers in a signal frame, in the order of struct pt_regs, with sp last. */
static const int frame_index[] = {
	REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP, REG_RBX, REG_R11, REG_R10, REG_R9,
	REG_R8, REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RIP, REG_EFL, REG_RSP,
};

static void copy_regs_from_context(struct pt_regs *regs, const ucontext_t *context)
{
	unsigned long *reg = (void *)regs;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(frame_index); i++)
		reg[i] = context->uc_mcontext.gregs[frame_index[i]];
	regs->flags &= ~(TRAP_FLAG | RESUME_FLAG);
}

static void copy_regs_to_context(ucontext_t *context, const struct pt_regs *regs)
{
	const unsigned long *reg = (const void *)regs;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(frame_index); i++)
		context->uc_mcontext.gregs[frame_index[i]] = reg[i];
}

u8 oracle_stack[ORACLE_STACK_BYTES];

/* Emulate the case.  Return false if the decoder does not support the instruction. */
static bool emulate_case(struct oracle_case *test)
{
	u8 *at = oracle.sandbox + test->offset;
	struct patcher_insn insn;
	unsigned int i;

	if (patcher_insn_decode(test->code, ORACLE_MAX, &insn) || insn.len > ORACLE_MAX)
		return false;
	memcpy(at, test->code, insn.len);
	test->regs.ip = (unsigned long)at;
	test->regs.flags = (test->regs.flags & FLAGS) | ALWAYS_SET;
	/*
	 * If sp pointed into the handler's stack, the kernel would assume that the handler is
	 * running.
	 */
	if (test->regs.sp - (unsigned long)oracle_stack <= ORACLE_STACK_BYTES)
		test->regs.sp = 0;
	for (i = 0; i < STACK_WORDS; i++)
		oracle.stack[i] = ~test->regs.ip;
	if (insn.kind == PATCHER_INSN_CALL)
		test->regs.sp = (unsigned long)&oracle.stack[2 + test->regs.sp % 4];
	oracle.expected = test->regs;
	patcher_insn_emulate(&insn, test->regs.ip, &oracle.expected);
	memcpy(oracle.expected_stack, oracle.stack, sizeof(oracle.stack));
	for (i = 0; i < STACK_WORDS; i++)
		oracle.stack[i] = ~test->regs.ip;
	return true;
}

/* Emulate the next case that the decoder supports.  Return false if there is no such case. */
static bool prepare_next_case(void)
{
	while (oracle.next(&oracle.test)) {
		if (emulate_case(&oracle.test))
			return true;
		oracle.result->refused++;
	}
	return false;
}

static void compare_results(const struct pt_regs *got, int sig)
{
	struct oracle_result *result = oracle.result;

	result->compared++;
	if (sig != SIGTRAP)
		result->what = strsignal(sig);
	else if (memcmp(got, &oracle.expected, sizeof(*got)))
		result->what = "registers differ";
	else if (memcmp(oracle.stack, oracle.expected_stack, sizeof(oracle.stack)))
		result->what = "stacks differ";
	else
		return;
	result->different++;
	result->test = oracle.test;
	result->expected = oracle.expected;
	result->got = *got;
}

static void compare_case_with_cpu(ucontext_t *context, int sig)
{
	struct pt_regs got;

	copy_regs_from_context(&got, context);
	/* A breakpoint leaves ip one byte after its own address; a single step needs no correction. */
	if (context->uc_mcontext.gregs[REG_TRAPNO] == 3)
		got.ip--;
	compare_results(&got, sig);
	memset((void *)oracle.test.regs.ip, INT3, ORACLE_MAX);
}

static const int signals[] = { SIGTRAP, SIGSEGV, SIGILL, SIGBUS };

/* Block all other signals in the sandbox, where the stack pointer may be invalid. */
static void block_other_signals(ucontext_t *context)
{
	unsigned long mask = ~0UL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		mask &= ~(1UL << (signals[i] - 1));
	/* The mask in the kernel's frame has 8 bytes; sigset_t of the C library has more. */
	memcpy(&context->uc_sigmask, &mask, sizeof(mask));
}

static void execute_case_on_cpu(ucontext_t *context)
{
	unsigned long into = oracle.expected.ip - oracle.test.regs.ip;

	block_other_signals(context);
	copy_regs_to_context(context, &oracle.test.regs);
	if (into < ORACLE_MAX && *(u8 *)oracle.expected.ip != INT3)
		context->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

/* Copy the registers and the signal mask. */
static void copy_context(ucontext_t *to, const ucontext_t *from)
{
	memcpy(&to->uc_mcontext.gregs, &from->uc_mcontext.gregs, sizeof(to->uc_mcontext.gregs));
	memcpy(&to->uc_sigmask, &from->uc_sigmask, sizeof(unsigned long));
}

static void switch_to_next_case(int sig, siginfo_t *info, void *frame)
{
	ucontext_t *context = frame;

	if (oracle.running)
		compare_case_with_cpu(context, sig);
	else
		copy_context(&oracle.resume, context);
	oracle.running = !oracle.result->different && prepare_next_case();
	if (oracle.running)
		execute_case_on_cpu(context);
	else
		copy_context(context, &oracle.resume);
}

/* Map one small file of breakpoints at all addresses that a jump can reach. */
static int map_breakpoints(u8 *base, unsigned long size, int file)
{
	static u8 breakpoints[1 << 16];
	unsigned long at;

	memset(breakpoints, INT3, sizeof(breakpoints));
	for (at = 0; at < PIECE; at += sizeof(breakpoints))
		if (write(file, breakpoints, sizeof(breakpoints)) != sizeof(breakpoints))
			return -EIO;
	for (at = 0; at < size; at += PIECE)
		if (mmap(base + at, PIECE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file,
			 0) == MAP_FAILED)
			return -errno;
	return 0;
}

static int map_sandbox(void)
{
	unsigned long size = 2 * REACH + PIECE;
	int err, file;
	u8 *base;

	base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -errno;
	file = memfd_create("breakpoints", MFD_CLOEXEC);
	err = file < 0 ? -errno : map_breakpoints(base, size, file);
	if (file >= 0)
		close(file);
	if (err)
		return err;
	oracle.sandbox = mmap(base + REACH + PIECE / 2, SANDBOX_BYTES,
			      PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (oracle.sandbox == MAP_FAILED)
		return -errno;
	memset(oracle.sandbox, INT3, SANDBOX_BYTES);
	return 0;
}

/*
 * Install the signal handler.  The handler has its own stack, because the stack pointer of a case
 * may be invalid.
 */
static int install_handlers(struct sigaction *old)
{
	stack_t own = { .ss_sp = oracle_stack, .ss_size = sizeof(oracle_stack) };
	struct sigaction action = {
		.sa_sigaction = switch_to_next_case,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	unsigned int i;
	int err;

	err = oracle.sandbox ? 0 : map_sandbox();
	if (err)
		return err;
	sigfillset(&action.sa_mask);
	if (sigaltstack(&own, NULL))
		return -errno;
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (sigaction(signals[i], &action, &old[i]))
			return -errno;
	return 0;
}

int oracle_run_cases(oracle_next *next, struct oracle_result *result)
{
	struct sigaction old[ARRAY_SIZE(signals)];
	unsigned int i;
	int err;

	err = install_handlers(old);
	if (err)
		return err;
	memset(result, 0, sizeof(*result));
	oracle.next = next;
	oracle.result = result;
	oracle.running = false;
	/* The handler executes all cases before it returns to the next instruction. */
	asm volatile("int3" : : : "memory");
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &old[i], NULL);
	return 0;
}

static void print_regs(const char *what, const struct pt_regs *regs)
{
	const unsigned long *reg = (const void *)regs;
	unsigned int i;

	fprintf(stderr, "# %-9s", what);
	for (i = 0; i < ARRAY_SIZE(frame_index); i++)
		fprintf(stderr, " %lx", reg[i]);
	fprintf(stderr, "\n");
}

void oracle_print_result(const struct oracle_result *result)
{
	unsigned int i;

	fprintf(stderr, "# %s after", result->what);
	for (i = 0; i < ORACLE_MAX; i++)
		fprintf(stderr, " %02x", result->test.code[i]);
	fprintf(stderr, "\n# (r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di ip flags sp)\n");
	print_regs("before", &result->test.regs);
	print_regs("emulated", &result->expected);
	print_regs("executed", &result->got);
}
