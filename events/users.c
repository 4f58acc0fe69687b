// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users of events.  Each trace buffer that records an event is a user of the event, and so is
 * perf.  A user is connected to the source of the event, which then passes it each hit.  A task may
 * collect the users that it adds, or those that it removes, in a batch, and connect or disconnect
 * all of them at once.  All functions are called with event_mutex held.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <kmarkers/event.h>

#include "call.h"
#include "registers.h"
#include "users.h"

/* A soft-disabled event file, for users that could not be disconnected: they record nothing. */
static struct trace_event_file nowhere = { .flags = EVENT_FILE_FL_SOFT_DISABLED };

/* The batch: the task that collects users in it, or NULL; and the users. */
static struct {
	struct task_struct *task;
	struct list_head users;
} batch = {
	.users = LIST_HEAD_INIT(batch.users),
};

static bool is_in_batch(void)
{
	return batch.task == current;
}

static int connect_user(struct event_user *user)
{
	struct kmarkers_event_offer event = kmarkers_event_offer(user->event);
	int err = user->event->source->connect(&event, user);

	user->connected = !err;
	return err;
}

static int disconnect_user(struct event_user *user)
{
	struct kmarkers_event_offer event = kmarkers_event_offer(user->event);

	return user->event->source->disconnect(&event, user);
}

static int make_user(struct kmarkers_event *event, struct trace_event_file *file,
		     struct module *owner)
{
	struct event_user *user = kzalloc(sizeof(*user), GFP_KERNEL);
	int err = 0;

	if (!user)
		return -ENOMEM;
	user->event = event;
	user->file = file;
	user->owner = owner;
	INIT_LIST_HEAD(&user->batch);
	kmarkers_event_choose_writer(user);
	if (is_in_batch())
		list_add_tail(&user->batch, &batch.users);
	else
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
 * Add a user of an event: the buffer of @file, or perf if @file is NULL.  The user holds a
 * reference to this module, because the modules whose functions an event records do not depend on
 * it.  If the user is perf, it also holds a reference to the owner of the event.  perf takes a
 * reference to the module of an event itself only where the trace core counts references in
 * modules.
 */
static int add_file_user(struct kmarkers_event *event, struct trace_event_file *file)
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
 * Free users that were disconnected, after a grace period.  Log and disable those that could not be
 * disconnected, and do not free them: hits may still read them.
 *
 * The trace core waits for a grace period before it frees a buffer, but in newer kernels for one of
 * a kind of RCU that does not cover hits.  So wait for hits here.
 */
static void free_users(const struct kmarkers_event_link *links, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct event_user *user = links[i].user;

		if (!links[i].err)
			continue;
		WRITE_ONCE(user->file, &nowhere);
		pr_err("%s: its trace event cannot be disconnected: error %d\n", user->event->name,
		       links[i].err);
	}
	synchronize_rcu_expedited();
	for (i = 0; i < nr; i++) {
		struct event_user *user = links[i].user;

		if (links[i].err)
			continue;
		module_put(user->owner);
		kfree(user);
		module_put(THIS_MODULE);
	}
}

/* Disconnect and free a user, or add it to the batch. */
static void del_user(struct event_user *user)
{
	struct kmarkers_event_link link = { .user = user };

	list_del(&user->node);
	list_del_init(&user->batch);
	if (is_in_batch()) {
		list_add_tail(&user->batch, &batch.users);
		return;
	}
	if (user->connected)
		link.err = disconnect_user(user);
	free_users(&link, 1);
}

/**
 * kmarkers_event_batch_begin() - collect the users that this task adds or removes
 *
 * Until the batch ends, the task may add users or remove users, but not both, and only of events of
 * one source.
 *
 * Context: may sleep; only one task at a time may have a batch.
 */
void kmarkers_event_batch_begin(void)
{
	batch.task = current;
}

/* End the batch: move its users to an array of links. Return their number. */
static unsigned int end_batch(struct kmarkers_event_link *links)
{
	struct event_user *user, *next;
	unsigned int nr = 0;

	batch.task = NULL;
	list_for_each_entry_safe(user, next, &batch.users, batch) {
		list_del_init(&user->batch);
		links[nr].event = kmarkers_event_offer(user->event);
		links[nr++].user = user;
	}
	return nr;
}

/**
 * kmarkers_event_batch_connect() - connect the users of the batch, and end it
 * @source: the source of their events
 * @links: array with at least one element for each user that was added
 * @err: 0, or an error, in which case no user is connected
 *
 * Context: may sleep.
 * Return: 0; @err if it is an error; or an error of the source. After an error no user of the batch
 * is connected.
 */
int kmarkers_event_batch_connect(struct kmarkers_event_source *source,
				 struct kmarkers_event_link *links, int err)
{
	unsigned int i, nr = end_batch(links);

	if (!err && nr)
		err = source->connect_many(links, nr);
	for (i = 0; i < nr; i++)
		((struct event_user *)links[i].user)->connected = !err;
	return err;
}

/**
 * kmarkers_event_batch_disconnect() - disconnect and free the users of the batch, and end it
 * @source: the source of their events
 * @links: array with at least one element, filled with zeros, for each user that was removed
 *
 * Context: may sleep; waits for a grace period.
 */
void kmarkers_event_batch_disconnect(struct kmarkers_event_source *source,
				     struct kmarkers_event_link *links)
{
	unsigned int nr = end_batch(links);

	if (!nr)
		return;
	source->disconnect_many(links, nr);
	free_users(links, nr);
}

/* Return true if an event has a user that kmarkers_event_batch_connect() did not connect. */
bool kmarkers_event_is_unconnected(const struct kmarkers_event *event)
{
	const struct event_user *user;

	list_for_each_entry(user, &event->users, node)
		if (!user->connected)
			return true;
	return false;
}

static void del_user_of(struct kmarkers_event *event, const struct trace_event_file *file)
{
	struct event_user *user;

	list_for_each_entry(user, &event->users, node) {
		if (user->file == file) {
			del_user(user);
			return;
		}
	}
}

/* The trace core calls this when an event is enabled or disabled, in a buffer or by perf. */
int kmarkers_event_reg(struct trace_event_call *call, enum trace_reg type, void *data)
{
	struct kmarkers_event *event = container_of(call, struct kmarkers_event, call);

	switch (type) {
	case TRACE_REG_REGISTER:
		return add_file_user(event, data);
	case TRACE_REG_UNREGISTER:
		del_user_of(event, data);
		return 0;
	case TRACE_REG_PERF_REGISTER:
		return add_file_user(event, NULL);
	case TRACE_REG_PERF_UNREGISTER:
		del_user_of(event, NULL);
		return 0;
	default:
		return 0;
	}
}

/*
 * Disconnect and free all users of an event.  The trace core does not disable an event that has a
 * trigger before it removes the event, so users may still be connected then.
 */
void kmarkers_event_drop_users(struct kmarkers_event *event)
{
	struct event_user *user, *next;

	list_for_each_entry_safe(user, next, &event->users, node)
		del_user(user);
}
