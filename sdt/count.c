// SPDX-License-Identifier: GPL-2.0-only
/* The handler that counts hits, for those who write no handler. */
#include <linux/atomic.h>

#include "count.h"
#include "registry.h"

static void count(void *private, const struct sdt_hit *hit)
{
	struct sdt_state *state = hit->site;

	atomic_long_inc(&state->counted);
}

/* Count the hits of sites, or no more; as sdt_attach() and sdt_detach(). */
int sdt_count(const char *pattern, bool on)
{
	return on ? sdt_attach(pattern, count, NULL) : sdt_detach(pattern, count, NULL);
}
