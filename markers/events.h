/* SPDX-License-Identifier: GPL-2.0-only */
/* Registry of event sources; in the kernel only. */
#ifndef MARKERS_EVENTS_H
#define MARKERS_EVENTS_H

struct function_marker;
struct module;

int marker_events_init(void);
void marker_events_exit(void);
void marker_events_module_live(struct module *module);
void marker_events_module_going(struct module *module);
void marker_events_module_gone(struct module *module);
void marker_events_attach(struct function_marker *function);
int marker_events_detach(struct function_marker *function);
void marker_events_flush(void);

#endif /* MARKERS_EVENTS_H */
