// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode and emulate the instructions that a site may hold.
 *
 * No function in this file takes a lock, allocates memory or calls code elsewhere, since the
 * breakpoint handler calls these functions in any context, NMI included.
 *
 * Encodings: Intel SDM vol. 2, "MOV", "CMP", "NOP", "JMP" and "Jcc", and 2.1 for prefixes.
 */
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/string.h>

#include "../base/operand.h"
#include "insn.h"

/* Fill in a decoded instruction that ends with an immediate of @size bytes at offset @at. */
static int fill_insn(struct patcher_insn *insn, enum patcher_insn_kind kind, const u8 *bytes,
		     unsigned int max, unsigned int at, unsigned int size)
{
	if (at + size > max)
		return -EINVAL;
	insn->kind = kind;
	insn->len = at + size;
	insn->size = size;
	insn->imm = size ? kmarkers_read_signed_number(bytes + at, size) : 0;
	return 0;
}
NOKPROBE_SYMBOL(fill_insn);

/*
 * Decode an instruction with a two-byte opcode, jcc rel32 or a long nop.  The first byte of the
 * opcode, 0f, is at offset @at; @opsize is true if a prefix 66 precedes.
 */
static int decode_two_byte_opcode(const u8 *bytes, unsigned int max, unsigned int at,
				  bool opsize, struct patcher_insn *insn)
{
	struct kmarkers_memory memory;
	unsigned int len;

	if (at + 2 > max)
		return -EINVAL;
	if (!opsize && (bytes[at + 1] & 0xf0) == 0x80) {
		insn->cond = bytes[at + 1] & 0x0f;
		return fill_insn(insn, PATCHER_INSN_JCC, bytes, max, at + 2, 4);
	}
	if (bytes[at + 1] != 0x1f || at + 3 > max)
		return -EINVAL;
	len = kmarkers_decode_memory_operand(bytes + at + 2, max - at - 2, 0, &memory);
	if (!len)
		return -EINVAL;
	return fill_insn(insn, PATCHER_INSN_NOP, bytes, max, at + 2 + len, 0);
}
NOKPROBE_SYMBOL(decode_two_byte_opcode);

/*
 * Store the number of a byte register.  Without a REX prefix, 4 to 7 stand for ah, ch, dh and bh.
 */
static void set_byte_register(struct patcher_insn *insn, u8 number, u8 rex)
{
	insn->high = !rex && number >= 4;
	insn->reg = insn->high ? number - 4 : number;
}
NOKPROBE_SYMBOL(set_byte_register);

static int decode_mov(const u8 *bytes, unsigned int max, unsigned int at,
		      u8 rex, bool opsize, struct patcher_insn *insn)
{
	u8 op = bytes[at];
	unsigned int size;

	insn->reg = (op & 7) | (rex & KMARKERS_REX_B ? 8 : 0);
	if (op < 0xb8) {
		size = 1;
		set_byte_register(insn, insn->reg, rex);
	} else if (rex & KMARKERS_REX_W) {
		size = 8;
	} else {
		size = opsize ? 2 : 4;
	}
	return fill_insn(insn, PATCHER_INSN_MOV, bytes, max, at + 1, size);
}
NOKPROBE_SYMBOL(decode_mov);

/*
 * Decode a cmp of a register with an immediate that has the size of the register: 8 bits if the
 * lowest bit of the opcode is 0, else 32 bits.  The opcodes 3c and 3d imply al and eax.
 */
static int decode_cmp(const u8 *bytes, unsigned int max, unsigned int at, u8 rex,
		      struct patcher_insn *insn)
{
	bool is_byte = !(bytes[at] & 1);
	u8 number;

	if (bytes[at++] >= 0x80) {
		if (at >= max || (bytes[at] & 0xf8) != 0xf8 ||
		    rex & ~(KMARKERS_REX | KMARKERS_REX_B))
			return -EINVAL;
		number = (bytes[at++] & 7) | (rex & KMARKERS_REX_B ? 8 : 0);
		if (is_byte)
			set_byte_register(insn, number, rex);
		else
			insn->reg = number;
	} else if (rex) {
		return -EINVAL;
	}
	return fill_insn(insn, PATCHER_INSN_CMP, bytes, max, at, is_byte ? 1 : 4);
}
NOKPROBE_SYMBOL(decode_cmp);

static int decode_branch(const u8 *bytes, unsigned int max, unsigned int at,
			 struct patcher_insn *insn)
{
	u8 op = bytes[at];

	if (op == 0xeb)
		return fill_insn(insn, PATCHER_INSN_JMP, bytes, max, at + 1, 1);
	if (op == 0xe9)
		return fill_insn(insn, PATCHER_INSN_JMP, bytes, max, at + 1, 4);
	if (op == 0xe8)
		return fill_insn(insn, PATCHER_INSN_CALL, bytes, max, at + 1, 4);
	if ((op & 0xf0) == 0x70) {
		insn->cond = op & 0x0f;
		return fill_insn(insn, PATCHER_INSN_JCC, bytes, max, at + 1, 1);
	}
	return -EINVAL;
}
NOKPROBE_SYMBOL(decode_branch);

/**
 * patcher_insn_decode() - decode one instruction
 * @bytes: address of the instruction's first byte
 * @max: number of bytes that may be read
 * @insn: set to the decoded instruction
 *
 * Instructions that can be decoded are nops of any length (with 66, 2e and 3e prefixes),
 * jmp rel8 and rel32, call rel32, jcc rel8 and rel32, mov $imm of 8, 16, 32 and 64 bits
 * into any register, and cmp $imm of 8 and 32 bits with any register.
 *
 * Context: any, NMI included.
 * Return: 0, or -EINVAL if the instruction is not in this list, or is longer than @max.
 */
int patcher_insn_decode(const u8 *bytes, unsigned int max, struct patcher_insn *insn)
{
	unsigned int at = 0;
	bool opsize = false, segment = false;
	u8 rex = 0, op;

	memset(insn, 0, sizeof(*insn));
	for (; at < max; at++) {
		if (bytes[at] == 0x66)
			opsize = true;
		else if (bytes[at] == 0x2e || bytes[at] == 0x3e)
			segment = true;
		else
			break;
	}
	if (at < max && (bytes[at] & KMARKERS_REX_MASK) == KMARKERS_REX)
		rex = bytes[at++];
	if (at >= max)
		return -EINVAL;

	op = bytes[at];
	if (op == 0x90 && !rex)
		return fill_insn(insn, PATCHER_INSN_NOP, bytes, max, at + 1, 0);
	if (op == 0x0f && !rex)
		return decode_two_byte_opcode(bytes, max, at, opsize, insn);
	if (op >= 0xb0 && op <= 0xbf && !segment)
		return decode_mov(bytes, max, at, rex, opsize, insn);
	if (opsize)
		return -EINVAL;
	if ((op == 0x3c || op == 0x3d || op == 0x80 || op == 0x81) && !segment)
		return decode_cmp(bytes, max, at, rex, insn);
	/* The CPU ignores a segment prefix before a direct branch; refuse all other prefixes. */
	if (rex)
		return -EINVAL;
	return decode_branch(bytes, max, at, insn);
}
NOKPROBE_SYMBOL(patcher_insn_decode);

/*
 * Return true if the condition with the code @cond is true for @flags.  An odd code is the negation
 * of the condition whose code is @cond - 1.  Source: Intel SDM vol. 1, app. B.
 */
static bool is_condition_true(u8 cond, unsigned long flags)
{
	bool cf = flags & X86_EFLAGS_CF, zf = flags & X86_EFLAGS_ZF;
	bool sf = flags & X86_EFLAGS_SF, of = flags & X86_EFLAGS_OF;
	bool holds;

	switch (cond >> 1) {
	case 0:
		holds = of;
		break;
	case 1:
		holds = cf;
		break;
	case 2:
		holds = zf;
		break;
	case 3:
		holds = cf || zf;
		break;
	case 4:
		holds = sf;
		break;
	case 5:
		holds = flags & X86_EFLAGS_PF;
		break;
	case 6:
		holds = sf != of;
		break;
	default:
		holds = zf || sf != of;
		break;
	}
	return holds != (cond & 1);
}
NOKPROBE_SYMBOL(is_condition_true);

static void emulate_mov(const struct patcher_insn *insn, struct pt_regs *regs)
{
	unsigned long *reg = kmarkers_find_saved_register(regs, insn->reg);
	unsigned int shift = insn->high ? 8 : 0;
	unsigned long mask;

	switch (insn->size) {
	case 8:
		*reg = insn->imm;
		break;
	case 4:
		/* A mov of 32 bits clears the upper half of the register. */
		*reg = (u32)insn->imm;
		break;
	default:
		mask = (insn->size == 2 ? 0xffffUL : 0xffUL) << shift;
		*reg = (*reg & ~mask) | (((unsigned long)insn->imm << shift) & mask);
	}
}
NOKPROBE_SYMBOL(emulate_mov);

#define STATUS_FLAGS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | \
			 X86_EFLAGS_SF | X86_EFLAGS_OF)

/* Set the flags as a subtraction does.  Source: Intel SDM vol. 1, 3.4.3.1 and app. A. */
static void emulate_cmp(const struct patcher_insn *insn, struct pt_regs *regs)
{
	u32 a = *kmarkers_find_saved_register(regs, insn->reg) >> (insn->high ? 8 : 0);
	u32 b = insn->imm, difference = a - b;
	unsigned long flags = (a ^ b ^ difference) & X86_EFLAGS_AF;

	/* PF: the low byte has an even number of 1 bits.  Bit n of 0x6996 is the parity of n. */
	if (!(0x6996 >> ((difference ^ difference >> 4) & 0x0f) & 1))
		flags |= X86_EFLAGS_PF;
	/* Shift 8-bit operands to the highest byte: a 32-bit subtraction sets the same flags. */
	a <<= 32 - 8 * insn->size;
	b <<= 32 - 8 * insn->size;
	difference = a - b;
	if (a < b)
		flags |= X86_EFLAGS_CF;
	if (!difference)
		flags |= X86_EFLAGS_ZF;
	if (difference >> 31)
		flags |= X86_EFLAGS_SF;
	if (((a ^ b) & (a ^ difference)) >> 31)
		flags |= X86_EFLAGS_OF;
	regs->flags = (regs->flags & ~STATUS_FLAGS) | flags;
}
NOKPROBE_SYMBOL(emulate_cmp);

/*
 * Push the return address of a call, and return the call's target.  The kernel's entry code
 * leaves a gap above the frame of a breakpoint for this push (asm_exc_int3, since
 * commit 2700fefdb2d9, 2019).
 */
static unsigned long emulate_call(unsigned long next, s64 displacement, struct pt_regs *regs)
{
	regs->sp -= sizeof(unsigned long);
	*(unsigned long *)regs->sp = next;
	return next + displacement;
}
NOKPROBE_SYMBOL(emulate_call);

/**
 * patcher_insn_emulate() - change @regs as if the instruction at @addr had been executed
 * @insn: the instruction
 * @addr: address of the instruction
 * @regs: registers of the interrupted context; ip is set to the next instruction
 *
 * Context: any, NMI included.
 */
void patcher_insn_emulate(const struct patcher_insn *insn, unsigned long addr, struct pt_regs *regs)
{
	unsigned long next = addr + insn->len;

	if (insn->kind == PATCHER_INSN_MOV)
		emulate_mov(insn, regs);
	else if (insn->kind == PATCHER_INSN_CMP)
		emulate_cmp(insn, regs);
	else if (insn->kind == PATCHER_INSN_JMP)
		next += insn->imm;
	else if (insn->kind == PATCHER_INSN_CALL)
		next = emulate_call(next, insn->imm, regs);
	else if (insn->kind == PATCHER_INSN_JCC && is_condition_true(insn->cond, regs->flags))
		next += insn->imm;
	regs->ip = next;
}
NOKPROBE_SYMBOL(patcher_insn_emulate);
