// SPDX-License-Identifier: GPL-2.0-only
/* The tables of immediate values of all modules. */
#include <linux/export.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>

#include <kmarkers/immediate.h>

#include "tables.h"

struct imv_tables imv_tables = {
	.lock = __MUTEX_INITIALIZER(imv_tables.lock),
	.list = LIST_HEAD_INIT(imv_tables.list),
};

const u8 imv_tables_need_immediate;
EXPORT_SYMBOL_GPL(imv_tables_need_immediate);

/* The first of the sites of a table that reads @var or one behind it. */
unsigned int imv_first_reader(const struct imv_table *table, unsigned long var)
{
	unsigned int low = 0, high = table->sites.nr;

	lockdep_assert_held(&imv_tables.lock);
	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (patcher_site_key(table->by_var[middle]) < var)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
