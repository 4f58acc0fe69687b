// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registration of typed probes: probes of typed markers, which get the arguments as C parameters
 * and not as a va_list.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include <kmarkers/typed.h>

#include "array.h"
#include "names.h"
#include "stubs.h"
#include "switch.h"
#include "typed.h"

static void publish_typed_probes(struct marker_typed *typed, struct probe_array *array)
{
	typed->array = array;
	rcu_assign_pointer(typed->probes, array ? array->probe : NULL);
}

static int switch_typed_marker(struct marker *marker, bool on)
{
	struct marker_switch batch;
	int err = marker_switch_begin_batch(&batch, 1);

	if (err)
		return err;
	marker_switch_add(&batch, marker, on);
	return marker_switch_end_batch(&batch, 0);
}

static int add_typed_probe(struct marker_typed *typed, marker_probe_func *func, void *private)
{
	struct probe_array *array = typed->array, *old;
	int err;

	err = marker_array_add_probe(&array, func, private, get_typed_noop(typed), &old);
	if (err)
		return err;
	if (!typed->array) {
		err = switch_typed_marker(&typed->marker, true);
		if (err) {
			kfree(array);
			return err;
		}
	}
	publish_typed_probes(typed, array);
	if (old)
		kfree_rcu(old, rcu);
	return 0;
}

/*
 * Connect a probe, which must not be NULL, to a typed marker.  The function does the same as
 * marker_typed_register(), for callers that hold the registry's lock.
 */
int marker_typed_connect_probe(struct marker_typed *typed, marker_typed_func *probe, void *private)
{
	marker_probe_func *func = (marker_probe_func *)(void *)probe;
	int err;

	lockdep_assert_held(&marker_registry.lock);
	if (!typed->marker.node.next)
		return -ENOENT;
	if (marker_array_find_probe(typed->array, func, private) >= 0)
		return -EBUSY;
	err = marker_stub_use_iterator(&typed->marker);
	if (err)
		return err;
	err = add_typed_probe(typed, func, private);
	marker_stub_use_single_probe(&typed->marker);
	return err;
}

/**
 * marker_typed_register() - connect a probe to a typed marker
 * @typed: the marker
 * @probe: the probe, cast from the type of the marker's probes
 * @private: private data that is passed to @probe
 *
 * marker_register_NAME() calls this function, after the compiler has checked the type of the probe.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @probe is NULL; -EBUSY if this probe is already registered with this
 * private data; -ENOENT if the markers of the marker's module are not registered; -ENOMEM; or an
 * error of patcher_apply().
 */
int marker_typed_register(struct marker_typed *typed, marker_typed_func *probe, void *private)
{
	int err;

	if (!probe)
		return -EINVAL;
	mutex_lock(&marker_registry.lock);
	err = marker_typed_connect_probe(typed, probe, private);
	mutex_unlock(&marker_registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(marker_typed_register);

static int remove_typed_probe(struct marker_typed *typed, unsigned int index)
{
	struct probe_array *array = typed->array, *old;
	struct marker *marker = &typed->marker;
	int err;

	err = marker_stub_use_iterator(marker);
	if (err)
		return err;
	marker_array_remove_probe(&array, index, get_typed_noop(typed), &old);
	publish_typed_probes(typed, array);
	/* Ignore an error: hits of a site that stays on call no probe, because @array is NULL. */
	if (!array && !marker->probes)
		switch_typed_marker(marker, false);
	if (old)
		kfree_rcu(old, rcu);
	marker_stub_use_single_probe(marker);
	return 0;
}

/*
 * Disconnect a probe from a typed marker.  The function does the same as marker_typed_unregister(),
 * for callers that hold the registry's lock.
 */
int marker_typed_disconnect_probe(struct marker_typed *typed, marker_typed_func *probe,
				  void *private)
{
	marker_probe_func *func = (marker_probe_func *)(void *)probe;
	int index = marker_array_find_probe(typed->array, func, private);

	lockdep_assert_held(&marker_registry.lock);
	return index < 0 ? index : remove_typed_probe(typed, index);
}

/**
 * marker_typed_unregister() - disconnect a probe from a typed marker
 * @typed: the marker
 * @probe: the probe that was passed to marker_typed_register()
 * @private: the private data that was passed to marker_typed_register()
 *
 * The probe may still run on other CPUs until marker_synchronize_unregister().
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if @probe is not registered with @private; or an error of patcher_apply(), in
 * which case the probe is still connected.
 */
int marker_typed_unregister(struct marker_typed *typed, marker_typed_func *probe, void *private)
{
	int err;

	mutex_lock(&marker_registry.lock);
	err = marker_typed_disconnect_probe(typed, probe, private);
	mutex_unlock(&marker_registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(marker_typed_unregister);

static unsigned int disconnect_matching_typed_probes(struct marker_typed *typed,
						     probe_predicate *must_disconnect, void *data)
{
	unsigned int i = 0, count = 0;
	int err;

	while (typed->array && i < typed->array->nr) {
		marker_probe_func *func = typed->array->probe[i].func;

		if (func == get_typed_noop(typed) ||
		    !must_disconnect(data, typed->marker.name, (unsigned long)func)) {
			i++;
			continue;
		}
		err = remove_typed_probe(typed, i);
		if (err) {
			pr_err("marker %s: cannot disconnect a probe of an unloading module: error %d; hits may call freed code: reboot\n",
			       typed->marker.name, err);
			return count;
		}
		count++;
		i = 0;
	}
	return count;
}

/**
 * marker_typed_disconnect_if() - disconnect all typed probes for which a function returns true
 * @must_disconnect: the function, which tests whether the code of a probe is being unloaded
 * @data: passed to @must_disconnect
 *
 * The probes may run until a grace period has passed.
 *
 * Return: number of probes that were disconnected.
 */
unsigned int marker_typed_disconnect_if(probe_predicate *must_disconnect, void *data)
{
	struct marker_table *table;
	unsigned int i, count = 0;

	lockdep_assert_held(&marker_registry.lock);
	list_for_each_entry(table, &marker_registry.tables, node) {
		for (i = 0; i < table->nr; i++) {
			struct marker *marker = get_marker_of_record(&table->records[i]);
			struct marker_typed *typed = get_typed_marker(marker);

			if (typed)
				count += disconnect_matching_typed_probes(typed, must_disconnect,
									  data);
		}
	}
	return count;
}

/*
 * Unpublish the typed probes of a marker whose module is being unloaded.  If the marker's stub
 * cannot be patched to jump to the iterator, for instance for lack of memory, hits call the
 * marker's only probe until the sites are switched off.
 */
void marker_typed_unpublish_probes(struct marker *marker)
{
	struct marker_typed *typed = get_typed_marker(marker);
	int err;

	if (!typed)
		return;
	err = marker_stub_use_iterator(marker);
	if (err)
		pr_err("marker %s: its stub cannot be patched: error %d: keep the module of its probe loaded until the marker's module is unloaded\n",
		       marker->name, err);
	rcu_assign_pointer(typed->probes, NULL);
}

/* Free the typed probes of a marker, which were unpublished at least a grace period ago. */
void marker_typed_free_probes(struct marker *marker)
{
	struct marker_typed *typed = get_typed_marker(marker);

	if (!typed)
		return;
	kfree(typed->array);
	typed->array = NULL;
	typed->stub = NULL;
	typed->direct = false;
}
