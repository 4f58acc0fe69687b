// SPDX-License-Identifier: GPL-2.0-only
/* Iterators over all markers, as in Linux 2.6.25 to 2.6.31. */
#include <linux/export.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "names.h"

/*
 * Search the list of tables, beginning at the element @node, for a table that has markers.  Set the
 * iterator to the first marker of that table, or to the end if there is no such table.
 */
static void move_to_nonempty_table(struct marker_iter *iter, struct list_head *node)
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
	iter->marker = get_marker_of_record(&iter->table->records[0]);
}

static void move_to_next_marker(struct marker_iter *iter)
{
	if (!iter->table)
		return;
	if (++iter->index < iter->table->nr)
		iter->marker = get_marker_of_record(&iter->table->records[iter->index]);
	else
		move_to_nonempty_table(iter, iter->table->node.next);
}

/**
 * marker_iter_reset() - set an iterator to the first marker
 * @iter: the iterator, new or after marker_iter_stop()
 *
 * Context: any.
 */
void marker_iter_reset(struct marker_iter *iter)
{
	memset(iter, 0, sizeof(*iter));
}
EXPORT_SYMBOL_GPL(marker_iter_reset);

/**
 * marker_iter_start() - lock the registry, and begin to iterate over all markers
 * @iter: the iterator, after marker_iter_reset() or marker_iter_stop()
 *
 * Until marker_iter_stop() no marker is added or removed and no probe can be registered.  If
 * marker_iter_start() is called after marker_iter_stop(), the iteration continues at the position
 * reached before.
 *
 * Context: may sleep.
 */
void marker_iter_start(struct marker_iter *iter)
{
	unsigned int i;

	mutex_lock(&marker_registry.lock);
	iter->locked = true;
	move_to_nonempty_table(iter, marker_registry.tables.next);
	for (i = 0; i < iter->pos; i++)
		move_to_next_marker(iter);
}
EXPORT_SYMBOL_GPL(marker_iter_start);

/**
 * marker_iter_next() - go to the next marker
 * @iter: the iterator, after marker_iter_start()
 *
 * Context: any.
 */
void marker_iter_next(struct marker_iter *iter)
{
	iter->pos++;
	move_to_next_marker(iter);
}
EXPORT_SYMBOL_GPL(marker_iter_next);

/**
 * marker_iter_stop() - unlock the registry, and end or suspend an iteration
 * @iter: the iterator; nothing is done if it was not started
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
