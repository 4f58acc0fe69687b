/* SPDX-License-Identifier: GPL-2.0-only */
/* Locations of the arguments of an SDT note: see <kmarkers/sdt_note.h>. */
#ifndef SDT_OPERANDS_H
#define SDT_OPERANDS_H

#include <linux/types.h>

#include "../base/operand.h"

struct pt_regs;

enum sdt_operand_kind {
	SDT_IN_REGISTER,
	SDT_IN_MEMORY,
	SDT_CONSTANT,
};

/**
 * struct sdt_operand - location and type of an argument
 * @kind: in a register, in memory, or a constant
 * @size: size of the argument in bytes
 * @is_signed: true if the argument is signed
 * @memory: the memory operand of an argument in memory; for an argument in a register,
 *	@memory.base is the number of the register
 * @value: the constant; for an argument in memory, the displacement that is added to the address
 */
struct sdt_operand {
	enum sdt_operand_kind kind;
	u8 size;
	bool is_signed;
	struct kmarkers_memory memory;
	s64 value;
};

extern const char *const sdt_register_names[];

const u8 *sdt_decode_operand(const u8 *codes, struct sdt_operand *operand);
int sdt_fetch_operands(const u8 *codes, unsigned int nr, const struct pt_regs *regs,
		       unsigned long *args);

#endif /* SDT_OPERANDS_H */
