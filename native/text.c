// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space side of patcher/text.h: the program's own text, all its threads.
 *
 * The text lies in a memory file.  It is mapped executable where the linker put
 * it; a batch maps the pages it writes a second time, writable, and unmaps them.
 */
#include <errno.h>
#include <link.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../patcher/text.h"
#include "text.h"

#define PAGE_BYTES	4096UL
#define PAGE_OF(addr)	((unsigned long)(addr) & ~(PAGE_BYTES - 1))

static struct {
	unsigned long start, end;
	int copy;	/* for the child, while the program forks */
	pid_t owner;	/* the process that the memory file belongs to */
} text;

bool text_owned(struct module *module, unsigned long addr, unsigned int len)
{
	return addr >= text.start && addr < text.end && len <= text.end - addr;
}

/*
 * A child of clone(2) or vfork(2), which run no handlers of pthread_atfork(),
 * executes its parent's text and must not write it: -EPERM.
 *
 * No descriptor of the memory file is kept: the program may close it, and open
 * another file that gets its number.  mremap(2) maps shared pages a second time
 * if their old size is 0; executable as they were, until they are made writable.
 */
int text_map(struct text_alias *alias, struct patcher_poke *pokes, unsigned int nr)
{
	unsigned long first = PAGE_OF(pokes[0].addr);
	unsigned long last = PAGE_OF(pokes[nr - 1].addr + pokes[nr - 1].len - 1);
	unsigned int i;
	size_t size;

	if (getpid() != text.owner)
		return -EPERM;
	alias->nr_pages = (last - first) / PAGE_BYTES + 1;
	size = alias->nr_pages * PAGE_BYTES;
	alias->base = mremap((void *)first, 0, size, MREMAP_MAYMOVE);
	if (alias->base == MAP_FAILED)
		return -ENOMEM;
	if (mprotect(alias->base, size, PROT_READ | PROT_WRITE)) {
		text_unmap(alias);
		return -ENOMEM;
	}
	/* Few pages for many pokes are all written: no fault for each. */
	if (alias->nr_pages <= nr)
		madvise(alias->base, size, MADV_POPULATE_READ);
	for (i = 0; i < nr; i++)
		pokes[i].alias = (u8 *)alias->base + ((unsigned long)pokes[i].addr - first);
	return 0;
}

void text_unmap(struct text_alias *alias)
{
	munmap(alias->base, alias->nr_pages * PAGE_BYTES);
}

/* Threads come and go through the kernel, which serialises them. */
void text_lock(bool core)
{
}

void text_unlock(bool core)
{
}

int text_vet(const struct patcher_poke *pokes, unsigned int nr, bool locked)
{
	return 0;
}

/* A program has no text but its own. */
int text_vet_core(const struct patcher_poke *pokes, unsigned int nr)
{
	return -EPERM;
}

/* Nothing tells where threads were preempted. */
bool text_can_wait(void)
{
	return false;
}

void text_wait_tasks(void)
{
}

/* Other threads may run at any time. */
bool text_alone(void)
{
	return false;
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
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0)) {
		/* Taken away since text_start(): no way on and no way back. */
		perror("kmarkers: membarrier");
		abort();
	}
	serialise();
}

void text_rewrite(struct patcher_poke *pokes, unsigned int nr)
{
}

/* The executable segment of the program itself, which comes first. */
static int find_text(struct dl_phdr_info *info, size_t size, void *unused)
{
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		unsigned long start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X))
			continue;
		text.start = PAGE_OF(start);
		text.end = PAGE_OF(start + phdr->p_memsz + PAGE_BYTES - 1);
		return 1;
	}
	return -ENOENT;
}

/* A memory file with the text as it is now. */
static int copy_text(void)
{
	unsigned long done = 0, size = text.end - text.start;
	int err, file = memfd_create("text", MFD_CLOEXEC);

	if (file < 0)
		return -errno;
	while (done < size) {
		ssize_t n = write(file, (void *)(text.start + done), size - done);

		if (n <= 0) {
			err = n ? -errno : -EIO;
			close(file);
			return err;
		}
		done += n;
	}
	return file;
}

/*
 * At every moment the same bytes are mapped: threads that execute them notice
 * nothing.  Not mmap(3), because sanitizers take that for fresh memory.  Closes @file.
 */
static int map_text(int file)
{
	int err = 0;

	if (syscall(SYS_mmap, text.start, text.end - text.start, PROT_READ | PROT_EXEC,
		    MAP_SHARED | MAP_FIXED, file, 0) == -1)
		err = -errno;
	else
		text.owner = getpid();
	close(file);
	return err;
}

int text_start(void)
{
	int err, file;

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		return start_failed("this kernel has no membarrier(2) with sync-core", -errno);
	if (dl_iterate_phdr(find_text, NULL) != 1)
		return start_failed("the program has no executable segment", -ENOENT);
	file = copy_text();
	if (file < 0)
		return start_failed("cannot copy the program's text into a memory file", file);
	err = map_text(file);
	return err ? start_failed("cannot map a memory file as the program's text", err) : 0;
}

/* The copy is made while no batch runs: later the parent may go on before the child. */
void text_before_fork(void)
{
	text.copy = text.owner ? copy_text() : -1;
}

void text_after_fork_parent(void)
{
	if (text.copy >= 0)
		close(text.copy);
}

/*
 * Without its own copy the child keeps executing its parent's text; text_map()
 * refuses to write it.  The registration for membarrier() was inherited.
 */
void text_after_fork_child(void)
{
	if (text.copy >= 0)
		map_text(text.copy);
}
