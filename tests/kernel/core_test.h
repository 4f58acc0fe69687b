/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_KERNEL_CORE_TEST_H
#define TESTS_KERNEL_CORE_TEST_H

#include <linux/types.h>

struct patcher_core_site;
struct patcher_detour;

/*
 * A thread that asks for a site of 4 bytes again and again, where there is none;
 * more_to_ask() until it has done so for a while; 0 or what it was told but -EINVAL.
 */
int start_asking(const char *function, unsigned long offset);
bool more_to_ask(void);
int stop_asking(void);

/* Two threads redirect and restore it at the same time; 0 if one of them did each time. */
int race_for(struct patcher_detour *detour);

/* Two threads unregister it at the same time; 0 if one of them did, and the other was told so. */
int race_to_forget(struct patcher_core_site *site);

/*
 * A thread that holds the kernel's text_mutex most of the time; -EPROTO if the
 * first bytes of @text changed meanwhile, or if it never held it.
 */
int start_holding(const u8 *text);
int stop_holding(void);

/* The answer to a command. */
#define CORE_MAX_ANSWER	4096
extern char core_answer[CORE_MAX_ANSWER];

/* Commands of core.c that only read. */
int core_bytes(char **words);
int core_scan(char **words);
int core_symbol(char **words);
int core_relative(char **words);
int core_mappings(char **words);

void count_mappings(unsigned long addr, char *answer, unsigned int size);

#endif /* TESTS_KERNEL_CORE_TEST_H */
