// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with an indirect call to an ENDBR.  With behind=1, the call is to the instruction behind
 * the ENDBR.  If indirect branch tracking (IBT) is enabled, the call with behind=1 must kill the
 * kernel with a control-protection fault.
 */
#include <linux/module.h>

#include <kmarkers/opcodes.h>

#include <asm/nospec-branch.h>

static bool behind;
module_param(behind, bool, 0);
MODULE_PARM_DESC(behind, "if set, call the instruction behind the ENDBR, which IBT forbids");

void kmarkers_test_entry(void);

/* ENDBR64 is written as bytes, because some compilers and assemblers omit the instruction. */
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
	/* Make a plain indirect call: a retpoline would end in a ret, which IBT does not check. */
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
