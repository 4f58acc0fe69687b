// SPDX-License-Identifier: GPL-2.0-only
/*
 * SDT probes of the provider tsdt, which kmarkers_test_sdt defines, too.  The probe io-start is the
 * same in both modules.  The types of the arguments of the probe trapped differ between the
 * modules.  The probe kinds has an argument of each kind.  A write of N to the parameter "pass"
 * executes the sites N times.  With first=N, the init function executes the sites N times.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <kmarkers/sdt.h>

#include "pass.h"

SDT_PROVIDER_DEFINE(tsdt);
SDT_PROBE_DEFINE2(tsdt, , , io__start, "struct module *", "int");
SDT_PROBE_DEFINE1(tsdt, , , trapped, "const char *");
SDT_PROBE_DEFINE7(tsdt, , , kinds, "u8", "s16", "unsigned int", "char *", "enum kind",
		  "void (*)(int, int)", "mode_t");

static noinline int tsdt_more(int number)
{
	static const char *const names[] = { "even", "odd" };

	SDT_PROBE2(tsdt, , , io__start, THIS_MODULE, number);
	SDT_PROBE1(tsdt, , , trapped, names[number & 1]);
	SDT_PROBE7(tsdt, , , kinds, 255 - number, -number, ~0U - number, names[number & 1], number,
		   tsdt_more, number);
	return number;
}

DEFINE_PASS(tsdt_more, "write N to execute each site N times");

static unsigned int first;
module_param(first, uint, 0400);
MODULE_PARM_DESC(first, "number of times to execute each site in the init function");

static int __init test_sdt_more_init(void)
{
	while (first)
		tsdt_more(--first);
	return 0;
}

static void __exit test_sdt_more_exit(void)
{
}

module_init(test_sdt_more_init);
module_exit(test_sdt_more_exit);

MODULE_DESCRIPTION("SDT probes of a provider that another module also defines");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
