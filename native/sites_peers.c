// SPDX-License-Identifier: GPL-2.0-only
/* sites_peers.h for a program, which has neither static keys nor stop_machine(). */
#include <errno.h>

#include "../bench_modules/sites_peers.h"

int bench_peers_set(enum sites_way way, u32 nr, bool on)
{
	return -EINVAL;
}

void bench_peers_put_back(void)
{
}

int bench_peers_stop_and_write(struct sites_stores *stores)
{
	return -EINVAL;
}
