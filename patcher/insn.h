/* SPDX-License-Identifier: GPL-2.0-only */
/* Decode the instructions that a site may hold, and emulate them after a breakpoint. */
#ifndef PATCHER_INSN_H
#define PATCHER_INSN_H

#include <linux/string.h>
#include <linux/types.h>

#include <kmarkers/opcodes.h>

struct pt_regs;

/* Length in bytes of the instructions that patcher_insn_is_usual() accepts. */
#define PATCHER_INSN_USUAL	5

enum patcher_insn_kind {
	PATCHER_INSN_NOP,
	PATCHER_INSN_JMP,
	PATCHER_INSN_JCC,
	PATCHER_INSN_CALL,
	PATCHER_INSN_MOV,
};

/**
 * struct patcher_insn - a decoded instruction
 * @kind: its kind
 * @len: its length in bytes, prefixes included
 * @cond: PATCHER_INSN_JCC: condition code, the low four bits of the opcode
 * @reg: PATCHER_INSN_MOV: the hardware's register number (0 ax ... 15 r15)
 * @size: PATCHER_INSN_MOV: bytes of the immediate, and of the register that are written
 * @high: PATCHER_INSN_MOV of one byte: true if the register is ah, ch, dh or bh
 * @imm: the immediate (PATCHER_INSN_MOV) or the displacement from the next instruction
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
void patcher_insn_emulate(const struct patcher_insn *insn, unsigned long addr, struct pt_regs *regs);

/*
 * Return true if @len bytes are one of the 5-byte instructions that nearly all sites hold: the
 * nop, call rel32, jmp rel32, or mov $imm32 to a register without a prefix.  Comparing opcodes
 * is much faster than patcher_insn_decode(), which takes most of the time of validation.
 */
static inline bool patcher_insn_is_usual(const u8 *bytes, unsigned int len)
{
	static const u8 nop[PATCHER_INSN_USUAL] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	if (len != PATCHER_INSN_USUAL)
		return false;
	if (bytes[0] == KMARKERS_CALL || bytes[0] == KMARKERS_JMP || (bytes[0] & 0xf8) == 0xb8)
		return true;
	return !memcmp(bytes, nop, sizeof(nop));
}

/* Return true if @len bytes are exactly one instruction that can be decoded. */
static inline bool patcher_insn_is_single(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;

	if (patcher_insn_is_usual(bytes, len))
		return true;
	return !patcher_insn_decode(bytes, len, &insn) && insn.len == len;
}

/* The two prefixes that patcher_store_prefixes() may store at a site with PATCHER_SITE_PREFIX. */
#define PATCHER_PREFIX_LOCK	0xf0
#define PATCHER_PREFIX_DS	0x3e

static inline bool patcher_is_prefix(u8 byte)
{
	return byte == PATCHER_PREFIX_LOCK || byte == PATCHER_PREFIX_DS;
}

#endif /* PATCHER_INSN_H */
