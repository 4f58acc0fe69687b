// SPDX-License-Identifier: GPL-2.0-only
/* The marker API of 2006: marker_set_probe(), marker_remove_probe() and marker_list_probe(). */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "array.h"
#include "connect.h"
#include "forward.h"
#include "names.h"

static unsigned int count_markers_with_format(const struct marker_entry *entry, const char *format)
{
	const struct marker *marker;
	unsigned int count = 0;

	list_for_each_entry(marker, &entry->markers, node)
		count += !format || !strcmp(marker->format, format);
	return count;
}

/*
 * Connect a probe of the 2006 API to all markers that have the name @entry.  Return the number of
 * markers that call the probe now; 0 on failure.
 */
static int connect_probe_of_2006_api(struct marker_entry *entry, const char *format, void *probe)
{
	struct marker *marker;
	int err;

	if (!count_markers_with_format(entry, format)) {
		list_for_each_entry(marker, &entry->markers, node)
			pr_warn("marker %s in %s(): probe not set: format \"%s\" is not the probe's format \"%s\"\n",
				marker->name, marker->func, marker->format, format);
		return 0;
	}
	err = marker_connect_probe(entry, format, marker_call_2006_probe, probe);
	/* -EBUSY is not a failure: an earlier call has connected the probe. */
	if (err && err != -EBUSY) {
		pr_warn("marker %s: probe not set: error %d\n", entry->name, err);
		return 0;
	}
	return count_markers_with_format(entry, entry->format);
}

/**
 * marker_set_probe() - connect a probe to all markers that have a given name (2006 API)
 * @name: the markers' name; a marker with this name must exist, and must have @format unless
 *	@format is NULL
 * @format: the format that the probe expects, or NULL for any
 * @probe: the probe
 *
 * Markers of that name in modules that are loaded later are connected as well.  If a probe that is
 * connected is set again, a hit still calls the probe only once.
 *
 * Context: may sleep.
 * Return: number of markers that call the probe now; 0 means failure, with a reason in the log.
 */
int marker_set_probe(const char *name, const char *format, union marker_any_probe probe)
{
	struct marker_entry *entry;
	int count = 0;

	if (!name || !probe.probe)
		return 0;
	mutex_lock(&marker_registry.lock);
	entry = marker_name_find(name);
	if (entry && !list_empty(&entry->markers)) {
		count = connect_probe_of_2006_api(entry, format, probe.probe);
		marker_name_free_if_unused(entry);
	} else {
		pr_warn("marker %s: probe not set: no such marker\n", name);
	}
	mutex_unlock(&marker_registry.lock);
	return count;
}
EXPORT_SYMBOL_GPL(marker_set_probe);

/**
 * marker_remove_probe() - disconnect a probe from all names (2006 API)
 * @probe: the probe, as passed to marker_set_probe()
 *
 * The probe may still run on other CPUs until marker_synchronize_unregister().
 *
 * Context: may sleep.
 * Return: number of markers that called the probe; 0 means failure.
 */
int marker_remove_probe(union marker_any_probe probe)
{
	struct marker_entry *entry;
	struct hlist_node *next;
	unsigned int i;
	int count = 0;

	mutex_lock(&marker_registry.lock);
	for_each_name_safe(entry, next, i) {
		if (marker_array_find_probe(entry->probes, marker_call_2006_probe, probe.probe) < 0)
			continue;
		count += count_markers_with_format(entry, entry->format);
		marker_disconnect_probe(entry, marker_call_2006_probe, probe.probe);
		marker_name_free_if_unused(entry);
	}
	mutex_unlock(&marker_registry.lock);
	return count;
}
EXPORT_SYMBOL_GPL(marker_remove_probe);

/* Return true if marker_list_probe() must log @marker: @marker calls @probe, or @probe is NULL. */
static bool must_log_marker(const struct marker_entry *entry, const struct marker *marker,
			    void *probe)
{
	return !probe ||
	       (marker_array_find_probe(entry->probes, marker_call_2006_probe, probe) >= 0 &&
		is_format_accepted(entry, marker->format));
}

/**
 * marker_list_probe() - log the markers that call a probe (2006 API)
 * @probe: the probe, as passed to marker_set_probe(); NULL to log all markers
 *
 * Context: may sleep.
 * Return: number of markers that were logged.
 */
int marker_list_probe(union marker_any_probe probe)
{
	struct marker_entry *entry;
	struct marker *marker;
	unsigned int i;
	int count = 0;

	mutex_lock(&marker_registry.lock);
	for_each_name(entry, i) {
		list_for_each_entry(marker, &entry->markers, node) {
			/* Logging to a slow console takes long, so let other tasks run. */
			cond_resched();
			if (!must_log_marker(entry, marker, probe.probe))
				continue;
			pr_info("marker %s in %s(), format \"%s\"\n", marker->name,
				marker->func, marker->format);
			count++;
		}
	}
	mutex_unlock(&marker_registry.lock);
	return count;
}
EXPORT_SYMBOL_GPL(marker_list_probe);
