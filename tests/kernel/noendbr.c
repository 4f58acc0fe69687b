// SPDX-License-Identifier: GPL-2.0-only
/*
 * An indirect call to an instruction that is no ENDBR.  A kernel that tracks indirect
 * branches must not survive it; the module shows that the tracking is on.
 */
#include <linux/module.h>

#include <kmarkers/opcodes.h>

#include <asm/nospec-branch.h>

static bool behind;
module_param(behind, bool, 0);
MODULE_PARM_DESC(behind, "call the instruction behind the ENDBR");

void kmarkers_test_entry(void);

/* The ENDBR as bytes, for compilers that make none: elsewhere it is a nop. */
asm(".pushsection .text\n"
	".type kmarkers_test_entry, @function\n"
	"kmarkers_test_entry:\n"
	"	.byte 0xf3, 0x0f, 0x1e, 0xfa\n"
	"	nop\n"
	"	" ASM_RET
	".size kmarkers_test_entry, . - kmarkers_test_entry\n"
	".popsection\n");

static int __init noendbr_init(void)
{
	unsigned long entry = (unsigned long)kmarkers_test_entry;

	OPTIMIZER_HIDE_VAR(entry);
	if (behind)
		entry += KMARKERS_ENDBR_LEN;
	/* No retpoline: a call through one is a return, which is not tracked. */
	asm volatile(ANNOTATE_RETPOLINE_SAFE "\n"
		     "call *%[entry]\n" : ASM_CALL_CONSTRAINT : [entry] "r" (entry)
		     : "memory");
	return 0;
}
module_init(noendbr_init);

static void __exit noendbr_exit(void)
{
}
module_exit(noendbr_exit);

MODULE_DESCRIPTION("An indirect call that lands behind an ENDBR");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
