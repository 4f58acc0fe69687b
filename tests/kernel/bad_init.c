// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module whose __init function contains two patch sites of an immediate value: imv_read() and a
 * comparison.  Loading the module must fail.  _imv_read(), a plain load, is allowed in init text.
 */
#include <linux/module.h>

#include <kmarkers/immediate.h>

static DEFINE_IMV(int, value) = 1;

static int __init bad_init(void)
{
	return imv_read(value) - 1 + imv_above(0, value);
}
module_init(bad_init);

MODULE_DESCRIPTION("Must not load: init text reads an immediate value");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
