/* SPDX-License-Identifier: GPL-2.0-only */
/* Locations of the arguments of a note: see <kmarkers/sdt_note.h>. */
#ifndef SDT_OPERANDS_H
#define SDT_OPERANDS_H

#include <linux/types.h>

struct pt_regs;

enum sdt_operand_kind {
	SDT_IN_REGISTER,
	SDT_IN_MEMORY,
	SDT_CONSTANT,
};

/* Register number that means: no register. */
#define SDT_NO_REGISTER		16

/**
 * struct sdt_operand - where an argument is
 * @kind: in a register, in memory, or a constant
 * @size: its size in bytes
 * @is_signed: whether it has a sign
 * @base: the register that it is in, or to which its address is relative
 * @index: a register that is added to its address
 * @scale: how often
 * @value: what is added to the address; or the constant
 */
struct sdt_operand {
	enum sdt_operand_kind kind;
	u8 size;
	bool is_signed;
	u8 base;
	u8 index;
	u8 scale;
	s64 value;
};

extern const char *const sdt_register_names[];

const u8 *sdt_operand_decode(const u8 *codes, struct sdt_operand *operand);
int sdt_operands_fetch(const u8 *codes, unsigned int nr, const struct pt_regs *regs,
		       unsigned long *args);

#endif /* SDT_OPERANDS_H */
