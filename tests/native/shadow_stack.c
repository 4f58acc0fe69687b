// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program with user shadow stacks uses the library.  For a processor and a kernel that
 * have shadow stacks; linked statically, for a small initramfs.  Each line of output is
 * one test in KTAP's form.  With the argument "break", the program only returns to
 * another place than its shadow stack says.
 *
 * The program switches the stack on itself, as Debian's glibc does not.  The function
 * that does it must not return: its own return address is on no shadow stack.
 *
 * There is one thread.  Bochs 3.0 mixes the shadow stacks of two tasks up: a program
 * without our library already dies after fork().
 */
#define SDT_FLAVOUR breakpoint
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>
#include <kmarkers/user.h>

#define ARCH_SHSTK_ENABLE	0x5001
#define SHADOW_STACK		1UL
#define CONTROL_PROTECTION	10	/* SEGV_CPERR */
#define CHANGES			100
#define HITS			100

static DEFINE_IMV(unsigned int, step) = 1;

SDT_PROVIDER_DEFINE(shadow);
SDT_PROBE_DEFINE1(shadow, , , request, "int");

static unsigned long marked, trapped;

static void probe(void *probe_private, void *call_private, const char *fmt, va_list *args)
{
	marked++;
}

static void handler(void *private, const struct sdt_hit *hit)
{
	trapped += hit->args[0];
}

static void test(bool good, const char *what)
{
	printf("%s %s\n", good ? "ok" : "not ok", what);
}

static noinline unsigned int work(void)
{
	trace_mark(shadow_request, "%d", 1);
	SDT_PROBE1(shadow, , , request, 1);
	return imv_read(step);
}

/* Return to another place than the shadow stack says; with shadow stacks this is a fault. */
static noinline void return_elsewhere(void)
{
	asm volatile("lea	1f(%%rip), %%rax\n"
		     "push	%%rax\n"
		     "ret\n"
		     "1:\n" : : : "rax", "memory");
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	_exit(info->si_code == CONTROL_PROTECTION ? 0 : 1);
}

static _Noreturn void break_rule(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
	return_elsewhere();
	_exit(1);
}

static bool status_says_so(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	bool found = false;

	while (file && fgets(line, sizeof(line), file))
		found |= !strncmp(line, "x86_Thread_features:", 20) && strstr(line, "shstk");
	if (file)
		fclose(file);
	return found;
}

/* Each change of a marker and of a value must take at once, back and forth. */
static bool change(void)
{
	bool good = true;
	unsigned int i;

	for (i = 0; i < CHANGES; i++) {
		good &= !marker_probe_register("shadow_request", "%d", probe, NULL);
		good &= !imv_set(step, 1000 + i) && work() == 1000 + i;
		good &= !marker_probe_unregister("shadow_request", probe, NULL);
		work();
	}
	return good && marked == CHANGES;
}

/* Each execution of a permanent breakpoint causes a signal. */
static bool trap(void)
{
	unsigned int i;

	if (sdt_attach("shadow:::request", handler, NULL))
		return false;
	for (i = 0; i < HITS; i++)
		work();
	return !sdt_detach("shadow:::request", handler, NULL) && trapped == HITS;
}

extern u8 shadow_site[];
asm(".pushsection .text\n"
	"shadow_site:	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	ret\n"
	".popsection\n");

/* Replace the nop by a branch to the next instruction, and the other way round. */
static int replace(u8 opcode)
{
	static const u8 nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	struct patcher_poke poke = { .addr = shadow_site, .len = sizeof(nop) };
	int err;

	memcpy(poke.old, nop, sizeof(nop));
	poke.new[0] = opcode;
	err = patcher_apply("shadow", &poke, 1);
	if (err)
		return err;
	memcpy(poke.old, poke.new, sizeof(nop));
	memcpy(poke.new, nop, sizeof(nop));
	return patcher_apply("shadow", &poke, 1);
}

/* An emulated call would cause a fault at its return, so only replacing by a call is refused. */
static bool only_call_is_refused(void)
{
	static struct patcher_site site = { .len = 5 };
	static struct patcher_table table = { .sites = &site, .nr = 1, .owner = "shadow" };

	table.owner = "shadow";
	site.addr = (long)shadow_site - (long)&site.addr;
	return !patcher_register(&table) && !replace(0xe9) && replace(0xe8) == -EOPNOTSUPP;
}

static _Noreturn void run(void)
{
	test(status_says_so(), "the kernel says that the program has a shadow stack");
	test(!kmarkers_start(), "the library starts");
	test(change(), "each change of a marker and of a value takes");
	test(trap(), "each breakpoint that stays calls its handler");
	test(only_call_is_refused(), "a nop becomes a jump and never a call");
	exit(0);
}

int main(int argc, char **argv)
{
	long err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	asm volatile("syscall" : "=a" (err)
		     : "0" (SYS_arch_prctl), "D" (ARCH_SHSTK_ENABLE), "S" (SHADOW_STACK)
		     : "rcx", "r11", "memory");
	if (err) {
		printf("# no shadow stacks: error %ld\n", -err);
		_exit(2);
	}
	if (argc > 1 && !strcmp(argv[1], "break"))
		break_rule();
	run();
}
