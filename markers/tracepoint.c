// SPDX-License-Identifier: GPL-2.0-only
/*
 * Markers in callbacks of tracepoints, as in 2.6.28: the tracepoint calls one
 * while its marker has probes.
 */
#include <linux/tracepoint.h>

#include "internal.h"

static struct marker_tp *tp_of(struct marker *marker)
{
	return container_of(marker, struct marker_tp, marker);
}

/**
 * tracepoint_switch() - connect a callback to its tracepoint, or disconnect it
 * @marker: the marker in the callback
 * @on: connect it?
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0, or what the tracepoint returns.
 */
int tracepoint_switch(struct marker *marker, bool on)
{
	struct marker_tp *tp = tp_of(marker);
	int err;

	if (tp->connected == on)
		return 0;
	err = on ? tracepoint_probe_register(tp->tracepoint, tp->callback, NULL) :
		   tracepoint_probe_unregister(tp->tracepoint, tp->callback, NULL);
	if (!err)
		tp->connected = on;
	return err;
}

/**
 * tracepoint_drop() - see that no tracepoint calls a module that leaves
 * @marker: a marker of any flavour
 *
 * Context: may sleep; on return the callback does not run any more.
 */
void tracepoint_drop(struct marker *marker)
{
	if (marker->flavour != MARKER_TRACEPOINT || !tp_of(marker)->connected)
		return;
	tracepoint_switch(marker, false);
	tracepoint_synchronize_unregister();
}
