/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays of the probes that are connected to a marker. */
#ifndef MARKERS_ARRAY_H
#define MARKERS_ARRAY_H

#include <linux/rcupdate.h>
#include <linux/types.h>

#include <kmarkers/marker.h>

/**
 * struct probe_array - an array of probes, which each hit of a marker reads under RCU
 * @rcu: used to free the array after a grace period
 * @nr: number of used elements of @probe, including removed probes
 * @live: number of probes that were not removed
 * @capacity: maximum number of probes
 * @mask: number of @slots, a power of two, minus 1
 * @slots: hash table of positions in @probe, counted from 1; 0 marks a free slot
 * @probe: the probes; an element whose func is NULL ends the array
 *
 * Hits walk @probe while probes are appended: all elements behind the last probe are zero, and the
 * func of an appended probe is stored after its private data.  A probe is *removed in place* by
 * replacing its func with a no-op function.
 */
struct probe_array {
	struct rcu_head rcu;
	unsigned int nr;
	unsigned int live;
	unsigned int capacity;
	unsigned int mask;
	u32 *slots;
	struct marker_probe probe[];
};

static inline unsigned int count_live_probes(const struct probe_array *array)
{
	return array ? array->live : 0;
}

int marker_array_find_probe(const struct probe_array *array, marker_probe_func *func,
			    void *private);
int marker_array_add_probe(struct probe_array **array, marker_probe_func *func, void *private,
			   marker_probe_func *noop, struct probe_array **old);
void marker_array_remove_probe(struct probe_array **array, unsigned int index,
			       marker_probe_func *noop, struct probe_array **old);
void marker_array_do_nothing(void *private, void *call_private, const char *fmt, va_list *args);

#endif /* MARKERS_ARRAY_H */
