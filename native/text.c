// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space side of patcher/text.h: the program's own text, all its threads.
 *
 * The text lies in a memory file.  It is mapped executable where the linker put
 * it; a batch maps the pages it writes a second time, writable, and unmaps them.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <linux/ptrace.h>

#include "../patcher/text.h"
#include "text.h"

#define PAGE_BYTES	4096UL
#define PAGE_OF(addr)	((unsigned long)(addr) & ~(PAGE_BYTES - 1))

static int text_file = -1;
static unsigned long text_start, text_end;

bool text_owned(struct module *module, unsigned long addr, unsigned int len)
{
	return addr >= text_start && addr + len <= text_end;
}

int text_map(struct text_alias *alias, struct patcher_poke *pokes, unsigned int nr)
{
	unsigned long first = PAGE_OF(pokes[0].addr);
	unsigned long last = PAGE_OF(pokes[nr - 1].addr + pokes[nr - 1].len - 1);
	unsigned int i;

	alias->nr_pages = (last - first) / PAGE_BYTES + 1;
	alias->base = mmap(NULL, alias->nr_pages * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			   text_file, first - text_start);
	if (alias->base == MAP_FAILED)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		pokes[i].alias = (u8 *)alias->base + ((unsigned long)pokes[i].addr - first);
	return 0;
}

void text_unmap(struct text_alias *alias)
{
	munmap(alias->base, alias->nr_pages * PAGE_BYTES);
}

/* Threads come and go through the kernel, which serialises them. */
void text_lock(void)
{
}

void text_unlock(void)
{
}

/* IRET is serialising (Intel SDM vol. 3A, 9.3) and, unlike CPUID, never traps to a hypervisor. */
static void serialise(void)
{
	unsigned long scratch;

	asm volatile("movq %%ss, %0\n\t"
		     "subq $128, %%rsp\n\t"
		     "pushq %0\n\t"
		     "leaq 8+128(%%rsp), %0\n\t"
		     "pushq %0\n\t"
		     "pushfq\n\t"
		     "movq %%cs, %0\n\t"
		     "pushq %0\n\t"
		     "leaq 1f(%%rip), %0\n\t"
		     "pushq %0\n\t"
		     "iretq\n"
		     "1:"
		     : "=&r" (scratch) : : "cc", "memory");
}

/* membarrier(2): the other running threads of the process execute a serialising instruction. */
void text_sync(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	serialise();
}

bool text_rewrite_needed(void)
{
	return false;
}

#define FOR_EACH_REGISTER(copy)						\
	copy(r15, REG_R15) copy(r14, REG_R14) copy(r13, REG_R13) copy(r12, REG_R12) \
	copy(bp, REG_RBP) copy(bx, REG_RBX) copy(r11, REG_R11) copy(r10, REG_R10) \
	copy(r9, REG_R9) copy(r8, REG_R8) copy(ax, REG_RAX) copy(cx, REG_RCX) \
	copy(dx, REG_RDX) copy(si, REG_RSI) copy(di, REG_RDI) copy(ip, REG_RIP) \
	copy(flags, REG_EFL) copy(sp, REG_RSP)

static void on_sigtrap(int sig, siginfo_t *info, void *context)
{
	greg_t *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct pt_regs regs;

#define LOAD(name, index)	regs.name = gregs[index];
#define STORE(name, index)	gregs[index] = regs.name;
	FOR_EACH_REGISTER(LOAD)
	if (patcher_handle_int3(&regs)) {
		FOR_EACH_REGISTER(STORE)
	} else {
		/* Not ours: what would have happened without us. */
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

/* The executable segment of the program itself. */
static int find_text(void)
{
	const ElfW(Phdr) *phdr = (void *)getauxval(AT_PHDR);
	unsigned long i, nr = getauxval(AT_PHNUM);

	for (i = 0; i < nr; i++) {
		if (phdr[i].p_type != PT_LOAD || !(phdr[i].p_flags & PF_X))
			continue;
		text_start = PAGE_OF(phdr[i].p_vaddr);
		text_end = PAGE_OF(phdr[i].p_vaddr + phdr[i].p_memsz + PAGE_BYTES - 1);
		return 0;
	}
	return -ENOENT;
}

/* The C library's text does the mapping, so ours may be replaced under it. */
static int move_text(void)
{
	unsigned long size = text_end - text_start;
	void *at;

	text_file = memfd_create("text", MFD_CLOEXEC);
	if (text_file < 0)
		return -errno;
	if (write(text_file, (void *)text_start, size) != (ssize_t)size)
		return -EIO;
	at = mmap((void *)text_start, size, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED,
		  text_file, 0);
	return at == MAP_FAILED ? -errno : 0;
}

static int install_handler(void)
{
	struct sigaction action = {
		.sa_sigaction = on_sigtrap,
		.sa_flags = SA_SIGINFO | SA_RESTART,
	};

	return sigaction(SIGTRAP, &action, NULL) ? -errno : 0;
}

static int fail(const char *what, int err)
{
	fprintf(stderr, "kmarkers: %s: %s\n", what, strerror(-err));
	return err;
}

int native_text_start(void)
{
	int err;

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		return fail("this kernel has no membarrier(2) with sync-core", -errno);
	err = find_text();
	if (err)
		return fail("no executable segment", err);
	err = move_text();
	if (err)
		return fail("cannot move the program's text into a memory file", err);
	err = install_handler();
	return err ? fail("cannot handle SIGTRAP", err) : 0;
}
