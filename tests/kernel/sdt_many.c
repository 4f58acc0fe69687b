// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ten thousand SDT probes, many:::p0000 to many:::p9999; writing a number to the
 * parameter pass passes all of them that often.
 */
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <asm/asm.h>

#include <kmarkers/sdt.h>

#include "each.h"

SDT_PROVIDER_DEFINE(many);

static_assert(sizeof(struct sdt_probe) == 48 && offsetof(struct sdt_probe, nr) == 40);

/*
 * What SDT_PROBE_DEFINE1(many, , , p0000, "int") defines, and so on to p9999: repeated
 * by the assembler, which is much faster than a compiler.
 */
asm(".pushsection .data, \"aw\", @progbits\n"
	".Lmany_types:	.asciz \"int\"\n"
	".Lmany_empty:	.asciz \"\"\n"
	".Lmany_names:\n"
	"	.set many_n, 0\n"
	"	.rept 10000\n"
	"	.byte 'p', '0' + many_n / 1000, '0' + many_n / 100 % 10\n"
	"	.byte '0' + many_n / 10 % 10, '0' + many_n % 10, 0\n"
	"	.set many_n, many_n + 1\n"
	"	.endr\n"
	"	.balign 8\n"
	".Lmany_probes:\n"
	"	.set many_n, 0\n"
	"	.rept 10000\n"
	"	.quad sdt_provider_many, .Lmany_empty, .Lmany_empty\n"
	"	.quad .Lmany_names + 6 * many_n, .Lmany_types, 1\n"
	"	.set many_n, many_n + 1\n"
	"	.endr\n"
	".popsection\n");

#define PROBE		".Lmany_probes + 48 * many_n"

/* A thousand sites as SDT_PROBE1(many, , , p0000, value) makes them: what is at 3 runs while on. */
#define PASS(n)								\
static noinline void pass_##n(int value)				\
{									\
	asm volatile("	.set many_n, " #n " * 1000\n"			\
		     "	.rept 1000\n"					\
		     __SDT_INSN_OF(PROBE, KMARKERS_BRANCH("3f"))	\
		     "	jmp 4f\n"					\
		     "3:	leaq 3b(%%rip), %%rsi\n"		\
		     "	leaq " PROBE "(%%rip), %%rdi\n"			\
		     "	movslq %3, %%rdx\n"				\
		     "	xorl %%eax, %%eax\n"				\
		     "	call sdt_fire\n"				\
		     "4:\n"						\
		     "	.set many_n, many_n + 1\n"			\
		     "	.endr\n"					\
		     : ASM_CALL_CONSTRAINT				\
		     : "i" (SDT_JUMP), "i" (1 << SDT_ARGS_SHIFT), "b" (value) \
		     : "ax", "cx", "dx", "si", "di", "r8", "r9", "r10", "r11", \
		       "cc", "memory");					\
}

EACH_1(PASS)

#define NAME(n)		pass_##n,

static void (*const passes[])(int value) = {
	EACH_1(NAME)
};

static int pass(const char *text, const struct kernel_param *unused)
{
	unsigned int i, times;
	int err = kstrtouint(text, 0, &times);

	if (err)
		return err;
	while (times--)
		for (i = 0; i < ARRAY_SIZE(passes); i++)
			passes[i](times);
	return 0;
}

static const struct kernel_param_ops pass_ops = {
	.set = pass,
};
module_param_cb(pass, &pass_ops, NULL, 0200);
MODULE_PARM_DESC(pass, "pass all probes that often");

static int __init sdt_many_init(void)
{
	return 0;
}

static void __exit sdt_many_exit(void)
{
}

module_init(sdt_many_init);
module_exit(sdt_many_exit);

MODULE_DESCRIPTION("Ten thousand SDT probes");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
