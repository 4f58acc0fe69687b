/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of markers as root sees them: a directory each, and the built-in probes. */
#ifndef MARKERS_CONTROL_H
#define MARKERS_CONTROL_H

#include <linux/dcache.h>
#include <linux/list.h>
#include <linux/types.h>

#include "command.h"

struct module;

/**
 * struct marker_control - the controls of a name that has markers
 * @node: in the hash of names; not in it once its last marker has left
 * @list: in a list of those that come or go
 * @dir: its directory; NULL if it cannot have one
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

void control_init(struct dentry *dir);
void control_exit(void);
int control_names_come(struct module *module);
void control_names_go(void);

int control_apply(struct marker_control *control, const struct control_command *command);
bool control_is_connected(struct marker_control *control, unsigned int builtin);

/* files.c */
void files_create(struct marker_control *control, struct dentry *parent);

#endif /* MARKERS_CONTROL_H */
