/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of markers as root sees them: a directory each, and the built-in probes. */
#ifndef MARKERS_CONTROL_H
#define MARKERS_CONTROL_H

#include <linux/dcache.h>
#include <linux/list.h>
#include <linux/types.h>

struct module;

#define CONTROL_TRACE	1
#define CONTROL_COUNT	2

/* Longest command, and longest word for a file in a name's directory. */
#define CONTROL_LINE	512
#define CONTROL_WORD	32

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

/**
 * struct control_command - what a word asks for
 * @word: the word
 * @add: the probe to connect, or 0
 * @del: the probes to disconnect
 */
struct control_command {
	const char *word;
	unsigned int add;
	unsigned int del;
};

void control_init(struct dentry *dir);
void control_exit(void);
int control_names_come(struct module *module);
void control_names_go(void);

const struct control_command *control_command(const char *word);
int control_apply(struct marker_control *control, const struct control_command *command);
bool control_is_connected(struct marker_control *control, unsigned int builtin);

/* Letters, digits and underscores: what can be the name of a directory. */
bool control_is_identifier(const char *name);

/* What was written, without the newline; to be freed, or an error pointer. */
char *control_line(const char __user *buf, size_t count, size_t most);

/* files.c */
void files_create(struct marker_control *control, struct dentry *parent);

#endif /* MARKERS_CONTROL_H */
