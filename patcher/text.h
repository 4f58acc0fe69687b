/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Platform functions of the patcher: map a writable alias of read-only text, and synchronise
 * all CPUs, after which they fetch changed instructions.  patcher/text.c implements them in
 * the kernel, native/text.c in user space.
 */
#ifndef PATCHER_TEXT_H
#define PATCHER_TEXT_H

#include <kmarkers/patcher.h>

/**
 * struct patcher_text_alias - writable, never executable view of the text of one batch
 * @base: address of its first byte
 * @nr_pages: number of pages mapped
 */
struct patcher_text_alias {
	void *base;
	unsigned int nr_pages;
};

/*
 * Return true if @len bytes at @addr are text of @module, and not text that is freed after
 * initialisation.
 */
bool patcher_text_owned(struct module *module, unsigned long addr, unsigned int len);

/*
 * Return true if @module is being loaded and none of its code has run yet.  Return false if it
 * is NULL, and always in user space.
 */
bool patcher_text_is_new(const struct module *module);

/*
 * Check that no other code uses the core text of the pokes.  The caller holds patcher_lock(), and
 * no lock of the kernel.  Return 0, -EBUSY, -EILSEQ, -EPERM or -EINVAL.
 */
int patcher_text_vet_core(const struct patcher_poke *pokes, unsigned int nr);

/*
 * Map the text of @nr pokes, sorted by address, and set their alias.  May sleep.
 * Return 0, -ENOMEM, or in user space one of the errors that <kmarkers/user.h> lists for
 * functions that change text.
 */
int patcher_text_map(struct patcher_text_alias *alias, struct patcher_poke *pokes, unsigned int nr);
void patcher_text_unmap(struct patcher_text_alias *alias);

/*
 * Take kprobe_mutex and cpus_read_lock(), so that neither kprobes nor the set of online CPUs
 * change; with @core also text_mutex, so that no other code writes core text.  User space: no-op.
 */
void patcher_text_lock(bool core);
void patcher_text_unlock(bool core);

/*
 * Check that no other code, such as a kprobe, uses the text of the pokes, which are sorted,
 * or the text that they jump to.  Return 0, -EBUSY or -ENOMEM.
 * @locked: true if the caller holds patcher_text_lock(): the result is then valid until it is
 *	released.  If false, the function registers guard kprobes for new jumps into kprobes
 */
int patcher_text_vet(const struct patcher_poke *pokes, unsigned int nr, bool locked);

/*
 * Unregister guard kprobes of jumps that no longer exist.  Called after a batch and after a
 * table was unregistered.
 */
void patcher_text_release(void);

/*
 * Make every CPU execute a serialising instruction.  On return, all of them have done so and
 * see every store made before the call.
 */
void patcher_text_sync(void);

/*
 * Wait until no task is preempted inside a run of instructions (PATCHER_SITE_RUN).
 * patcher_text_can_wait() returns true if the platform supports this.
 */
void patcher_text_wait_tasks(void);
bool patcher_text_can_wait(void);

/*
 * Return true if a single CPU is online; always false in user space.  The caller holds
 * patcher_text_lock().
 */
bool patcher_text_alone(void);

/*
 * Store the first bytes again under an emulator, where a CPU may still execute an int3 that
 * is no longer in memory.
 */
void patcher_text_rewrite(struct patcher_poke *pokes, unsigned int nr);

#endif /* PATCHER_TEXT_H */
