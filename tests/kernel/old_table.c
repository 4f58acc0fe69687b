// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module whose kmarkers table has version 1.  In version 1, the records follow a header, and a
 * local symbol marks the header.  Loading the module must fail.
 */
#include <linux/module.h>

extern const u8 imv_tables_need_immediate;

static int value__imv = 1;

asm(
	".pushsection .discard_kmarkers_imv, 0, \"aw\", @progbits\n"
	"	.balign 8\n"
	"kmarkers_chunk_imv:\n"
	"	.quad imv_tables_need_immediate\n"
	"	.long .Lend - kmarkers_chunk_imv\n"
	"	.short 12, 1\n"
	".popsection\n"
	".pushsection .discard_kmarkers_imv, 2, \"aw\", @progbits\n"
	".Lend:\n"
	".popsection\n");

static noinline int read_value(void)
{
	int value;

	asm volatile("1:	movl $0, %k0\n"
		     "2:\n"
		     ".pushsection .discard_kmarkers_imv, 1, \"aw\", @progbits\n"
		     "	.balign 4\n"
		     "	.long 1b - ., %c1 - .\n"
		     "	.byte 2b - 1b, 4\n"
		     "	.short 0\n"
		     ".popsection\n"
		     : "=r" (value) : "i" (&value__imv));
	return value;
}

/* Report a failure of the test: the module was loaded. */
static int __init old_table_init(void)
{
	pr_info("module loaded although its table has version 1; its immediate value is %d\n",
		read_value());
	return 0;
}

static void __exit old_table_exit(void)
{
}

module_init(old_table_init);
module_exit(old_table_exit);

MODULE_DESCRIPTION("Must not load: its table has version 1");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
