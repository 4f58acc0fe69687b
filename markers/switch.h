/* SPDX-License-Identifier: GPL-2.0-only */
/* Switching markers on and off. */
#ifndef MARKERS_SWITCH_H
#define MARKERS_SWITCH_H

#include <linux/types.h>

struct imv_change;
struct marker;
struct marker_entry;
struct marker_table;

/**
 * struct marker_switch - a batch of markers that are switched on or off together
 * @changes: for each marker, the new value of the marker's state, which is an immediate value
 * @nr: number of @changes
 */
struct marker_switch {
	struct imv_change *changes;
	unsigned int nr;
};

int marker_switch_begin_batch(struct marker_switch *batch, unsigned int max_markers);
void marker_switch_add(struct marker_switch *batch, struct marker *marker, bool on);
int marker_switch_end_batch(struct marker_switch *batch, int err);
void marker_switch_off(struct marker *marker);
void marker_switch_off_table(const struct marker_table *table);
int marker_switch_hook(struct marker *marker, bool on);
int marker_switch_register_hooks(struct marker_entry *entry);
void marker_switch_unregister_hooks(struct marker_entry *entry);

#endif /* MARKERS_SWITCH_H */
