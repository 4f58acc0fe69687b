// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workqueue of the trace events, which runs two work items.  The work item of names.c adds or
 * removes the pending events.  The work item of orphans.c checks orphans and unconnected users.
 * This file depends on no other file of this module, so that all other files may queue these work
 * items.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/jiffies.h>

#include "work.h"

static struct workqueue_struct *queue;
static struct delayed_work check_work;

/* True if the next run of check_work tries to connect refused users, too. */
static bool is_retry_wanted;

/**
 * kmarkers_event_create_workqueue() - create the workqueue
 * @check: function of the work item that kmarkers_event_queue_check_work() queues
 *
 * Return: 0 or -ENOMEM.
 */
int __init kmarkers_event_create_workqueue(work_func_t check)
{
	INIT_DELAYED_WORK(&check_work, check);
	queue = alloc_workqueue("kmarkers_events", WQ_UNBOUND, 1);
	return queue ? 0 : -ENOMEM;
}

/* Cancel check_work, wait for all other work items, and destroy the workqueue. */
void kmarkers_event_destroy_workqueue(void)
{
	cancel_delayed_work_sync(&check_work);
	destroy_workqueue(queue);
}

void kmarkers_event_queue_work(struct work_struct *work)
{
	queue_work(queue, work);
}

/*
 * Queue check_work to run in a second.  check_work removes the orphans that are not used any more,
 * and retries to connect unconnected users.  check_work is queued again while an orphan or an
 * unconnected user is left.
 */
void kmarkers_event_queue_check_work(void)
{
	queue_delayed_work(queue, &check_work, HZ);
}

/* Queue check_work, and let it also try to connect the users that a source has refused. */
void kmarkers_event_queue_retry(void)
{
	WRITE_ONCE(is_retry_wanted, true);
	kmarkers_event_queue_check_work();
}

/* Return true if kmarkers_event_queue_retry() was called since the last call of this function. */
bool kmarkers_event_take_retry(void)
{
	return xchg(&is_retry_wanted, false);
}

/*
 * Wait until the queued work items have run.  Do not wait for check_work if its delay has not
 * expired.
 */
void kmarkers_event_flush_workqueue(void)
{
	flush_workqueue(queue);
}
