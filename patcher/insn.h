/* SPDX-License-Identifier: GPL-2.0-only */
/* Decode the instructions that a site may hold, and emulate them after a breakpoint. */
#ifndef PATCHER_INSN_H
#define PATCHER_INSN_H

#include <linux/string.h>
#include <linux/types.h>

#include <kmarkers/opcodes.h>

struct pt_regs;

/* Length in bytes of the instructions that patcher_is_common_insn() accepts. */
#define PATCHER_COMMON_LEN	5

enum patcher_insn_kind {
	PATCHER_INSN_NOP,
	PATCHER_INSN_JMP,
	PATCHER_INSN_JCC,
	PATCHER_INSN_CALL,
	PATCHER_INSN_MOV,
	PATCHER_INSN_CMP,
};

/**
 * struct patcher_insn - a decoded instruction
 * @kind: nop, jmp, jcc, call, mov or cmp
 * @len: length of the instruction in bytes, prefixes included
 * @cond: condition code, the low four bits of the opcode; only for a jcc
 * @reg: the hardware's register number (0 ax ... 15 r15); only for a mov or cmp
 * @size: length of the immediate or of the displacement in bytes; 0 for a nop
 * @high: true for a mov or cmp of one byte with ah, ch, dh or bh
 * @imm: the immediate of a mov or cmp, sign-extended; for a jump or call, the displacement from the
 *	next instruction
 */
struct patcher_insn {
	enum patcher_insn_kind kind;
	u8 len;
	u8 cond;
	u8 reg;
	u8 size;
	bool high;
	s64 imm;
};

int patcher_insn_decode(const u8 *bytes, unsigned int max, struct patcher_insn *insn);
void patcher_insn_emulate(const struct patcher_insn *insn, unsigned long addr,
			  struct pt_regs *regs);

/*
 * Return true if @len bytes are one of the 5-byte instructions that nearly all sites hold: the nop,
 * call rel32, jmp rel32, or mov $imm32 to a register without a prefix.  Comparing opcodes is much
 * faster than patcher_insn_decode(), which would take most of the time of checking a batch.
 */
static inline bool patcher_is_common_insn(const u8 *bytes, unsigned int len)
{
	static const u8 nop[PATCHER_COMMON_LEN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	if (len != PATCHER_COMMON_LEN)
		return false;
	return !memcmp(bytes, nop, sizeof(nop)) || bytes[0] == KMARKERS_CALL ||
	       bytes[0] == KMARKERS_JMP || (bytes[0] & 0xf8) == 0xb8;
}

/* Return true if @len bytes are exactly one instruction that can be decoded. */
static inline bool patcher_is_single_insn(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;

	if (patcher_is_common_insn(bytes, len))
		return true;
	return !patcher_insn_decode(bytes, len, &insn) && insn.len == len;
}

/* The two prefixes that patcher_store_prefixes() may store at a site with PATCHER_SITE_PREFIX. */
#define PATCHER_PREFIX_LOCK	0xf0
#define PATCHER_PREFIX_DS	0x3e

static inline bool patcher_is_lock_or_ds_prefix(u8 byte)
{
	return byte == PATCHER_PREFIX_LOCK || byte == PATCHER_PREFIX_DS;
}

#endif /* PATCHER_INSN_H */
