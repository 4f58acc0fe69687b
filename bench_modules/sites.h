/* SPDX-License-Identifier: GPL-2.0-only */
/* Many sites, and the ways to switch them; in a module of their own, for they are large. */
#ifndef BENCH_MODULES_SITES_H
#define BENCH_MODULES_SITES_H

#include <linux/types.h>

#define SITES_MOST	100000	/* of ours */
#define SITES_KEYS	10000	/* of static keys */

/* How to switch sites from a nop to a jump and back. */
enum sites_way {
	SITES_BATCHED,		/* ours, in one batch */
	SITES_CHUNKED,		/* ours, in one batch, a thousand at a time */
	SITES_ONE_BY_ONE,	/* ours, a batch for each */
	SITES_KEY_ONE,		/* one static key that has all */
	SITES_KEYS_MANY,	/* a static key for each */
	SITES_STOP_MACHINE,	/* what a batch compares and writes, in a buffer, under stop_machine() */
	SITES_WAYS,
};

/**
 * struct bench_sites - what the module with the sites offers
 * @setup: makes them known to the patcher; returns 0 or an error
 * @teardown: switches off what is still on, and forgets them
 * @set: switches the first @nr sites of a way; returns 0 or an error
 */
struct bench_sites {
	int (*setup)(void);
	void (*teardown)(void);
	int (*set)(enum sites_way way, u32 nr, bool on);
};

extern const struct bench_sites bench_sites;

#endif /* BENCH_MODULES_SITES_H */
