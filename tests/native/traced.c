// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of kmarkers_start(), which moves the program's text, while the text contains breakpoints of
 * other programs: breakpoints of uprobes, if this process may add uprobes, and breakpoints that a
 * debugger sets with ptrace(2).  Some kernels store calls for uprobes: the tests store such calls
 * into a copy of the text.
 */
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/kernel.h>

#include <kmarkers/opcodes.h>
#include <kmarkers/sdt.h>
#include <kmarkers/user.h>

#include "../../native/foreign.h"
#include "../../native/peers/uprobes.h"
#include "../../native/program.h"
#include "process.h"
#include "start.h"
#include "traced.h"

#define NO_UPROBES	77
#define NOP_BYTES	5
#define ENOTSUPP	524
#define NR_BREAKPOINTS	4

static DEFINE_IMV(int, value) = 1;
static volatile unsigned int calls;

static noinline void count_call(void)
{
	calls++;
}

/* Read an immediate value: the function begins with the instruction of the site. */
static noinline int read_value(void)
{
	return imv_read(value);
}

extern u8 traced_long_nop[];

/* Execute a nop of 5 bytes: since Linux 6.18, a uprobe on such a nop replaces the nop by a call. */
static noinline void execute_long_nop(void)
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

/* Return the address of breakpoint number @i. */
static u8 *get_breakpoint_addr(unsigned int i)
{
	static u8 *const all[NR_BREAKPOINTS] = {
		(u8 *)count_call, (u8 *)read_value, (u8 *)hit_probe, traced_long_nop,
	};

	return all[i];
}

/*
 * Check that functions, values and probes work, and that the text has no breakpoints of other
 * programs.  Return 0, or the number of the check that failed.
 */
static int check_traced_program(void)
{
	static const u8 nop[NOP_BYTES] = { 0x0f, 0x1f, 0x44, 0, 0 };
	unsigned int before = calls;
	int now = _imv_read(value);

	count_call();
	execute_long_nop();
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

/* Add a uprobe at an address of this program, whose load bias is 0. */
static int add_uprobe(const u8 *addr)
{
	extern const u8 __ehdr_start[];

	return add_counting_uprobe("/proc/self/exe", find_file_offset((const void *)__ehdr_start,
								       (unsigned long)addr));
}

static int add_uprobes(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < NR_BREAKPOINTS && !err; i++) {
		err = add_uprobe(get_breakpoint_addr(i));
		/* The kernel refuses uprobes on instructions with the prefix of SDT sites. */
		if (err == -ENOTSUPP && get_breakpoint_addr(i) == (u8 *)hit_probe)
			err = 0;
	}
	return err;
}

int traced_by_uprobes(void)
{
	int err = read_uprobe_pmu_type() < 0 ? -EPERM : add_uprobes();
	unsigned int i;

	if (err) {
		fprintf(stderr, "uprobes: %s\n", explain_uprobe_error(err));
		return NO_UPROBES;
	}
	if (*get_breakpoint_addr(0) != KMARKERS_INT3)
		return 1;
	for (i = 0; i < 3; i++) {
		count_call();
		execute_long_nop();
		read_value();
	}
	err = kmarkers_start() ? 1 : check_traced_program();
	/* Remove the uprobes and add them a second time, as another tracer would. */
	close_uprobes();
	err = err ?: check_traced_program();
	if (!err && add_uprobes())
		return 7;
	err = err ?: check_traced_program();
	close_uprobes();
	return err ?: check_traced_program();
}

int traced_by_debugger(void)
{
	unsigned int i;

	for (i = 0; i < NR_BREAKPOINTS; i++)
		if (*get_breakpoint_addr(i) != KMARKERS_INT3)
			return 1;
	return kmarkers_start() ? 1 : check_traced_program();
}

static const char *check_traced_program_under_uprobes(void)
{
	int code = start_run_in_child("uprobes");

	if (code == NO_UPROBES)
		return "SKIP this process cannot add uprobes";
	EXPECT(code == 0);
	return NULL;
}

/* Store a breakpoint.  At the long nop, also store the four bytes behind it, as a uprobe does. */
static bool store_breakpoint_in_child(pid_t child, u8 *addr)
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

/*
 * Store breakpoints in a child that has stopped at exec(), and let the child continue.  Return the
 * child's exit code, or 128 + SIGNAL if a signal stops or kills the child.
 */
static int run_child_with_breakpoints(pid_t child)
{
	int status;
	unsigned int i;

	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		return -1;
	for (i = 0; i < NR_BREAKPOINTS; i++)
		if (!store_breakpoint_in_child(child, get_breakpoint_addr(i)))
			return -1;
	if (ptrace(PTRACE_CONT, child, 0, 0) || waitpid(child, &status, 0) != child)
		return -1;
	if (!WIFSTOPPED(status))
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return 128 + WSTOPSIG(status);
}

static const char *check_traced_program_under_debugger(void)
{
	pid_t child = fork();

	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(126);
		start_exec_scenario("debugger");
	}
	EXPECT(run_child_with_breakpoints(child) == 0);
	return NULL;
}

#define PAGE_BYTES	4096UL
#define CALL_BYTES	5
#define LONGER_NOP	10
/*
 * Distance from the end of a call to the trampoline of uprobes.  No byte of this number is an int3,
 * which would be taken for a breakpoint.
 */
#define DISTANCE	0x10101010

static bool has_trampoline;
static unsigned long trampoline;

/* Replace native_find_mapping_name(), with the option --wrap of the linker. */
bool __real_native_find_mapping_name(unsigned long addr, char *name, size_t size);
bool __wrap_native_find_mapping_name(unsigned long addr, char *name, size_t size);

bool __wrap_native_find_mapping_name(unsigned long addr, char *name, size_t size)
{
	if (!has_trampoline || addr != trampoline)
		return __real_native_find_mapping_name(addr, name, size);
	snprintf(name, size, "[uprobes-trampoline]");
	return true;
}

extern u8 traced_longer_nop[], traced_short_nops[], traced_mov[];

static __used noinline void contain_instructions(void)
{
	asm volatile("traced_longer_nop: .byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n\t"
		     "traced_short_nops: .byte 0x0f, 0x1f, 0, 0x66, 0x90\n\t"
		     "traced_mov: .byte 0xb8, 0, 0, 0, 0" : : : "eax");
}

/*
 * A copy of the program's text as it is in the file, and the address of the first byte in the
 * program.
 */
static struct {
	ElfW(Phdr) segment;
	const u8 *file;
	u8 *copy;
	size_t size;
	unsigned long start;
} text;

static bool copy_text_of_program_file(void)
{
	const struct native_program *program = native_get_program();
	const struct dl_phdr_info *info = &program->info;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
			text.segment = info->dlpi_phdr[i];
	text.start = (info->dlpi_addr + text.segment.p_vaddr) & ~(PAGE_BYTES - 1);
	text.file = (const u8 *)program->file + (text.segment.p_offset & ~(PAGE_BYTES - 1));
	text.size = text.segment.p_filesz;
	text.copy = malloc(text.size);
	if (!program->file || !text.copy)
		return false;
	memcpy(text.copy, text.file, text.size);
	/* Test a text that begins in the middle of a page, as some linkers make it. */
	text.segment.p_vaddr += 0x123;
	text.segment.p_offset += 0x123;
	return true;
}

static void free_text_copy(void)
{
	has_trampoline = false;
	free(text.copy);
	text.copy = NULL;
}

/*
 * Store a call of the trampoline into the copy of the text, as a uprobe at @addr does, @before
 * bytes behind @addr.  Return true if native_remove_breakpoints() restores the copy.  Otherwise,
 * restore the copy, and set @changed if native_remove_breakpoints() has changed any byte.
 */
static bool is_uprobe_call_removed(const u8 *addr, unsigned int before, bool *changed)
{
	s32 distance = DISTANCE;
	u8 *at = text.copy + ((unsigned long)addr - text.start), stored[LONGER_NOP];

	trampoline = (unsigned long)addr + before + CALL_BYTES + DISTANCE;
	/* The first instruction of a uprobe on a nop of 10 bytes: lea -128(%rsp), %rsp. */
	memcpy(at, "\x48\x8d\x64\x24\x80", before);
	at[before] = 0xe8;
	memcpy(at + before + 1, &distance, sizeof(distance));
	memcpy(stored, at, before + CALL_BYTES);
	native_remove_breakpoints(text.copy, text.size, &text.segment);
	if (!memcmp(text.copy, text.file, text.size))
		return true;
	*changed |= memcmp(stored, at, before + CALL_BYTES);
	memcpy(at, text.file + (at - text.copy), before + CALL_BYTES);
	*changed |= memcmp(text.copy, text.file, text.size);
	return false;
}

/*
 * Check that a call of the uprobes trampoline is removed from a copy of the text only if the call
 * replaces one nop: the kernel replaces no other instructions.
 */
static const char *traced_text_is_copied_without_uprobe_calls(void)
{
	bool changed = false;

	EXPECT(copy_text_of_program_file());
	EXPECT(!is_uprobe_call_removed(traced_long_nop, 0, &changed));
	has_trampoline = true;
	EXPECT(is_uprobe_call_removed(traced_long_nop, 0, &changed));
	EXPECT(is_uprobe_call_removed(traced_longer_nop, LONGER_NOP - CALL_BYTES, &changed));
	EXPECT(!is_uprobe_call_removed(traced_short_nops, 0, &changed));
	EXPECT(!is_uprobe_call_removed(traced_mov, 0, &changed));
	EXPECT(!changed);
	return NULL;
}

/* Return true if the byte at @addr is in the mapping of the file "named". */
static bool is_in_named_mapping(const u8 *addr)
{
	char name[64];

	return native_find_mapping_name((unsigned long)addr, name, sizeof(name)) &&
	       !strcmp(name, "/memfd:named (deleted)");
}

/*
 * Check that the name of a mapping is found for the first and the last byte of the mapping, and
 * that the mappings beside it have no name.
 */
static const char *program_finds_the_names_of_mappings(void)
{
	u8 *pages = mmap(NULL, 3 * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u8 *named = pages + PAGE_BYTES;
	int file = memfd_create("named", 0);
	bool found[4], unnamed_is_found;
	char name[64];

	EXPECT(pages != MAP_FAILED && file >= 0);
	EXPECT(mmap(named, PAGE_BYTES, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == named);
	found[0] = is_in_named_mapping(named - 1);
	found[1] = is_in_named_mapping(named);
	found[2] = is_in_named_mapping(named + PAGE_BYTES - 1);
	found[3] = is_in_named_mapping(named + PAGE_BYTES);
	unnamed_is_found = native_find_mapping_name((unsigned long)pages, name, sizeof(name));
	munmap(pages, 3 * PAGE_BYTES);
	close(file);
	EXPECT(!found[0] && found[1] && found[2] && !found[3]);
	EXPECT(!unnamed_is_found);
	return NULL;
}

const struct test_case traced_cases[] = {
	{ "traced_by_uprobes", check_traced_program_under_uprobes, NULL },
	{ "traced_by_debugger", check_traced_program_under_debugger, NULL },
	{ "traced_text_is_copied_without_uprobe_calls", traced_text_is_copied_without_uprobe_calls,
	  free_text_copy },
	{ "program_finds_the_names_of_mappings", program_finds_the_names_of_mappings, NULL },
};

const unsigned int traced_nr_cases = ARRAY_SIZE(traced_cases);
