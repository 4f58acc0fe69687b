// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the encoded operands of notes, which describe where the arguments of an SDT site are:
 * every form that the assembler emits, and forms that must be refused.
 */
#include <string.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ptrace.h>

#include "../../base/operand.h"
#include "../../sdt/operands.h"
#include "operands.h"

/* Memory to which the registers of the test point. */
static struct {
	s64 before[2];
	s64 here[4];
} memory = { { -1, -2 }, { -300, 0x1234567890L, 7, 8 } };

struct form {
	u8 codes[13];
	u8 len;
	long wanted;
};

/*
 * Forms with their codes, length of the codes, and expected value.  %rbx, %r12 and %rsp point to
 * memory.here, %rcx is 2, %r13 is -5 and all other registers are 0x99887766.
 */
static const struct form forms[] = {
	{ { 8, 0x48, 0x89, 0xc8 }, 4, 2 },				/* %rcx */
	{ { -4, 0x4c, 0x89, 0xe8 }, 4, -5 },				/* %r13 */
	{ { 4, 0x4c, 0x89, 0xe8 }, 4, 0xfffffffb },			/* %r13, unsigned */
	{ { -2, 0x48, 0x89, 0xf8 }, 4, 0x7766 },			/* %rdi */
	{ { -1, 0x4c, 0x89, 0xf8 }, 4, 0x66 },				/* %r15 */
	{ { 1, 0x4c, 0x89, 0xe8 }, 4, 0xfb },				/* %r13 */
	{ { -8, 0x48, 0x8b, 0x03 }, 4, -300 },				/* (%rbx) */
	{ { 4, 0x48, 0x8b, 0x03 }, 4, 0xfffffed4 },			/* (%rbx), unsigned */
	{ { -8, 0x49, 0x8b, 0x04, 0x24 }, 5, -300 },			/* (%r12) */
	{ { -8, 0x48, 0x8b, 0x44, 0x24, 8 }, 6, 0x1234567890L },	/* 8(%rsp) */
	{ { 2, 0x48, 0x8b, 0x44, 0x24, 8 }, 6, 0x7890 },		/* 8(%rsp) */
	{ { -8, 0x48, 0x8b, 0x43, 0xf8 }, 5, -2 },			/* -8(%rbx) */
	{ { -8, 0x48, 0x8b, 0x83, 16, 0, 0, 0 }, 8, 7 },		/* 16(%rbx), in 4 bytes */
	{ { -8, 0x48, 0x8b, 0x84, 0x24, 0xf8, 0xff, 0xff, 0xff }, 9, -2 },	/* -8(%rsp) */
	{ { -8, 0x48, 0x8b, 0x04, 0xcb }, 5, 7 },			/* (%rbx,%rcx,8) */
	{ { -8, 0x49, 0x8b, 0x44, 0x8c, 0x10 }, 6, 8 },			/* 16(%r12,%rcx,4) */
	{ { -4, 0x48, 0xc7, 0xc0, 0xf9, 0xff, 0xff, 0xff }, 8, -7 },	/* $-7 */
	{ { 4, 0x48, 0xc7, 0xc0, 0xf9, 0xff, 0xff, 0xff }, 8, 0xfffffff9 },	/* $-7, unsigned */
	{ { -8, 0x48, 0xb8, 1, 0, 0, 0, 2, 0, 0, 0 }, 11, 0x200000001L },	/* $0x200000001 */
	{ { 8, 0x48, 0x8b, 0x04, 0x25, 8, 0, 0, 0 }, 9, 0 },		/* 8, an unreadable address */
};

static const u8 unknown[][11] = {
	{ 3, 0x48, 0x89, 0xc8 },		/* an invalid size */
	{ 0, 0x48, 0x89, 0xc8 },
	{ 16, 0x48, 0x89, 0xc8 },
	{ 8, 0x40, 0x89, 0xc8 },		/* %eax */
	{ 8, 0x48, 0x89, 0xc9 },		/* to %rcx */
	{ 8, 0x49, 0x89, 0xc8 },		/* to %r8 */
	{ 8, 0x48, 0x89, 0x03 },		/* to (%rbx) */
	{ 8, 0x48, 0x8b, 0x4b, 0x08 },		/* 8(%rbx) to %rcx */
	{ 8, 0x4c, 0x8b, 0x03 },		/* (%rbx) to %r8 */
	{ 8, 0x48, 0x8b, 0xc1 },		/* %rcx, not as assemblers encode it */
	{ 8, 0x48, 0x01, 0xc8 },		/* add */
	{ 8, 0x65, 0x48, 0x8b, 0x03 },		/* %gs:(%rbx) */
	{ 8, 0x48, 0xc7, 0xc1, 1, 0, 0, 0 },	/* $1 to %rcx */
	{ 8, 0x49, 0xc7, 0xc0, 1, 0, 0, 0 },	/* $1 to %r8 */
	{ 8, 0x49, 0xb8, 1, 0, 0, 0, 2 },	/* $0x200000001 to %r8 */
};

static const char *operands_are_fetched(void)
{
	const unsigned long other = 0x99887766;
	struct pt_regs regs = {
		.r15 = other, .r14 = other, .r13 = -5, .r12 = (unsigned long)memory.here,
		.bp = other, .bx = (unsigned long)memory.here, .r11 = other, .r10 = other,
		.r9 = other, .r8 = other, .ax = other, .cx = 2, .dx = other, .si = other,
		.di = other, .sp = (unsigned long)memory.here,
	};
	struct sdt_operand operand;
	unsigned long value;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		EXPECT(sdt_decode_operand(forms[i].codes, &operand) ==
		       forms[i].codes + forms[i].len);
		EXPECT(!sdt_fetch_operands(forms[i].codes, 1, &regs, &value));
		EXPECT(value == forms[i].wanted);
	}
	return NULL;
}

static const char *operands_are_fetched_in_turn(void)
{
	static const u8 codes[] = { 8, 0x48, 0x89, 0xc8, -4, 0x48, 0xc7, 0xc0, 0xf9, 0xff, 0xff,
				    0xff, 3 };
	struct pt_regs regs = { .cx = 6 };
	unsigned long values[3];

	EXPECT(!sdt_fetch_operands(codes, 2, &regs, values));
	EXPECT(values[0] == 6 && values[1] == -7UL);
	EXPECT(sdt_fetch_operands(codes, 3, &regs, values) == -EINVAL);
	return NULL;
}

/*
 * Check for every size that the value of an argument in unreadable memory is 0.  The first page of
 * a program is never mapped, so it cannot be read.
 */
static const char *operands_that_are_unreadable_are_zero(void)
{
	static const signed char sizes[] = { 1, 2, 4, 8, -1, -2, -4, -8 };
	u8 codes[] = { 0, 0x48, 0x8b, 0x43, 0x08 };	/* 8(%rbx) */
	struct pt_regs regs = { .bx = 0 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		unsigned long value = 1;

		codes[0] = sizes[i];
		EXPECT(!sdt_fetch_operands(codes, 1, &regs, &value) && !value);
	}
	return NULL;
}

static const char *operands_are_relative_to_their_codes(void)
{
	static u8 codes[] = { 8, 0x48, 0x8b, 0x05, 4, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	struct sdt_operand operand;

	EXPECT(sdt_decode_operand(codes, &operand) == codes + 8);
	EXPECT(operand.kind == SDT_IN_MEMORY && operand.memory.base == KMARKERS_NO_REGISTER);
	EXPECT(operand.value == (long)(codes + 12));
	return NULL;
}

/* Memory operands without a base register, and their parts. */
static const struct {
	u8 rex;
	u8 bytes[6];
	u8 index;
	u8 scale;
} baseless[] = {
	{ 0, { 0x04, 0x25, 8 }, KMARKERS_NO_REGISTER, 1 },	/* 8 */
	{ 1, { 0x04, 0x25, 8 }, KMARKERS_NO_REGISTER, 1 },	/* 8, not (%r13) */
	{ 2, { 0x04, 0x25, 8 }, 12, 1 },			/* 8(,%r12) */
	{ 0, { 0x04, 0x8d, 8 }, 1, 4 },				/* 8(,%rcx,4) */
};

/*
 * Check operands without a base register.  Also check that an operand is refused if it is longer
 * than the bytes that may be read.
 */
static const char *operands_without_a_base_are_decoded(void)
{
	struct kmarkers_memory found;
	unsigned int i, max;

	for (i = 0; i < ARRAY_SIZE(baseless); i++) {
		EXPECT(kmarkers_decode_memory_operand(baseless[i].bytes, 6, baseless[i].rex,
						      &found) == 6);
		EXPECT(found.base == KMARKERS_NO_REGISTER && found.displacement == 8);
		EXPECT(found.index == baseless[i].index && found.scale == baseless[i].scale);
		EXPECT(!found.is_relative);
		for (max = 0; max < 6; max++)
			EXPECT(!kmarkers_decode_memory_operand(baseless[i].bytes, max, 0, &found));
	}
	return NULL;
}

static const char *operands_of_unknown_form_are_refused(void)
{
	struct sdt_operand operand;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++)
		EXPECT(!sdt_decode_operand(unknown[i], &operand));
	return NULL;
}

const struct test_case operands_cases[] = {
	{ "operands_are_fetched", operands_are_fetched, NULL },
	{ "operands_are_fetched_in_turn", operands_are_fetched_in_turn, NULL },
	{ "operands_that_are_unreadable_are_zero", operands_that_are_unreadable_are_zero, NULL },
	{ "operands_are_relative_to_their_codes", operands_are_relative_to_their_codes, NULL },
	{ "operands_without_a_base_are_decoded", operands_without_a_base_are_decoded, NULL },
	{ "operands_of_unknown_form_are_refused", operands_of_unknown_form_are_refused, NULL },
};

const unsigned int operands_nr_cases = ARRAY_SIZE(operands_cases);
