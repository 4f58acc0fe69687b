/* SPDX-License-Identifier: GPL-2.0-only */
/* Implementation of the sites of <kmarkers/sdt.h>, for each flavour. */
#ifndef KMARKERS_SDT_SITE_H
#define KMARKERS_SDT_SITE_H

#ifndef KMARKERS_SDT_H
#error "include <kmarkers/sdt.h> instead of this header"
#endif

/* In struct patcher_site.flags, the number of arguments begins at this bit. */
#define SDT_ARGS_SHIFT	8

#ifndef SDT_NOTES_ONLY
/*
 * Emit an instruction and its struct patcher_site.  The operands 0 to 2 of the asm statement are
 * the address of the probe or of the struct sdt_origin, the flavour, and the flags.
 */
#define __SDT_INSN(instruction)		__SDT_INSN_OF("%c0", instruction)

/* Do the same as __SDT_INSN(), with the operand or symbol @probe instead of operand 0. */
#define __SDT_INSN_OF(probe, instruction)				\
	"1:	" instruction "\n"					\
	"2:\n"								\
	KMARKERS_RECORD(sdt,						\
	"	.long 1b - ., " probe " - .\n"				\
	"	.byte 2b - 1b, %c1\n"					\
	"	.short %c2\n")

/*
 * Operands for the arguments of sites that a breakpoint arms: the first six are in the argument
 * registers of a call, the seventh is in rax.
 */
#define __SDT_IN_0
#define __SDT_IN_1		, "D" (a0)
#define __SDT_IN_2		__SDT_IN_1, "S" (a1)
#define __SDT_IN_3		__SDT_IN_2, "d" (a2)
#define __SDT_IN_4		__SDT_IN_3, "c" (a3)
#define __SDT_IN_5		__SDT_IN_4, "r" (r8)
#define __SDT_IN_6		__SDT_IN_5, "r" (r9)
#define __SDT_IN_7		__SDT_IN_6, "a" (a6)

#define __SDT_REGS_0
#define __SDT_REGS_1
#define __SDT_REGS_2
#define __SDT_REGS_3
#define __SDT_REGS_4
#define __SDT_REGS_5		register unsigned long r8 asm("r8") = a4;
#define __SDT_REGS_6		__SDT_REGS_5 register unsigned long r9 asm("r9") = a5;
#define __SDT_REGS_7		__SDT_REGS_6

#define __SDT_PARAMS_0
#define __SDT_PARAMS_1		, unsigned long a0
#define __SDT_PARAMS_2		__SDT_PARAMS_1, unsigned long a1
#define __SDT_PARAMS_3		__SDT_PARAMS_2, unsigned long a2
#define __SDT_PARAMS_4		__SDT_PARAMS_3, unsigned long a3
#define __SDT_PARAMS_5		__SDT_PARAMS_4, unsigned long a4
#define __SDT_PARAMS_6		__SDT_PARAMS_5, unsigned long a5
#define __SDT_PARAMS_7		__SDT_PARAMS_6, unsigned long a6

/*
 * Functions that call the handlers of a site that is armed by a jump, two for each number of
 * arguments: sdt_fire_counted_N() also counts the hit, for a site whose flavour is "breakpoint";
 * sdt_fire_N() is for a site of any other flavour.
 */
#define __SDT_DECLARE_FIRE(n)						\
	void sdt_fire_##n(const struct sdt_target *target __SDT_PARAMS_##n); \
	void sdt_fire_counted_##n(const struct sdt_target *target __SDT_PARAMS_##n)
__SDT_DECLARE_FIRE(0);
__SDT_DECLARE_FIRE(1);
__SDT_DECLARE_FIRE(2);
__SDT_DECLARE_FIRE(3);
__SDT_DECLARE_FIRE(4);
__SDT_DECLARE_FIRE(5);
__SDT_DECLARE_FIRE(6);
__SDT_DECLARE_FIRE(7);

#define __SDT_PASS_0
#define __SDT_PASS_1		, a0
#define __SDT_PASS_2		__SDT_PASS_1, a1
#define __SDT_PASS_3		__SDT_PASS_2, a2
#define __SDT_PASS_4		__SDT_PASS_3, a3
#define __SDT_PASS_5		__SDT_PASS_4, a4
#define __SDT_PASS_6		__SDT_PASS_5, a5
#define __SDT_PASS_7		__SDT_PASS_6, a6

/*
 * The target of a site: the code that the jump of the site leads to.  The first asm statement in a
 * target emits a struct sdt_target and loads the address of the struct.  This address identifies
 * the site of a hit.
 *
 * A compiler may copy a site with or without its target, and may merge the targets of several
 * copies.  sdt/copies.c finds the target of each site.  Copies that are inlined into one function
 * can be distinguished only if their targets are not merged.  gcc merges asm statements with equal
 * operands, so for gcc one operand is the address of the target's label, which differs between
 * copies.  clang merges no asm statements, and would not inline a function that uses the address of
 * a label.
 */
#ifdef __clang__
#define __SDT_COLD(label)	label:
#define __SDT_OPERAND(label)	"i" (0)
#else
#define __SDT_COLD(label)	label: __cold;
#define __SDT_OPERAND(label)	"i" (&&label)
#endif

#define __SDT_TARGET(target, origin, operand)				\
	asm volatile("1:	leaq 2f(%%rip), %0	# %2\n"	\
		     KMARKERS_RECORD(sdttarget,				\
		     "	.balign 8\n"					\
		     "2:	.quad 0\n"				\
		     "	.long 1b - ., %c1 - .\n")			\
		     : "=r" (target) : "i" (origin), operand)
#define __SDT_HERE(label, target, origin)				\
__SDT_COLD(label)							\
	__SDT_TARGET(target, origin, __SDT_OPERAND(label))

/*
 * Define the sites with @n arguments whose flavour is "breakpoint", "nop" or "split".  The
 * arguments are always in registers.  The sites clobber memory, because handlers may read the
 * memory that arguments point to.
 */
#define __SDT_EAGER(n)							\
static __always_inline void						\
__sdt_breakpoint_##n(struct sdt_origin *origin __SDT_PARAMS_##n)	\
{									\
	const struct sdt_target *target;				\
									\
	{								\
		__SDT_REGS_##n						\
		asm goto(__SDT_INSN(KMARKERS_BRANCH("%l[on]"))		\
			 : : "i" (origin), "i" (SDT_BREAKPOINT),	\
			     "i" ((n) << SDT_ARGS_SHIFT) __SDT_IN_##n	\
			 : "memory" : on);				\
	}								\
	return;								\
	__SDT_HERE(on, target, origin);					\
	sdt_fire_counted_##n(target __SDT_PASS_##n);			\
}									\
									\
static __always_inline void						\
__sdt_nop_##n(const struct sdt_probe *probe __SDT_PARAMS_##n)		\
{									\
	__SDT_REGS_##n							\
	asm volatile(__SDT_INSN("nop")					\
		     : : "i" (probe), "i" (SDT_NOP),			\
			 "i" ((n) << SDT_ARGS_SHIFT) __SDT_IN_##n : "memory"); \
}									\
									\
static __always_inline void						\
__sdt_split_##n(const struct sdt_probe *probe __SDT_PARAMS_##n)		\
{									\
	__SDT_REGS_##n							\
	asm volatile(__SDT_INSN(".byte 0x0f, 0x1f, 0x00")		\
		     "	.byte 0x66, 0x90\n"				\
		     : : "i" (probe), "i" (SDT_SPLIT),			\
			 "i" ((n) << SDT_ARGS_SHIFT) __SDT_IN_##n : "memory"); \
}

__SDT_EAGER(0)
__SDT_EAGER(1)
__SDT_EAGER(2)
__SDT_EAGER(3)
__SDT_EAGER(4)
__SDT_EAGER(5)
__SDT_EAGER(6)
__SDT_EAGER(7)

/* Cast arguments to unsigned long. */
#define __SDT_WORD(a)			(unsigned long)(a)
#define __SDT_WORDS_0()
#define __SDT_WORDS_1(a)		, __SDT_WORD(a)
#define __SDT_WORDS_2(a, b...)		, __SDT_WORD(a) __SDT_WORDS_1(b)
#define __SDT_WORDS_3(a, b...)		, __SDT_WORD(a) __SDT_WORDS_2(b)
#define __SDT_WORDS_4(a, b...)		, __SDT_WORD(a) __SDT_WORDS_3(b)
#define __SDT_WORDS_5(a, b...)		, __SDT_WORD(a) __SDT_WORDS_4(b)
#define __SDT_WORDS_6(a, b...)		, __SDT_WORD(a) __SDT_WORDS_5(b)
#define __SDT_WORDS_7(a, b...)		, __SDT_WORD(a) __SDT_WORDS_6(b)

#endif /* SDT_NOTES_ONLY */

/*
 * True if a probe is defined with @n arguments, or is only declared: then the array __sdt_args_ID
 * has no length, and is compatible with an array of any length.
 */
#define __SDT_HAS_ARGS(id, n)						\
	__builtin_types_compatible_p(__typeof__(__sdt_args_##id), char[(n) + 1])
/* A site may pass fewer arguments than its probe has, as in FreeBSD, but at least one. */
#define __SDT_TAKES_7(id)	__SDT_HAS_ARGS(id, 7)
#define __SDT_TAKES_6(id)	(__SDT_HAS_ARGS(id, 6) || __SDT_TAKES_7(id))
#define __SDT_TAKES_5(id)	(__SDT_HAS_ARGS(id, 5) || __SDT_TAKES_6(id))
#define __SDT_TAKES_4(id)	(__SDT_HAS_ARGS(id, 4) || __SDT_TAKES_5(id))
#define __SDT_TAKES_3(id)	(__SDT_HAS_ARGS(id, 3) || __SDT_TAKES_4(id))
#define __SDT_TAKES_2(id)	(__SDT_HAS_ARGS(id, 2) || __SDT_TAKES_3(id))
#define __SDT_TAKES_1(id)	(__SDT_HAS_ARGS(id, 1) || __SDT_TAKES_2(id))
/* A site may pass no argument only if its probe is defined without arguments. */
#define __SDT_TAKES_0(id)	__SDT_HAS_ARGS(id, 0)

#define __SDT_CHECK(when, id, n, args...)				\
	_Static_assert(!(when) || (n) || __SDT_TAKES_0(id),		\
		       "the site passes no arguments, but the probe was defined with arguments"); \
	_Static_assert(!(when) || !(n) || __SDT_TAKES_##n(id),		\
		       "the site passes more arguments than the probe was defined with");	\
	__SDT_CHECK_KINDS_##n(when, id, ## args)			\
	if (0)								\
		__sdt_check_##id(0, ## args)

/*
 * Each site uses the constant that is named after its flavour.  For an unknown flavour, the
 * compiler reports that the constant, whose name contains the flavour, is undeclared.
 */
enum {
#ifndef SDT_NOTES_ONLY
	__SDT_HAS_jump,
	__SDT_HAS_breakpoint,
	__SDT_HAS_nop,
	__SDT_HAS_split,
#endif
	__SDT_HAS_note,
};

#define __SDT_SITE(flavour, id, prov, name, n, args...)			\
	__SDT_SITE_IF(1, flavour, id, prov, name, n, ## args)
/* Emit a site if the constant @when is true; emit nothing if it is false. */
#define __SDT_SITE_IF(when, flavour, id, prov, name, n, args...)	\
do {									\
	__SDT_CHECK(when, id, n, ## args);				\
	(void)__SDT_HAS_##flavour;					\
	if (when)							\
		__SDT_SITE_##flavour(id, prov, name, n, ## args);	\
} while (0)

#ifndef SDT_NOTES_ONLY
/*
 * clang before 17 assumes that an asm goto statement may jump to the labels of every asm goto
 * statement in the function.  clang refuses such a jump into the scope of a variable that has a
 * cleanup or a variable length.  So the asm goto statement of a site is in a function of its own.
 */
#ifdef __clang__
static __always_inline bool __sdt_is_on(struct sdt_origin *origin, int flags)
{
	asm goto(__SDT_INSN(KMARKERS_BRANCH("%l[on]"))
		 : : "i" (origin), "i" (SDT_JUMP), "i" (flags) : : on);
	return false;
on:
	return true;
}

#define __SDT_SITE_jump(id, prov, name, n, args...)			\
do {									\
	static struct sdt_origin __sdt_origin = { &(id) };		\
									\
	if (unlikely(__sdt_is_on(&__sdt_origin, (n) << SDT_ARGS_SHIFT))) { \
		const struct sdt_target *__sdt_target;			\
									\
		__SDT_TARGET(__sdt_target, &__sdt_origin, "i" (0));	\
		sdt_fire_##n(__sdt_target __SDT_WORDS_##n(args));		\
	}								\
} while (0)
#else
#define __SDT_SITE_jump(id, prov, name, n, args...)			\
do {									\
	__label__ __sdt_on, __sdt_off;					\
	static struct sdt_origin __sdt_origin = { &(id) };		\
	const struct sdt_target *__sdt_target;				\
									\
	asm goto(__SDT_INSN(KMARKERS_BRANCH("%l[__sdt_on]"))		\
		 : : "i" (&__sdt_origin), "i" (SDT_JUMP),		\
		     "i" ((n) << SDT_ARGS_SHIFT) : : __sdt_on);		\
	goto __sdt_off;							\
	__SDT_HERE(__sdt_on, __sdt_target, &__sdt_origin);		\
	sdt_fire_##n(__sdt_target __SDT_WORDS_##n(args));			\
__sdt_off: ;								\
} while (0)
#endif

#define __SDT_SITE_breakpoint(id, prov, name, n, args...)		\
do {									\
	static struct sdt_origin __sdt_origin = { &(id) };		\
									\
	__sdt_breakpoint_##n(&__sdt_origin __SDT_WORDS_##n(args));	\
} while (0)
#define __SDT_SITE_nop(id, prov, name, n, args...)			\
	__sdt_nop_##n(&id __SDT_WORDS_##n(args))
#define __SDT_SITE_split(id, prov, name, n, args...)			\
	__sdt_split_##n(&id __SDT_WORDS_##n(args))
#endif

#include <kmarkers/sdt_note.h>

#endif /* KMARKERS_SDT_SITE_H */
