// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of internal functions.  The instruction decoder is tested with a table of encodings, the
 * emulator is compared with the CPU, and the parser of benchmark commands gets bad input.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include <kmarkers/patcher.h>

#include "../../bench_modules/control.h"
#include "../../bench_modules/groups.h"
#include "../../patcher/insn.h"
#include "pure.h"

struct encoding {
	u8 bytes[12];
	u8 len;
	enum patcher_insn_kind kind;
};

static const struct encoding known[] = {
	{ { 0x90 }, 1, PATCHER_INSN_NOP },
	{ { 0x66, 0x90 }, 2, PATCHER_INSN_NOP },
	{ { 0x66, 0x66, 0x90 }, 3, PATCHER_INSN_NOP },
	{ { 0x0f, 0x1f, 0x00 }, 3, PATCHER_INSN_NOP },
	{ { 0x0f, 0x1f, 0x40, 0x00 }, 4, PATCHER_INSN_NOP },
	{ { 0x0f, 0x1f, 0x44, 0x00, 0x00 }, 5, PATCHER_INSN_NOP },
	{ { 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 }, 6, PATCHER_INSN_NOP },
	{ { 0x0f, 0x1f, 0x80, 0, 0, 0, 0 }, 7, PATCHER_INSN_NOP },
	{ { 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, 8, PATCHER_INSN_NOP },
	{ { 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, 9, PATCHER_INSN_NOP },
	{ { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, 10, PATCHER_INSN_NOP },
	{ { 0x0f, 0x1f, 0x05, 1, 2, 3, 4 }, 7, PATCHER_INSN_NOP },	/* 0x4030201(%rip) */
	{ { 0x0f, 0x1f, 0x45, 0x08 }, 4, PATCHER_INSN_NOP },		/* 8(%rbp) */
	{ { 0x0f, 0x1f, 0x85, 1, 2, 3, 4 }, 7, PATCHER_INSN_NOP },
	{ { 0x0f, 0x1f, 0xa9, 1, 2, 3, 4 }, 7, PATCHER_INSN_NOP },	/* 0x4030201(%rcx), register 5 */
	{ { 0x0f, 0x1f, 0x04, 0x00 }, 4, PATCHER_INSN_NOP },		/* (%rax,%rax) */
	{ { 0x0f, 0x1f, 0x04, 0x05, 1, 2, 3, 4 }, 8, PATCHER_INSN_NOP },	/* (,%rax) */
	{ { 0x0f, 0x1f, 0x44, 0x05, 0x08 }, 5, PATCHER_INSN_NOP },	/* 8(%rbp,%rax) */
	{ { 0x0f, 0x1f, 0x84, 0x05, 1, 2, 3, 4 }, 8, PATCHER_INSN_NOP },
	{ { 0x3e, 0x0f, 0x1f, 0x44, 0x00, 0x08 }, 6, PATCHER_INSN_NOP },
	{ { 0xeb, 0xfe }, 2, PATCHER_INSN_JMP },
	{ { 0xe9, 1, 2, 3, 4 }, 5, PATCHER_INSN_JMP },
	{ { 0xe8, 1, 2, 3, 4 }, 5, PATCHER_INSN_CALL },
	{ { 0x75, 0x10 }, 2, PATCHER_INSN_JCC },
	{ { 0x3e, 0x75, 0x10 }, 3, PATCHER_INSN_JCC },
	{ { 0x3e, 0x0f, 0x85, 1, 0, 0, 0 }, 7, PATCHER_INSN_JCC },
	{ { 0x2e, 0x2e, 0xe9, 1, 0, 0, 0 }, 7, PATCHER_INSN_JMP },
	{ { 0x0f, 0x84, 1, 0, 0, 0 }, 6, PATCHER_INSN_JCC },
	{ { 0xb0, 0x7f }, 2, PATCHER_INSN_MOV },
	{ { 0x40, 0xb6, 0x7f }, 3, PATCHER_INSN_MOV },
	{ { 0x66, 0xb8, 1, 2 }, 4, PATCHER_INSN_MOV },
	{ { 0xb8, 1, 2, 3, 4 }, 5, PATCHER_INSN_MOV },
	{ { 0x41, 0xbf, 1, 2, 3, 4 }, 6, PATCHER_INSN_MOV },
	{ { 0x49, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8 }, 10, PATCHER_INSN_MOV },
	{ { 0x3c, 0x80 }, 2, PATCHER_INSN_CMP },			/* %al */
	{ { 0x3d, 1, 2, 3, 4 }, 5, PATCHER_INSN_CMP },			/* %eax */
	{ { 0x80, 0xff, 0x7f }, 3, PATCHER_INSN_CMP },			/* %bh */
	{ { 0x40, 0x80, 0xff, 0x7f }, 4, PATCHER_INSN_CMP },		/* %dil */
	{ { 0x81, 0xf8, 1, 2, 3, 4 }, 6, PATCHER_INSN_CMP },
	{ { 0x41, 0x81, 0xff, 1, 2, 3, 4 }, 7, PATCHER_INSN_CMP },	/* %r15d */
};

static const struct encoding unknown[] = {
	{ { 0xcc }, 1, 0 },
	{ { 0xf3, 0x90 }, 2, 0 },		/* pause */
	{ { 0x41, 0x90 }, 2, 0 },		/* xchg %r8d,%eax */
	{ { 0x0f, 0x1f, 0xc0 }, 3, 0 },		/* a register operand */
	{ { 0x0f, 0x1e, 0xfa }, 3, 0 },
	{ { 0x0f, 0x0b }, 2, 0 },
	{ { 0x66, 0xe9, 1, 2, 3, 4 }, 6, 0 },	/* 16-bit jump on some CPUs */
	{ { 0x66, 0x0f, 0x84, 1, 2, 3, 4 }, 7, 0 },
	{ { 0x48, 0xeb, 0x00 }, 3, 0 },
	{ { 0x66 }, 1, 0 },
	{ { 0x66, 0x66, 0x66, 0x66 }, 4, 0 },
	{ { 0xc3 }, 1, 0 },
	{ { 0x83, 0xf8, 0x01 }, 3, 0 },		/* cmp with 8 bits, extended to 32 */
	{ { 0x66, 0x3d, 1, 2 }, 4, 0 },		/* cmp of 16 bits */
	{ { 0x48, 0x81, 0xf8, 1, 2, 3, 4 }, 7, 0 },	/* cmp of 64 bits */
	{ { 0x44, 0x81, 0xf8, 1, 2, 3, 4 }, 7, 0 },	/* a prefix without effect */
	{ { 0x2e, 0x3d, 1, 2, 3, 4 }, 6, 0 },
	{ { 0x41, 0x3c, 1 }, 3, 0 },
	{ { 0x81, 0x38, 1, 2, 3, 4 }, 6, 0 },	/* cmp with memory */
	{ { 0x81, 0xc0, 1, 2, 3, 4 }, 6, 0 },	/* add */
	{ { 0x80, 0xf0, 1 }, 3, 0 },		/* xor */
	{ { 0xa9, 1, 2, 3, 4 }, 5, 0 },		/* test */
};

/*
 * Decode the first @max bytes of an instruction, behind which no memory can be read.  @end is the
 * end of the readable memory.
 */
static int decode_bytes_at_end(u8 *end, const struct encoding *e, unsigned int max,
			       struct patcher_insn *insn)
{
	memcpy(end - max, e->bytes, max);
	return patcher_insn_decode(end - max, max, insn);
}

static const char *insn_decoder_reads_no_other_bytes(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	u8 *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	struct patcher_insn insn;
	unsigned int i, max, wrong = 0;

	EXPECT(memory != MAP_FAILED && !mprotect(memory + page, page, PROT_NONE));
	for (i = 0; i < ARRAY_SIZE(known); i++)
		for (max = 0; max <= known[i].len; max++)
			wrong += decode_bytes_at_end(memory + page, &known[i], max, &insn) ?
				 max == known[i].len : insn.len > max;
	for (i = 0; i < ARRAY_SIZE(unknown); i++)
		wrong += !decode_bytes_at_end(memory + page, &unknown[i], unknown[i].len, &insn);
	munmap(memory, 2 * page);
	EXPECT(!wrong);
	return NULL;
}

static const char *insn_decodes_known_and_refuses_others(void)
{
	struct patcher_insn insn;
	unsigned int i, max;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		const struct encoding *e = &known[i];

		EXPECT(!patcher_insn_decode(e->bytes, sizeof(e->bytes), &insn));
		EXPECT(insn.len == e->len && insn.kind == e->kind);
		/* Truncated bytes are refused, or decoded as a shorter instruction. */
		for (max = 0; max < e->len; max++)
			EXPECT(patcher_insn_decode(e->bytes, max, &insn) || insn.len <= max);
	}
	for (i = 0; i < ARRAY_SIZE(unknown); i++)
		EXPECT(patcher_insn_decode(unknown[i].bytes, sizeof(unknown[i].bytes), &insn) ==
		       -EINVAL);
	return NULL;
}

#define SLOT(name)	offsetof(struct pt_regs, name)

/* Offsets of the registers in struct pt_regs, in the order of their numbers in instructions. */
static const unsigned int slots[16] = {
	SLOT(ax), SLOT(cx), SLOT(dx), SLOT(bx), SLOT(sp), SLOT(bp), SLOT(si), SLOT(di),
	SLOT(r8), SLOT(r9), SLOT(r10), SLOT(r11), SLOT(r12), SLOT(r13), SLOT(r14), SLOT(r15),
};

/*
 * Emulate mov of every size into register @reg, and compare all registers with the expected values.
 */
static const char *check_emulated_mov(unsigned int reg)
{
	static const u64 before = 0x1122334455667788ULL, imm = 0xf1e2d3c4b5a69788ULL;
	static const unsigned int sizes[] = { 1, 2, 4, 8 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		unsigned int size = sizes[i], at = 0;
		u64 mask = size == 8 ? ~0ULL : (1ULL << (8 * size)) - 1;
		u64 want = (size == 4 ? 0 : before & ~mask) | (imm & mask);
		struct pt_regs regs, expected;
		struct patcher_insn insn;
		u8 code[12];

		if (size == 2)
			code[at++] = 0x66;
		code[at++] = 0x40 | (size == 8 ? 8 : 0) | (reg >> 3);
		code[at++] = (size == 1 ? 0xb0 : 0xb8) | (reg & 7);
		memcpy(code + at, &imm, size);
		memset(&regs, 0x5a, sizeof(regs));
		memcpy((char *)&regs + slots[reg], &before, 8);
		expected = regs;
		memcpy((char *)&expected + slots[reg], &want, 8);
		expected.ip = 0x1000 + at + size;

		EXPECT(!patcher_insn_decode(code, at + size, &insn));
		patcher_insn_emulate(&insn, 0x1000, &regs);
		EXPECT(!memcmp(&regs, &expected, sizeof(regs)));
	}
	return NULL;
}

static const char *insn_emulates_mov(void)
{
	static const u8 high[] = { 0xb4, 0x99 };	/* mov $0x99,%ah */
	struct pt_regs regs = { .ax = 0x1111111111111111UL };
	struct patcher_insn insn;
	const char *failed = NULL;
	unsigned int reg;

	for (reg = 0; reg < 16 && !failed; reg++)
		failed = check_emulated_mov(reg);
	if (failed)
		return failed;
	EXPECT(!patcher_insn_decode(high, 2, &insn));
	patcher_insn_emulate(&insn, 0, &regs);
	EXPECT(regs.ax == 0x1111111111119911UL);
	return NULL;
}

/* Define cpu_setCC(flags), which returns the result of the CPU's setcc instruction. */
#define SETCC(cc)								\
	static bool cpu_set##cc(unsigned long flags)				\
	{									\
		u8 set;								\
										\
		asm volatile("push %1; popf; set" #cc " %0"			\
			     : "=q" (set) : "r" (flags) : "cc");		\
		return set;							\
	}

SETCC(o)
SETCC(no)
SETCC(b)
SETCC(ae)
SETCC(e)
SETCC(ne)
SETCC(be)
SETCC(a)
SETCC(s)
SETCC(ns)
SETCC(p)
SETCC(np)
SETCC(l)
SETCC(ge)
SETCC(le)
SETCC(g)

/* Return true if the CPU finds condition number @cond true with @flags. */
static bool is_cond_true_on_cpu(unsigned int cond, unsigned long flags)
{
	static bool (*const set[16])(unsigned long flags) = {
		cpu_seto, cpu_setno, cpu_setb, cpu_setae,
		cpu_sete, cpu_setne, cpu_setbe, cpu_seta,
		cpu_sets, cpu_setns, cpu_setp, cpu_setnp,
		cpu_setl, cpu_setge, cpu_setle, cpu_setg,
	};

	return set[cond](flags);
}

static const char *insn_emulates_jumps(void)
{
	static const u8 back[] = { 0xeb, 0xf0 };
	static const u8 call[] = { 0xe8, 0x00, 0x01, 0x00, 0x00 };
	static const u8 far[] = { 0xe9, 0x00, 0x00, 0x00, 0x80 };
	struct patcher_insn insn;
	unsigned int cond, bits;

	for (cond = 0; cond < 16; cond++) {
		for (bits = 0; bits < 32; bits++) {
			unsigned long flags = (bits & 1 ? X86_EFLAGS_CF : 0) |
				(bits & 2 ? X86_EFLAGS_PF : 0) | (bits & 4 ? X86_EFLAGS_ZF : 0) |
				(bits & 8 ? X86_EFLAGS_SF : 0) | (bits & 16 ? X86_EFLAGS_OF : 0);
			struct pt_regs regs = { .flags = flags | 2 };
			const u8 code[] = { 0x70 | cond, 0x20 };

			EXPECT(!patcher_insn_decode(code, 2, &insn));
			patcher_insn_emulate(&insn, 0x1000, &regs);
			EXPECT(regs.ip == (is_cond_true_on_cpu(cond, flags | 2) ? 0x1022 : 0x1002));
		}
	}
	{
		unsigned long stack[3] = { 1, 2, 3 };
		struct pt_regs regs = { 0 };

		EXPECT(!patcher_insn_decode(back, 2, &insn));
		patcher_insn_emulate(&insn, 0x1000, &regs);
		EXPECT(regs.ip == 0x1002 - 0x10);
		EXPECT(!patcher_insn_decode(call, 5, &insn));
		regs.sp = (unsigned long)&stack[2];
		patcher_insn_emulate(&insn, 0x1000, &regs);
		EXPECT(regs.ip == 0x1105 && regs.sp == (unsigned long)&stack[1]);
		EXPECT(stack[0] == 1 && stack[1] == 0x1005 && stack[2] == 3);
		EXPECT(!patcher_insn_decode(far, 5, &insn));
		patcher_insn_emulate(&insn, 0x100000000UL, &regs);
		EXPECT(regs.ip == 0x100000005UL - 0x80000000UL);
	}
	return NULL;
}

#define STATUS_FLAGS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | \
			 X86_EFLAGS_SF | X86_EFLAGS_OF)

/* Return the flags that the CPU sets when it compares the low @size bytes of @a with @b. */
static unsigned long read_flags_of_cmp_on_cpu(unsigned int size, u32 a, u32 b)
{
	unsigned long flags;

	if (size == 1)
		asm volatile("cmpb %b2, %b1; pushf; pop %0" : "=r" (flags) : "q" (a), "q" (b) : "cc");
	else
		asm volatile("cmpl %2, %1; pushf; pop %0" : "=r" (flags) : "r" (a), "r" (b) : "cc");
	return flags & STATUS_FLAGS;
}

/* Compare the emulation of a cmp, and of each conditional jump after the cmp, with the CPU. */
static const char *check_cmp_code(const u8 *code, unsigned int len, unsigned int slot,
				  unsigned int shift, u32 a, u32 b)
{
	struct pt_regs regs, expected;
	struct patcher_insn insn;
	unsigned int cond;
	u64 value = 0x5a5a5a5a5a5a5a5aULL;

	EXPECT(!patcher_insn_decode(code, len, &insn) && insn.len == len);
	memset(&regs, 0x5a, sizeof(regs));
	value = shift ? (value & ~0xff00ULL) | (a & 0xff) << shift : (value & ~0xffffffffULL) | a;
	memcpy((char *)&regs + slot, &value, sizeof(value));
	regs.flags = a & 1 ? ~0UL : ~STATUS_FLAGS;
	expected = regs;
	expected.flags = (regs.flags & ~STATUS_FLAGS) | read_flags_of_cmp_on_cpu(insn.size, a, b);
	expected.ip = 0x1000 + len;
	patcher_insn_emulate(&insn, 0x1000, &regs);
	EXPECT(!memcmp(&regs, &expected, sizeof(regs)));
	for (cond = 0; cond < 16; cond++) {
		const u8 jump[] = { 0x70 | cond, 0x20 };
		bool met = is_cond_true_on_cpu(cond, 2 | (regs.flags & STATUS_FLAGS));

		EXPECT(!patcher_insn_decode(jump, 2, &insn));
		patcher_insn_emulate(&insn, 0x1000, &regs);
		EXPECT(regs.ip == (met ? 0x1022 : 0x1002));
	}
	return NULL;
}

/* Emulate each encoding of cmp that compares @a with @b, with each register. */
static const char *check_emulated_cmp(u32 a, u32 b)
{
	const u8 al[] = { 0x3c, b }, eax[] = { 0x3d, b, b >> 8, b >> 16, b >> 24 };
	const char *failed = check_cmp_code(al, sizeof(al), slots[0], 0, a, b) ?:
			     check_cmp_code(eax, sizeof(eax), slots[0], 0, a, b);
	unsigned int reg;

	for (reg = 0; reg < 16 && !failed; reg++) {
		const u8 rex = 0x40 | reg >> 3, modrm = 0xf8 | (reg & 7);
		const u8 byte[] = { rex, 0x80, modrm, b };
		const u8 word[] = { rex, 0x81, modrm, b, b >> 8, b >> 16, b >> 24 };
		bool high = reg >= 4 && reg < 8;

		failed = check_cmp_code(byte, sizeof(byte), slots[reg], 0, a, b) ?:
			 check_cmp_code(word, sizeof(word), slots[reg], 0, a, b);
		/* Without REX, byte registers 4 to 7 are ah, ch, dh and bh. */
		if (!failed && reg < 8)
			failed = check_cmp_code(byte + 1, sizeof(byte) - 1, slots[reg & 3],
						high ? 8 : 0, a, b) ?:
				 check_cmp_code(word + 1, sizeof(word) - 1, slots[reg], 0, a, b);
	}
	return failed;
}

static const char *insn_emulates_cmp(void)
{
	static const u32 values[] = {
		0, 1, 2, 0x0f, 0x10, 0x3f, 0x40, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff, 0x100, 0x7fff,
		0x8000, 0x3fffffff, 0x40000000, 0x7fffff80, 0x7ffffffe, 0x7fffffff, 0x80000000,
		0x80000001, 0xfffffffe, 0xffffffff, 0x12345678, 0xdeadbeef,
	};
	const char *failed = NULL;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(values) && !failed; i++)
		for (j = 0; j < ARRAY_SIZE(values) && !failed; j++)
			failed = check_emulated_cmp(values[i], values[j]);
	return failed;
}

/* Check that patcher_is_common_insn(), a fast test of some encodings, agrees with the decoder. */
static const char *insn_fast_test_agrees_with_decoder(void)
{
	static const u8 some[][PATCHER_COMMON_LEN] = {
		{ 0x0f, 0x1f, 0x44 }, { 0xe8, 1, 2, 3, 4 }, { 0xe9, 1, 2, 3, 4 }, { 0xb8, 5 }, { 0xbf, 5 },
	};
	u8 bytes[PATCHER_INSN_MAX] = { 0 };
	struct patcher_insn insn;
	unsigned int i, len;

	for (i = 0; i < ARRAY_SIZE(some); i++)
		EXPECT(patcher_is_common_insn(some[i], PATCHER_COMMON_LEN));
	for (len = 0; len <= PATCHER_INSN_MAX; len++) {
		for (i = 0; i < 2U << 16; i++) {
			memcpy(bytes, &i, 2);
			bytes[2] = 0x44 + (i >> 16);
			if (patcher_is_common_insn(bytes, len))
				EXPECT(!patcher_insn_decode(bytes, len, &insn) && insn.len == len);
		}
	}
	return NULL;
}

static int parse_command(const char *text, enum bench_verb *verb, u64 *groups)
{
	char copy[64];

	strcpy(copy, text);
	return bench_parse_command(copy, verb, groups);
}

static const char *control_parses_commands(void)
{
	static const char *const bad[] = {
		"", " \n", "begin", "stop now", "reset empty-loop", "start nothing",
		"empty-loop start", "start start", "EMPTY-LOOP", "empty-loo",
	};
	enum bench_verb verb;
	unsigned int i;
	u64 groups;

	bench_groups_init();
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT(parse_command(bad[i], &verb, &groups) == -EINVAL);
	EXPECT(!parse_command("stop\n", &verb, &groups) && verb == BENCH_STOP);
	EXPECT(!parse_command("reset", &verb, &groups) && verb == BENCH_RESET);
	EXPECT(!parse_command("start", &verb, &groups) && verb == BENCH_START);
	EXPECT(groups == (1ULL << bench_nr_groups) - 1);
	EXPECT(!parse_command(" start  memcpy-4096\tempty-loop\n", &verb, &groups) && groups == 3);
	EXPECT(!parse_command("empty-loop", &verb, &groups) && verb == BENCH_START && groups == 1);
	return NULL;
}

const struct test_case pure_cases[] = {
	{ "insn_decodes_known_and_refuses_others", insn_decodes_known_and_refuses_others, NULL },
	{ "insn_decoder_reads_no_other_bytes", insn_decoder_reads_no_other_bytes, NULL },
	{ "insn_fast_test_agrees_with_decoder", insn_fast_test_agrees_with_decoder, NULL },
	{ "insn_emulates_mov", insn_emulates_mov, NULL },
	{ "insn_emulates_jumps", insn_emulates_jumps, NULL },
	{ "insn_emulates_cmp", insn_emulates_cmp, NULL },
	{ "control_parses_commands", control_parses_commands, NULL },
};

const unsigned int pure_nr_cases = ARRAY_SIZE(pure_cases);
