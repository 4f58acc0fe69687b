/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notes: sites without an instruction of their own. <kmarkers/sdt.h> describes them as the flavour
 * "note".
 *
 * In a module, a note is a record of 16 bytes, struct sdt_note_record.  The locations of its
 * arguments are encoded as instructions that are never executed, in a section of their own.  For
 * each argument, this section has a byte with the argument's size, negative for a signed type, and
 * a mov of the argument to %rax.
 *
 * In user space, a note is an ELF note for tracers.  Its format is version 3 of
 * https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation: the address of the site, the
 * address of a section that a prelinker moves together with the code, and 0 for no semaphore; then
 * the provider, the name, and for each argument its size, negative for a signed type, and its
 * operand in assembler syntax.
 */
#ifndef KMARKERS_SDT_NOTE_H
#define KMARKERS_SDT_NOTE_H

#ifndef KMARKERS_SDT_H
#error "include <kmarkers/sdt.h> instead of this header"
#endif

/* A test program that defines SDT_NOTES_OF_MODULES has notes in the format of modules. */
#if defined(__KERNEL__) || defined(SDT_NOTES_OF_MODULES)
#define __SDT_NOTE_IS_RECORD
KMARKERS_CHUNK(sdtnote, sdt_tables_need_sdt, 16);

/* Asm constraint for constant arguments; "i" also accepts addresses of the module's objects. */
#define __SDT_NOTE_CONSTANT		"i"
#else
#define __SDT_NOTE_CONSTANT		"n"
#endif

/* Convert an argument to a value: the comma operator converts an array to a pointer. */
#define __SDT_NOTE_RAW(a)		((void)0, (a))

/*
 * The type to which an argument is converted before it is passed.  gcc gives a bit-field a type of
 * its own, which is not in the list below, so a bit-field is converted to long long.  A pointer
 * keeps its type.  Arguments that are neither integers nor pointers do not compile.
 */
#define __SDT_NOTE_TYPE(a)						\
	__typeof__(_Generic(__SDT_NOTE_RAW(a),				\
		 _Bool: (_Bool)0, char: (char)0, signed char: (signed char)0, \
		 unsigned char: (unsigned char)0, short: (short)0,	\
		 unsigned short: (unsigned short)0, int: 0, unsigned int: 0U, \
		 long: 0L, unsigned long: 0UL, long long: 0LL,		\
		 unsigned long long: 0ULL,				\
		 float: (void)0, double: (void)0,			\
		 long double: (void)0, default: 1 ? __SDT_NOTE_RAW(a) : 0LL))

/*
 * Convert an argument to its type.  Under sparse, do not convert it, because sparse would warn
 * about 0LL as a null pointer.
 */
#ifdef __CHECKER__
#define __SDT_NOTE_VALUE(a)		__SDT_NOTE_RAW(a)
#else
#define __SDT_NOTE_VALUE(a)		((__SDT_NOTE_TYPE(a))(a))
#endif

#define __SDT_NOTE_SIZE(a)						\
	_Generic(__SDT_NOTE_VALUE(a),					\
		 _Bool: 1, char: -1, signed char: -1, unsigned char: 1,	\
		 short: -2, unsigned short: 2, int: -4, unsigned int: 4, \
		 long: -8, long long: -8, default: 8)

/*
 * Constraint of an argument: a constant, a register or, in modules compiled by gcc, memory.  For
 * clang, memory is not allowed, because clang would store every argument in memory.  In user space,
 * memory is not allowed, because tracers may not find an argument there: gdb cannot read a static
 * or thread-local variable, and other tracers look a variable up by its name, which may not be
 * unique.
 */
#if defined(__clang__) || !defined(__SDT_NOTE_IS_RECORD)
#define __SDT_NOTE_OPERAND		__SDT_NOTE_CONSTANT "r"
#else
#define __SDT_NOTE_OPERAND		__SDT_NOTE_CONSTANT "or"
#endif

/*
 * gdb does not support the names %r8b to %r15b.  So in user space, an argument of one byte is
 * passed in a 32-bit register; the size of the argument in the SDT note is 1 nevertheless.
 */
#if defined(__SDT_NOTE_IS_RECORD) || defined(__CHECKER__)
#define __SDT_NOTE_WORD(a)		__SDT_NOTE_VALUE(a)
#else
#define __SDT_NOTE_WORD(a)						\
	((__typeof__(_Generic(__SDT_NOTE_VALUE(a),			\
		 _Bool: 0, char: 0, signed char: 0,			\
		 unsigned char: 0, default: __SDT_NOTE_VALUE(a))))__SDT_NOTE_VALUE(a))
#endif

#define __SDT_NOTE_IN(a)						\
	"n" (__SDT_NOTE_SIZE(a)), __SDT_NOTE_OPERAND (__SDT_NOTE_WORD(a))
#define __SDT_NOTE_IN_0()
#define __SDT_NOTE_IN_1(a)		__SDT_NOTE_IN(a)
#define __SDT_NOTE_IN_2(a, b...)	__SDT_NOTE_IN(a), __SDT_NOTE_IN_1(b)
#define __SDT_NOTE_IN_3(a, b...)	__SDT_NOTE_IN(a), __SDT_NOTE_IN_2(b)
#define __SDT_NOTE_IN_4(a, b...)	__SDT_NOTE_IN(a), __SDT_NOTE_IN_3(b)
#define __SDT_NOTE_IN_5(a, b...)	__SDT_NOTE_IN(a), __SDT_NOTE_IN_4(b)
#define __SDT_NOTE_IN_6(a, b...)	__SDT_NOTE_IN(a), __SDT_NOTE_IN_5(b)
#define __SDT_NOTE_IN_7(a, b...)	__SDT_NOTE_IN(a), __SDT_NOTE_IN_6(b)

#ifdef __SDT_NOTE_IS_RECORD
#define __SDT_NOTE_CODE(size, value)					\
	"	.byte %c" #size "\n"					\
	"	movq %q" #value ", %%rax\n"
#define __SDT_NOTE_CODES_0
#define __SDT_NOTE_CODES_1		__SDT_NOTE_CODE(0, 1)
#define __SDT_NOTE_CODES_2		__SDT_NOTE_CODES_1 __SDT_NOTE_CODE(2, 3)
#define __SDT_NOTE_CODES_3		__SDT_NOTE_CODES_2 __SDT_NOTE_CODE(4, 5)
#define __SDT_NOTE_CODES_4		__SDT_NOTE_CODES_3 __SDT_NOTE_CODE(6, 7)
#define __SDT_NOTE_CODES_5		__SDT_NOTE_CODES_4 __SDT_NOTE_CODE(8, 9)
#define __SDT_NOTE_CODES_6		__SDT_NOTE_CODES_5 __SDT_NOTE_CODE(10, 11)
#define __SDT_NOTE_CODES_7		__SDT_NOTE_CODES_6 __SDT_NOTE_CODE(12, 13)

#define __SDT_SITE_note(id, prov, name, n, args...)			\
	asm volatile("1:\n"						\
		KMARKERS_RECORD(sdtnote,				\
		"	.long 1b - ., %c[probe] - .\n"			\
		"	.byte 0, %c[flavour]\n"				\
		"	.short %c[flags]\n"				\
		"	.long 2f - .\n")				\
		"	.pushsection " KMARKERS_SECTION(sdtnote) "_codes, \"aw\", @progbits\n" \
		"2:\n"							\
		__SDT_NOTE_CODES_##n					\
		"	.popsection\n"					\
		: : __SDT_NOTE_IN_##n(args) __SDT_NOTE_COMMA_##n	\
		    [probe] "i" (&id), [flavour] "i" (SDT_NOTE),	\
		    [flags] "i" ((n) << SDT_ARGS_SHIFT))

#define __SDT_NOTE_COMMA_0
#define __SDT_NOTE_COMMA_1		,
#define __SDT_NOTE_COMMA_2		,
#define __SDT_NOTE_COMMA_3		,
#define __SDT_NOTE_COMMA_4		,
#define __SDT_NOTE_COMMA_5		,
#define __SDT_NOTE_COMMA_6		,
#define __SDT_NOTE_COMMA_7		,
#else
#define __SDT_NOTE_TEXT_0
#define __SDT_NOTE_TEXT_1		"%c0@%1"
#define __SDT_NOTE_TEXT_2		__SDT_NOTE_TEXT_1 " %c2@%3"
#define __SDT_NOTE_TEXT_3		__SDT_NOTE_TEXT_2 " %c4@%5"
#define __SDT_NOTE_TEXT_4		__SDT_NOTE_TEXT_3 " %c6@%7"
#define __SDT_NOTE_TEXT_5		__SDT_NOTE_TEXT_4 " %c8@%9"
#define __SDT_NOTE_TEXT_6		__SDT_NOTE_TEXT_5 " %c10@%11"
#define __SDT_NOTE_TEXT_7		__SDT_NOTE_TEXT_6 " %c12@%13"

/* Without this nop, other SDT notes and other code paths may have the same address as a note. */
#ifdef SDT_NOTES_WITHOUT_NOP
#define __SDT_NOTE_NOP			""
#else
#define __SDT_NOTE_NOP			"	nop\n"
#endif

/*
 * The .reloc makes the site refer to the section .stapsdt.base, so that a linker with --gc-sections
 * keeps this section if it keeps the site.
 */
#define __SDT_SITE_note(id, prov, name, n, args...)			\
	__asm__ volatile("1:	.reloc ., R_X86_64_NONE, _.stapsdt.base\n" \
		__SDT_NOTE_NOP						\
		"	.pushsection .note.stapsdt, \"\", @note\n"	\
		"	.balign 4\n"					\
		"	.long 3f - 2f, 5f - 4f, 3\n"			\
		"2:	.asciz \"stapsdt\"\n"				\
		"3:	.balign 4\n"					\
		"4:	.quad 1b, _.stapsdt.base, 0\n"			\
		"	.asciz \"" prov "\"\n"				\
		"	.asciz \"" name "\"\n"				\
		"	.asciz \"" __SDT_NOTE_TEXT_##n "\"\n"		\
		"5:	.balign 4\n"					\
		"	.popsection\n"					\
		"	.ifndef _.stapsdt.base\n"			\
		"	.pushsection .stapsdt.base, \"aG\", @progbits, .stapsdt.base, comdat\n" \
		"	.weak _.stapsdt.base\n"				\
		"	.hidden _.stapsdt.base\n"			\
		"_.stapsdt.base: .space 1\n"				\
		"	.size _.stapsdt.base, 1\n"			\
		"	.popsection\n"					\
		"	.endif\n"					\
		: : __SDT_NOTE_IN_##n(args))
#endif

#endif /* KMARKERS_SDT_NOTE_H */
