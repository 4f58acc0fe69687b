/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays of probes. */
#ifndef MARKERS_ARRAY_H
#define MARKERS_ARRAY_H

#include <linux/rcupdate.h>
#include <linux/types.h>

#include <kmarkers/marker.h>

/**
 * struct probe_array - an array of probes, as published; its end has func NULL
 * @rcu: for the grace period before the array is freed
 * @nr: number of probes, including those that were removed in place
 * @live: number of probes that were not removed
 * @room: number of probes that fit
 * @mask: number of @slots, a power of two, less one
 * @slots: a hash table of the probes: their positions, counted from 1
 * @probe: the probes
 *
 * Readers walk @probe while probes are appended: everything behind the end is zero,
 * and func is stored last.  A probe that was removed in place has a func that does
 * nothing.
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
