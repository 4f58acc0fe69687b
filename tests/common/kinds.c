// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code with patch sites for every kind of instruction, for stress tests that change the sites while
 * all CPUs execute the code.  Each function execute_*() executes some sites, and returns a number
 * that shows which instruction each site held.
 */
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/stringify.h>
#include <linux/string.h>

#include "kinds.h"

#ifdef __KERNEL__
#include <asm/asm.h>
#else
#define ASM_CALL_CONSTRAINT	"+r" (unused)
#endif

#define NR_NOPS		6
#define NR_REGS		16
#define NR_COMPARISONS	7

/* Define the symbols test_NAME and test_NAME_end around the records that SITE(NAME, ...) adds. */
#define RECORDS(name)							\
asm(".pushsection .discard_test_" #name ", 0, \"aw\", @progbits\n"	\
	"	.balign 4\n"						\
	"	.globl test_" #name ", test_" #name "_end\n"		\
	"test_" #name ":\n"						\
	".popsection\n"							\
	".pushsection .discard_test_" #name ", 2, \"aw\", @progbits\n"	\
	"test_" #name "_end:\n"						\
	".popsection\n")

/* Emit the instruction @bytes, and the struct kinds_record that describes this site. */
#define SITE(name, kind, bytes)						\
	"77:	.byte " bytes "\n"					\
	".pushsection .discard_test_" #name ", 1, \"aw\", @progbits\n"	\
	"	.long 77b - ., " __stringify(kind) "\n"			\
	".popsection\n"

/* The values of enum kind as macros, for assembly. */
#define ASM_JMP32	0
#define ASM_JMP8	1
#define ASM_JCC8	2
#define ASM_JCC32	3
#define ASM_MOV8	4
#define ASM_MOV16	5
#define ASM_MOV32	6
#define ASM_MOV64	7
#define ASM_CALL32	8
#define ASM_NOP		9
#define ASM_REG		16
#define ASM_JCC		32
#define ASM_NEAR	48
#define ASM_CMP		64
#define ASM_RUN		80

RECORDS(kinds);
RECORDS(many);
RECORDS(runs);
RECORDS(prefixes);

/*
 * Emit @copies copies of four sites.  Behind each site is an instruction that adds @step to a
 * register; each of the four sites has its own register.  A site that holds a jump skips the add.
 * The add has three bytes: 83, the register and @step.
 */
#define ADD(reg, step)	"	.byte 0x83, " reg ", " step "\n"

#define ADD_UNLESS_JUMPED(name, copies, step)				\
({									\
	u32 a = 0, c = 0, d = 0, s = 0;					\
									\
	asm volatile(".set test_copy, 0\n"				\
		     ".rept " __stringify(copies) "\n"			\
		     SITE(name, ASM_JMP32, "0x0f, 0x1f, 0x44, 0, 0")	\
		     ADD("0xc0", step)					\
		     SITE(name, ASM_JMP8, "0x66, 0x90")			\
		     ADD("0xc1", step)					\
		     "	cmpl %%eax, %%eax\n"				\
		     SITE(name, ASM_JCC8, "0x66, 0x90")			\
		     ADD("0xc2", step)					\
		     "	cmpl %%eax, %%eax\n"				\
		     SITE(name, ASM_JCC32, "0x66, 0x0f, 0x1f, 0x44, 0, 0") \
		     ADD("0xc6", step)					\
		     ".set test_copy, test_copy + 1\n"			\
		     ".endr\n"						\
		     : "+a" (a), "+c" (c), "+d" (d), "+S" (s) : : "cc"); \
	a | (u64)c << 16 | (u64)d << 32 | (u64)s << 48;			\
})

/*
 * Return two bits for each copy of a site: the number of times that the add behind the site was
 * executed.  With two bits, the result also shows an add that was executed twice.
 */
static noinline u64 execute_branches(void)
{
	return ADD_UNLESS_JUMPED(kinds, KINDS_COPIES, "1 << (2 * test_copy)");
}

static noinline u64 execute_many_branches(void)
{
	return ADD_UNLESS_JUMPED(many, MANY_COPIES, "1");
}

#define CONDITION(kind, c, first, rest)					\
	"	movb $0x7f, %%al\n"					\
	"	addb %%cl, %%al\n"					\
	"	sahf\n"							\
	SITE(kinds, kind + 0x ## c, first " + 0x" #c ", 5" rest)	\
	"	btsq $0x" #c ", %%rdx\n"

#define CONDITIONS(kind, first, rest)					\
	CONDITION(kind, 0, first, rest) CONDITION(kind, 1, first, rest)	\
	CONDITION(kind, 2, first, rest) CONDITION(kind, 3, first, rest)	\
	CONDITION(kind, 4, first, rest) CONDITION(kind, 5, first, rest)	\
	CONDITION(kind, 6, first, rest) CONDITION(kind, 7, first, rest)	\
	CONDITION(kind, 8, first, rest) CONDITION(kind, 9, first, rest)	\
	CONDITION(kind, a, first, rest) CONDITION(kind, b, first, rest)	\
	CONDITION(kind, c, first, rest) CONDITION(kind, d, first, rest)	\
	CONDITION(kind, e, first, rest) CONDITION(kind, f, first, rest)

/*
 * Execute 16 short jumps, one for each condition.  sahf loads @flags, and an add of @overflow sets
 * the overflow flag.  Behind each jump is a btsq of 5 bytes that sets a bit of the result; a jump
 * that is taken skips the btsq.
 */
static noinline u64 execute_short_jumps(u8 flags, u8 overflow)
{
	u64 a = (u64)flags << 8, d = 0;

	asm volatile(CONDITIONS(ASM_JCC, "0x70", "")
		     : "+a" (a), "+d" (d) : "c" (overflow) : "cc");
	return d;
}

/* Do the same as execute_short_jumps(), with near jumps of 6 bytes. */
static noinline u64 execute_near_jumps(u8 flags, u8 overflow)
{
	u64 a = (u64)flags << 8, d = 0;

	asm volatile(CONDITIONS(ASM_NEAR, "0x0f, 0x80", ", 0, 0, 0")
		     : "+a" (a), "+d" (d) : "c" (overflow) : "cc");
	return d;
}

/* Bits of the CPU flags in the byte that sahf loads into the flags register. */
#define ZF	0x40
#define SF	0x80
#define PF	0x04
#define CF	0x01

/*
 * Three patterns of flags.  Each condition is true with some of the patterns and false with others.
 */
static const struct {
	u8 flags, overflow;
} patterns[] = { { 0, 0 }, { SF | ZF | PF | CF, 1 }, { SF | CF, 0 } };

/*
 * Return true if a conditional jump with the condition code @condition is taken when the flags are
 * @flags and @overflow.
 */
static bool is_condition_met(unsigned int condition, u8 flags, bool overflow)
{
	bool less = !!(flags & SF) != overflow;
	bool met[] = {
		overflow, flags & CF, flags & ZF, flags & (CF | ZF),
		flags & SF, flags & PF, less, less || flags & ZF,
	};

	/* The condition with the code 2n + 1 is the negation of the condition with the code 2n. */
	return met[condition / 2] != (condition & 1);
}

/* Return 0 if @value equals @first, 1 if @value equals @second, else 2. */
static u64 compare_with_two(u64 value, u64 first, u64 second)
{
	return value == first ? 0 : value == second ? 1 : 2;
}

/* Load constants of every size.  Return two bits for each site: see compare_with_two(). */
static noinline u64 execute_constant_loads(void)
{
	u64 a = 0, b = 0, c = 0, d = 0;

	asm volatile("xorl %%ecx, %%ecx\n\t"
		     "xorl %%edx, %%edx\n"
		     SITE(kinds, ASM_MOV8, "0xb6, 0x11")
		     SITE(kinds, ASM_MOV16, "0x66, 0xb9, 0x11, 0x22")
		     SITE(kinds, ASM_MOV32, "0x41, 0xb9, 1, 2, 3, 4")
		     SITE(kinds, ASM_MOV64, "0x49, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8")
		     "movq %%rdx, %0\n\t"
		     "movq %%rcx, %1\n\t"
		     "movq %%r9, %2\n\t"
		     "movq %%r11, %3"
		     : "=r" (a), "=r" (b), "=r" (c), "=r" (d) : : "rcx", "rdx", "r9", "r11", "cc");
	/* The first site loads dh, which is bits 8 to 15 of rdx. */
	return compare_with_two(a, 0x1100, 0xee00) | compare_with_two(b, 0x2211, 0xddee) << 2 |
	       compare_with_two(c, 0x04030201, 0x08070605) << 4 |
	       compare_with_two(d, 0x0807060504030201, 0x0203040506070809) << 6;
}

#define READ_REG(seen, nr, name, first)					\
do {									\
	register u64 value asm(name);					\
									\
	asm volatile(SITE(kinds, ASM_REG + nr, first ", 0x44, 0x33, 0x22, 0x11") : "=r" (value)); \
	(seen) |= compare_with_two(value, 0x11223344, 0xeeddccbb) << (2 * (nr));		\
} while (0)

/*
 * Load a constant into each register but rsp and rbp.  Return two bits for each site: see
 * compare_with_two().
 */
static noinline u64 execute_register_loads(void)
{
	u64 seen = 0;

	READ_REG(seen, 0, "rax", "0xb8");
	READ_REG(seen, 1, "rcx", "0xb9");
	READ_REG(seen, 2, "rdx", "0xba");
	READ_REG(seen, 3, "rbx", "0xbb");
	READ_REG(seen, 6, "rsi", "0xbe");
	READ_REG(seen, 7, "rdi", "0xbf");
	READ_REG(seen, 8, "r8", "0x41, 0xb8");
	READ_REG(seen, 9, "r9", "0x41, 0xb9");
	READ_REG(seen, 10, "r10", "0x41, 0xba");
	READ_REG(seen, 11, "r11", "0x41, 0xbb");
	READ_REG(seen, 12, "r12", "0x41, 0xbc");
	READ_REG(seen, 13, "r13", "0x41, 0xbd");
	READ_REG(seen, 14, "r14", "0x41, 0xbe");
	READ_REG(seen, 15, "r15", "0x41, 0xbf");
	return seen;
}

/*
 * Compare a register whose bytes are all 0x80.  The site holds a comparison with bytes 0x7f, which
 * sets AF and OF, or a comparison with bytes 0x80, which sets ZF and PF.  lahf loads SF ZF AF PF
 * CF, and bit 1 of the flags, which is always set.
 */
#define COMPARE_REG(seen, nr, name, bytes)				\
do {									\
	register u64 value asm(name) = 0x8080808080808080ULL;		\
	u16 flags;							\
									\
	asm volatile(SITE(kinds, ASM_CMP + nr, bytes)			\
		     "	lahf\n"						\
		     "	seto %%al\n"					\
		     : "=a" (flags) : "r" (value) : "cc");		\
	(seen) |= compare_with_two(flags, 0x1201, 0x4600) << (2 * (nr));	\
} while (0)

/* Compare registers with constants.  Return two bits for each site: see compare_with_two(). */
static noinline u64 execute_comparisons(void)
{
	u64 seen = 0;

	COMPARE_REG(seen, 0, "rax", "0x3c, 0x7f");
	COMPARE_REG(seen, 1, "rax", "0x3d, 0x7f, 0x7f, 0x7f, 0x7f");
	COMPARE_REG(seen, 2, "rdx", "0x80, 0xfa, 0x7f");
	COMPARE_REG(seen, 3, "rbx", "0x80, 0xff, 0x7f");
	COMPARE_REG(seen, 4, "rsi", "0x40, 0x80, 0xfe, 0x7f");
	COMPARE_REG(seen, 5, "rcx", "0x81, 0xf9, 0x7f, 0x7f, 0x7f, 0x7f");
	COMPARE_REG(seen, 6, "r9", "0x41, 0x81, 0xf9, 0x7f, 0x7f, 0x7f, 0x7f");
	return seen;
}

/*
 * Execute nops of 1, 3, 4, 7, 8 and 9 bytes, each followed by an increment.  Return the number of
 * increments.
 */
static noinline u64 execute_nops(void)
{
	u64 a = 0;

	asm volatile(SITE(kinds, ASM_NOP, "0x90")
		     "	incl %%eax\n"
		     SITE(kinds, ASM_NOP + 1, "0x0f, 0x1f, 0")
		     "	incl %%eax\n"
		     SITE(kinds, ASM_NOP + 2, "0x0f, 0x1f, 0x40, 0")
		     "	incl %%eax\n"
		     SITE(kinds, ASM_NOP + 3, "0x0f, 0x1f, 0x80, 0, 0, 0, 0")
		     "	incl %%eax\n"
		     SITE(kinds, ASM_NOP + 4, "0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0")
		     "	incl %%eax\n"
		     SITE(kinds, ASM_NOP + 5, "0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0")
		     "	incl %%eax\n"
		     : "+a" (a) : : "cc");
	return a;
}

#ifdef __KERNEL__
noinline u64 kinds_increment(u64 value)
{
	return value + 1;
}

/*
 * Execute sites that are nops or calls of kinds_increment(), and return the number of calls.  Calls
 * are tested only in the kernel: in user space, emulating a call would overwrite the red zone.
 */
static noinline u64 execute_calls(void)
{
	u64 a = 0, di;

	asm volatile(".rept " __stringify(KINDS_COPIES) "\n"
		     "	movq %%rax, %%rdi\n"
		     SITE(kinds, ASM_CALL32, "0x0f, 0x1f, 0x44, 0, 0")
		     ".endr\n"
		     : "+a" (a), "=D" (di), ASM_CALL_CONSTRAINT : : "rcx", "rdx", "rsi", "r8", "r9",
		       "r10", "r11", "memory", "cc");
	return a;
}
#else
u64 kinds_increment(u64 value)
{
	return value;
}

static u64 execute_calls(void)
{
	return 0;
}
#endif

noinline u64 kinds_execute_multi_insn_sites(void)
{
	u32 a = 0;

	asm volatile(".rept " __stringify(RUN_PASSES) "\n"
		     SITE(runs, ASM_RUN, __stringify(RUN_BYTES))
		     "	incl %%eax\n"
		     ".endr\n"
		     : "+a" (a) : : "cc");
	return a;
}

noinline u32 kinds_add_locked(u32 *counter)
{
	u32 one = 1;

	asm volatile(SITE(prefixes, 0, "0xf0")
		     "	xaddl %0, %1\n"
		     : "+r" (one), "+m" (*counter) : : "cc", "memory");
	return one;
}

noinline u32 kinds_add_unlocked(u32 *counter)
{
	u32 one = 1;

	asm volatile(SITE(prefixes, 1, "0x3e")
		     "	xaddl %0, %1\n"
		     : "+r" (one), "+m" (*counter) : : "cc", "memory");
	return one;
}

u64 kinds_execute_pass(enum kinds_pass pass)
{
	switch (pass) {
	case PASS_BRANCHES:
		return execute_branches();
	case PASS_MOVES:
		return execute_constant_loads();
	case PASS_CALLS:
		return execute_calls();
	case PASS_NOPS:
		return execute_nops();
	case PASS_REGISTERS:
		return execute_register_loads();
	case PASS_COMPARISONS:
		return execute_comparisons();
	case PASS_MANY:
		return execute_many_branches();
	default:
		if (pass >= PASS_NEAR)
			return execute_near_jumps(patterns[pass - PASS_NEAR].flags,
						  patterns[pass - PASS_NEAR].overflow);
		return execute_short_jumps(patterns[pass - PASS_SHORT].flags,
					   patterns[pass - PASS_SHORT].overflow);
	}
}

/*
 * Return the number that a site of @kind adds to the result of @pass, a function that executes
 * sites.  @number is the number of sites of the same kind before this site; @second is true if the
 * site holds its second instruction.
 */
static u64 compute_site_contribution(enum kinds_pass pass, int kind, unsigned int number,
				     bool second)
{
	unsigned int pattern = (pass - PASS_SHORT) % 3;

	switch (pass) {
	case PASS_BRANCHES:
		return kind <= JCC32 && !second ? 1ULL << (16 * kind + 2 * number) : 0;
	case PASS_MANY:
		return kind <= JCC32 && !second ? 1ULL << (16 * kind) : 0;
	case PASS_MOVES:
		return kind >= MOV8 && kind <= MOV64 && second ? 1ULL << (2 * (kind - MOV8)) : 0;
	case PASS_CALLS:
		return kind == CALL32 && second ? kinds_increment(0) : 0;
	case PASS_NOPS:
		return kind >= NOP && kind < NOP + NR_NOPS;
	case PASS_COMPARISONS:
		return kind >= CMP && kind < RUN && second ? 1ULL << (2 * (kind - CMP)) : 0;
	case PASS_REGISTERS:
		return kind >= REG && kind < JCC && second ? 1ULL << (2 * (kind - REG)) : 0;
	default:
		kind -= pass >= PASS_NEAR ? NEAR : JCC;
		return kind >= 0 && kind < 16 &&
		       !is_condition_met(kind ^ second, patterns[pattern].flags,
					 patterns[pattern].overflow) ?
		       1ULL << kind : 0;
	}
}

u64 kinds_compute_expected_result(enum kinds_pass pass, const struct kinds_record *records,
				  unsigned int nr, const u8 *state)
{
	unsigned int before[RUN + 1] = { 0 }, i;
	u64 sum = 0;

	for (i = 0; i < nr; i++)
		sum += compute_site_contribution(pass, records[i].kind, before[records[i].kind]++,
						 state[i]);
	return sum;
}

bool kinds_is_possible_result(enum kinds_pass pass, u64 seen)
{
	unsigned int i;

	switch (pass) {
	case PASS_BRANCHES:
		return !(seen & ~0x0055005500550055ULL);
	case PASS_MOVES:
		return !(seen & ~0x55ULL);
	case PASS_CALLS:
		return seen <= KINDS_COPIES;
	case PASS_NOPS:
		return seen == NR_NOPS;
	case PASS_REGISTERS:
		return !(seen & ~0x55555555ULL);
	case PASS_COMPARISONS:
		return !(seen >> (2 * NR_COMPARISONS)) && !(seen & ~0x5555ULL);
	case PASS_MANY:
		for (i = 0; i < 64; i += 16)
			if ((seen >> i & 0xffff) > MANY_COPIES)
				return false;
		return true;
	default:
		return !(seen >> 16);
	}
}
