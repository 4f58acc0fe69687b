// SPDX-License-Identifier: GPL-2.0-only
/*
 * Raw tracepoints of typed markers.  While BPF programs are attached to the raw tracepoint of a
 * marker, a probe that calls these programs is connected to the marker.
 *
 * The kernel calls marker_raw_switch() with its tracepoint lock held.  tracepoint.c takes the
 * tracepoint lock while the registry's lock is held.  So marker_raw_switch() must not wait for the
 * registry's lock: if another task holds the registry's lock, a work item connects or disconnects
 * the probe later.
 */
#include <linux/export.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include <kmarkers/typed.h>

#include "names.h"
#include "raw.h"
#include "stubs.h"
#include "typed.h"

static int switch_raw_probe(struct marker_typed *typed)
{
	struct marker_raw *raw = typed->raw;
	bool wanted = READ_ONCE(raw->wanted);
	int err;

	lockdep_assert_held(&marker_registry.lock);
	if (raw->connected == wanted)
		return 0;
	err = wanted ? marker_typed_connect_probe(typed, raw->probe, &raw->known.tp) :
		       marker_typed_disconnect_probe(typed, raw->probe, &raw->known.tp);
	if (!err)
		raw->connected = wanted;
	else if (wanted)
		pr_err("marker %s: BPF programs cannot be connected: error %d; attach them again\n",
		       typed->marker.name, err);
	else
		pr_err("marker %s: BPF programs cannot be disconnected: error %d; attach and detach a program to try again\n",
		       typed->marker.name, err);
	return err;
}

static void switch_all_raw_probes(struct work_struct *unused)
{
	struct marker_table *table;
	unsigned int i;

	mutex_lock(&marker_registry.lock);
	list_for_each_entry(table, &marker_registry.tables, node) {
		for (i = 0; i < table->nr; i++) {
			struct marker *marker = get_marker_of_record(&table->records[i]);
			struct marker_typed *typed = get_typed_marker(marker);

			if (typed && typed->raw)
				switch_raw_probe(typed);
		}
	}
	mutex_unlock(&marker_registry.lock);
}

static DECLARE_WORK(update_work, switch_all_raw_probes);

/**
 * marker_raw_switch() - connect or disconnect the probe that calls BPF programs
 * @typed: the marker
 * @on: true when the first program is attached, false when the last one was detached
 *
 * The tracepoint core calls marker_raw_switch() through a function that DEFINE_MARKER() defines.
 * If another task holds the registry's lock, a work item connects or disconnects the probe later.
 *
 * Context: may sleep; the kernel's lock of tracepoints is held.
 * Return: 0, or an error of marker_typed_register().
 */
int marker_raw_switch(struct marker_typed *typed, bool on)
{
	int err;

	WRITE_ONCE(typed->raw->wanted, on);
	if (!mutex_trylock(&marker_registry.lock)) {
		schedule_work(&update_work);
		return 0;
	}
	err = switch_raw_probe(typed);
	if (err && on)
		WRITE_ONCE(typed->raw->wanted, false);
	mutex_unlock(&marker_registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(marker_raw_switch);

/*
 * If the work item is queued, wait until it has connected or disconnected the probes of all
 * markers.
 */
void marker_raw_flush(void)
{
	flush_work(&update_work);
}

/*
 * Call every function in the array of a tracepoint; an element whose func is NULL ends the array.
 */
#define CALL_ALL(tracepoint, types, args...)				\
do {									\
	const struct tracepoint_func *__func;				\
									\
	compat_tracepoint_read();					\
	__func = rcu_dereference_raw(((struct tracepoint *)(tracepoint))->funcs); \
	for (; __func && __func->func; __func++)			\
		((void (*)(types))__func->func)(__func->data, args);	\
} while (0)
#define TYPES_5		void *, u64, u64, u64, u64, u64
#define TYPES_12	TYPES_5, u64, u64, u64, u64, u64, u64, u64

/**
 * marker_raw_call_5() - call the BPF programs of a marker with up to five arguments
 * @tracepoint: the tracepoint that the programs are attached to
 * @a: first argument
 * @b: second argument
 * @c: third argument
 * @d: fourth argument
 * @e: fifth argument
 *
 * Context: preemption is disabled.
 */
void marker_raw_call_5(void *tracepoint, u64 a, u64 b, u64 c, u64 d, u64 e)
{
	CALL_ALL(tracepoint, TYPES_5, a, b, c, d, e);
}
EXPORT_SYMBOL_GPL(marker_raw_call_5);

/**
 * marker_raw_call_12() - call the BPF programs of a marker with up to twelve arguments
 * @tracepoint: the tracepoint that the programs are attached to
 * @a: first argument
 * @b: second argument
 * @c: third argument
 * @d: fourth argument
 * @e: fifth argument
 * @f: sixth argument
 * @g: seventh argument
 * @h: eighth argument
 * @i: ninth argument
 * @j: tenth argument
 * @k: eleventh argument
 * @l: twelfth argument
 *
 * Context: preemption is disabled.
 */
void marker_raw_call_12(void *tracepoint, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h,
			u64 i, u64 j, u64 k, u64 l)
{
	CALL_ALL(tracepoint, TYPES_12, a, b, c, d, e, f, g, h, i, j, k, l);
}
EXPORT_SYMBOL_GPL(marker_raw_call_12);
