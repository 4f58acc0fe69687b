// SPDX-License-Identifier: GPL-2.0-only
/* sites_module.h for a program, into which the sites are linked. */
#include "../bench_modules/sites.h"
#include "../bench_modules/sites_module.h"

const struct bench_sites *bench_get_sites(void)
{
	return &bench_sites;
}

void bench_put_sites(void)
{
}
