// SPDX-License-Identifier: GPL-2.0-only
/*
 * Implementation of patcher/text.h in user space: write the program's own text.
 *
 * kmarkers_start() moves the text into shared memory, which is mapped executable at the same
 * address.  A batch makes a second, writable mapping of the pages to patch, and unmaps it.
 */
#include <errno.h>
#include <link.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../patcher/text.h"
#include "failure.h"
#include "foreign.h"
#include "program.h"
#include "shadow.h"
#include "sync.h"
#include "text.h"
#include "trap.h"

#define PAGE_BYTES	4096UL
#define PAGE_OF(addr)	((unsigned long)(addr) & ~(PAGE_BYTES - 1))

static struct {
	unsigned long start, end;
	void *copy;	/* copy of the text for the child of fork(), or NULL */
	pid_t owner;	/* the process to which the shared memory belongs */
	bool *is_owner;	/* in a page that the kernel zeroes in a child of clone(2) */
} text;

bool patcher_is_module_text(struct module *module, unsigned long addr, unsigned int len)
{
	return addr >= text.start && addr < text.end && len <= text.end - addr;
}

/* Always false: code of a program may have run before its tables are registered. */
bool patcher_is_text_unexecuted(const struct module *module)
{
	return false;
}

/*
 * Map pages a second time, writable.  No file descriptor is kept for the memory, since the program
 * may close all descriptors.  mremap(2) with an old size of 0 maps shared pages a second time.  The
 * second mapping is executable, too, until mprotect() makes it writable.
 */
static void *map_writable_alias(void *pages, size_t size)
{
	void *view = mremap(pages, 0, size, MREMAP_MAYMOVE);

	if (view == MAP_FAILED)
		return NULL;
	if (mprotect(view, size, PROT_READ | PROT_WRITE)) {
		munmap(view, size);
		return NULL;
	}
	return view;
}

/*
 * Check, before the first store of a batch, that the shared memory, the SIGTRAP handler and
 * membarrier(2) can still be used.  A child of clone(2) or vfork(2) gets -EPERM, because it
 * executes the text of its parent: these system calls do not run the handlers of pthread_atfork().
 * The process id does not always identify a child: the child of process 1, as in a container, may
 * be process 1 of a new PID namespace.
 */
static int check_patching_prerequisites(void)
{
	if (getpid() != text.owner || !*text.is_owner)
		return -EPERM;
	if (!native_is_trap_handler_installed())
		return -ENOLINK;
	return native_sync_threads() ? -EOPNOTSUPP : 0;
}

int patcher_text_map(struct patcher_text_alias *alias, struct patcher_poke *pokes, unsigned int nr)
{
	unsigned long first = PAGE_OF(pokes[0].addr);
	unsigned long last = PAGE_OF(pokes[nr - 1].addr + pokes[nr - 1].len - 1);
	int err = check_patching_prerequisites();
	unsigned int i;

	if (!err && native_has_shadow_stack() && native_batch_has_call(pokes, nr))
		err = native_report_failure("cannot patch calls in a thread with a shadow stack",
					    -EOPNOTSUPP);
	if (err)
		return err;
	alias->nr_pages = (last - first) / PAGE_BYTES + 1;
	alias->base = map_writable_alias((void *)first, alias->nr_pages * PAGE_BYTES);
	if (!alias->base)
		return -ENOMEM;
	/*
	 * If the batch has at least as many pokes as pages, populate all pages by one call, so that
	 * the stores cause no page faults.
	 */
	if (alias->nr_pages <= nr)
		madvise(alias->base, alias->nr_pages * PAGE_BYTES, MADV_POPULATE_READ);
	for (i = 0; i < nr; i++)
		pokes[i].alias = (u8 *)alias->base + ((unsigned long)pokes[i].addr - first);
	return 0;
}

void patcher_text_unmap(struct patcher_text_alias *alias)
{
	munmap(alias->base, alias->nr_pages * PAGE_BYTES);
}

/*
 * Does nothing.  In the kernel, this lock keeps kprobes and the set of online CPUs from changing
 * during a batch.  A program has no kprobes.  Threads may start during a batch, because the kernel
 * executes a serialising instruction before a new thread runs.
 */
void patcher_text_lock(bool core_text)
{
}

void patcher_text_unlock(bool core_text)
{
}

int patcher_text_check_kprobes(const struct patcher_poke *pokes, unsigned int nr, bool locked)
{
	return 0;
}

/* Does nothing: a program has no kprobes. */
void patcher_find_probed_pokes(const struct patcher_poke *pokes, unsigned int nr, bool *probed)
{
}

void patcher_text_remove_unneeded_guards(void)
{
}

/* Always -EPERM: a program has no core kernel text. */
int patcher_text_check_core(const struct patcher_poke *pokes, unsigned int nr)
{
	return -EPERM;
}

/* Always false: a program cannot find out where its threads were preempted. */
bool patcher_text_can_wait_for_tasks(void)
{
	return false;
}

void patcher_text_wait_for_tasks(void)
{
}

/* Always false: other threads may run at any time. */
bool patcher_is_one_cpu_online(void)
{
	return false;
}

void patcher_text_store_first_bytes_again(struct patcher_poke *pokes, unsigned int nr)
{
}

/*
 * Find the executable segment of the program, and set text.start and .end.  Return NULL if there is
 * no executable segment.
 */
static const ElfW(Phdr) *find_text_segment(void)
{
	const struct dl_phdr_info *info = &native_get_program()->info;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		unsigned long start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X))
			continue;
		text.start = PAGE_OF(start);
		text.end = PAGE_OF(start + phdr->p_memsz + PAGE_BYTES - 1);
		return phdr;
	}
	return NULL;
}

/*
 * Copy the present text into new executable shared memory.  Return NULL if there is no memory.
 * The memory has no file, so limits on descriptors and files do not apply.  No mapping is writable
 * and executable at the same time.
 * @segment: program header of the text, to remove the breakpoints of tracers from the copy; NULL if
 * the text was moved before
 */
static void *copy_text_to_shared_memory(const ElfW(Phdr) *segment)
{
	size_t size = text.end - text.start;
	void *copy, *view;

	copy = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return NULL;
	view = map_writable_alias(copy, size);
	if (!view) {
		munmap(copy, size);
		return NULL;
	}
	madvise(view, size, MADV_POPULATE_WRITE);
	memcpy(view, (void *)text.start, size);
	if (segment)
		native_remove_breakpoints(view, size, segment);
	munmap(view, size);
	return copy;
}

/* Map a page that the kernel zeroes in each child process that has a copy of the memory. */
static int map_wipe_on_fork_page(void)
{
	void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return -errno;
	/* If madvise() fails, a child of clone(2) is recognised by its process id alone. */
	madvise(page, PAGE_BYTES, MADV_WIPEONFORK);
	text.is_owner = page;
	return 0;
}

/*
 * Replace the mapping of the text by a copy.  If a thread executes the text meanwhile, the thread
 * waits for the kernel, and then finds the same bytes.
 */
static int replace_text_mapping(void *copy)
{
	size_t size = text.end - text.start;
	int err = text.is_owner ? 0 : map_wipe_on_fork_page();

	if (err)
		return err;
	if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, text.start) == MAP_FAILED)
		return -errno;
	text.owner = getpid();
	*text.is_owner = true;
	return 0;
}

/* Move the text into shared memory, unless an earlier call of kmarkers_start() has moved it. */
int native_move_text_to_shared_memory(void)
{
	const ElfW(Phdr) *segment;
	void *copy;
	int err;

	if (text.owner)
		return 0;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		return native_report_failure("this kernel has no membarrier(2) with sync-core",
					     -errno);
	segment = find_text_segment();
	if (!segment)
		return native_report_failure("the program has no executable segment", -ENOENT);
	copy = copy_text_to_shared_memory(segment);
	if (!copy)
		return native_report_failure("cannot copy the text into shared memory", -errno);
	err = replace_text_mapping(copy);
	if (!err)
		return 0;
	munmap(copy, text.end - text.start);
	return native_report_failure("cannot map shared memory over the text", err);
}

/*
 * Copy the text for the child before the fork, while no batch runs.  After the fork the parent may
 * begin a batch.
 */
void native_text_copy_for_fork(void)
{
	text.copy = text.owner ? copy_text_to_shared_memory(NULL) : NULL;
}

void native_text_drop_fork_copy(void)
{
	if (text.copy)
		munmap(text.copy, text.end - text.start);
}

/*
 * Map the copy as the text of the child, or end the child if there is no copy.  With the text of
 * its parent, the child would execute code that the parent patches without synchronising the child.
 * The child inherits the registration for membarrier(2).
 */
void native_text_map_fork_copy(void)
{
	static const char no_copy[] =
		"kmarkers: no memory for a copy of the text: the child of fork() ends\n";

	if (!text.owner || (text.copy && !replace_text_mapping(text.copy)))
		return;
	syscall(SYS_write, STDERR_FILENO, no_copy, sizeof(no_copy) - 1);
	_exit(127);
}
