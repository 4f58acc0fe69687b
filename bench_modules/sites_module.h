/* SPDX-License-Identifier: GPL-2.0-only */
/* Access to the module kmarkers_bench_sites. */
#ifndef BENCH_MODULES_SITES_MODULE_H
#define BENCH_MODULES_SITES_MODULE_H

struct bench_sites;

/*
 * Return the operations of the module kmarkers_bench_sites, or NULL if the module is not loaded.
 * The module stays loaded until bench_put_sites_module().
 */
const struct bench_sites *bench_get_sites_module(void);
void bench_put_sites_module(void);

#endif /* BENCH_MODULES_SITES_MODULE_H */
