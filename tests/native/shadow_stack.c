// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program with user shadow stacks that uses the kmarkers library.  The program needs a processor
 * and a kernel that support shadow stacks, and is linked statically, for a small initramfs.  Each
 * line of output is one test in KTAP format.  With the argument "break", the program only returns
 * to an address that differs from the address on its shadow stack.
 *
 * The program enables the shadow stack itself, because Debian's glibc does not enable it.  The
 * function that enables it must not return: its own return address is not on the shadow stack.
 *
 * There is one thread, since Bochs 3.0 confuses the shadow stacks of two tasks: a program without
 * the library also dies after fork().
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

static void count_hit(void *probe_private, void *call_private, const char *fmt, va_list *args)
{
	marked++;
}

static void add_hit_argument(void *private, const struct sdt_hit *hit)
{
	trapped += hit->args[0];
}

static void print_result(bool good, const char *what)
{
	printf("%s %s\n", good ? "ok" : "not ok", what);
}

static noinline unsigned int hit_sites(void)
{
	trace_mark(shadow_request, "%d", 1);
	SDT_PROBE1(shadow, , , request, 1);
	return imv_read(step);
}

/* Return to an address that differs from the address on the shadow stack, which causes a fault. */
static noinline void return_to_wrong_address(void)
{
	asm volatile("lea	1f(%%rip), %%rax\n"
		     "push	%%rax\n"
		     "ret\n"
		     "1:\n" : : : "rax", "memory");
}

static void exit_on_protection_fault(int sig, siginfo_t *info, void *context)
{
	_exit(info->si_code == CONTROL_PROTECTION ? 0 : 1);
}

static _Noreturn void exit_after_fault(void)
{
	struct sigaction action = {
		.sa_sigaction = exit_on_protection_fault, .sa_flags = SA_SIGINFO,
	};

	sigaction(SIGSEGV, &action, NULL);
	return_to_wrong_address();
	_exit(1);
}

static bool has_shadow_stack(void)
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

/*
 * Switch a marker on and off, and change a value back and forth.  Return true if each change takes
 * effect at once.
 */
static bool changes_take_effect(void)
{
	bool good = true;
	unsigned int i;

	for (i = 0; i < CHANGES; i++) {
		good &= !marker_probe_register("shadow_request", "%d", count_hit, NULL);
		good &= !imv_set(step, 1000 + i) && hit_sites() == 1000 + i;
		good &= !marker_probe_unregister("shadow_request", count_hit, NULL);
		hit_sites();
	}
	return good && marked == CHANGES;
}

/* Return true if each execution of a permanent breakpoint calls the handler. */
static bool each_trap_calls_the_handler(void)
{
	unsigned int i;

	if (sdt_attach("shadow:::request", add_hit_argument, NULL))
		return false;
	for (i = 0; i < HITS; i++)
		hit_sites();
	return !sdt_detach("shadow:::request", add_hit_argument, NULL) && trapped == HITS;
}

extern u8 shadow_site[];
asm(".pushsection .text\n"
	"shadow_site:	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	ret\n"
	".popsection\n");

/*
 * Replace the nop by a jump or call with the opcode @opcode, which leads to the next instruction.
 * Then restore the nop.
 */
static int replace_nop_and_restore(u8 opcode)
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

/*
 * Return true if a nop can be replaced by a jump but not by a call: the return from an emulated
 * call would cause a fault.
 */
static bool is_only_call_refused(void)
{
	static struct patcher_site site = { .len = 5 };
	static struct patcher_table table = { .sites = &site, .nr = 1, .owner = "shadow" };

	table.owner = "shadow";
	site.addr = (long)shadow_site - (long)&site.addr;
	return !patcher_register(&table) && !replace_nop_and_restore(0xe9) &&
	       replace_nop_and_restore(0xe8) == -EOPNOTSUPP;
}

static _Noreturn void print_all_results(void)
{
	print_result(has_shadow_stack(), "/proc/self/status shows that shadow stacks are enabled");
	print_result(!kmarkers_start(), "kmarkers_start() returns 0");
	print_result(changes_take_effect(), "each change of a marker and of a value takes effect");
	print_result(each_trap_calls_the_handler(), "each permanent breakpoint calls its handler");
	print_result(is_only_call_refused(), "a nop can be replaced by a jump, not by a call");
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
		exit_after_fault();
	print_all_results();
}
