// SPDX-License-Identifier: GPL-2.0-only
/*
 * A function that begins with two nops in the place of one, as a compiler of 2008 might have
 * written it: a task may be preempted between them.  The record is that of entry_record.h.
 */
#include <linux/linkage.h>
#include <linux/module.h>

asm(".pushsection .text\n"
	"	.type two_nops, @function\n"
	"two_nops:\n"
	"	.byte 0x66, 0x90, 0x0f, 0x1f, 0x00\n"
	"	" ASM_RET "\n"
	"	.size two_nops, . - two_nops\n"
	".popsection\n"
	".pushsection .discard_kmarkers_entry, 1, \"aw\", @progbits\n"
	"	.long two_nops - ., 0\n"
	".popsection\n");

MODULE_DESCRIPTION("A recorded function with a nop of two instructions");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
