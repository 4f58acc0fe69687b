/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of markers as root sees them, and the built-in probes. */
#ifndef MARKERS_CONTROLS_H
#define MARKERS_CONTROLS_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "command.h"

struct dentry;
struct module;

/**
 * struct marker_control - the controls of a name that has markers
 * @node: in the hash of names; not in it once its last marker has left
 * @list: in a list of those that come or go
 * @dir: its directory; NULL if it cannot have one; of files.c
 * @builtins: which built-in probes are connected, CONTROL_*
 * @hits: counters of the count probe; NULL until it is first connected
 * @name: the name
 *
 * Lives as long as its directory, so that its files need no reference.
 */
struct marker_control {
	struct hlist_node node;
	struct list_head list;
	struct dentry *dir;
	unsigned int builtins;
	unsigned long __percpu *hits;
	char name[];
};

int marker_control_apply(struct marker_control *control, const struct control_command *command);
bool marker_control_is_connected(struct marker_control *control, unsigned int builtin);
int marker_controls_apply(const char *pattern, const struct control_command *command);
int marker_controls_add(struct module *module, struct list_head *new);
void marker_controls_take(struct list_head *gone);
void marker_control_free(struct marker_control *control);

#endif /* MARKERS_CONTROLS_H */
