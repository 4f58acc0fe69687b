/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Platform functions of the patcher: map a writable alias of read-only text, and synchronise
 * all CPUs, so that they fetch the changed instructions.  patcher/text.c implements these
 * functions in the kernel, native/text.c in user space.
 */
#ifndef PATCHER_TEXT_H
#define PATCHER_TEXT_H

#include <kmarkers/patcher.h>

/**
 * struct patcher_text_alias - writable, never executable view of the text of one batch
 * @base: address of the first byte of the mapping
 * @nr_pages: number of pages mapped
 */
struct patcher_text_alias {
	void *base;
	unsigned int nr_pages;
};

/*
 * Return true if the @len bytes at @addr are text of @module that stays in memory after the
 * module's init function.  In user space: text of the program, whatever @module is.
 */
bool patcher_is_module_text(struct module *module, unsigned long addr, unsigned int len);

/*
 * Return true if @module is in MODULE_STATE_COMING, so that none of its code has run yet.  Return
 * false if @module is NULL, and always in user space.
 */
bool patcher_is_text_unexecuted(const struct module *module);

/*
 * Check that no kprobe, ftrace, jump label or static call uses the core text (text of the kernel
 * itself) that the pokes change.  The caller holds patcher_lock(), and no lock of the kernel.
 * Return 0, -EBUSY, -EPERM, -EINVAL or -ENOMEM.
 */
int patcher_text_check_core(const struct patcher_poke *pokes, unsigned int nr);

/*
 * Create a second, writable mapping of the text that @nr pokes change.  Set the alias of each poke
 * to the address of the poke's text in that mapping.  The pokes are sorted by address.  May sleep.
 * Return 0, -ENOMEM, or in user space one of the errors that <kmarkers/user.h> lists for functions
 * that change text.
 */
int patcher_text_map(struct patcher_text_alias *alias, struct patcher_poke *pokes, unsigned int nr);
void patcher_text_unmap(struct patcher_text_alias *alias);

/*
 * Take or release kprobe_mutex and cpus_read_lock(), which keep kprobes and the set of online CPUs
 * from changing.  If @core_text is true, also take or release text_mutex, which keeps other code
 * from writing core text.  In user space these functions do nothing.
 */
void patcher_text_lock(bool core_text);
void patcher_text_unlock(bool core_text);

/*
 * Check that no kprobe is registered on the text that the pokes change, and that no jump that a
 * poke writes leads behind the first byte of a kprobe.  The pokes are sorted by address.  Return 0,
 * -EBUSY or -ENOMEM.
 *
 * If @locked is true, the caller holds patcher_text_lock(), and the result is valid until the
 * caller releases this lock.  If @locked is false, a jump behind the first byte of a kprobe is not
 * an error: a guard (see kprobes.c) is registered for the kprobe.
 */
int patcher_text_check_kprobes(const struct patcher_poke *pokes, unsigned int nr, bool locked);

/*
 * Unregister the guards that are no longer needed for a jump.  A guard is a kprobe that keeps other
 * kprobes at the same address from being optimised.
 */
void patcher_text_remove_unneeded_guards(void);

/*
 * Make every CPU execute a serialising instruction.  On return, each CPU has executed one, and sees
 * every store that was made before the call.
 */
void patcher_text_sync(void);

/*
 * Wait until no task, idle tasks included, is inside a site of several instructions
 * (PATCHER_SITE_RUN), or in code that is not called any more.  The caller holds cpus_read_lock().
 * patcher_text_can_wait_for_tasks() returns true if the platform supports this.
 */
void patcher_text_wait_for_tasks(void);
bool patcher_text_can_wait_for_tasks(void);

/*
 * Return true if a single CPU is online; always false in user space.  The caller holds
 * patcher_text_lock().
 */
bool patcher_is_one_cpu_online(void);

/*
 * Store the first byte of each poke once more, under an emulator only: an emulated CPU may still
 * execute an int3 that is no longer in memory.
 */
void patcher_text_store_first_bytes_again(struct patcher_poke *pokes, unsigned int nr);

#endif /* PATCHER_TEXT_H */
