// SPDX-License-Identifier: GPL-2.0-only
/* Find the module kmarkers_bench_sites by its symbol. */
#include <linux/module.h>

#include "sites.h"
#include "sites_module.h"

const struct bench_sites *bench_get_sites_module(void)
{
	return symbol_get(bench_sites);
}

void bench_put_sites_module(void)
{
	symbol_put(bench_sites);
}
