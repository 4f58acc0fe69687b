// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program with SDT sites, each described by a note in the format that modules use: a record of the
 * address of the site and of the locations of its arguments.  Tests in tests/tools compile the
 * program.  The program stores a breakpoint at each site; for each hit, the program prints the name
 * of the probe and the arguments, which it fetches as kmarkers_sdt does.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <linux/kernel.h>
#include <linux/ptrace.h>

#define LEVEL	program

#include "../common/notes_hits.h"
#include "../common/notes_probes.h"

#include "../../sdt/operands.h"
#include "../../sdt/registry.h"

/* Symbol to which the table of sites refers.  Other programs get this symbol from the library. */
const u8 sdt_tables_need_sdt;

/* First byte of the instruction at each site, which the breakpoint replaces. */
static u8 old[64];

extern struct kmarkers_chunk heads[] asm("__start_kmarkers_sdtnote_heads");

static struct sdt_note_record *records;
static unsigned int nr_records;

static void copy_registers(struct pt_regs *regs, const greg_t *gregs)
{
	*regs = (struct pt_regs) {
		.r15 = gregs[REG_R15], .r14 = gregs[REG_R14], .r13 = gregs[REG_R13],
		.r12 = gregs[REG_R12], .bp = gregs[REG_RBP], .bx = gregs[REG_RBX],
		.r11 = gregs[REG_R11], .r10 = gregs[REG_R10], .r9 = gregs[REG_R9],
		.r8 = gregs[REG_R8], .ax = gregs[REG_RAX], .cx = gregs[REG_RCX],
		.dx = gregs[REG_RDX], .si = gregs[REG_RSI], .di = gregs[REG_RDI],
		.sp = gregs[REG_RSP],
	};
}

static void print_hit(const struct sdt_note_record *record, const greg_t *gregs)
{
	const struct sdt_probe *probe = sdt_get_probe(&record->site);
	unsigned long args[SDT_MAX_ARGS];
	struct pt_regs regs;
	unsigned int i;

	copy_registers(&regs, gregs);
	if (sdt_fetch_operands(sdt_get_note_codes(record), probe->nr, &regs, args)) {
		printf("%s: cannot decode an argument\n", probe->name);
		exit(1);
	}
	printf("%s", probe->name);
	for (i = 0; i < probe->nr; i++)
		printf(" %ld", args[i]);
	printf("\n");
}

static u8 *get_note_site(unsigned int i)
{
	return (u8 *)patcher_site_addr(&records[i].site);
}

/*
 * Print a hit, execute the instruction at the site in a single step, then restore the breakpoints.
 */
static void print_hit_and_step(int sig, siginfo_t *info, void *context)
{
	greg_t *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;
	bool is_step = gregs[REG_EFL] & 0x100;
	unsigned int i;

	gregs[REG_EFL] ^= 0x100;
	for (i = 0; is_step && i < nr_records; i++)
		*get_note_site(i) = 0xcc;
	if (is_step)
		return;
	gregs[REG_RIP]--;
	for (i = 0; i < nr_records; i++) {
		if ((greg_t)get_note_site(i) == gregs[REG_RIP])
			print_hit(&records[i], gregs);
		*get_note_site(i) = old[i];
	}
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = print_hit_and_step, .sa_flags = SA_SIGINFO };
	unsigned int i;

	setvbuf(stdout, NULL, _IONBF, 0);
	records = kmarkers_get_first_record(heads);
	nr_records = heads->bytes / sizeof(*records);
	sigaction(SIGTRAP, &action, NULL);
	for (i = 0; i < nr_records; i++) {
		mprotect((void *)((unsigned long)get_note_site(i) & ~4095UL), 8192,
			 PROT_READ | PROT_WRITE | PROT_EXEC);
		old[i] = *get_note_site(i);
	}
	for (i = 0; i < nr_records; i++)
		*get_note_site(i) = 0xcc;
	program_notes();
	for (i = 0; i < nr_records; i++)
		*get_note_site(i) = old[i];
	return 0;
}
