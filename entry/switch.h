/* SPDX-License-Identifier: GPL-2.0-only */
/* Enabling and disabling of sites: writing the call or the nop. */
#ifndef ENTRY_SWITCH_H
#define ENTRY_SWITCH_H

#include <linux/types.h>

void entry_mark_all_tables_changed(void);
int entry_enable_sites_with_actions(void);
int entry_disable_sites_without_actions(void);
bool entry_is_any_site_enabled(void);

#endif /* ENTRY_SWITCH_H */
