// SPDX-License-Identifier: GPL-2.0-only
/* For each name that has markers, enable or disable its trace event and the probe "count". */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "connect.h"
#include "controls.h"
#include "events.h"
#include "list.h"
#include "rules.h"

#define NAME_BITS	10

static struct {
	struct mutex lock;		/* taken before marker_registry.lock */
	DECLARE_HASHTABLE(names, NAME_BITS);
	unsigned int nr;
} controls = {
	.lock = __MUTEX_INITIALIZER(controls.lock),
};

static u32 hash_control_name(const char *name)
{
	return jhash(name, strlen(name), 0);
}

static struct marker_control *find_marker_control(const char *name)
{
	struct marker_control *control;

	hash_for_each_possible(controls.names, control, node, hash_control_name(name))
		if (!strcmp(control->name, name))
			return control;
	return NULL;
}

/* Set the hit counters of the probe "count" to 0; allocate them if the name has none yet. */
static int prepare_hit_counters(struct marker_control *control)
{
	int cpu;

	if (!control->hits)
		control->hits = alloc_percpu(unsigned long);
	if (!control->hits)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		*per_cpu_ptr(control->hits, cpu) = 0;
	return 0;
}

/* The built-in probe "count": increment a per-CPU counter without an atomic operation. */
static void count_marker_hit(void *private, void *call_private, const char *fmt, va_list *args)
{
	struct marker_control *control = private;

	this_cpu_inc(*control->hits);
}

static void fill_counting_probe_link(struct marker_link *link, struct marker_control *control)
{
	*link = (struct marker_link) {
		.name = control->name, .func = count_marker_hit, .private = control,
	};
}

/*
 * Connect the probe "count" to each name in the array @names to which the probe is not connected
 * yet.  If an error occurs, connect it to none of these names.
 */
static int connect_counting_probes(struct marker_control **names, unsigned int nr,
				   struct marker_link *links)
{
	unsigned int i, count = 0;
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		if (names[i]->counts)
			continue;
		err = prepare_hit_counters(names[i]);
		fill_counting_probe_link(&links[count++], names[i]);
	}
	if (!err && count)
		err = marker_connect_probes(links, count);
	for (i = 0; i < nr && !err; i++)
		names[i]->counts = true;
	return err;
}

/* Disconnect the probe "count" from all names in @names, and wait for its running calls. */
static void disconnect_counting_probes(struct marker_control **names, unsigned int nr,
				       struct marker_link *links)
{
	unsigned int i, count = 0;

	for (i = 0; i < nr; i++)
		if (names[i]->counts)
			fill_counting_probe_link(&links[count++], names[i]);
	if (!count)
		return;
	marker_disconnect_probes(links, count);
	marker_synchronize_unregister();
	for (i = 0; i < nr; i++)
		names[i]->counts = false;
}

static int switch_trace_events(struct marker_control **names, unsigned int nr, bool on)
{
	const char **texts = kvcalloc(nr, sizeof(*texts), GFP_KERNEL);
	unsigned int i;
	int err;

	if (!texts)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		texts[i] = names[i]->name;
	err = marker_switch_trace_events(texts, nr, on);
	kvfree(texts);
	return err;
}

/* Run a command for all names in the array @names.  After an error, no name is changed. */
static int apply_command_to_controls(struct marker_control **names, unsigned int nr,
				     const struct control_command *command)
{
	struct marker_link *links;
	int err = 0;

	lockdep_assert_held(&controls.lock);
	/* Allocate first, so that the command "none" does not fail after it has disabled events. */
	links = kvcalloc(nr, sizeof(*links), GFP_KERNEL);
	if (!links)
		return -ENOMEM;
	if ((command->add | command->del) & CONTROL_TRACE)
		err = switch_trace_events(names, nr, command->add & CONTROL_TRACE);
	if (command->add & CONTROL_COUNT)
		err = connect_counting_probes(names, nr, links);
	else if (!err && command->del & CONTROL_COUNT)
		disconnect_counting_probes(names, nr, links);
	kvfree(links);
	return err;
}

/* Run a command for a name.  Return -ENODEV if the last marker of the name was unregistered. */
int marker_control_run_command(struct marker_control *control,
			       const struct control_command *command)
{
	int err = -ENODEV;

	mutex_lock(&controls.lock);
	if (!hlist_unhashed(&control->node))
		err = apply_command_to_controls(&control, 1, command);
	mutex_unlock(&controls.lock);
	return err;
}

/*
 * Run a command for all names that match the pattern of a rule, then change the rule, so that the
 * command also applies to names that are added later.
 */
static int apply_command_and_change_rule(struct marker_rule *rule,
					 const struct control_command *command)
{
	struct marker_control *control, **names;
	unsigned int nr = 0;
	int bucket, err = 0;

	lockdep_assert_held(&controls.lock);
	names = kvcalloc(controls.nr, sizeof(*names), GFP_KERNEL);
	if (!names)
		return -ENOMEM;
	hash_for_each(controls.names, bucket, control, node)
		if (marker_rule_matches(rule, control->name))
			names[nr++] = control;
	if (nr)
		err = apply_command_to_controls(names, nr, command);
	kvfree(names);
	if (err)
		return err;
	rule->enabled |= command->add;
	if (!marker_rules_disable(rule, command->del) && !nr && !command->add)
		return -ENOENT;
	if (!nr && command->add)
		pr_info("pattern %s: matches no marker yet; applies to modules loaded later\n",
			rule->pattern.text);
	return 0;
}

/**
 * marker_controls_run_for_pattern() - run a command for every name that matches a pattern
 * @pattern: a pattern of glob_match()
 * @command: the command; what it enables is also enabled for each matching name that a module
 *	loaded later adds
 *
 * Context: may sleep.
 * Return: 0; or an error, in which case nothing is changed.  A @command that only disables returns
 * -ENOENT if there is nothing to disable: no name matches @pattern, and no rule whose pattern
 * matches @pattern enables the trace events or the probe that @command disables.
 */
int marker_controls_run_for_pattern(const char *pattern, const struct control_command *command)
{
	struct marker_rule *rule;
	int err;

	mutex_lock(&controls.lock);
	rule = marker_rule_find_or_make(pattern);
	err = PTR_ERR_OR_ZERO(rule);
	if (!err) {
		err = apply_command_and_change_rule(rule, command);
		marker_rule_free_if_unused(rule);
	}
	mutex_unlock(&controls.lock);
	if (err == -ENOENT)
		pr_info("pattern %s: matches no marker, so nothing was disabled\n", pattern);
	return err;
}

/* Return true if @marker is in the module @module or, if @module is NULL, on a function. */
static int is_marker_of_module(void *module, const struct marker *marker)
{
	return module ? within_module((unsigned long)marker, module) :
			marker->flavour == MARKER_FUNCTION;
}

/*
 * Return true if rules are yet to be applied to the trace event of a name, and the name has a
 * marker in @module or, if @module is NULL, on a function.  The control may have been created for
 * another module, which is still being loaded, or whose init has failed.
 */
static bool is_new_name_of_module(const struct marker_control *control,
				  const struct module *module)
{
	return control->is_new &&
	       marker_visit(control->name, NULL, is_marker_of_module, (void *)module);
}

/*
 * Run @command ("trace" or "count") for each new marker name of @module that a rule with @command
 * matches.  If @command fails for one name, run it for all other names nevertheless.
 */
static void apply_rules_to_new_names(const struct module *module,
				     const struct control_command *command)
{
	struct marker_control *control, **names;
	unsigned int i, nr = 0;
	int bucket, err;

	lockdep_assert_held(&controls.lock);
	if (list_empty(&marker_rules))
		return;
	names = kvcalloc(controls.nr, sizeof(*names), GFP_KERNEL);
	if (!names) {
		pr_warn("new markers: no memory to apply '%s' commands; write these commands to markers/control again\n",
			command->word);
		return;
	}
	hash_for_each(controls.names, bucket, control, node)
		if (is_new_name_of_module(control, module) &&
		    marker_rules_get_enabled_mask(control->name) & command->add)
			names[nr++] = control;
	err = nr ? apply_command_to_controls(names, nr, command) : 0;
	for (i = 0; err && i < nr; i++)
		if (apply_command_to_controls(&names[i], 1, command))
			pr_warn("marker %.64s: command '%s' failed for this new marker; write the command to markers/control again\n",
				names[i]->name, command->word);
	kvfree(names);
}

static int add_marker_control(void *data, const struct marker *marker)
{
	struct marker_control *control;
	struct list_head *new = data;

	if (find_marker_control(marker->name))
		return 0;
	control = kzalloc(sizeof(*control) + strlen(marker->name) + 1, GFP_KERNEL);
	if (!control)
		return -ENOMEM;
	strcpy(control->name, marker->name);
	control->is_new = true;
	hash_add(controls.names, &control->node, hash_control_name(control->name));
	controls.nr++;
	list_add_tail(&control->list, new);
	return 0;
}

/*
 * Add the control of a marker attached to a function.  Skip a marker that is compiled into a
 * module: the module notifier adds the controls of the module's marker names, because rules apply
 * to these names only when the module is live.
 */
static int add_function_marker_control(void *data, const struct marker *marker)
{
	return marker->flavour == MARKER_FUNCTION ? add_marker_control(data, marker) : 0;
}

/**
 * marker_controls_create_missing() - create controls for marker names that have none
 * @module: the module whose markers were added; NULL for markers attached to functions
 * @new: list to which the new controls are added
 *
 * Context: may sleep.
 * Return: 0; or -ENOMEM, in which case some of the names may have no control.
 */
int marker_controls_create_missing(struct module *module, struct list_head *new)
{
	int err;

	mutex_lock(&controls.lock);
	err = marker_visit(NULL, module,
			   module ? add_marker_control : add_function_marker_control, new);
	apply_rules_to_new_names(module, marker_command_find("count"));
	mutex_unlock(&controls.lock);
	return err;
}

/**
 * marker_controls_enable_new_events() - enable the trace events of new names that match a rule
 * @module: the live module that has markers of the names; NULL for a marker attached to a function
 *
 * Call this after the trace events of the names were added, or while kmarkers_events adds them.
 *
 * Context: may sleep.
 */
void marker_controls_enable_new_events(const struct module *module)
{
	struct marker_control *control;
	int bucket;

	mutex_lock(&controls.lock);
	apply_rules_to_new_names(module, marker_command_find("trace"));
	hash_for_each(controls.names, bucket, control, node)
		if (is_new_name_of_module(control, module))
			control->is_new = false;
	mutex_unlock(&controls.lock);
}

/*
 * Print each rule: a line for "trace" if the rule enables trace events, and a line for "count" if
 * the rule enables the probe "count".  A line has the pattern, the command, and the number of
 * matching names.
 */
int marker_controls_show(struct seq_file *m)
{
	const struct marker_rule *rule;
	struct marker_control *control;

	mutex_lock(&controls.lock);
	list_for_each_entry(rule, &marker_rules, node) {
		unsigned int nr = 0;
		int bucket;

		hash_for_each(controls.names, bucket, control, node)
			nr += marker_rule_matches(rule, control->name);
		if (rule->enabled & CONTROL_TRACE)
			seq_printf(m, "%s trace %u\n", rule->pattern.text, nr);
		if (rule->enabled & CONTROL_COUNT)
			seq_printf(m, "%s count %u\n", rule->pattern.text, nr);
	}
	mutex_unlock(&controls.lock);
	return 0;
}

static void collect_controls_without_marker(struct list_head *removed)
{
	struct marker_control *control;
	struct hlist_node *next;
	int bucket;

	hash_for_each_safe(controls.names, bucket, next, control, node) {
		if (marker_exists(control->name, NULL))
			continue;
		/* From now on marker_control_run_command() returns -ENODEV. */
		hash_del(&control->node);
		controls.nr--;
		list_add_tail(&control->list, removed);
	}
}

static void disconnect_removed_counting_probes(struct list_head *removed)
{
	struct marker_control *control;
	struct marker_link link;
	bool any = false;

	list_for_each_entry(control, removed, list) {
		if (!control->counts)
			continue;
		fill_counting_probe_link(&link, control);
		marker_disconnect_probes(&link, 1);
		any = true;
	}
	if (any)
		marker_synchronize_unregister();
}

/**
 * marker_controls_remove_without_markers() - remove the controls of names without markers
 * @removed: list to which the removed controls are added, with the probe "count" disconnected
 *
 * Context: may sleep.
 */
void marker_controls_remove_without_markers(struct list_head *removed)
{
	mutex_lock(&controls.lock);
	collect_controls_without_marker(removed);
	disconnect_removed_counting_probes(removed);
	mutex_unlock(&controls.lock);
}

/*
 * Free a control.  The control's debugfs directory must have been removed, because the files in it
 * use the control.
 */
void marker_control_free(struct marker_control *control)
{
	free_percpu(control->hits);
	kfree(control);
}
