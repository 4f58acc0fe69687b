/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The platform below the protocol: a writable alias of text that cannot be written
 * itself, and synchronisation of all CPUs, after which they fetch instructions anew.
 * patcher/text.c implements it in the kernel, native/text.c in user space.
 */
#ifndef PATCHER_TEXT_H
#define PATCHER_TEXT_H

#include <kmarkers/patcher.h>

/**
 * struct patcher_text_alias - writable, never executable view of the text of one batch
 * @base: address of its first byte
 * @nr_pages: pages mapped
 */
struct patcher_text_alias {
	void *base;
	unsigned int nr_pages;
};

/*
 * True if @len bytes at @addr are text of @module that stays as long as the module
 * does: not data, and not text that is freed after initialisation.
 */
bool patcher_text_owned(struct module *module, unsigned long addr, unsigned int len);

/*
 * True if @module is being loaded, so that the caller can promise that none of the
 * module's code has run; false for NULL.
 */
bool patcher_text_is_new(const struct module *module);

/*
 * Check whether anyone has a claim to the core text of the pokes, before any lock
 * other than the patcher's own is taken.  Return 0, -EBUSY, -EILSEQ, -EPERM or -EINVAL.
 */
int patcher_text_vet_core(const struct patcher_poke *pokes, unsigned int nr);

/*
 * Map the text of @nr pokes, sorted by address, and set their alias.  May sleep.
 * Return 0, -ENOMEM, or in user space an error that says why text cannot be written:
 * see <kmarkers/user.h>.
 */
int patcher_text_map(struct patcher_text_alias *alias, struct patcher_poke *pokes, unsigned int nr);
void patcher_text_unmap(struct patcher_text_alias *alias);

/*
 * Prevent changes of the set of CPUs (threads) and of kprobes, and with @core also
 * writes to core text by others.
 */
void patcher_text_lock(bool core);
void patcher_text_unlock(bool core);

/*
 * Check whether anyone else has a claim to the text of the pokes, sorted, or to the
 * text that they jump to.  Return 0, -EBUSY or -ENOMEM.
 * @locked: patcher_text_lock() is held, and the answer is valid while it is; if false,
 *	obstacles that can be moved out of the way are moved
 */
int patcher_text_vet(const struct patcher_poke *pokes, unsigned int nr, bool locked);

/*
 * Release guard kprobes of jumps that no longer exist, after a batch or after a table was
 * unregistered.
 */
void patcher_text_release(void);

/*
 * On return, every CPU has executed a serialising instruction after the call
 * began, and sees every store made before it.
 */
void patcher_text_sync(void);

/*
 * Wait until no task is preempted inside a run.  patcher_text_can_wait() says whether
 * that is possible here.
 */
void patcher_text_wait_tasks(void);
bool patcher_text_can_wait(void);

/* True if no CPU but this one executes anything; patcher_text_lock() is held. */
bool patcher_text_alone(void);

/*
 * Store the first bytes again, on platforms where a CPU may go on executing an int3
 * that is no longer in memory.
 */
void patcher_text_rewrite(struct patcher_poke *pokes, unsigned int nr);

#endif /* PATCHER_TEXT_H */
