/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Twenty thousand functions, many_0 to many_19999, and many_pass(), which calls each function once.
 * The assembler repeats the functions, which is much faster than compiling them.  MANY_ENTRY is the
 * first instruction of each function.  No ENDBR precedes that instruction, since only direct calls
 * reach the functions.
 */
#ifndef TEST_ENTRY_MANY_H
#define TEST_ENTRY_MANY_H

#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <asm/frame.h>

void many_pass(void);

asm(".pushsection .text\n"
	".altmacro\n"
	".macro many_function n\n"
	"	.balign 16\n"
	"	.type many_\\n, @function\n"
	"many_\\n:\n"
	"	" MANY_ENTRY "\n"
	"	" ASM_RET "\n"
	"	.size many_\\n, . - many_\\n\n"
	".endm\n"
	".macro many_call n\n"
	"	callq many_\\n\n"
	".endm\n"
	"	.balign 16\n"
	"	.globl many_functions\n"
	"many_functions:\n"
	"	.set many_at, 0\n"
	"	.rept 20000\n"
	"	many_function %many_at\n"
	"	.set many_at, many_at + 1\n"
	"	.endr\n"
	"	.balign 16\n"
	"	.globl many_pass\n"
	"	.type many_pass, @function\n"
	"many_pass:\n"
	"	.byte 0xf3, 0x0f, 0x1e, 0xfa\n"
	FRAME_BEGIN
	"	.set many_at, 0\n"
	"	.rept 20000\n"
	"	many_call %many_at\n"
	"	.set many_at, many_at + 1\n"
	"	.endr\n"
	FRAME_END
	"	" ASM_RET "\n"
	"	.size many_pass, . - many_pass\n"
	".noaltmacro\n"
	".popsection\n");

static int run_passes_on_write(const char *text, const struct kernel_param *unused)
{
	unsigned int times;
	int err = kstrtouint(text, 0, &times);

	for (; !err && times; times--)
		many_pass();
	return err;
}

static const struct kernel_param_ops pass_ops = {
	.set = run_passes_on_write,
};
module_param_cb(pass, &pass_ops, NULL, 0200);
MODULE_PARM_DESC(pass, "write N to call each function N times");

static int __init many_init(void)
{
	return 0;
}

static void __exit many_exit(void)
{
}

module_init(many_init);
module_exit(many_exit);

MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");

#endif /* TEST_ENTRY_MANY_H */
