// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with an SDT probe in init text, where sites are not allowed.  Loading the module must
 * fail.
 */
#include <linux/module.h>

#include <kmarkers/sdt.h>

SDT_PROVIDER_DEFINE(early);
SDT_PROBE_DEFINE0(early, , , start);

static int __init sdt_init_init(void)
{
	SDT_PROBE0(early, , , start);
	return 0;
}

module_init(sdt_init_init);

MODULE_DESCRIPTION("Must not load: init text has an SDT probe");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
