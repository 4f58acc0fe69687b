// SPDX-License-Identifier: GPL-2.0-only
/* The tables of immediate values, one table for each module. */
#include <linux/export.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>

#include <kmarkers/immediate.h>
#include <kmarkers/search.h>

#include "tables.h"

struct imv_tables imv_tables = {
	.lock = __MUTEX_INITIALIZER(imv_tables.lock),
	.list = LIST_HEAD_INIT(imv_tables.list),
};

const char *const imv_owner = "immediate";

const u8 imv_tables_need_immediate;
EXPORT_SYMBOL_GPL(imv_tables_need_immediate);

static unsigned long get_site_variable(const void *by_var, unsigned int i)
{
	return patcher_site_key(((const struct patcher_site *const *)by_var)[i]);
}

/* Return the index in @table->by_var of the first site whose variable is at @var or higher. */
unsigned int imv_find_first_site(const struct imv_table *table, unsigned long var)
{
	lockdep_assert_held(&imv_tables.lock);
	return kmarkers_lower_bound(table->by_var, table->sites.nr, var, get_site_variable);
}
