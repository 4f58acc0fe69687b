// SPDX-License-Identifier: GPL-2.0-only
/*
 * The probes of a name, and how its markers call them.
 *
 * All markers of a name read one RCU array of (probe, private data) pairs, so a
 * probe never meets the data of another.  Going on, the sites are switched first
 * and the array published after; going off, the array is withdrawn first: a site
 * that is on without an array calls nothing.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/jhash.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

#define FIRST_ROOM	2	/* a power of two */
#define COPY_MOST	16

static unsigned int hash_probe(const struct probe_array *array, marker_probe_func *func,
			       void *private)
{
	struct marker_probe key = { func, private };

	return jhash(&key, sizeof(key), 0) & array->mask;
}

/* Open addressing; there are twice as many slots as probes. */
int array_find(const struct probe_array *array, marker_probe_func *func, void *private)
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
 * array_add() - append a probe
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
int array_add(struct probe_array **array, marker_probe_func *func, void *private,
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
 * array_del() - take a probe out; cannot fail
 * @array: where readers find the array; may become another one, or NULL, not yet published
 * @index: which probe
 * @empty: what may be called in its place; of the probe's type
 * @old: to be freed after the new one was published, or NULL
 */
void array_del(struct probe_array **array, unsigned int index, marker_probe_func *empty,
	       struct probe_array **old)
{
	struct probe_array *now = *array;

	*array = now->live > 1 ? shrink(now, index, empty) : NULL;
	*old = *array == now ? NULL : now;
}

void probe_nothing(void *private, void *call_private, const char *fmt, va_list *args)
{
}

/* The first format that a name with probes meets is the one all must have. */
int fix_format(struct marker_entry *entry, const char *format)
{
	if (entry->format || !format)
		return 0;
	entry->format = kstrdup(format, GFP_KERNEL);
	return entry->format ? 0 : -ENOMEM;
}

/* Add to @changes what brings a marker to @on, if it is not. */
void want(struct imv_change *changes, unsigned int *nr, struct marker *marker, bool on)
{
	if (marker->state__imv == on)
		return;
	changes[*nr].var = &marker->state__imv;
	changes[*nr].value = on;
	changes[(*nr)++].size = 1;
}

/**
 * switch_sites() - switch markers on or off in one batch
 * @markers: the markers
 * @nr: how many
 * @on: to what
 *
 * Return: 0, -ENOMEM, or what imv_set_many() returns; all or none is switched.
 */
int switch_sites(struct marker **markers, unsigned int nr, bool on)
{
	struct imv_change *changes;
	unsigned int i, count = 0;
	int err = 0;

	lockdep_assert_held(&registry.lock);
	changes = kvcalloc(nr, sizeof(*changes), GFP_KERNEL);
	if (!changes)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		want(changes, &count, markers[i], on);
	if (count)
		err = imv_set_many(changes, count);
	kvfree(changes);
	return err;
}

/* Switch the markers of a name whose format fits; those with typed probes stay on. */
static int switch_name(struct marker_entry *entry, bool on)
{
	struct imv_change *changes;
	struct marker *marker;
	unsigned int count = 0;
	int err = 0;

	list_for_each_entry(marker, &entry->markers, node)
		count++;
	changes = kvcalloc(count + 1, sizeof(*changes), GFP_KERNEL);
	if (!changes)
		return -ENOMEM;
	count = 0;
	list_for_each_entry(marker, &entry->markers, node)
		if (format_fits(entry, marker->format))
			want(changes, &count, marker, on || typed_probes(marker));
	if (count)
		err = imv_set_many(changes, count);
	kvfree(changes);
	return err;
}

/* Let the markers of a name whose format fits call @array. */
void publish_probes(struct marker_entry *entry, struct probe_array *array)
{
	struct marker *marker;

	lockdep_assert_held(&registry.lock);
	entry->probes = array;
	list_for_each_entry(marker, &entry->markers, node)
		if (format_fits(entry, marker->format))
			rcu_assign_pointer(marker->probes, array ? array->probe : NULL);
}

static int before_on(struct marker *marker)
{
	return switch_outside(marker, true) ?: typed_leave_direct(marker);
}

static void after_off(struct marker *marker)
{
	switch_outside(marker, false);
	typed_settle(marker);
}

/* On an error, all_after_off() undoes it. */
int all_before_on(struct marker_entry *entry)
{
	struct marker *marker;
	int err = 0;

	list_for_each_entry(marker, &entry->markers, node) {
		if (!format_fits(entry, marker->format))
			continue;
		err = before_on(marker);
		if (err)
			break;
	}
	return err;
}

void all_after_off(struct marker_entry *entry)
{
	struct marker *marker;

	list_for_each_entry(marker, &entry->markers, node)
		after_off(marker);
}

static int turn_on(struct marker_entry *entry)
{
	int err = all_before_on(entry) ?: switch_name(entry, true);

	if (err)
		all_after_off(entry);
	return err;
}

void log_mismatch(const struct marker_entry *entry, const struct marker *marker)
{
	pr_warn("%s in %s(): format \"%s\" is not the registered \"%s\", stays off\n",
		marker->name, marker->func, marker->format, entry->format);
}

/* The first probe of a name: its markers go on. */
static int add_first(struct marker_entry *entry, marker_probe_func *func, void *private)
{
	struct probe_array *array = NULL, *old;
	struct marker *marker;
	int err;

	err = array_add(&array, func, private, probe_nothing, &old);
	if (err)
		return err;
	err = turn_on(entry);
	if (err) {
		kfree(array);
		return err;
	}
	publish_probes(entry, array);
	list_for_each_entry(marker, &entry->markers, node)
		if (!format_fits(entry, marker->format))
			log_mismatch(entry, marker);
	return 0;
}

static int add_another(struct marker_entry *entry, marker_probe_func *func, void *private)
{
	struct probe_array *array = entry->probes, *old;
	int err;

	err = array_add(&array, func, private, probe_nothing, &old);
	if (err || !old)
		return err;
	publish_probes(entry, array);
	kfree_rcu(old, rcu);
	return 0;
}

/* Connect a probe to a name; the errors are those of marker_probe_register(). */
int add_probe(struct marker_entry *entry, const char *format,
	      marker_probe_func *func, void *private)
{
	int err;

	if (format && !format_fits(entry, format))
		return -EPERM;
	if (array_find(entry->probes, func, private) >= 0)
		return -EBUSY;
	if (!format && !list_empty(&entry->markers))
		format = list_first_entry(&entry->markers, struct marker, node)->format;
	err = fix_format(entry, format);
	if (err)
		return err;
	return entry->probes ? add_another(entry, func, private) : add_first(entry, func, private);
}

/* Take a probe out; tells whether it was the last, so that markers are to go off. */
bool withdraw_probe(struct marker_entry *entry, unsigned int index)
{
	struct probe_array *array = entry->probes, *old;

	array_del(&array, index, probe_nothing, &old);
	publish_probes(entry, array);
	if (old)
		kfree_rcu(old, rcu);
	return !array;
}

/* Disconnect a probe from a name. */
void del_probe(struct marker_entry *entry, unsigned int index)
{
	if (!withdraw_probe(entry, index))
		return;
	/*
	 * A site that cannot be switched off for lack of memory calls nothing,
	 * and is switched by the next change.
	 */
	switch_name(entry, false);
	all_after_off(entry);
}

/**
 * marker_probe_register() - connect a probe to every marker of a name
 * @name: the markers' name; none of them need exist yet
 * @format: the format the probe expects, or NULL for any
 * @probe: the probe
 * @probe_private: passed to it
 *
 * Context: may sleep.
 * Return: 0; -EINVAL without a name or probe; -EBUSY if this probe is registered
 * with this private data; -EPERM if @format differs from the registered one;
 * -ENOMEM; or what imv_set_many() returns.
 */
int marker_probe_register(const char *name, const char *format,
			  marker_probe_func *probe, void *probe_private)
{
	struct marker_entry *entry;
	int err = -ENOMEM;

	if (!name || !*name || !probe)
		return -EINVAL;
	mutex_lock(&registry.lock);
	entry = get_entry(name);
	if (entry) {
		err = add_probe(entry, format, probe, probe_private);
		put_entry(entry);
	}
	mutex_unlock(&registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(marker_probe_register);

/* Disconnect this pair from a name if it is connected. */
static int unregister(struct marker_entry *entry, marker_probe_func *probe, void *private)
{
	int index = array_find(entry->probes, probe, private);

	if (index < 0)
		return index;
	del_probe(entry, index);
	put_entry(entry);
	return 0;
}

/**
 * marker_probe_unregister() - disconnect a probe
 * @name: as registered
 * @probe: as registered
 * @probe_private: as registered
 *
 * The probe may still run on other CPUs until marker_synchronize_unregister().
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT if there is no such registration.
 */
int marker_probe_unregister(const char *name, marker_probe_func *probe, void *probe_private)
{
	struct marker_entry *entry;
	int err = -ENOENT;

	mutex_lock(&registry.lock);
	entry = name ? find_entry(name) : NULL;
	if (entry)
		err = unregister(entry, probe, probe_private);
	mutex_unlock(&registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(marker_probe_unregister);

/**
 * marker_probe_unregister_private_data() - disconnect a probe whose name is not at hand
 * @probe: as registered
 * @probe_private: as registered
 *
 * If the pair is registered under several names, one of them is disconnected.
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT if there is no such registration.
 */
int marker_probe_unregister_private_data(marker_probe_func *probe, void *probe_private)
{
	struct marker_entry *entry;
	int err = -ENOENT;
	unsigned int i;

	mutex_lock(&registry.lock);
	for_each_name(entry, i) {
		err = unregister(entry, probe, probe_private);
		if (!err)
			goto out;
	}
out:
	mutex_unlock(&registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(marker_probe_unregister_private_data);

static void *private_of(const struct probe_array *array, marker_probe_func *probe, int num)
{
	unsigned int i;

	for (i = 0; array && i < array->nr; i++)
		if (array->probe[i].func == probe && num-- == 0)
			return array->probe[i].private;
	return ERR_PTR(-ENOENT);
}

/**
 * marker_get_private_data() - the data that a probe was registered with
 * @name: as registered
 * @probe: as registered
 * @num: which, from 0, if the probe is registered with several
 *
 * Only the owner of the data can know whether they still exist.
 *
 * Context: may sleep.
 * Return: the data, or ERR_PTR(-ENOENT).
 */
void *marker_get_private_data(const char *name, marker_probe_func *probe, int num)
{
	struct marker_entry *entry;
	void *private = ERR_PTR(-ENOENT);

	mutex_lock(&registry.lock);
	entry = name ? find_entry(name) : NULL;
	if (entry)
		private = private_of(entry->probes, probe, num);
	mutex_unlock(&registry.lock);
	return private;
}
EXPORT_SYMBOL_GPL(marker_get_private_data);

/**
 * marker_synchronize_unregister() - wait for probes that were unregistered
 *
 * To be called between unregistering probes and freeing their code or data.
 *
 * Context: may sleep.
 */
void marker_synchronize_unregister(void)
{
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(marker_synchronize_unregister);

/* The code behind a probe: of one of 2006 its own, not what forwards to it. */
unsigned long probe_code(const struct marker_probe *probe)
{
	return (unsigned long)(is_2006(probe) ? probe->private : (void *)probe->func);
}

static unsigned int disconnect(struct marker_entry *entry, probe_gone *gone, void *data)
{
	unsigned int i = 0, count = 0;

	while (entry->probes && i < entry->probes->nr) {
		const struct marker_probe *probe = &entry->probes->probe[i];

		if (probe->func == probe_nothing || !gone(data, entry->name, probe_code(probe))) {
			i++;
			continue;
		}
		del_probe(entry, i);
		count++;
		/* The array may be another one, without those passed over. */
		i = 0;
	}
	return count;
}

/**
 * probes_disconnect() - disconnect every probe whose code goes away
 * @gone: tells whether the code at an address goes
 * @data: passed to it
 *
 * Context: the lock is held; the probes may run until a grace period has passed.
 * Return: how many there were.
 */
unsigned int probes_disconnect(probe_gone *gone, void *data)
{
	struct marker_entry *entry;
	struct hlist_node *next;
	unsigned int i, count = 0;

	lockdep_assert_held(&registry.lock);
	for (i = 0; i < 1U << registry.order; i++) {
		hlist_for_each_entry_safe(entry, next, &registry.names[i], node) {
			count += disconnect(entry, gone, data);
			put_entry(entry);
		}
	}
	return count;
}
