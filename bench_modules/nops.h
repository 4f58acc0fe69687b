/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nops and jumps that tracers put at disabled sites from 2006 to 2015.  Each of them is five bytes
 * long, so that a call or a jump can replace it.
 *
 * NOPS(X) expands X(id, label, instructions, clobber) for each nop and jump.  The clobber is
 * "memory", or the register whose upper half the instruction changes on x86-64.  The
 * instructions with a register are nops only on 32-bit x86.
 */
#ifndef BENCH_MODULES_NOPS_H
#define BENCH_MODULES_NOPS_H

#define NOPS(X)								\
	X(jmp_2, "jmp-2", ".byte 0xeb, 3\n\t.skip 3, 0x90", "memory")	\
	X(jmp_5, "jmp-5", ".byte 0xe9, 0, 0, 0, 0", "memory")		\
	X(nop_3_2, "nop-3-2", ".byte 0x66, 0x66, 0x90, 0x66, 0x90", "memory") \
	X(nop_66x4, "nop-66x4", ".byte 0x66, 0x66, 0x66, 0x66, 0x90", "memory") \
	X(nop_p6, "nop-p6", ".byte 0x0f, 0x1f, 0x44, 0, 0", "memory")	\
	X(nop_1_4, "nop-1-4", ".byte 0x90, 0x8d, 0x74, 0x26, 0", "rsi")	\
	X(nop_k7_4_1, "nop-k7-4-1", ".byte 0x8d, 0x44, 0x20, 0, 0x90", "rax") \
	X(nop_5x1, "nop-5x1", ".byte 0x90, 0x90, 0x90, 0x90, 0x90", "memory") \
	X(nop_ds_lea, "nop-ds-lea", ".byte 0x3e, 0x48, 0x8d, 0x76, 0", "memory")

#endif /* BENCH_MODULES_NOPS_H */
