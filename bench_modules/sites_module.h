/* SPDX-License-Identifier: GPL-2.0-only */
/* Access to the module kmarkers_bench_sites. */
#ifndef BENCH_MODULES_SITES_MODULE_H
#define BENCH_MODULES_SITES_MODULE_H

struct bench_sites;

/*
 * Return the operations of the module kmarkers_bench_sites, which then stays loaded until
 * bench_put_sites(); NULL if the module is not loaded.
 */
const struct bench_sites *bench_get_sites(void);
void bench_put_sites(void);

#endif /* BENCH_MODULES_SITES_MODULE_H */
