/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of function entries and exits.  entry.mk makes the compiler include this file first into
 * every file of a client.  The file contains only assembly, so that no kernel header is included
 * before the client's own lines.
 *
 * The compiler begins each function with "call __fentry__", and with
 * -minstrument-return=call it writes "call __return__" before each return and each tail
 * call.  The assembler macro named call replaces each call of __fentry__ and __return__ by a nop of
 * 5 bytes and a record, and leaves all other calls unchanged.
 *
 * The table has a head, and a module parameter that points to the head: see <kmarkers/table.h>.
 * But this head refers to no symbol of kmarkers, so the client can be loaded without the modules of
 * kmarkers, and holds no reference to those modules.  The parameter uses the kernel's
 * param_ops_string, with a maximum length of 0, so that the parameter cannot be set.
 */
#if !defined(KMARKERS_ENTRY_RECORD_H) && !defined(__ASSEMBLER__)
#define KMARKERS_ENTRY_RECORD_H

#include <kmarkers/table_version.h>

/* Each record is a struct patcher_compact_site, whose data is 0 for an entry and 1 for an exit. */
asm(".macro kmarkers_entry_site data\n"
	".Lkmarkers_entry_\\@:\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	".pushsection .discard_kmarkers_entry, 1, \"aw\", @progbits\n"
	"	.long .Lkmarkers_entry_\\@ - ., \\data\n"
	".popsection\n"
	".endm\n"
	".macro call target:vararg\n"
	"	.ifc \\target,__fentry__\n"
	"	kmarkers_entry_site 0\n"
	"	.else\n"
	"	.ifc \\target,__return__\n"
	"	kmarkers_entry_site 1\n"
	"	.else\n"
	"	callq \\target\n"
	"	.endif\n"
	"	.endif\n"
	".endm\n");

#define KMARKERS_ENTRY_TEXT_OF(x)	#x
#define KMARKERS_ENTRY_TEXT(x)		KMARKERS_ENTRY_TEXT_OF(x)

/*
 * Emit the head of the table, a struct kmarkers_chunk, and the module parameter that points to the
 * head, a struct kernel_param.  The kernel also reads the head as a struct kparam_string, with a
 * maximum length of 0.
 */
asm(".pushsection .discard_kmarkers_entry, 0, \"aw\", @progbits\n"
	"	.balign 4\n"
	".Lkmarkers_entry_begin:\n"
	".popsection\n"
	".pushsection .discard_kmarkers_entry, 2, \"aw\", @progbits\n"
	".Lkmarkers_entry_end:\n"
	".popsection\n"
	".pushsection .discard_kmarkers_entry_heads, \"aw\", @progbits\n"
	"	.balign 8\n"
	".Lkmarkers_entry_head:\n"
	"	.quad 0\n"
	"	.long .Lkmarkers_entry_end - .Lkmarkers_entry_begin\n"
	"	.short 8, " KMARKERS_ENTRY_TEXT(KMARKERS_TABLE_VERSION) "\n"
	"	.long .Lkmarkers_entry_begin - ., 0\n"
	".Lkmarkers_entry_name:\n"
	"	.asciz \"kmarkers_chunk_entry\"\n"
	".popsection\n"
	".pushsection __param, \"a\", @progbits\n"
	"	.balign 8\n"
	"	.quad .Lkmarkers_entry_name, 0, param_ops_string\n"
	"	.short 0\n"
	"	.byte -1, 0\n"
	"	.long 0\n"
	"	.quad .Lkmarkers_entry_head\n"
	".popsection\n");

#endif /* KMARKERS_ENTRY_RECORD_H */
