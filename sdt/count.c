// SPDX-License-Identifier: GPL-2.0-only
/* The built-in handler that counts hits. */
#include <linux/atomic.h>

#include "count.h"
#include "registry.h"

/*
 * Count a hit once, although each counting pattern that matches the site calls this handler.  The
 * cast is safe, because the struct sdt_hit of each hit is declared without const.
 */
static void count_hit_once(void *private, const struct sdt_hit *hit)
{
	struct sdt_hit *own = (struct sdt_hit *)hit;

	if (own->counted)
		return;
	own->counted = 1;
	atomic_long_inc(&sdt_get_hit_state(hit)->counted);
}

/* Start or stop counting the hits of sites. Return the result of sdt_attach() or sdt_detach(). */
int sdt_switch_hit_counting(const char *pattern, bool on)
{
	return on ? sdt_attach(pattern, count_hit_once, NULL) :
		    sdt_detach(pattern, count_hit_once, NULL);
}

/* True if @handler is the built-in handler that counts hits. */
bool sdt_is_count_handler(sdt_handler *handler)
{
	return handler == count_hit_once;
}
