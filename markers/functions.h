/* SPDX-License-Identifier: GPL-2.0-only */
/* Markers on functions that nobody marked. */
#ifndef MARKERS_FUNCTIONS_H
#define MARKERS_FUNCTIONS_H

struct module;

int marker_function_attach(const char *symbol, const char *name);
int marker_function_detach(const char *name);
void marker_functions_drop(const struct module *module);

#endif /* MARKERS_FUNCTIONS_H */
