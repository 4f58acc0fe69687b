/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays of probes. */
#ifndef MARKERS_ARRAY_H
#define MARKERS_ARRAY_H

#include <linux/rcupdate.h>
#include <linux/types.h>

#include <kmarkers/marker.h>

/**
 * struct probe_array - probes as they are published: the last one has func NULL
 * @rcu: for the grace period before it is freed
 * @nr: probes, those that were taken out in place included
 * @live: probes that were not
 * @room: how many fit
 * @mask: number of @slots, a power of two, less one
 * @slots: a hash of the probes: their numbers, from 1
 * @probe: the probes
 *
 * Readers walk @probe while probes are appended: what is behind the end is all
 * zero, and func is stored last.  A probe that is not live has an empty func.
 */
struct probe_array {
	struct rcu_head rcu;
	unsigned int nr;
	unsigned int live;
	unsigned int room;
	unsigned int mask;
	u32 *slots;
	struct marker_probe probe[];
};

static inline unsigned int live_probes(const struct probe_array *array)
{
	return array ? array->live : 0;
}

int marker_array_find(const struct probe_array *array, marker_probe_func *func, void *private);
int marker_array_add(struct probe_array **array, marker_probe_func *func, void *private,
		     marker_probe_func *empty, struct probe_array **old);
void marker_array_del(struct probe_array **array, unsigned int index, marker_probe_func *empty,
		      struct probe_array **old);
void marker_array_nothing(void *private, void *call_private, const char *fmt, va_list *args);

#endif /* MARKERS_ARRAY_H */
