/* SPDX-License-Identifier: GPL-2.0-only */
/* Finding the module with the sites. */
#ifndef BENCH_MODULES_SITES_MODULE_H
#define BENCH_MODULES_SITES_MODULE_H

struct bench_sites;

/* Get the functions of the module, which stays loaded until the put; NULL if it is not loaded. */
const struct bench_sites *bench_get_sites(void);
void bench_put_sites(void);

#endif /* BENCH_MODULES_SITES_MODULE_H */
