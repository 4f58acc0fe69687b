/* SPDX-License-Identifier: GPL-2.0-only */
/* The module with the sites, found by name. */
#ifndef BENCH_MODULES_SITES_MODULE_H
#define BENCH_MODULES_SITES_MODULE_H

struct bench_sites;

/* Held until it is put; NULL if it is not loaded. */
const struct bench_sites *bench_get_sites(void);
void bench_put_sites(void);

#endif /* BENCH_MODULES_SITES_MODULE_H */
