// SPDX-License-Identifier: GPL-2.0-only
/*
 * kmbench step: replace an instruction while a thread executes it, and stop after each round of
 * synchronisation.  With --without-int3, write the bytes one by one instead, and show the effect of
 * executing the instruction after each byte.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/compiler.h>

#include <kmarkers/patcher.h>
#include <kmarkers/user.h>

#include "step.h"

#define INSN		5
#define WAIT_NS		20000000	/* run time of the thread at each stop, in ns */
#define MAX_WAITS	100

extern u8 step_site[], step_target[];

static const u8 nop[INSN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const char owner[] = "step";
static atomic_ulong passes[2];
static atomic_bool stop;
static bool replacing;
static unsigned int round_nr;

/* Execute the instruction at step_site.  Return true if it jumped to step_target. */
static noinline bool execute_step_site(void)
{
	bool jumped;

	asm volatile("xorl %k0, %k0\n"
		     "step_site:\n\t"
		     ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
		     "jmp 1f\n"
		     "step_target:\n\t"
		     "movl $1, %k0\n"
		     "1:"
		     : "=q" (jumped));
	return jumped;
}

static void *execute_step_site_repeatedly(void *unused)
{
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		atomic_fetch_add_explicit(&passes[execute_step_site()], 1, memory_order_relaxed);
	return NULL;
}

static void encode_jump(u8 *insn, long distance)
{
	s32 displacement = distance;

	insn[0] = 0xe9;
	memcpy(insn + 1, &displacement, sizeof(displacement));
}

static void wait_for_enter_key(void)
{
	if (!isatty(STDIN_FILENO))
		return;
	fputs("    press Enter", stdout);
	fflush(stdout);
	while (getchar() != '\n' && !feof(stdin))
		;
}

/*
 * Let the thread run for WAIT_NS.  Then print the bytes of the site, how often the thread passed
 * the site, and how often it jumped there.  If the thread did not run, wait again, up to MAX_WAITS
 * times.
 */
static void show_site_and_executions(const char *title)
{
	struct timespec wait = { 0, WAIT_NS };
	unsigned long passed = passes[0], jumped = passes[1];
	int waits = 0;

	do
		nanosleep(&wait, NULL);
	while (passes[0] == passed && passes[1] == jumped && ++waits < MAX_WAITS);
	printf("%-32s%02x %02x %02x %02x %02x   passed %lu, jumped %lu\n", title,
	       step_site[0], step_site[1], step_site[2], step_site[3], step_site[4],
	       passes[0] - passed, passes[1] - jumped);
	wait_for_enter_key();
}

void __real_patcher_text_sync(void);
void __wrap_patcher_text_sync(void);

/*
 * Wrapper of patcher_text_sync(): the linker (--wrap) makes all callers call this function instead.
 * While the instruction at the site is being replaced, show the site after each round of
 * synchronisation; the thread continues to execute the site.
 */
void __wrap_patcher_text_sync(void)
{
	static const char *const titles[] = {
		"round 1: first byte is int3", "round 2: bytes 2 to 5 are new",
		"round 3: first byte is new",
	};

	__real_patcher_text_sync();
	if (replacing && round_nr < ARRAY_SIZE(titles))
		show_site_and_executions(titles[round_nr++]);
}

static int replace_nop_at_step_site(void)
{
	static struct patcher_site site = { .len = INSN };
	static struct patcher_table table = { .sites = &site, .nr = 1, .owner = owner };
	struct patcher_poke poke = { .addr = step_site, .len = INSN };
	int err;

	site.addr = (long)step_site - (long)&site.addr;
	err = patcher_register(&table);
	if (err)
		return err;
	memcpy(poke.old, nop, INSN);
	encode_jump(poke.new, step_target - (step_site + INSN));
	replacing = true;
	err = patcher_apply(owner, &poke, 1);
	replacing = false;
	return err;
}

static int show_patching_with_int3(void)
{
	struct patcher_stats stats;
	pthread_t thread;
	int err = kmarkers_start();

	if (err)
		return -ENODEV;
	err = -pthread_create(&thread, NULL, execute_step_site_repeatedly, NULL);
	if (err)
		return err;
	printf("%-32s%-16s what the thread did meanwhile\n", "", "bytes");
	show_site_and_executions("before");
	err = replace_nop_at_step_site();
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	patcher_read_stats(&stats);
	printf("The thread hit int3 %lu times.  Each time, the breakpoint handler resumed the thread.\n",
	       stats.hits);
	return err;
}

static sigjmp_buf trapped;
static unsigned long trap_ip;

static void record_trap_address(int number, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;

	trap_ip = interrupted->uc_mcontext.gregs[REG_RIP];
	siglongjmp(trapped, 1);
}

/* Print the five bytes at @code, execute the bytes as an instruction, and print the effect. */
static void show_torn_instruction(const char *title, u8 *code)
{
	printf("%-32s%02x %02x %02x %02x %02x   ", title, code[0], code[1], code[2], code[3], code[4]);
	if (sigsetjmp(trapped, 1))
		printf("jumped to the instruction + %ld, where there is no code\n",
		       (long)(trap_ip - 1 - (unsigned long)code));
	else
		puts(((int (*)(void))code)() ? "jumped" : "passed");
	wait_for_enter_key();
}

/*
 * Overwrite a nop with a jump byte by byte, without first storing int3, and execute the instruction
 * after each byte.  The memory around the instruction is filled with int3, so that a jump to a
 * wrong address ends in a trap.
 */
static int show_patching_without_int3(void)
{
	static const u8 pass[] = { 0x31, 0xc0, 0xc3 }, land[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
	struct sigaction action = { .sa_sigaction = record_trap_address, .sa_flags = SA_SIGINFO };
	enum { BYTES = 1 << 16, TARGET = 16 };
	u8 *code = mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u8 jump[INSN];
	char title[32];
	unsigned int i;

	if (code == MAP_FAILED)
		return -ENODEV;
	sigaction(SIGTRAP, &action, NULL);
	memset(code, 0xcc, BYTES);
	memcpy(code, nop, INSN);
	memcpy(code + INSN, pass, sizeof(pass));
	memcpy(code + TARGET, land, sizeof(land));
	encode_jump(jump, TARGET - INSN);
	show_torn_instruction("before", code);
	for (i = 0; i < INSN; i++) {
		code[i] = jump[i];
		snprintf(title, sizeof(title), "byte %u is new", i + 1);
		show_torn_instruction(title, code);
	}
	return 0;
}

/*
 * Run the command "kmbench step" with the arguments @args.  Return 0; -EINVAL for unknown
 * arguments; -ENODEV if live patching does not work on this machine; or another error.
 */
int native_run_step_command(char **args, int nr)
{
	bool without_int3 = nr && !strcmp(args[0], "--without-int3");

	if (nr > without_int3) {
		fprintf(stderr, "kmbench: step takes no argument '%s'\n", args[without_int3]);
		return -EINVAL;
	}
	return without_int3 ? show_patching_without_int3() : show_patching_with_int3();
}
