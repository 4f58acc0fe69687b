// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module whose kmarkers tables have a later version than the tables of this tree.  Loading the
 * module must fail.
 */
#include <linux/module.h>

#include <kmarkers/table.h>

#undef KMARKERS_TABLE_VERSION
#define KMARKERS_TABLE_VERSION	99

#include <kmarkers/immediate.h>

static DEFINE_IMV(int, value) = 1;

static noinline int read_value(void)
{
	return imv_read(value);
}

static int __init later_table_init(void)
{
	pr_info("module loaded although its tables have a later version; its immediate value is %d\n",
		read_value());
	return 0;
}

static void __exit later_table_exit(void)
{
}

module_init(later_table_init);
module_exit(later_table_exit);

MODULE_DESCRIPTION("Must not load: the version of its table is too new");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
