// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode the locations of a note's arguments. A location is recorded as a byte with the size of the
 * argument, followed by an instruction that is never executed: a 64-bit mov of the argument to
 * %rax. Only the few encodings that assemblers emit are decoded.
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

/* Names of the registers, in the order of their numbers in instructions. */
const char *const sdt_register_names[] = {
	"ax", "cx", "dx", "bx", "sp", "bp", "si", "di",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

/* Offsets of the registers in struct pt_regs, in the same order. */
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

/* Read a signed number of 1 or 4 bytes, and advance the pointer behind it. */
static s64 read_signed_number(const u8 **at, unsigned int size)
{
	s32 four;

	*at += size;
	if (size == 1)
		return (s8)(*at)[-1];
	memcpy(&four, *at - 4, 4);
	return four;
}
NOKPROBE_SYMBOL(read_signed_number);

/* Decode a SIB byte. If it has no base register, decode the displacement behind it, too. */
static void decode_sib(const u8 **at, u8 rex, unsigned int mod, struct sdt_operand *operand)
{
	u8 sib = *(*at)++;
	u8 index = (sib >> 3 & 7) | (rex & REX_X ? 8 : 0);

	/* Index 4, which would be %rsp, means that there is no index register. */
	if (index != 4)
		operand->index = index;
	operand->scale = 1 << (sib >> 6);
	if (mod == 0 && (sib & 7) == 5)
		operand->value = read_signed_number(at, 4);
	else
		operand->base = (sib & 7) | (rex & REX_B ? 8 : 0);
}
NOKPROBE_SYMBOL(decode_sib);

/* Decode the memory operand of a ModR/M byte; the other operand is %rax. */
static void decode_modrm(const u8 **at, u8 rex, struct sdt_operand *operand)
{
	u8 modrm = *(*at)++;
	unsigned int mod = modrm >> 6, rm = modrm & 7;

	operand->kind = SDT_IN_MEMORY;
	if (rm == 4) {
		decode_sib(at, rex, mod, operand);
	} else if (mod == 0 && rm == 5) {
		/* The address is relative to the end of the instruction. */
		operand->value = read_signed_number(at, 4);
		operand->value += (long)*at;
	} else {
		operand->base = rm | (rex & REX_B ? 8 : 0);
	}
	if (mod == 1 || mod == 2)
		operand->value = read_signed_number(at, mod == 1 ? 1 : 4);
}
NOKPROBE_SYMBOL(decode_modrm);

/*
 * Decode a mov to %rax, from its ModR/M byte on. The source is a register (opcode 89), memory (8b)
 * or a 4-byte constant (c7). Return the address behind the instruction, or NULL if it is no such
 * mov.
 */
static const u8 *decode_mov_operand(const u8 *at, u8 rex, u8 op, struct sdt_operand *operand)
{
	u8 modrm = *at;
	bool is_register = modrm >> 6 == 3;

	if (op == 0x89 && is_register && !(modrm & 7) && !(rex & REX_B)) {
		operand->base = (modrm >> 3 & 7) | (rex & REX_R ? 8 : 0);
		return at + 1;
	}
	if (op == 0x8b && !is_register && !(modrm >> 3 & 7) && !(rex & REX_R)) {
		decode_modrm(&at, rex, operand);
		return at;
	}
	if (op == 0xc7 && modrm == 0xc0 && rex == REX_W) {
		operand->kind = SDT_CONSTANT;
		at++;
		operand->value = read_signed_number(&at, 4);
		return at;
	}
	return NULL;
}
NOKPROBE_SYMBOL(decode_mov_operand);

/**
 * sdt_operand_decode() - decode the location of an argument
 * @codes: the recorded size and mov instruction
 * @operand: filled in
 *
 * Context: any, NMI included.
 * Return: address behind the instruction, or NULL if its encoding is unknown.
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

static unsigned long get_register(const struct pt_regs *regs, u8 number)
{
	return number == SDT_NO_REGISTER ? 0 : *(unsigned long *)((void *)regs + offsets[number]);
}
NOKPROBE_SYMBOL(get_register);

/* Extend a value from its size to 64 bits, with the sign of its type. */
static unsigned long extend_value(unsigned long value, const struct sdt_operand *operand)
{
	unsigned int unused = 64 - 8 * operand->size;

	value <<= unused;
	return operand->is_signed ? (long)value >> unused : value >> unused;
}
NOKPROBE_SYMBOL(extend_value);

/*
 * Read an argument. Memory is read without faulting, because the address may be invalid: a note's
 * kprobe is at the next instruction, and code that jumps there without passing the note hits it,
 * too.
 */
static unsigned long fetch_operand(const struct sdt_operand *operand, const struct pt_regs *regs)
{
	unsigned long value = get_register(regs, operand->base), found = 0;

	if (operand->kind == SDT_CONSTANT)
		return operand->value;
	if (operand->kind == SDT_IN_REGISTER)
		return value;
	value += operand->value + operand->scale * get_register(regs, operand->index);
	return copy_from_kernel_nofault(&found, (void *)value, operand->size) ? 0 : found;
}
NOKPROBE_SYMBOL(fetch_operand);

/**
 * sdt_operands_fetch() - fetch the arguments of a note
 * @codes: encoded locations of the arguments
 * @nr: number of arguments
 * @regs: the registers at the site
 * @args: filled in, each extended to 64 bits; 0 for an argument in memory that cannot be read
 *
 * Context: any, NMI included.
 * Return: 0, or -EINVAL if the location of an argument is unknown.
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
		args[i] = extend_value(fetch_operand(&operand, regs), &operand);
	}
	return 0;
}
NOKPROBE_SYMBOL(sdt_operands_fetch);
