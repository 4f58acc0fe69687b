// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays of probes, which markers read while probes come and go.  Whoever changes
 * one holds the registry's lock.
 */
#include <linux/errno.h>
#include <linux/jhash.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "array.h"

#define FIRST_ROOM	2	/* a power of two */
#define COPY_MOST	16

static unsigned int hash_probe(const struct probe_array *array, marker_probe_func *func,
			       void *private)
{
	struct marker_probe key = { func, private };

	return jhash(&key, sizeof(key), 0) & array->mask;
}

/* Open addressing; there are twice as many slots as probes. */
int marker_array_find(const struct probe_array *array, marker_probe_func *func, void *private)
{
	unsigned int slot;

	if (!array)
		return -ENOENT;
	slot = hash_probe(array, func, private);
	for (; array->slots[slot]; slot = (slot + 1) & array->mask) {
		const struct marker_probe *probe = &array->probe[array->slots[slot] - 1];

		if (probe->func == func && probe->private == private)
			return probe - array->probe;
	}
	return -ENOENT;
}

/* One allocation: the probes and their end, then the slots. */
static struct probe_array *alloc_array(unsigned int room)
{
	size_t probes = sizeof(struct probe_array) + (room + 1) * sizeof(struct marker_probe);
	struct probe_array *array;

	array = kzalloc(probes + 2 * room * sizeof(u32), GFP_KERNEL);
	if (!array)
		return NULL;
	array->room = room;
	array->mask = 2 * room - 1;
	array->slots = (void *)array + probes;
	return array;
}

static void append(struct probe_array *array, marker_probe_func *func, void *private)
{
	struct marker_probe *probe = &array->probe[array->nr++];
	unsigned int slot = hash_probe(array, func, private);

	while (array->slots[slot])
		slot = (slot + 1) & array->mask;
	array->slots[slot] = array->nr;
	array->live++;
	probe->private = private;
	/* Pairs with the loads in marker_probe_call(): who sees it has its data. */
	smp_store_release(&probe->func, func);
}

/* Another array with what is in @array but for @without and for what is no more. */
static struct probe_array *copy_array(const struct probe_array *array, unsigned int without,
				      marker_probe_func *empty, unsigned int room)
{
	struct probe_array *copy = alloc_array(room);
	unsigned int i;

	for (i = 0; copy && array && i < array->nr; i++)
		if (i != without && array->probe[i].func != empty)
			append(copy, array->probe[i].func, array->probe[i].private);
	return copy;
}

/* Room for as many again as there are. */
static unsigned int room_for(const struct probe_array *array)
{
	unsigned int room = FIRST_ROOM;

	while (array && room < 2 * array->live)
		room *= 2;
	return room;
}

/**
 * marker_array_add() - append a probe
 * @array: where readers find the array; may become another one, not yet published
 * @func: the probe
 * @private: its data
 * @empty: what stands for probes taken out in place
 * @old: to be freed after the new one was published, or NULL
 *
 * Room doubles, so that the work for many probes is in proportion to them.
 *
 * Return: 0 or -ENOMEM.
 */
int marker_array_add(struct probe_array **array, marker_probe_func *func, void *private,
	      marker_probe_func *empty, struct probe_array **old)
{
	struct probe_array *now = *array, *copy;

	*old = NULL;
	if (now && now->nr < now->room) {
		append(now, func, private);
		return 0;
	}
	copy = copy_array(now, -1U, empty, room_for(now));
	if (!copy)
		return -ENOMEM;
	append(copy, func, private);
	*old = now;
	*array = copy;
	return 0;
}

/*
 * An array is copied without the probe; a long one only when half of it is no more.
 * Until then, and when there is no memory, something empty is called in its place.
 */
static struct probe_array *shrink(struct probe_array *now, unsigned int index,
				  marker_probe_func *empty)
{
	struct probe_array *copy = NULL;

	if (now->live <= COPY_MOST || now->live <= now->nr / 2)
		copy = copy_array(now, index, empty, room_for(now));
	if (copy)
		return copy;
	now->live--;
	WRITE_ONCE(now->probe[index].func, empty);
	return now;
}

/**
 * marker_array_del() - take a probe out; cannot fail
 * @array: where readers find the array; may become another one, or NULL, not yet published
 * @index: which probe
 * @empty: what may be called in its place; of the probe's type
 * @old: to be freed after the new one was published, or NULL
 */
void marker_array_del(struct probe_array **array, unsigned int index, marker_probe_func *empty,
	       struct probe_array **old)
{
	struct probe_array *now = *array;

	*array = now->live > 1 ? shrink(now, index, empty) : NULL;
	*old = *array == now ? NULL : now;
}

/* What is called in place of a probe that was taken out. */
void marker_array_nothing(void *private, void *call_private, const char *fmt, va_list *args)
{
}
