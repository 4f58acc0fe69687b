// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ten thousand markers of different names, many_0000 to many_9999.  A write of N to the parameter
 * "pass" hits each marker N times.
 */
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/stddef.h>

#include <asm/asm.h>

#include <kmarkers/marker.h>

#include "each.h"
#include "pass.h"

static_assert(sizeof(struct marker) == 72 && offsetof(struct marker, line) == 32 &&
	      offsetof(struct marker, state__imv) == 36 && offsetof(struct marker, probes) == 40 &&
	      offsetof(struct marker, node) == 48 && offsetof(struct marker, module) == 64);

asm(".pushsection .rodata.str, \"a\", @progbits\n"
	".Lmany_format:	.asciz \"%d\"\n"
	".Lmany_func:	.asciz \"pass\"\n"
	".Lmany_file:	.asciz \"many.c\"\n"
	".Lmany_module:	.asciz \"" KBUILD_MODNAME "\"\n"
	".popsection\n");

/*
 * Define a function with a thousand markers, each like trace_mark(many_0000, "%d", value).  The
 * assembler repeats the code of one marker, which is much faster than compiling each marker.  The
 * code at label 3 runs while the marker is enabled.
 */
#define PASS(n)								\
static noinline void pass_##n(int value)				\
{									\
	asm volatile("	.set many_n, " #n " * 1000\n"			\
		     "	.rept 1000\n"					\
		     "	.pushsection .data\n"				\
		     "5:	.ascii \"many_\"\n"			\
		     "	.byte '0' + many_n / 1000, '0' + many_n / 100 %% 10\n" \
		     "	.byte '0' + many_n / 10 %% 10, '0' + many_n %% 10, 0\n" \
		     "	.balign 8\n"					\
		     "6:	.quad 5b, .Lmany_format, .Lmany_func, .Lmany_file\n" \
		     "	.long many_n\n"				\
		     "7:	.byte 0, %c1, 1, 0\n"			\
		     "	.quad 0, 0, 0, .Lmany_module\n"		\
		     "	.popsection\n"					\
		     KMARKERS_RECORD(markers, "	.long 6b - .\n")	\
		     "1:	" KMARKERS_BRANCH("3f") "\n"		\
		     "2:\n"						\
		     KMARKERS_RECORD(imv,				\
		     "	.long 1b - ., 7b - .\n"			\
		     "	.byte 2b - 1b, 1\n"				\
		     "	.short " __stringify(IMV_BRANCH) "\n")		\
		     "	jmp 4f\n"					\
		     "3:	leaq 6b(%%rip), %%rdi\n"			\
		     "	xorl %%esi, %%esi\n"				\
		     "	leaq .Lmany_format(%%rip), %%rdx\n"		\
		     "	movl %2, %%ecx\n"				\
		     "	xorl %%eax, %%eax\n"				\
		     "	call marker_probe_call\n"			\
		     "4:\n"						\
		     "	.set many_n, many_n + 1\n"			\
		     "	.endr\n"					\
		     : ASM_CALL_CONSTRAINT				\
		     : "i" (MARKER_JUMP), "b" (value)			\
		     : "ax", "cx", "dx", "si", "di", "r8", "r9", "r10", "r11", \
		       "cc", "memory");					\
}

EACH_1(PASS)

DEFINE_PASS_OF_TEN("write N to hit each marker N times");

static int __init many_init(void)
{
	return 0;
}

static void __exit many_exit(void)
{
}

module_init(many_init);
module_exit(many_exit);

MODULE_DESCRIPTION("Ten thousand markers");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
