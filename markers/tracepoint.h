/* SPDX-License-Identifier: GPL-2.0-only */
/* Markers in callbacks of tracepoints; in the kernel only. */
#ifndef MARKERS_TRACEPOINT_H
#define MARKERS_TRACEPOINT_H

#include <linux/types.h>

struct marker;
struct marker_table;
struct module;

#ifdef __KERNEL__
int marker_tracepoint_switch(struct marker *marker, bool on);
int marker_tracepoints_connect(struct module *module);
void marker_tracepoints_disconnect(struct marker_table *table);
#else
static inline int marker_tracepoint_switch(struct marker *marker, bool on)
{
	return 0;
}

static inline void marker_tracepoints_disconnect(struct marker_table *table)
{
}
#endif

#endif /* MARKERS_TRACEPOINT_H */
