// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays of probes.  A hit of a marker reads an array without a lock, even while probes are added
 * or removed.  Callers that change an array hold the lock of the marker registry.
 */
#include <linux/errno.h>
#include <linux/jhash.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "array.h"

#define MIN_CAPACITY	2	/* capacity of the smallest array, in probes; a power of two */
/* If an array has at most this number of probes, each removal of a probe copies the array. */
#define COPY_MOST	16

static unsigned int compute_probe_hash(const struct probe_array *array, marker_probe_func *func,
				       void *private)
{
	struct marker_probe key = { func, private };

	return jhash(&key, sizeof(key), 0) & array->mask;
}

/*
 * Return the position of the probe @func with the private data @private, or -ENOENT.  The hash
 * table uses open addressing; the number of slots is twice the capacity of the array.
 */
int marker_array_find_probe(const struct probe_array *array, marker_probe_func *func, void *private)
{
	unsigned int slot;

	if (!array)
		return -ENOENT;
	slot = compute_probe_hash(array, func, private);
	for (; array->slots[slot]; slot = (slot + 1) & array->mask) {
		const struct marker_probe *probe = &array->probe[array->slots[slot] - 1];

		if (probe->func == func && probe->private == private)
			return probe - array->probe;
	}
	return -ENOENT;
}

/*
 * Allocate an empty array for @capacity probes and a terminating element, and the slots of the hash
 * table.
 */
static struct probe_array *alloc_probe_array(unsigned int capacity)
{
	size_t probes = sizeof(struct probe_array) + (capacity + 1) * sizeof(struct marker_probe);
	struct probe_array *array;

	array = kzalloc(probes + 2 * capacity * sizeof(u32), GFP_KERNEL);
	if (!array)
		return NULL;
	array->capacity = capacity;
	array->mask = 2 * capacity - 1;
	array->slots = (void *)array + probes;
	return array;
}

static void append_probe(struct probe_array *array, marker_probe_func *func, void *private)
{
	struct marker_probe *probe = &array->probe[array->nr++];
	unsigned int slot = compute_probe_hash(array, func, private);

	while (array->slots[slot])
		slot = (slot + 1) & array->mask;
	array->slots[slot] = array->nr;
	array->live++;
	probe->private = private;
	/* Pairs with the loads in CALL_PROBES(): a hit that loads func also sees private. */
	smp_store_release(&probe->func, func);
}

/* Copy @array without the probe at position @skip and without removed probes (func is a no-op). */
static struct probe_array *copy_live_probes(const struct probe_array *array, unsigned int skip,
					    marker_probe_func *noop, unsigned int capacity)
{
	struct probe_array *copy = alloc_probe_array(capacity);
	unsigned int i;

	for (i = 0; copy && array && i < array->nr; i++)
		if (i != skip && array->probe[i].func != noop)
			append_probe(copy, array->probe[i].func, array->probe[i].private);
	return copy;
}

/*
 * Return the capacity of a copy of @array, in probes: twice the number of live probes, rounded up
 * to a power of two.
 */
static unsigned int compute_copy_capacity(const struct probe_array *array)
{
	unsigned int capacity = MIN_CAPACITY;

	while (array && capacity < 2 * array->live)
		capacity *= 2;
	return capacity;
}

/**
 * marker_array_add_probe() - append a probe to an array
 * @array: the array; may be set to a new array, which the caller publishes
 * @func: the probe
 * @private: the probe's private data
 * @noop: no-op function that replaces the func of removed probes
 * @old: set to NULL if the array was not replaced; else to the old array, which the caller frees
 *	after it has published the new array
 *
 * A full array is replaced by a copy, with a capacity of at least twice the number of probes that
 * were not removed, so the time to add many probes is proportional to the number of probes.
 *
 * Return: 0 or -ENOMEM.
 */
int marker_array_add_probe(struct probe_array **array, marker_probe_func *func, void *private,
			   marker_probe_func *noop, struct probe_array **old)
{
	struct probe_array *now = *array, *copy;

	*old = NULL;
	if (now && now->nr < now->capacity) {
		append_probe(now, func, private);
		return 0;
	}
	copy = copy_live_probes(now, -1U, noop, compute_copy_capacity(now));
	if (!copy)
		return -ENOMEM;
	append_probe(copy, func, private);
	*old = now;
	*array = copy;
	return 0;
}

/*
 * Remove a probe from an array that has other probes, too.  Return the array that the caller must
 * publish.
 *
 * If the array has few probes, or if at least half of its elements are removed probes, copy the
 * array without the probe.  Otherwise, or if there is no memory for the copy, replace the func of
 * the probe by @noop.
 */
static struct probe_array *remove_one_of_many_probes(struct probe_array *array, unsigned int index,
						     marker_probe_func *noop)
{
	struct probe_array *copy = NULL;

	if (array->live <= COPY_MOST || array->live <= array->nr / 2)
		copy = copy_live_probes(array, index, noop, compute_copy_capacity(array));
	if (copy)
		return copy;
	array->live--;
	WRITE_ONCE(array->probe[index].func, noop);
	return array;
}

/**
 * marker_array_remove_probe() - remove a probe from an array, which never fails
 * @array: the array; may be set to a new array or to NULL, which the caller publishes
 * @index: position of the probe
 * @noop: no-op function that replaces the func of the probe if the array is not copied
 * @old: set to NULL if the array was not replaced; else to the old array, which the caller frees
 *	after it has published the new array
 */
void marker_array_remove_probe(struct probe_array **array, unsigned int index,
			       marker_probe_func *noop, struct probe_array **old)
{
	struct probe_array *now = *array;

	*array = now->live > 1 ? remove_one_of_many_probes(now, index, noop) : NULL;
	*old = *array == now ? NULL : now;
}

/* No-op probe, which replaces a removed probe in an array that is not copied. */
void marker_array_do_nothing(void *private, void *call_private, const char *fmt, va_list *args)
{
}
