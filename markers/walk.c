// SPDX-License-Identifier: GPL-2.0-only
/* Walks through all markers, as in 2.6.25-2.6.31. */
#include <linux/export.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "names.h"

/* Set the walk to the first marker of the next table that has markers, or to the end. */
static void stand_at(struct marker_iter *iter, struct list_head *node)
{
	while (node != &marker_registry.tables && !list_entry(node, struct marker_table, node)->nr)
		node = node->next;
	iter->index = 0;
	iter->table = NULL;
	iter->module = NULL;
	iter->marker = NULL;
	if (node == &marker_registry.tables)
		return;
	iter->table = list_entry(node, struct marker_table, node);
	iter->module = iter->table->module;
	iter->marker = record_marker(&iter->table->records[0]);
}

static void step_on(struct marker_iter *iter)
{
	if (!iter->table)
		return;
	if (++iter->index < iter->table->nr)
		iter->marker = record_marker(&iter->table->records[iter->index]);
	else
		stand_at(iter, iter->table->node.next);
}

/**
 * marker_iter_reset() - let a walk begin at the first marker
 * @iter: the walk, stopped
 *
 * Context: any.
 */
void marker_iter_reset(struct marker_iter *iter)
{
	memset(iter, 0, sizeof(*iter));
}
EXPORT_SYMBOL_GPL(marker_iter_reset);

/**
 * marker_iter_start() - begin to walk through all markers, or go on after a stop
 * @iter: the walk, reset once
 *
 * Until marker_iter_stop() no marker is added or removed and no probe can be
 * registered.  A walk that was stopped goes on at the position that it had reached.
 *
 * Context: may sleep.
 */
void marker_iter_start(struct marker_iter *iter)
{
	unsigned int i;

	mutex_lock(&marker_registry.lock);
	iter->locked = true;
	stand_at(iter, marker_registry.tables.next);
	for (i = 0; i < iter->pos; i++)
		step_on(iter);
}
EXPORT_SYMBOL_GPL(marker_iter_start);

/**
 * marker_iter_next() - go to the next marker
 * @iter: the walk, started
 *
 * Context: any.
 */
void marker_iter_next(struct marker_iter *iter)
{
	iter->pos++;
	step_on(iter);
}
EXPORT_SYMBOL_GPL(marker_iter_next);

/**
 * marker_iter_stop() - end or interrupt a walk
 * @iter: the walk; nothing happens if it was not started
 *
 * Context: may sleep.
 */
void marker_iter_stop(struct marker_iter *iter)
{
	if (!iter->locked)
		return;
	iter->locked = false;
	mutex_unlock(&marker_registry.lock);
}
EXPORT_SYMBOL_GPL(marker_iter_stop);
