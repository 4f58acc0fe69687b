// SPDX-License-Identifier: GPL-2.0-only
/* Implementation of sites_module.h in user space, where the sites are linked into the program. */
#include "../bench_modules/sites.h"
#include "../bench_modules/sites_module.h"

const struct bench_sites *bench_get_sites_module(void)
{
	return &bench_sites;
}

void bench_put_sites_module(void)
{
}
