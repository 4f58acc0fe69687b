/* SPDX-License-Identifier: GPL-2.0-only */
/* The door to core text. */
#ifndef PATCHER_CORE_H
#define PATCHER_CORE_H

#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <kmarkers/patcher.h>

int core_init(void);

/* In the kernel's own text, but for what is freed after init. */
bool core_is_text(unsigned long addr);

struct patcher_core_site;

int core_vet_site(const struct patcher_core_site *core);
int core_vet(const struct patcher_poke *pokes, unsigned int nr);
void core_text_lock(void);
void core_text_unlock(void);

/*
 * Address of a symbol of the kernel or of a module, or 0; on IBT builds 4 past the
 * start of a function.  patcher_lock() is held.
 */
unsigned long core_resolve(const char *symbol);

int core_trace_at(struct ftrace_ops *ops, unsigned long addr);

/**
 * struct extent - where a symbol's bytes are
 * @start: its first byte
 * @size: its bytes
 * @name: one of its names
 */
struct extent {
	unsigned long start;
	unsigned long size;
	char name[KSYM_NAME_LEN];
};

/* What kallsyms says of an address; 0 or -ENOENT. */
int core_find_extent(unsigned long addr, struct extent *extent);

/* Other people's kprobes. */
int __init kprobes_init(void);
void kprobes_lock(void);
void kprobes_unlock(void);
int kprobes_vet(const struct patcher_poke *pokes, unsigned int nr);
int kprobes_make_way(const struct patcher_poke *pokes, unsigned int nr);
void kprobes_settle(void);

/* Does a function, of this name among others, run between a breakpoint and our handler? */
bool core_handles_breakpoints(const char *name, unsigned long addr);

int core_find_call(const char *function, const char *callee, unsigned long *offset);

#endif /* PATCHER_CORE_H */
