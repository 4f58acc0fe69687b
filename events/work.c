// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workqueue of the trace events.  It runs two work items: the one that adds or removes the pending
 * events (names.c), and the one that checks orphans and unconnected users (orphans.c).  This file
 * depends on no other file of this module, so that all others may queue these work items.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/jiffies.h>

#include "work.h"

static struct workqueue_struct *queue;
static struct delayed_work check_work;

/**
 * kmarkers_event_create_queue() - create the workqueue
 * @check: function of the work item that kmarkers_event_queue_check() queues
 *
 * Return: 0 or -ENOMEM.
 */
int __init kmarkers_event_create_queue(work_func_t check)
{
	INIT_DELAYED_WORK(&check_work, check);
	queue = alloc_workqueue("kmarkers_events", WQ_UNBOUND, 1);
	return queue ? 0 : -ENOMEM;
}

/* Cancel the check, wait for the other work item, and destroy the workqueue. */
void kmarkers_event_destroy_queue(void)
{
	cancel_delayed_work_sync(&check_work);
	destroy_workqueue(queue);
}

void kmarkers_event_queue_work(struct work_struct *work)
{
	queue_work(queue, work);
}

/*
 * In a second, remove the orphans that are not used any more, and connect the users that could not be
 * connected; repeat this while any are left.
 */
void kmarkers_event_queue_check(void)
{
	queue_delayed_work(queue, &check_work, HZ);
}

/* Wait until the queued work items have run; the check is only waited for if its second is over. */
void kmarkers_event_flush_queue(void)
{
	flush_workqueue(queue);
}
