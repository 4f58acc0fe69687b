// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users of a trace event: trace buffers that record it, and perf. For each of them a probe is
 * connected through the event's source. All functions run under event_mutex.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include <kmarkers/event.h>

#include "event_call.h"
#include "event_registers.h"
#include "event_users.h"

/* A soft-disabled trace file, to which no record is written. */
static struct trace_event_file disabled_file = { .flags = EVENT_FILE_FL_SOFT_DISABLED };

static int connect_user(struct event_user *user)
{
	struct marker_event_offer event = marker_event_offer(user->event);

	return user->event->source->connect(&event, user);
}

static int disconnect_user(struct event_user *user)
{
	struct marker_event_offer event = marker_event_offer(user->event);

	return user->event->source->disconnect(&event, user);
}

static int make_user(struct marker_event *event, struct trace_event_file *file,
		     struct module *owner)
{
	struct event_user *user = kzalloc(sizeof(*user), GFP_KERNEL);
	int err;

	if (!user)
		return -ENOMEM;
	user->event = event;
	user->file = file;
	user->owner = owner;
	marker_event_find_register_writer(user);
	err = connect_user(user);
	if (err) {
		kfree(user);
		return err;
	}
	list_add(&user->node, &event->users);
	event->used = true;
	return 0;
}

/*
 * Add a trace buffer, or perf if @file is NULL, to the users of an event.  A user has a reference
 * to this module, because the module of a marked function need not depend on it.  perf also has a
 * reference to the event's owner, as it has for an event whose references are counted in modules.
 */
static int add_event_user(struct marker_event *event, struct trace_event_file *file)
{
	struct module *owner = file ? NULL : event->owner;
	int err = -ENODEV;

	if (event->leaves || event->orphan || !try_module_get(THIS_MODULE))
		return err;
	if (try_module_get(owner)) {
		err = make_user(event, file, owner);
		if (!err)
			return 0;
		module_put(owner);
	}
	module_put(THIS_MODULE);
	return err;
}

/*
 * Disconnect a user and free it.  The trace core frees a buffer after a grace period, but in newer
 * kernels one of another kind of RCU, which does not wait for hits.  So this waits for hits, too.
 */
static void del_user(struct event_user *user)
{
	int err;

	list_del(&user->node);
	err = disconnect_user(user);
	if (err)
		WRITE_ONCE(user->file, &disabled_file);
	synchronize_rcu_expedited();
	/* After an error the probe is still called: free neither its data nor this module. */
	if (err) {
		pr_err("%s: its trace event cannot be disconnected: error %d\n",
		       user->event->name, err);
		return;
	}
	module_put(user->owner);
	kfree(user);
	module_put(THIS_MODULE);
}

static void del_matching_user(struct marker_event *event, const struct trace_event_file *file)
{
	struct event_user *user;

	list_for_each_entry(user, &event->users, node) {
		if (user->file == file) {
			del_user(user);
			return;
		}
	}
}

/* The trace core calls this when the event is enabled or disabled in a buffer or by perf. */
int marker_event_reg(struct trace_event_call *call, enum trace_reg type, void *data)
{
	struct marker_event *event = container_of(call, struct marker_event, call);

	switch (type) {
	case TRACE_REG_REGISTER:
		return add_event_user(event, data);
	case TRACE_REG_UNREGISTER:
		del_matching_user(event, data);
		return 0;
	case TRACE_REG_PERF_REGISTER:
		return add_event_user(event, NULL);
	case TRACE_REG_PERF_UNREGISTER:
		del_matching_user(event, NULL);
		return 0;
	default:
		return 0;
	}
}

/* Remove all users. The trace core does not disable an event with a trigger before its removal. */
void marker_event_drop_users(struct marker_event *event)
{
	struct event_user *user, *next;

	list_for_each_entry_safe(user, next, &event->users, node)
		del_user(user);
}
