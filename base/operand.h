/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decode the operands of x86-64 instructions: registers, memory operands and signed numbers.
 *
 * Breakpoint handlers call these functions in any context, NMI included.  All these functions are
 * inlined, so no kprobe can be set in them if their caller is marked NOKPROBE_SYMBOL().
 *
 * Encodings: Intel SDM vol. 2, 2.1 and 2.2 for REX, ModR/M and SIB.
 */
#ifndef BASE_OPERAND_H
#define BASE_OPERAND_H

#include <linux/compiler.h>
#include <linux/ptrace.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>

#define KMARKERS_REX_MASK	0xf0
#define KMARKERS_REX		0x40
#define KMARKERS_REX_W		0x08
#define KMARKERS_REX_R		0x04
#define KMARKERS_REX_X		0x02
#define KMARKERS_REX_B		0x01

/* Value of @base or @index in struct kmarkers_memory if the operand has no such register. */
#define KMARKERS_NO_REGISTER	16

/**
 * struct kmarkers_memory - a memory operand
 * @base: number of the base register; KMARKERS_NO_REGISTER if there is none
 * @index: number of the index register; KMARKERS_NO_REGISTER if there is none
 * @scale: factor of the index register: 1, 2, 4 or 8
 * @is_relative: true if the address is relative to the end of the instruction
 * @displacement: signed constant that is added to the address, in bytes
 */
struct kmarkers_memory {
	u8 base;
	u8 index;
	u8 scale;
	bool is_relative;
	s32 displacement;
};

/*
 * Return the address at which @regs holds a register.  @number is the register's number in the
 * encoding of instructions: 0 is ax, 15 is r15.
 */
static __always_inline unsigned long *kmarkers_find_saved_register(const struct pt_regs *regs,
								   u8 number)
{
	static const u16 offsets[KMARKERS_NO_REGISTER] = {
		offsetof(struct pt_regs, ax),  offsetof(struct pt_regs, cx),
		offsetof(struct pt_regs, dx),  offsetof(struct pt_regs, bx),
		offsetof(struct pt_regs, sp),  offsetof(struct pt_regs, bp),
		offsetof(struct pt_regs, si),  offsetof(struct pt_regs, di),
		offsetof(struct pt_regs, r8),  offsetof(struct pt_regs, r9),
		offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
		offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13),
		offsetof(struct pt_regs, r14), offsetof(struct pt_regs, r15),
	};

	return (unsigned long *)((unsigned long)regs + offsets[number]);
}

/* Read a signed number of @size bytes: 1, 2, 4 or 8. */
static __always_inline s64 kmarkers_read_signed_number(const u8 *bytes, unsigned int size)
{
	s16 two;
	s32 four;
	s64 eight;

	switch (size) {
	case 1:
		return (s8)bytes[0];
	case 2:
		memcpy(&two, bytes, 2);
		return two;
	case 4:
		memcpy(&four, bytes, 4);
		return four;
	default:
		memcpy(&eight, bytes, 8);
		return eight;
	}
}

/**
 * kmarkers_decode_memory_operand() - decode a memory operand
 * @bytes: address of the ModR/M byte, with which the operand begins
 * @max: number of bytes that may be read
 * @rex: the instruction's REX prefix, 0 if it has none
 * @memory: filled in
 *
 * Context: any, NMI included.
 * Return: length of the operand in bytes, the ModR/M byte included; 0 if the operand is a register
 * or longer than @max.
 */
static __always_inline unsigned int
kmarkers_decode_memory_operand(const u8 *bytes, unsigned int max, u8 rex,
			       struct kmarkers_memory *memory)
{
	unsigned int at = 1, size, mod, base;
	u8 index = 4, sib;

	if (!max || bytes[0] >> 6 == 3)
		return 0;
	mod = bytes[0] >> 6;
	base = bytes[0] & 7;
	*memory = (struct kmarkers_memory) {
		.index = KMARKERS_NO_REGISTER, .scale = 1, .is_relative = mod == 0 && base == 5,
	};
	if (base == 4) {
		if (max < 2)
			return 0;
		sib = bytes[at++];
		base = sib & 7;
		memory->scale = 1 << (sib >> 6);
		index = (sib >> 3 & 7) | (rex & KMARKERS_REX_X ? 8 : 0);
	}
	/* Index 4, which would be %rsp, means that there is no index register. */
	if (index != 4)
		memory->index = index;
	memory->base = base | (rex & KMARKERS_REX_B ? 8 : 0);
	size = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	if (mod == 0 && base == 5) {
		memory->base = KMARKERS_NO_REGISTER;
		size = 4;
	}
	if (at + size > max)
		return 0;
	if (size)
		memory->displacement = kmarkers_read_signed_number(bytes + at, size);
	return at + size;
}

#endif /* BASE_OPERAND_H */
