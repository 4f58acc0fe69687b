/* SPDX-License-Identifier: GPL-2.0-only */
/* Attaching markers to functions that have no markers in their code. */
#ifndef MARKERS_FUNCTIONS_H
#define MARKERS_FUNCTIONS_H

struct module;

void marker_functions_lock(void);
void marker_functions_unlock(void);
int marker_function_attach(const char *symbol, const char *name);
int marker_function_detach(const char *name);
void marker_functions_detach_from_module(const struct module *module);

#endif /* MARKERS_FUNCTIONS_H */
