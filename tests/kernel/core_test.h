/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_KERNEL_CORE_TEST_H
#define TESTS_KERNEL_CORE_TEST_H

#include <linux/types.h>

struct patcher_core_site;
struct patcher_detour;

/*
 * Start a thread that repeatedly tries to register a site of 4 bytes where no instruction
 * is.  more_to_ask() returns true until it has made enough attempts.  stop_asking() returns
 * 0 if all attempts returned -EINVAL, or an error.
 */
int start_asking(const char *function, unsigned long offset);
bool more_to_ask(void);
int stop_asking(void);

/* Two threads redirect and restore @detour at the same time.  Return 0 if one of each succeeds. */
int race_for(struct patcher_detour *detour);

/* Two threads unregister @site at the same time.  Return 0 if one gets 0, the other -EINVAL. */
int race_to_forget(struct patcher_core_site *site);

/*
 * Start a thread that holds the kernel's text_mutex most of the time.  stop_holding()
 * returns -EPROTO if the first bytes of @text changed while the thread held it, or if the
 * thread never held it.
 */
int start_holding(const u8 *text);
int stop_holding(void);

/* The answer of the last command. */
#define CORE_MAX_ANSWER	4096
extern char core_answer[CORE_MAX_ANSWER];

/* Commands of core.c that only read memory. */
int core_bytes(char **words);
int core_scan(char **words);
int core_symbol(char **words);
int core_relative(char **words);
int core_mappings(char **words);

void count_mappings(unsigned long addr, char *answer, unsigned int size);

#endif /* TESTS_KERNEL_CORE_TEST_H */
