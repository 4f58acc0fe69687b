/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ten thousand SDT probes, p0000 to p9999, of the provider MANY_PROVIDER.  Each probe has one site,
 * whose flavour is MANY_FLAVOUR.  A write of N to the parameter "pass" executes each site N times.
 */
#ifndef TESTS_KERNEL_SDT_MANY_H
#define TESTS_KERNEL_SDT_MANY_H

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <asm/asm.h>

#include <kmarkers/sdt.h>

#include "each.h"
#include "many_probes.h"
#include "pass.h"

#define DEFINE_PROVIDER(name)	SDT_PROVIDER_DEFINE(name)
DEFINE_PROVIDER(MANY_PROVIDER);

MANY_PROBES("sdt_provider_" __stringify(MANY_PROVIDER));

/*
 * Define a function with a thousand sites like the site of SDT_PROBE1(many, , , p0000, value).  The
 * code at label 3 runs while the site is enabled.  If the sites have the flavour "breakpoint", the
 * argument must be in rdi, the register of the first argument of a call.
 */
#define PASS(n)								\
static noinline void pass_##n(int value)				\
{									\
	asm volatile("	.set many_n, " #n " * 1000\n"			\
		     "	.rept 1000\n"					\
		     "	movslq %3, %%rdi\n"				\
		     "	.pushsection .data\n"				\
		     "	.balign 8\n"					\
		     "5:	.quad " MANY_PROBE "\n"			\
		     "	.popsection\n"					\
		     __SDT_INSN_OF("5b", KMARKERS_BRANCH("3f"))		\
		     "	jmp 4f\n"					\
		     "3:	movq %%rdi, %%rsi\n"			\
		     "	leaq 6f(%%rip), %%rdi\n"			\
		     KMARKERS_RECORD(sdttarget,				\
		     "	.balign 8\n"					\
		     "6:	.quad 0\n"				\
		     "	.long 3b - ., 5b - .\n")			\
		     "	call sdt_fire_1\n"				\
		     "4:\n"						\
		     "	.set many_n, many_n + 1\n"			\
		     "	.endr\n"					\
		     : ASM_CALL_CONSTRAINT				\
		     : "i" (MANY_FLAVOUR), "i" (1 << SDT_ARGS_SHIFT), "b" (value) \
		     : "ax", "cx", "dx", "si", "di", "r8", "r9", "r10", "r11", \
		       "cc", "memory");					\
}

EACH_1(PASS)

DEFINE_PASS_OF_TEN("write N to execute each site N times");

static int __init sdt_many_init(void)
{
	return 0;
}

static void __exit sdt_many_exit(void)
{
}

module_init(sdt_many_init);
module_exit(sdt_many_exit);

MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");

#endif /* TESTS_KERNEL_SDT_MANY_H */
