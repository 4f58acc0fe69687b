/* SPDX-License-Identifier: GPL-2.0-only */
/* Enabling and disabling of sites: writing the call or the nop. */
#ifndef ENTRY_SWITCH_H
#define ENTRY_SWITCH_H

#include <linux/types.h>

int entry_switch_on(void);
int entry_switch_off(void);
bool entry_any_is_on(void);

#endif /* ENTRY_SWITCH_H */
