// SPDX-License-Identifier: GPL-2.0-only
/* An SDT probe in init text: the module must be refused. */
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

MODULE_DESCRIPTION("An SDT probe where none may be");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
