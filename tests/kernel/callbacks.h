/* SPDX-License-Identifier: GPL-2.0-only */
/* Callbacks of tracepoints, with the prototypes that these tracepoints require. */
#ifndef TESTS_KERNEL_CALLBACKS_H
#define TESTS_KERNEL_CALLBACKS_H

struct module;

void callbacks_get(void *data, struct module *module, unsigned long ip);
void callbacks_own(void *data, unsigned long number);

#endif /* TESTS_KERNEL_CALLBACKS_H */
