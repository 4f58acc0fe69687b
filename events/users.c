// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users of events.  Each trace buffer that records an event is a user of the event, and so is perf.
 * A user is connected to the source of the event, which then calls write() or probe() with the user
 * for each hit.  A task may collect in a batch either the users that it adds or the users that it
 * removes, and connect or disconnect all of them at once.  All functions are called with
 * event_mutex held.
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
#include "work.h"

/*
 * A soft-disabled event file.  If a user cannot be disconnected, this file replaces the user's
 * file, so that no hits are recorded for the user.
 */
static struct trace_event_file nowhere = { .flags = EVENT_FILE_FL_SOFT_DISABLED };

/*
 * The batch: the users that @task collects, to connect or disconnect all of them in one call. If
 * there is no batch, @task is NULL.
 */
static struct {
	struct task_struct *task;
	struct list_head users;
} batch = {
	.users = LIST_HEAD_INIT(batch.users),
};

static bool current_task_has_batch(void)
{
	return batch.task == current;
}

static int connect_event_user(struct event_user *user)
{
	struct kmarkers_event_offer event = kmarkers_event_make_offer(user->event);
	int err = user->event->source->connect(&event, user);

	user->connected = !err;
	if (!err)
		user->failed = false;
	return err;
}

static int disconnect_event_user(struct event_user *user)
{
	struct kmarkers_event_offer event = kmarkers_event_make_offer(user->event);

	return user->event->source->disconnect(&event, user);
}

/*
 * Return true if connecting a user failed for a lasting reason: -EINVAL, such as for an event of
 * which all sites are SDT notes that cannot be armed, or -EPERM, for a marker name with probes of
 * another format.  Each further attempt would log the reason again.
 */
static bool is_event_user_refused(const struct event_user *user)
{
	return user->err == -EINVAL || user->err == -EPERM;
}

/*
 * Connect a user that the trace core adds for a trigger or an event probe.  If this fails, the
 * event stays enabled, and a work item tries once a second to connect the user.  A refused user,
 * see is_event_user_refused(), is tried again only when a module is loaded, a source changes its
 * offers, or a source calls retry(), as markers do when a name has lost all probes of another
 * format.  If the source of the event was unregistered, or the event is being removed, the user is
 * not connected before the event is offered again.
 */
static void try_connect_event_user(struct event_user *user)
{
	const struct kmarkers_event *event = user->event;
	int err = event->source && !event->is_removed ? connect_event_user(user) : 0;
	bool is_new = err != user->err;

	user->err = err;
	if (!err)
		return;
	if (is_new)
		pr_warn("trace event %s: enabled for a trigger, but cannot record hits: error %d; %s\n",
			event->name, err, is_event_user_refused(user) ?
			"the reason was logged; retried when a module is loaded or the other format is gone" :
			"retried every second");
	if (!is_event_user_refused(user))
		kmarkers_event_queue_check_work();
}

/*
 * Return true if the trace core enables an event in a buffer for a trigger or an event probe.  The
 * trace core then soft-disables the event, and has raised sm_ref before it calls
 * kmarkers_event_reg().  If kmarkers_event_reg() failed, the trace core would not lower sm_ref, and
 * no task could disable the event any more.  So kmarkers_event_reg() must succeed.
 */
static bool is_enabled_for_trigger(struct trace_event_file *file)
{
	return file && atomic_read(&file->sm_ref);
}

static int create_event_user(struct kmarkers_event *event, struct trace_event_file *file,
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
	kmarkers_event_choose_register_writer(user);
	if (current_task_has_batch())
		list_add_tail(&user->batch, &batch.users);
	else if (is_enabled_for_trigger(file))
		try_connect_event_user(user);
	else
		err = connect_event_user(user);
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
 * reference to this module, which could otherwise be unloaded, because modules that offer events
 * need not depend on this module.  Perf as a user also holds a reference to the owner of the event.
 * Perf itself takes a reference to the owner only in kernels that count references in modules.
 */
static int add_event_user(struct kmarkers_event *event, struct trace_event_file *file)
{
	struct module *owner = file ? NULL : event->owner;
	int err = -ENODEV;

	/*
	 * In Linux 5.10.262 and 6.1.192, a task that opened the file "trigger" of an event before
	 * the event was removed can still write a trigger to that file.  @file is freed memory then.
	 */
	if (!event->added)
		return -ENOENT;
	if ((event->is_removed || event->orphan) && !is_enabled_for_trigger(file))
		return err;
	if (!try_module_get(THIS_MODULE))
		return err;
	if (try_module_get(owner)) {
		err = create_event_user(event, file, owner);
		if (!err)
			return 0;
		module_put(owner);
	}
	module_put(THIS_MODULE);
	return err;
}

/*
 * Wait for a grace period and free the users that were disconnected.  Log and disable the users
 * that could not be disconnected, and do not free these users, because hits may still read them.
 *
 * The trace core of newer kernels waits for SRCU readers before it frees a buffer.  But hits only
 * disable preemption, so wait here until no hit uses the buffer.
 */
static void free_disconnected_users(const struct kmarkers_event_link *links, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct event_user *user = links[i].user;

		if (!links[i].err)
			continue;
		WRITE_ONCE(user->file, &nowhere);
		pr_err("trace event %s: cannot be disconnected from its marker, SDT probe or function, so hits are discarded: error %d\n",
		       user->event->name, links[i].err);
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

/* Disconnect and free a user; if this task has a batch, only add the user to the batch. */
static void remove_event_user(struct event_user *user)
{
	struct kmarkers_event_link link = { .user = user };

	list_del(&user->node);
	list_del_init(&user->batch);
	if (current_task_has_batch()) {
		list_add_tail(&user->batch, &batch.users);
		return;
	}
	if (user->connected)
		link.err = disconnect_event_user(user);
	free_disconnected_users(&link, 1);
}

/**
 * kmarkers_event_batch_begin() - collect the users of events that this task adds or removes
 *
 * Until the batch ends, the task may either only add or only remove users.  The events of these
 * users must be from one source.
 *
 * Context: may sleep; only one task at a time may have a batch.
 */
void kmarkers_event_batch_begin(void)
{
	batch.task = current;
}

/* End the batch: move its users to an array of links. Return the number of users. */
static unsigned int move_batch_to_links(struct kmarkers_event_link *links)
{
	struct event_user *user, *next;
	unsigned int nr = 0;

	batch.task = NULL;
	list_for_each_entry_safe(user, next, &batch.users, batch) {
		list_del_init(&user->batch);
		links[nr].event = kmarkers_event_make_offer(user->event);
		links[nr++].user = user;
	}
	return nr;
}

/**
 * kmarkers_event_batch_connect() - connect the users of the batch, and end the batch
 * @source: the source of the users' events
 * @links: array with at least one element for each user that was added
 * @err: 0; or an error of the caller, in which case the batch ends and no user is connected
 *
 * Context: may sleep.
 * Return: 0; @err if it is an error; or an error of the source. After an error no user of the batch
 * is connected.
 */
int kmarkers_event_batch_connect(struct kmarkers_event_source *source,
				 struct kmarkers_event_link *links, int err)
{
	unsigned int i, nr = move_batch_to_links(links);

	if (!err && nr)
		err = source->connect_many(links, nr);
	for (i = 0; i < nr; i++) {
		struct event_user *user = links[i].user;

		user->connected = !err;
		user->failed = err;
	}
	/*
	 * The caller now disables the events of the users.  If a trigger has enabled an event
	 * meanwhile, the event stays enabled, and the queued check connects the user later.
	 */
	if (err && nr)
		kmarkers_event_queue_check_work();
	return err;
}

/**
 * kmarkers_event_batch_disconnect() - disconnect and free the users of the batch, and end the batch
 * @source: the source of the users' events
 * @links: array with at least one element, filled with zeros, for each user that was removed
 *
 * Context: may sleep; waits for a grace period.
 */
void kmarkers_event_batch_disconnect(struct kmarkers_event_source *source,
				     struct kmarkers_event_link *links)
{
	unsigned int i, nr = move_batch_to_links(links);

	if (!nr)
		return;
	source->disconnect_many(links, nr);
	/* The source does not know users that are not connected: see try_connect_event_user(). */
	for (i = 0; i < nr; i++) {
		struct event_user *user = links[i].user;

		if (!user->connected)
			links[i].err = 0;
	}
	free_disconnected_users(links, nr);
}

/*
 * Connect the users of an event that could not be connected when they were added; skip refused
 * users unless @include_refused is true.
 */
void kmarkers_event_connect_users(struct kmarkers_event *event, bool include_refused)
{
	struct event_user *user;

	list_for_each_entry(user, &event->users, node)
		if (!user->connected && list_empty(&user->batch) &&
		    (include_refused || !is_event_user_refused(user)))
			try_connect_event_user(user);
}

/* Disconnect, but do not free, the users of an event whose source is being unregistered. */
void kmarkers_event_disconnect_users(struct kmarkers_event *event)
{
	struct event_user *user;

	list_for_each_entry(user, &event->users, node) {
		int err = user->connected ? disconnect_event_user(user) : 0;

		if (err)
			pr_err("trace event %s: cannot be disconnected from its marker, SDT probe or function: error %d\n",
			       event->name, err);
		user->connected = false;
	}
}

/* Return true if an event has a user that kmarkers_event_batch_connect() could not connect. */
bool kmarkers_event_has_failed_user(const struct kmarkers_event *event)
{
	const struct event_user *user;

	list_for_each_entry(user, &event->users, node)
		if (user->failed)
			return true;
	return false;
}

static void remove_user_of_file(struct kmarkers_event *event, const struct trace_event_file *file)
{
	struct event_user *user;

	list_for_each_entry(user, &event->users, node) {
		if (user->file == file) {
			remove_event_user(user);
			return;
		}
	}
}

/*
 * The trace core calls this function when an event is enabled or disabled, in a buffer or by perf.
 */
int kmarkers_event_reg(struct trace_event_call *call, enum trace_reg type, void *data)
{
	struct kmarkers_event *event = container_of(call, struct kmarkers_event, call);

	switch (type) {
	case TRACE_REG_REGISTER:
		return add_event_user(event, data);
	case TRACE_REG_UNREGISTER:
		remove_user_of_file(event, data);
		return 0;
	case TRACE_REG_PERF_REGISTER:
		return add_event_user(event, NULL);
	case TRACE_REG_PERF_UNREGISTER:
		remove_user_of_file(event, NULL);
		return 0;
	default:
		return 0;
	}
}

/*
 * Disconnect and free all users of an event.  The trace core removes an event that has a trigger
 * without disabling the event, so users may still be connected to a removed event.
 */
void kmarkers_event_remove_users(struct kmarkers_event *event)
{
	struct event_user *user, *next;

	list_for_each_entry_safe(user, next, &event->users, node)
		remove_event_user(user);
}
