// SPDX-License-Identifier: GPL-2.0-only
/* Registration of probes by the names of markers. */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>

#include "array.h"
#include "connect.h"
#include "forward.h"
#include "names.h"
#include "probes.h"

/**
 * marker_probe_register() - connect a probe to every marker that has a given name
 * @name: the markers' name; a marker with this name may be added later
 * @format: the format that the probe expects, or NULL for any
 * @probe: the probe
 * @probe_private: private data that is passed to @probe
 *
 * Context: may sleep.
 * Return: 0; -EINVAL without a name or probe; -EBUSY if this probe is already registered with this
 * private data; -EPERM if @format differs from the registered format; -ENOMEM; or an error of
 * imv_set_many().
 */
int marker_probe_register(const char *name, const char *format,
			  marker_probe_func *probe, void *probe_private)
{
	struct marker_entry *entry;
	int err = -ENOMEM;

	if (!name || !*name || !probe)
		return -EINVAL;
	mutex_lock(&marker_registry.lock);
	entry = marker_name_find_or_make(name);
	if (entry) {
		err = marker_connect_probe(entry, format, probe, probe_private);
		marker_name_free_if_unused(entry);
	}
	mutex_unlock(&marker_registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(marker_probe_register);

/*
 * Disconnect @probe with the data @private from a name.  Return -ENOENT if @probe is not connected
 * to the name with this data.
 */
static int disconnect_probe_with_data(struct marker_entry *entry, marker_probe_func *probe,
				      void *private)
{
	int err = marker_disconnect_probe(entry, probe, private);

	if (!err)
		marker_name_free_if_unused(entry);
	return err;
}

/**
 * marker_probe_unregister() - disconnect a probe
 * @name: the name that was passed to marker_probe_register()
 * @probe: the probe that was passed to marker_probe_register()
 * @probe_private: the private data that was passed to marker_probe_register()
 *
 * The probe may still run on other CPUs until marker_synchronize_unregister().
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if there is no such registration; or an error of patcher_apply(), in which
 * case the probe is still connected.  An error of patcher_apply() can occur only for the probe of a
 * trace event.
 */
int marker_probe_unregister(const char *name, marker_probe_func *probe, void *probe_private)
{
	struct marker_entry *entry;
	int err = -ENOENT;

	mutex_lock(&marker_registry.lock);
	entry = name ? marker_name_find(name) : NULL;
	if (entry)
		err = disconnect_probe_with_data(entry, probe, probe_private);
	mutex_unlock(&marker_registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(marker_probe_unregister);

/**
 * marker_probe_unregister_private_data() - disconnect a probe without giving the marker name
 * @probe: the probe that was passed to marker_probe_register()
 * @probe_private: the private data that was passed to marker_probe_register()
 *
 * If the probe is registered with this data under several names, the probe is disconnected from one
 * of these names.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if there is no such registration; or another error of
 * marker_probe_unregister(), in which case the probe is still connected under each of its names.
 */
int marker_probe_unregister_private_data(marker_probe_func *probe, void *probe_private)
{
	struct marker_entry *entry;
	int one, err = -ENOENT;
	unsigned int i;

	mutex_lock(&marker_registry.lock);
	for_each_name(entry, i) {
		one = disconnect_probe_with_data(entry, probe, probe_private);
		if (one == -ENOENT)
			continue;
		/* The probe could not be disconnected from this name: try the next name. */
		err = one;
		if (!err)
			goto out;
	}
out:
	mutex_unlock(&marker_registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(marker_probe_unregister_private_data);

static void *find_private_data(const struct probe_array *array, marker_probe_func *probe, int num)
{
	unsigned int i;

	for (i = 0; array && i < array->nr; i++)
		if (array->probe[i].func == probe && num-- == 0)
			return array->probe[i].private;
	return ERR_PTR(-ENOENT);
}

/**
 * marker_get_private_data() - get the data that a probe was registered with
 * @name: the name that was passed to marker_probe_register()
 * @probe: the probe that was passed to marker_probe_register()
 * @num: index of the registration, counted from 0, if the probe is registered several times
 *
 * The caller must prevent other tasks from unregistering the probe and freeing the data.
 *
 * Context: may sleep.
 * Return: the data, or ERR_PTR(-ENOENT).
 */
void *marker_get_private_data(const char *name, marker_probe_func *probe, int num)
{
	struct marker_entry *entry;
	void *private = ERR_PTR(-ENOENT);

	mutex_lock(&marker_registry.lock);
	entry = name ? marker_name_find(name) : NULL;
	if (entry)
		private = find_private_data(entry->probes, probe, num);
	mutex_unlock(&marker_registry.lock);
	return private;
}
EXPORT_SYMBOL_GPL(marker_get_private_data);

/**
 * marker_synchronize_unregister() - wait until unregistered probes no longer run
 *
 * Call this function after probes were unregistered, before the code or data of the probes is
 * freed.
 *
 * Context: may sleep.
 */
void marker_synchronize_unregister(void)
{
	might_sleep();
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(marker_synchronize_unregister);

static unsigned int disconnect_matching_probes(struct marker_entry *entry,
					       probe_predicate *must_disconnect, void *data)
{
	unsigned int i = 0, count = 0;
	int err;

	while (entry->probes && i < entry->probes->nr) {
		const struct marker_probe *probe = &entry->probes->probe[i];

		if (probe->func == marker_array_do_nothing ||
		    !must_disconnect(data, entry->name, marker_probe_get_code_addr(probe))) {
			i++;
			continue;
		}
		err = marker_disconnect_probe(entry, probe->func, probe->private);
		if (err) {
			pr_err("marker %s: cannot disconnect a probe of an unloading module: error %d; hits may call freed code: reboot\n",
			       entry->name, err);
			return count;
		}
		count++;
		/*
		 * The array may have been replaced by a new array, with probes at other indices:
		 * begin again with the first element.
		 */
		i = 0;
	}
	return count;
}

/**
 * marker_probes_disconnect_if() - disconnect all probes for which a function returns true
 * @must_disconnect: the function, which tests whether the code of a probe is being unloaded
 * @data: passed to @must_disconnect
 *
 * The probes may run until a grace period has passed.
 *
 * Return: number of probes that were disconnected.
 */
unsigned int marker_probes_disconnect_if(probe_predicate *must_disconnect, void *data)
{
	struct marker_entry *entry;
	struct hlist_node *next;
	unsigned int i, count = 0;

	lockdep_assert_held(&marker_registry.lock);
	for_each_name_safe(entry, next, i) {
		count += disconnect_matching_probes(entry, must_disconnect, data);
		marker_name_free_if_unused(entry);
	}
	return count;
}
