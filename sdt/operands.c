// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode the locations of a note's arguments from the instructions that record them: for each, its
 * size, followed by a mov of 8 bytes to %rax. The assembler chooses among few encodings.
 *
 * Encodings: Intel SDM vol. 2, "MOV", and 2.1 and 2.2 for REX, ModR/M and SIB.
 */
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "operands.h"

#define REX_W		0x48
#define REX_W_MASK	0xf8
#define REX_R		0x04
#define REX_X		0x02
#define REX_B		0x01

/* Registers in the order of their hardware numbers. */
const char *const sdt_register_names[] = {
	"ax", "cx", "dx", "bx", "sp", "bp", "si", "di",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

static const u16 offsets[] = {
	offsetof(struct pt_regs, ax),  offsetof(struct pt_regs, cx),
	offsetof(struct pt_regs, dx),  offsetof(struct pt_regs, bx),
	offsetof(struct pt_regs, sp),  offsetof(struct pt_regs, bp),
	offsetof(struct pt_regs, si),  offsetof(struct pt_regs, di),
	offsetof(struct pt_regs, r8),  offsetof(struct pt_regs, r9),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13),
	offsetof(struct pt_regs, r14), offsetof(struct pt_regs, r15),
};

/* Read a number of 1 or 4 bytes, and go on behind it. */
static s64 take_signed(const u8 **at, unsigned int size)
{
	s32 four;

	*at += size;
	if (size == 1)
		return (s8)(*at)[-1];
	memcpy(&four, *at - 4, 4);
	return four;
}
NOKPROBE_SYMBOL(take_signed);

static void take_sib(const u8 **at, u8 rex, unsigned int mod, struct sdt_operand *operand)
{
	u8 sib = *(*at)++;
	u8 index = (sib >> 3 & 7) | (rex & REX_X ? 8 : 0);

	/* The number of %rsp means that there is no index register. */
	if (index != 4)
		operand->index = index;
	operand->scale = 1 << (sib >> 6);
	if (mod == 0 && (sib & 7) == 5)
		operand->value = take_signed(at, 4);
	else
		operand->base = (sib & 7) | (rex & REX_B ? 8 : 0);
}
NOKPROBE_SYMBOL(take_sib);

/* Decode the operand of ModR/M that is not %rax. */
static void take_modrm(const u8 **at, u8 rex, struct sdt_operand *operand)
{
	u8 modrm = *(*at)++;
	unsigned int mod = modrm >> 6, rm = modrm & 7;

	operand->kind = SDT_IN_MEMORY;
	if (rm == 4) {
		take_sib(at, rex, mod, operand);
	} else if (mod == 0 && rm == 5) {
		/* The address is relative to the end of the instruction. */
		operand->value = take_signed(at, 4);
		operand->value += (long)*at;
	} else {
		operand->base = rm | (rex & REX_B ? 8 : 0);
	}
	if (mod == 1 || mod == 2)
		operand->value = take_signed(at, mod == 1 ? 1 : 4);
}
NOKPROBE_SYMBOL(take_modrm);

/* An opcode with ModR/M: of a register, of memory, or of a constant of 4 bytes. */
static const u8 *decode_mov_operand(const u8 *at, u8 rex, u8 op, struct sdt_operand *operand)
{
	u8 modrm = *at;
	bool is_register = modrm >> 6 == 3;

	if (op == 0x89 && is_register && !(modrm & 7) && !(rex & REX_B)) {
		operand->base = (modrm >> 3 & 7) | (rex & REX_R ? 8 : 0);
		return at + 1;
	}
	if (op == 0x8b && !is_register && !(modrm >> 3 & 7) && !(rex & REX_R)) {
		take_modrm(&at, rex, operand);
		return at;
	}
	if (op == 0xc7 && modrm == 0xc0 && rex == REX_W) {
		operand->kind = SDT_CONSTANT;
		at++;
		operand->value = take_signed(&at, 4);
		return at;
	}
	return NULL;
}
NOKPROBE_SYMBOL(decode_mov_operand);

/**
 * sdt_operand_decode() - decode the location of an argument
 * @codes: what the assembler wrote for it
 * @operand: filled in
 *
 * Context: any, NMI included.
 * Return: what is written behind it, or NULL if it is not known.
 */
const u8 *sdt_operand_decode(const u8 *codes, struct sdt_operand *operand)
{
	int size = (s8)codes[0];
	u8 rex, op;

	memset(operand, 0, sizeof(*operand));
	operand->base = SDT_NO_REGISTER;
	operand->index = SDT_NO_REGISTER;
	operand->is_signed = size < 0;
	operand->size = size < 0 ? -size : size;
	if (operand->size > 8 || !operand->size || operand->size & (operand->size - 1))
		return NULL;
	rex = codes[1];
	op = codes[2];
	if ((rex & REX_W_MASK) != REX_W)
		return NULL;
	if (op != 0xb8)
		return decode_mov_operand(codes + 3, rex, op, operand);
	operand->kind = SDT_CONSTANT;
	memcpy(&operand->value, codes + 3, 8);
	return rex == REX_W ? codes + 11 : NULL;
}
NOKPROBE_SYMBOL(sdt_operand_decode);

static unsigned long register_of(const struct pt_regs *regs, u8 number)
{
	return number == SDT_NO_REGISTER ? 0 : *(unsigned long *)((void *)regs + offsets[number]);
}
NOKPROBE_SYMBOL(register_of);

/* Extend a value as its type says. */
static unsigned long extend(unsigned long value, const struct sdt_operand *operand)
{
	unsigned int unused = 64 - 8 * operand->size;

	value <<= unused;
	return operand->is_signed ? (long)value >> unused : value >> unused;
}
NOKPROBE_SYMBOL(extend);

/* Where paths join behind a note, it may be met although its arguments are not there. */
static unsigned long fetch(const struct sdt_operand *operand, const struct pt_regs *regs)
{
	unsigned long value = register_of(regs, operand->base), found = 0;

	if (operand->kind == SDT_CONSTANT)
		return operand->value;
	if (operand->kind == SDT_IN_REGISTER)
		return value;
	value += operand->value + operand->scale * register_of(regs, operand->index);
	return copy_from_kernel_nofault(&found, (void *)value, operand->size) ? 0 : found;
}
NOKPROBE_SYMBOL(fetch);

/**
 * sdt_operands_fetch() - fetch the arguments of a note
 * @codes: where they are
 * @nr: how many they are
 * @regs: the registers at the site
 * @args: filled in, extended as their types say; 0 for what cannot be read
 *
 * Context: any, NMI included.
 * Return: 0, or -EINVAL if it is not known where one of them is.
 */
int sdt_operands_fetch(const u8 *codes, unsigned int nr, const struct pt_regs *regs,
		       unsigned long *args)
{
	struct sdt_operand operand;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		codes = sdt_operand_decode(codes, &operand);
		if (!codes)
			return -EINVAL;
		args[i] = extend(fetch(&operand, regs), &operand);
	}
	return 0;
}
NOKPROBE_SYMBOL(sdt_operands_fetch);
