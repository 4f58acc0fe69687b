/* SPDX-License-Identifier: GPL-2.0-only */
/* Trace events of event sources, as modules are loaded and unloaded; in the kernel only. */
#ifndef EVENTS_SOURCES_H
#define EVENTS_SOURCES_H

struct module;

int kmarkers_events_init(void);
void kmarkers_events_exit(void);
void kmarkers_events_handle_module_live(struct module *module);
void kmarkers_events_handle_module_going(struct module *module);
void kmarkers_events_handle_module_gone(struct module *module);

#endif /* EVENTS_SOURCES_H */
