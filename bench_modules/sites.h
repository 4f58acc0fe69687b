/* SPDX-License-Identifier: GPL-2.0-only */
/* Many sites and the ways to switch them, in a module of their own because they are large. */
#ifndef BENCH_MODULES_SITES_H
#define BENCH_MODULES_SITES_H

#include <linux/types.h>

/* Number of sites of ours.  A small machine has no memory in its kernel for a million. */
#ifdef __KERNEL__
#define SITES_MOST	100000
#else
#define SITES_MOST	1000000
#endif
#define SITES_KEYS	10000	/* most sites that are switched by static keys */

/* Message for benchmarks of these sites whose setup returns -ENODEV. */
#ifdef __KERNEL__
#define SITES_LACKING	"kmarkers_bench_sites is not loaded, or "
#else
#define SITES_LACKING	""
#endif

/* How to switch sites from a nop to a jump and back. */
enum sites_way {
	SITES_BATCHED,		/* sites of ours, in one batch */
	SITES_CHUNKED,		/* sites of ours, in one batch, a thousand at a time */
	SITES_ONE_BY_ONE,	/* sites of ours, with a batch for each */
	SITES_KEY_ONE,		/* sites of one static key */
	SITES_KEYS_MANY,	/* sites of as many static keys */
	SITES_STOP_MACHINE,	/* the stores of a batch, in a buffer, under stop_machine() */
	SITES_STORES,		/* the stores of a batch through a second mapping, and no more */
	SITES_BY_HAND,		/* the rounds and the mapping of a batch, with one store in each */
	SITES_WAYS,
};

/**
 * struct bench_sites - functions of the module with the sites
 * @setup: registers the sites with the patcher; returns 0 or an error
 * @teardown: switches off sites that are still on, and unregisters all
 * @set: switches the first @nr sites of a way; returns 0 or an error
 */
struct bench_sites {
	int (*setup)(void);
	void (*teardown)(void);
	int (*set)(enum sites_way way, u32 nr, bool on);
};

extern const struct bench_sites bench_sites;

#endif /* BENCH_MODULES_SITES_H */
