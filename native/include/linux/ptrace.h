/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers of a signal frame, under the kernel's names.  In users' programs, this header includes
 * the system's <linux/ptrace.h>.
 */
#ifndef NATIVE_BUILD
#include_next <linux/ptrace.h>
#elif !defined(NATIVE_PTRACE_H)
#define NATIVE_PTRACE_H

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, ip, flags, sp;
};

#define X86_EFLAGS_CF	0x0001
#define X86_EFLAGS_PF	0x0004
#define X86_EFLAGS_AF	0x0010
#define X86_EFLAGS_ZF	0x0040
#define X86_EFLAGS_SF	0x0080
#define X86_EFLAGS_OF	0x0800
#endif
