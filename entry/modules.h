/* SPDX-License-Identifier: GPL-2.0-only */
/* Iteration over the modules of the kernel. */
#ifndef ENTRY_MODULES_H
#define ENTRY_MODULES_H

#include <linux/types.h>

struct module;

int entry_for_each_live_module(void (*each)(struct module *module));
bool entry_is_other_module_going(void);

#endif /* ENTRY_MODULES_H */
