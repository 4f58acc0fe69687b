// SPDX-License-Identifier: GPL-2.0-only
/*
 * Breakpoints in the program's text when kmarkers_start() moves it: of uprobes, where this
 * process may set them, and of a debugger, by ptrace(2).
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/kernel.h>

#include <kmarkers/opcodes.h>
#include <kmarkers/sdt.h>
#include <kmarkers/user.h>

#include "../../native/peers/uprobes.h"
#include "process.h"
#include "start.h"
#include "traced.h"

#define NO_UPROBES	77
#define NOP_BYTES	5
#define ENOTSUPP	524
#define PLACES		4

static DEFINE_IMV(int, value) = 1;
static volatile unsigned int calls;

static noinline void plain(void)
{
	calls++;
}

/* A site of ours; its instruction begins the function. */
static noinline int read_value(void)
{
	return imv_read(value);
}

extern u8 traced_long_nop[];

/* A uprobe on a nop of five bytes becomes a call, from Linux 6.18 on. */
static noinline void long_nop(void)
{
	asm volatile(".globl traced_long_nop\n"
		     "traced_long_nop: .byte 0x0f, 0x1f, 0x44, 0, 0" : : : "memory");
	calls++;
}

SDT_PROVIDER_DEFINE(traced);
SDT_PROBE_DEFINE1(traced, , , probe, "int");

static noinline void hit_probe(void)
{
	SDT_PROBE1(traced, , , probe, 1);
}

static void count_hit(void *private, const struct sdt_hit *hit)
{
	calls++;
}

static u8 *places(unsigned int i)
{
	static u8 *const all[PLACES] = {
		(u8 *)plain, (u8 *)read_value, (u8 *)hit_probe, traced_long_nop,
	};

	return all[i];
}

/* Check that all works, in text without any foreign bytes.  Return the step that failed, or 0. */
static int runs(void)
{
	static const u8 nop[NOP_BYTES] = { 0x0f, 0x1f, 0x44, 0, 0 };
	unsigned int before = calls;
	int now = _imv_read(value);

	plain();
	long_nop();
	hit_probe();
	if (calls != before + 2 || read_value() != now)
		return 2;
	if (imv_set(value, now + 1) || read_value() != now + 1)
		return 3;
	if (sdt_attach("traced:::probe", count_hit, NULL))
		return 4;
	hit_probe();
	if (calls != before + 3 || sdt_detach("traced:::probe", count_hit, NULL))
		return 5;
	return memcmp(traced_long_nop, nop, NOP_BYTES) ? 6 : 0;
}

/* Add a uprobe at an address, whose file offset is known because the load bias is 0. */
static int add_uprobe(const u8 *addr)
{
	extern const u8 __ehdr_start[];

	return uprobes_add("/proc/self/exe",
			   uprobes_offset((const void *)__ehdr_start, (unsigned long)addr));
}

static int add_uprobes(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < PLACES && !err; i++) {
		err = add_uprobe(places(i));
		/* The kernel refuses uprobes on instructions with the prefix of sites of probes. */
		if (err == -ENOTSUPP && places(i) == (u8 *)hit_probe)
			err = 0;
	}
	return err;
}

int traced_by_uprobes(void)
{
	int err = uprobes_type() < 0 ? -EPERM : add_uprobes();
	unsigned int i;

	if (err) {
		fprintf(stderr, "uprobes: %s\n", uprobes_why(err));
		return NO_UPROBES;
	}
	if (*places(0) != KMARKERS_INT3)
		return 1;
	for (i = 0; i < 3; i++) {
		plain();
		long_nop();
		read_value();
	}
	err = kmarkers_start() ? 1 : runs();
	/* One tracer detaches, and another one attaches. */
	uprobes_drop();
	err = err ?: runs();
	if (!err && add_uprobes())
		return 7;
	err = err ?: runs();
	uprobes_drop();
	return err ?: runs();
}

int traced_by_debugger(void)
{
	unsigned int i;

	for (i = 0; i < PLACES; i++)
		if (*places(i) != KMARKERS_INT3)
			return 1;
	return kmarkers_start() ? 1 : runs();
}

static const char *keeps_running_under_uprobes(void)
{
	int code = start_anew("uprobes");

	if (code == NO_UPROBES)
		return "SKIP no uprobes, or no permission for them";
	EXPECT(code == 0);
	return NULL;
}

/* Store a breakpoint, and behind it bytes as in a nop that is being replaced by a call. */
static bool store_breakpoint(pid_t child, u8 *addr)
{
	u8 bytes[sizeof(long)] = { KMARKERS_INT3, 1, 2, 3, 4 };
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, child, addr, 0);
	if (errno)
		return false;
	memcpy(&word, bytes, addr == traced_long_nop ? NOP_BYTES : 1);
	return !ptrace(PTRACE_POKETEXT, child, addr, word);
}

/* Return the exit code of a child that stops once, at its exec(), or 128 + SIGNAL. */
static int debug(pid_t child)
{
	int status;
	unsigned int i;

	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		return -1;
	for (i = 0; i < PLACES; i++)
		if (!store_breakpoint(child, places(i)))
			return -1;
	if (ptrace(PTRACE_CONT, child, 0, 0) || waitpid(child, &status, 0) != child)
		return -1;
	if (!WIFSTOPPED(status))
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return 128 + WSTOPSIG(status);
}

static const char *keeps_running_under_debugger(void)
{
	pid_t child = fork();

	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(126);
		start_exec("debugger");
	}
	EXPECT(debug(child) == 0);
	return NULL;
}

const struct test_case traced_cases[] = {
	{ "traced_by_uprobes", keeps_running_under_uprobes, NULL },
	{ "traced_by_debugger", keeps_running_under_debugger, NULL },
};

const unsigned int traced_nr_cases = ARRAY_SIZE(traced_cases);
