/* SPDX-License-Identifier: GPL-2.0-only */
/* Markers on functions that nobody marked. */
#ifndef MARKERS_FUNCTIONS_H
#define MARKERS_FUNCTIONS_H

struct module;

int function_attach(const char *symbol, const char *name);
int function_detach(const char *name);
void functions_drop_module(const struct module *module);

#endif /* MARKERS_FUNCTIONS_H */
