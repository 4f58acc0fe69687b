// SPDX-License-Identifier: GPL-2.0-only
/*
 * A function whose recorded 5 bytes are two nops, of 2 and 3 bytes, as a compiler of 2008 might
 * have written them.  A task may be preempted between the two nops.  The record has the format of
 * <kmarkers/entry_record.h>, which is for a single nop of 5 bytes.
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

MODULE_DESCRIPTION("A recorded function that begins with two nops");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
