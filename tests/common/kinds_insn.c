// SPDX-License-Identifier: GPL-2.0-only
/* The two instructions of each kind of site. */
#include <linux/kernel.h>
#include <linux/string.h>

#include "kinds.h"

static const struct {
	u8 len;
	u8 insn[2][PATCHER_INSN_MAX];
} kinds[] = {
	[JMP32] = { 5, { { 0x0f, 0x1f, 0x44, 0, 0 }, { 0xe9, 3, 0, 0, 0 } } },
	[JMP8] = { 2, { { 0x66, 0x90 }, { 0xeb, 3 } } },
	[JCC8] = { 2, { { 0x66, 0x90 }, { 0x74, 3 } } },
	[JCC32] = { 6, { { 0x66, 0x0f, 0x1f, 0x44, 0, 0 }, { 0x0f, 0x84, 3, 0, 0, 0 } } },
	[MOV8] = { 2, { { 0xb6, 0x11 }, { 0xb6, 0xee } } },
	[MOV16] = { 4, { { 0x66, 0xb9, 0x11, 0x22 }, { 0x66, 0xb9, 0xee, 0xdd } } },
	[MOV32] = { 6, { { 0x41, 0xb9, 1, 2, 3, 4 }, { 0x41, 0xb9, 5, 6, 7, 8 } } },
	[MOV64] = { 10, { { 0x49, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8 },
			  { 0x49, 0xbb, 9, 8, 7, 6, 5, 4, 3, 2 } } },
	[NOP] = { 1, { { 0x90 }, { 0x90 } } },
	[NOP + 1] = { 3, { { 0x0f, 0x1f, 0 }, { 0x66, 0x66, 0x90 } } },
	[NOP + 2] = { 4, { { 0x0f, 0x1f, 0x40, 0 }, { 0x66, 0x66, 0x66, 0x90 } } },
	[NOP + 3] = { 7, { { 0x0f, 0x1f, 0x80, 0, 0, 0, 0 }, { 0x66, 0x66, 0x0f, 0x1f, 0x44, 0, 0 } } },
	[NOP + 4] = { 8, { { 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 },
			   { 0x66, 0x0f, 0x1f, 0x80, 0, 0, 0, 0 } } },
	[NOP + 5] = { 9, { { 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 },
			   { 0x66, 0x66, 0x0f, 0x1f, 0x80, 0, 0, 0, 0 } } },
	[CMP] = { 2, { { 0x3c, 0x7f }, { 0x3c, 0x80 } } },
	[CMP + 1] = { 5, { { 0x3d, 0x7f, 0x7f, 0x7f, 0x7f }, { 0x3d, 0x80, 0x80, 0x80, 0x80 } } },
	[CMP + 2] = { 3, { { 0x80, 0xfa, 0x7f }, { 0x80, 0xfa, 0x80 } } },
	[CMP + 3] = { 3, { { 0x80, 0xff, 0x7f }, { 0x80, 0xff, 0x80 } } },
	[CMP + 4] = { 4, { { 0x40, 0x80, 0xfe, 0x7f }, { 0x40, 0x80, 0xfe, 0x80 } } },
	[CMP + 5] = { 6, { { 0x81, 0xf9, 0x7f, 0x7f, 0x7f, 0x7f },
			   { 0x81, 0xf9, 0x80, 0x80, 0x80, 0x80 } } },
	[CMP + 6] = { 7, { { 0x41, 0x81, 0xf9, 0x7f, 0x7f, 0x7f, 0x7f },
			   { 0x41, 0x81, 0xf9, 0x80, 0x80, 0x80, 0x80 } } },
};

/* The 32-bit constants that the two instructions of a REG site load. */
static const u8 reg_value[2][4] = { { 0x44, 0x33, 0x22, 0x11 }, { 0xbb, 0xcc, 0xdd, 0xee } };

/*
 * The two states of a run, a site of several instructions. The first state is five jumps and a nop.
 * The second state is a jump over four ud2 instructions to the end of the run.
 */
static const u8 run_insn[2][RUN_LEN] = {
	{ RUN_BYTES },
	{ 0xeb, 0x09, 0x0f, 0x0b, 0x0f, 0x0b, 0x0f, 0x0b, 0x0f, 0x0b, 0x0b },
};

u8 *kinds_get_site_addr(const struct kinds_record *record)
{
	return (u8 *)&record->addr + record->addr;
}

unsigned int kinds_get_site_len(const struct kinds_record *record)
{
	if (record->kind >= RUN)
		return RUN_LEN;
	if (record->kind >= CMP)
		return kinds[record->kind].len;
	if (record->kind >= NEAR)
		return 6;
	if (record->kind >= JCC)
		return 2;
	if (record->kind >= REG)
		return record->kind < REG + 8 ? 5 : 6;
	return record->kind == CALL32 ? 5 : kinds[record->kind].len;
}

void kinds_write_insn(const struct kinds_record *record, bool second, u8 *insn)
{
	int kind = record->kind;
	s32 displacement;

	memset(insn, 0, PATCHER_INSN_MAX);
	if (kind >= RUN) {
		memcpy(insn, run_insn[second], RUN_LEN);
	} else if (kind >= CMP) {
		memcpy(insn, kinds[kind].insn[second], kinds[kind].len);
	} else if (kind >= NEAR) {
		insn[0] = 0x0f;
		insn[1] = 0x80 + ((kind - NEAR) ^ second);
		insn[2] = 5;
	} else if (kind >= JCC) {
		insn[0] = 0x70 + ((kind - JCC) ^ second);
		insn[1] = 5;
	} else if (kind >= REG) {
		insn[0] = 0x41;
		insn[kind >= REG + 8] = 0xb8 + (kind & 7);
		memcpy(insn + kinds_get_site_len(record) - 4, reg_value[second], 4);
	} else if (kind == CALL32 && second) {
		displacement = (long)kinds_increment - ((long)kinds_get_site_addr(record) + 5);
		insn[0] = 0xe8;
		memcpy(insn + 1, &displacement, sizeof(displacement));
	} else {
		memcpy(insn, kinds[kind == CALL32 ? JMP32 : kind].insn[second],
		       kinds_get_site_len(record));
	}
}
