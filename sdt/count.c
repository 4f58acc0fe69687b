// SPDX-License-Identifier: GPL-2.0-only
/* The built-in handler that counts hits. */
#include <linux/atomic.h>

#include "count.h"
#include "registry.h"

/*
 * Called once for each pattern that matches the site.  A hit is a variable of those who call
 * handlers, which only handlers must not change.
 */
static void count(void *private, const struct sdt_hit *hit)
{
	bool *counted = (bool *)&hit->counted;
	struct sdt_state *state = hit->site;

	if (*counted)
		return;
	*counted = true;
	atomic_long_inc(&state->counted);
}

/* Start or stop counting the hits of sites; errors as of sdt_attach() and sdt_detach(). */
int sdt_count(const char *pattern, bool on)
{
	return on ? sdt_attach(pattern, count, NULL) : sdt_detach(pattern, count, NULL);
}

/* Is @handler the built-in counter? */
bool sdt_is_counter(sdt_handler *handler)
{
	return handler == count;
}
