/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Controls: one object for each marker name.  The files in the debugfs directory of the name use
 * the control.
 */
#ifndef MARKERS_CONTROLS_H
#define MARKERS_CONTROLS_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "command.h"

struct dentry;
struct module;
struct seq_file;

/**
 * struct marker_control - the control of a name that has markers
 * @node: link in the hash table of names; unhashed once the name has no marker
 * @list: link in a list of controls that are being added or removed
 * @dir: the name's directory, used by files.c; NULL if the name cannot be a directory
 * @is_new: true until rules have been applied to the trace event of the name
 * @counts: true while the probe "count" is connected
 * @hits: per-CPU hit counters of the probe "count"; NULL until this probe is first connected
 * @name: the name
 *
 * A control is freed only after its directory was removed, so the files hold no reference to the
 * control.
 */
struct marker_control {
	struct hlist_node node;
	struct list_head list;
	struct dentry *dir;
	bool is_new;
	bool counts;
	unsigned long __percpu *hits;
	char name[];
};

int marker_control_run_command(struct marker_control *control,
			       const struct control_command *command);
int marker_controls_run_for_pattern(const char *pattern, const struct control_command *command);
int marker_controls_create_missing(struct module *module, struct list_head *new);
void marker_controls_enable_new_events(const struct module *module);
void marker_controls_remove_without_markers(struct list_head *removed);
int marker_controls_show(struct seq_file *m);
void marker_control_free(struct marker_control *control);

#endif /* MARKERS_CONTROLS_H */
