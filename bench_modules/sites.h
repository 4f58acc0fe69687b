/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A large number of patch sites, and methods to switch them.  The sites take much memory, so they
 * are in a separate module, kmarkers_bench_sites.
 */
#ifndef BENCH_MODULES_SITES_H
#define BENCH_MODULES_SITES_H

#include <linux/types.h>

/* Number of patch sites.  A million kernel sites would not fit into memory on a small machine. */
#ifdef __KERNEL__
#define SITES_MOST	100000
#else
#define SITES_MOST	1000000
#endif
#define SITES_KEYS	10000	/* maximum number of sites for static keys */

/* Beginning of the text @lacks of a struct bench_group, for groups that switch patch sites. */
#ifdef __KERNEL__
#define SITES_LACKING	"kmarkers_bench_sites is not loaded, or "
#else
#define SITES_LACKING	""
#endif

/* Methods to switch sites from a nop to a jump and back. */
enum sites_method {
	SITES_BATCHED,		/* all sites in one batch of the patcher */
	SITES_CHUNKED,		/* all sites in one batch, which is applied in chunks of 1000 */
	SITES_ONE_BY_ONE,	/* a batch for each site */
	SITES_KEY_ONE,		/* one static key with all sites */
	SITES_KEYS_MANY,	/* a static key for each site */
	SITES_STOP_MACHINE,	/* stores of a batch to a buffer, under stop_machine() */
	SITES_STORES,		/* the stores of a batch alone, through a second mapping */
	SITES_BY_HAND,		/* map a page, then store and synchronise three times */
};

/**
 * struct bench_sites - operations of the module kmarkers_bench_sites
 * @setup: registers the sites with the patcher; returns 0 or an error
 * @teardown: switches off sites that are still on, and unregisters all
 * @set: switches the first @nr sites on or off by a method; returns 0 or an error
 */
struct bench_sites {
	int (*setup)(void);
	void (*teardown)(void);
	int (*set)(enum sites_method method, u32 nr, bool on);
};

extern const struct bench_sites bench_sites;

#endif /* BENCH_MODULES_SITES_H */
