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
 * struct text_alias - writable, never executable view of the text of one batch
 * @base: its first byte
 * @pages: pages mapped; private to the implementation
 * @nr_pages: how many
 */
struct text_alias {
	void *base;
	void *pages;
	unsigned int nr_pages;
};

/*
 * True if @len bytes at @addr are text of @module that stays as long as it does:
 * not data, and not text that is freed after initialisation.
 */
bool text_owned(struct module *module, unsigned long addr, unsigned int len);

/*
 * Map the text of @nr pokes, sorted by address, and set their alias.
 * Return 0 or -ENOMEM.  May sleep.
 */
int text_map(struct text_alias *alias, struct patcher_poke *pokes, unsigned int nr);
void text_unmap(struct text_alias *alias);

/* Keep the set of CPUs (threads) as it is around the protocol. */
void text_lock(void);
void text_unlock(void);

/*
 * On return, every CPU has executed a serialising instruction after the call
 * began, and sees every store made before it.
 */
void text_sync(void);

/* True where a CPU may keep executing an int3 that is no longer in memory. */
bool text_rewrite_needed(void);

#endif /* PATCHER_TEXT_H */
