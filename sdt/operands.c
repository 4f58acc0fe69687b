// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode the locations of an SDT note's arguments. A location is recorded as a byte with the size
 * of the argument, followed by an instruction that is never executed: a 64-bit mov of the argument
 * to %rax. Only the few encodings that assemblers emit are decoded.
 *
 * Encodings: Intel SDM vol. 2, "MOV".
 */
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../base/operand.h"
#include "operands.h"

#define REX_W		(KMARKERS_REX | KMARKERS_REX_W)
#define REX_W_MASK	(KMARKERS_REX_MASK | KMARKERS_REX_W)

/* Length of the longest memory operand in bytes: ModR/M, SIB and a displacement. */
#define MAX_OPERAND	6

/* Names of the registers, in the order of their numbers in instructions. */
const char *const sdt_register_names[] = {
	"ax", "cx", "dx", "bx", "sp", "bp", "si", "di",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

/* Decode the memory operand whose ModR/M byte is at @at. Return the address after the operand. */
static const u8 *decode_memory_operand(const u8 *at, u8 rex, struct sdt_operand *operand)
{
	operand->kind = SDT_IN_MEMORY;
	at += kmarkers_decode_memory_operand(at, MAX_OPERAND, rex, &operand->memory);
	operand->value = operand->memory.displacement;
	if (operand->memory.is_relative)
		operand->value += (long)at;
	return at;
}
NOKPROBE_SYMBOL(decode_memory_operand);

/*
 * Decode a mov to %rax, with opcode @op and the ModR/M byte at @at. The source is a register (@op
 * is 89), memory (8b) or a 4-byte constant (c7). Return the address after the instruction, or NULL
 * for any other instruction.
 */
static const u8 *decode_mov_operand(const u8 *at, u8 rex, u8 op, struct sdt_operand *operand)
{
	u8 modrm = *at;
	bool is_register = modrm >> 6 == 3;

	if (op == 0x89 && is_register && !(modrm & 7) && !(rex & KMARKERS_REX_B)) {
		operand->memory.base = (modrm >> 3 & 7) | (rex & KMARKERS_REX_R ? 8 : 0);
		return at + 1;
	}
	if (op == 0x8b && !is_register && !(modrm >> 3 & 7) && !(rex & KMARKERS_REX_R))
		return decode_memory_operand(at, rex, operand);
	if (op == 0xc7 && modrm == 0xc0 && rex == REX_W) {
		operand->kind = SDT_CONSTANT;
		operand->value = kmarkers_read_signed_number(at + 1, 4);
		return at + 5;
	}
	return NULL;
}
NOKPROBE_SYMBOL(decode_mov_operand);

/**
 * sdt_decode_operand() - decode the location of an argument
 * @codes: the recorded size and mov instruction
 * @operand: filled in
 *
 * Context: any, NMI included.
 * Return: address of the first byte after the instruction, or NULL if its encoding is unknown.
 */
const u8 *sdt_decode_operand(const u8 *codes, struct sdt_operand *operand)
{
	int size = (s8)codes[0];
	u8 rex, op;

	memset(operand, 0, sizeof(*operand));
	operand->memory.base = KMARKERS_NO_REGISTER;
	operand->memory.index = KMARKERS_NO_REGISTER;
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
NOKPROBE_SYMBOL(sdt_decode_operand);

static unsigned long read_register_value(const struct pt_regs *regs, u8 number)
{
	return number == KMARKERS_NO_REGISTER ? 0 : *kmarkers_find_saved_register(regs, number);
}
NOKPROBE_SYMBOL(read_register_value);

/* Extend the value of an argument from its size to 64 bits, with the sign of its type. */
static unsigned long extend_operand_value(unsigned long value, const struct sdt_operand *operand)
{
	unsigned int unused = 64 - 8 * operand->size;

	value <<= unused;
	return operand->is_signed ? (long)value >> unused : value >> unused;
}
NOKPROBE_SYMBOL(extend_operand_value);

/*
 * Return the value of an argument, or 0 if the argument is in memory that cannot be read. The
 * address may be invalid, because other code may jump directly to the instruction after the SDT
 * note, where the kprobe is; the registers then do not hold the note's arguments.
 */
static unsigned long fetch_operand(const struct sdt_operand *operand, const struct pt_regs *regs)
{
	unsigned long value = read_register_value(regs, operand->memory.base), found = 0;

	if (operand->kind == SDT_CONSTANT)
		return operand->value;
	if (operand->kind == SDT_IN_REGISTER)
		return value;
	value += operand->value +
		 operand->memory.scale * read_register_value(regs, operand->memory.index);
	return copy_from_kernel_nofault(&found, (void *)value, operand->size) ? 0 : found;
}
NOKPROBE_SYMBOL(fetch_operand);

/**
 * sdt_fetch_operands() - fetch the arguments of an SDT note
 * @codes: encoded locations of the arguments
 * @nr: number of arguments
 * @regs: the registers at the site
 * @args: filled in, each extended to 64 bits; 0 for an argument in memory that cannot be read
 *
 * Context: any, NMI included.
 * Return: 0, or -EINVAL if the location of an argument cannot be decoded.
 */
int sdt_fetch_operands(const u8 *codes, unsigned int nr, const struct pt_regs *regs,
		       unsigned long *args)
{
	struct sdt_operand operand;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		codes = sdt_decode_operand(codes, &operand);
		if (!codes)
			return -EINVAL;
		args[i] = extend_operand_value(fetch_operand(&operand, regs), &operand);
	}
	return 0;
}
NOKPROBE_SYMBOL(sdt_fetch_operands);
