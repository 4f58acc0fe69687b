/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_KERNEL_CORE_TEST_H
#define TESTS_KERNEL_CORE_TEST_H

#include <linux/types.h>

struct patcher_core_site;
struct patcher_detour;

/*
 * start_registering_site() starts a thread that repeatedly tries to register a site of 4 bytes at
 * an offset where no instruction begins.  needs_more_registrations() returns true until the thread
 * has made enough attempts.  stop_registering_site() stops the thread, and returns 0 if all
 * attempts returned -EINVAL, else an error.
 */
int start_registering_site(const char *function, unsigned long offset);
bool needs_more_registrations(void);
int stop_registering_site(void);

/*
 * Redirect one function in two threads at the same time, then restore the function.  Return 0 if 0
 * was returned to one thread, and -EBUSY to the other thread.
 */
int redirect_function_in_two_threads(struct patcher_detour *detour);

/*
 * Unregister @site in two threads at the same time.  Return 0 if 0 was returned to one thread, and
 * -EINVAL to the other thread.
 */
int unregister_site_in_two_threads(struct patcher_core_site *site);

/*
 * start_holding_text_mutex() starts a thread that holds the kernel's text_mutex most of the time.
 * stop_holding_text_mutex() stops the thread, and returns -EPROTO if the first five bytes at @text
 * changed while the thread held the mutex, or if the thread never held the mutex.
 */
int start_holding_text_mutex(const u8 *text);
int stop_holding_text_mutex(void);

/* Text that the last command of core_memory.c has written. */
#define CORE_MAX_ANSWER	4096
extern char core_answer[CORE_MAX_ANSWER];

/* Commands that only read memory: their descriptions are at the top of core.c. */
int core_show_bytes(char **words);
int core_find_bytes(char **words);
int core_show_symbol(char **words);
int core_show_relative_symbol(char **words);
int core_count_mappings(char **words);

void count_mappings(unsigned long addr, char *answer, unsigned int size);

#endif /* TESTS_KERNEL_CORE_TEST_H */
