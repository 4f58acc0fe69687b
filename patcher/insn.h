/* SPDX-License-Identifier: GPL-2.0-only */
/* Decoding of the instructions that a site may hold, and emulating them after a breakpoint. */
#ifndef PATCHER_INSN_H
#define PATCHER_INSN_H

#include <linux/string.h>
#include <linux/types.h>

#include <kmarkers/opcodes.h>

struct pt_regs;

/* Bytes of the instructions that nearly all sites hold. */
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
 * @len: its bytes, prefixes included
 * @cond: PATCHER_INSN_JCC: condition code, the low four bits of the opcode
 * @reg: PATCHER_INSN_MOV: register number as the hardware counts (0 ax ... 15 r15)
 * @size: PATCHER_INSN_MOV: bytes of the immediate, and of the register that are written
 * @high: PATCHER_INSN_MOV of one byte: the register is ah, ch, dh or bh
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
 * Do @len bytes hold one of the instructions that nearly all sites hold: the nop of 5 bytes
 * of "P6", call or jmp rel32, mov $imm32 to a register without prefix?  The check does not
 * decode, because decoding takes most of the time of validation.
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

/* Do @len bytes hold exactly one instruction? */
static inline bool patcher_insn_is_single(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;

	if (patcher_insn_is_usual(bytes, len))
		return true;
	return !patcher_insn_decode(bytes, len, &insn) && insn.len == len;
}

/* The two prefixes that patcher_store_prefixes() exchanges for each other. */
#define PATCHER_PREFIX_LOCK	0xf0
#define PATCHER_PREFIX_DS	0x3e

static inline bool patcher_is_prefix(u8 byte)
{
	return byte == PATCHER_PREFIX_LOCK || byte == PATCHER_PREFIX_DS;
}

#endif /* PATCHER_INSN_H */
