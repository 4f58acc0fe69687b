// SPDX-License-Identifier: GPL-2.0-only
/*
 * SDT probes of a module: one in an inline function that two other functions call, and one of each
 * flavour except "note".  A write of N to the parameter "pass" executes all sites N times.  With
 * hold=1, the module attaches a handler of its own, and is unloaded without detaching it.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <kmarkers/sdt.h>

#include "pass.h"

SDT_PROVIDER_DEFINE(tsdt);
SDT_PROBE_DEFINE2(tsdt, , , io__start, "struct module *", "int");
SDT_PROBE_DEFINE1(tsdt, , , trapped, "int");
SDT_PROBE_DEFINE1(tsdt, , , small, "int");
SDT_PROBE_DEFINE0(tsdt, , , apart);

static bool hold;
module_param(hold, bool, 0400);
MODULE_PARM_DESC(hold, "if set, attach a handler in init, and do not detach the handler in exit");

static __always_inline void start_io(int number)
{
	SDT_PROBE2(tsdt, , , io__start, THIS_MODULE, number);
}

static noinline int tsdt_read(int number)
{
	start_io(number);
	return number;
}

static noinline int tsdt_write(int number)
{
	start_io(number);
	SDT_PROBE_FLAVOUR(breakpoint, tsdt, , , trapped, number);
	SDT_PROBE_FLAVOUR(nop, tsdt, , , small, number);
	SDT_PROBE_FLAVOUR(split, tsdt, , , small, number);
	return number;
}

/*
 * A function that is never called.  The nop of its site contains the distance of a jump, more than
 * 64 bytes.  While int3 replaces the first byte of the nop, the kernel decodes the other bytes as
 * instructions.  With a wrong form of the nop, the last of these instructions would end behind the
 * nop, and the kernel would decode the constants as instructions.
 */
static noinline __used void tsdt_apart(void)
{
	SDT_PROBE_FLAVOUR(breakpoint, tsdt, , , apart);
	asm volatile(".rept 7\n"
		     "	movabs $0x9090909090909090, %%rax\n"
		     "	.endr" : : : "rax");
}

static void execute_probes(unsigned int number)
{
	tsdt_read(number);
	tsdt_write(number);
}

DEFINE_PASS(execute_probes, "write N to execute each site N times");

static unsigned int held;
module_param(held, uint, 0400);
MODULE_PARM_DESC(held, "number of calls of the handler that hold=1 attaches");

static void count_hit(void *private, const struct sdt_hit *hit)
{
	held++;
}

static int __init test_sdt_init(void)
{
	return hold ? sdt_attach("tsdt:::*", count_hit, NULL) : 0;
}

static void __exit test_sdt_exit(void)
{
}

module_init(test_sdt_init);
module_exit(test_sdt_exit);

MODULE_DESCRIPTION("SDT probes of every flavour");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
