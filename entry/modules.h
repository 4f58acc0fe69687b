/* SPDX-License-Identifier: GPL-2.0-only */
/* Iteration over all live modules. */
#ifndef ENTRY_MODULES_H
#define ENTRY_MODULES_H

struct module;

int entry_for_each_live_module(void (*each)(struct module *module));

#endif /* ENTRY_MODULES_H */
