/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the protocol needs from the ground it stands on: bytes that can be
 * written although their text cannot, and every CPU made to fetch anew.
 * patcher/text.c provides it in the kernel, native/text.c in user space.
 */
#ifndef PATCHER_TEXT_H
#define PATCHER_TEXT_H

#include <kmarkers/patcher.h>

/**
 * struct patcher_text_alias - writable, never executable view of the text of one batch
 * @base: its first byte
 * @nr_pages: pages mapped
 */
struct patcher_text_alias {
	void *base;
	unsigned int nr_pages;
};

/*
 * True if @len bytes at @addr are text of @module that stays as long as it does:
 * not data, and not text that is freed after initialisation.
 */
bool patcher_text_owned(struct module *module, unsigned long addr, unsigned int len);

/*
 * True if a module is being loaded, so that its caller can promise that none of its
 * code has run; false for NULL.
 */
bool patcher_text_is_new(const struct module *module);

/*
 * Ask the owners of core text about the pokes, before any lock but the
 * patcher's own is taken.  Return 0, -EBUSY, -EILSEQ, -EPERM or -EINVAL.
 */
int patcher_text_vet_core(const struct patcher_poke *pokes, unsigned int nr);

/*
 * Map the text of @nr pokes, sorted by address, and set their alias.  May sleep.
 * Return 0, -ENOMEM, or in user space why nothing can be written: see user.h.
 */
int patcher_text_map(struct patcher_text_alias *alias, struct patcher_poke *pokes, unsigned int nr);
void patcher_text_unmap(struct patcher_text_alias *alias);

/*
 * Keep the set of CPUs (threads) as it is, kprobes where they are, and with @core
 * other writers of core text out.
 */
void patcher_text_lock(bool core);
void patcher_text_unlock(bool core);

/*
 * Has anyone else a claim to the text of the pokes, sorted, or to that which
 * they lead to?  0, -EBUSY or -ENOMEM.
 * @locked: patcher_text_lock() is held, and the answer holds as long; else who can make way
 *	is asked to
 */
int patcher_text_vet(const struct patcher_poke *pokes, unsigned int nr, bool locked);

/* After a batch or a table has gone: who made way for what is there no more may come back. */
void patcher_text_settle(void);

/*
 * On return, every CPU has executed a serialising instruction after the call
 * began, and sees every store made before it.
 */
void patcher_text_sync(void);

/* Wait until no task is preempted inside a run; patcher_text_can_wait(): whether it can be done. */
void patcher_text_wait_tasks(void);
bool patcher_text_can_wait(void);

/* True if no CPU but this one executes anything; patcher_text_lock() is held. */
bool patcher_text_alone(void);

/* Where a CPU may go on executing an int3 that is no longer in memory: store the first bytes again. */
void patcher_text_rewrite(struct patcher_poke *pokes, unsigned int nr);

#endif /* PATCHER_TEXT_H */
