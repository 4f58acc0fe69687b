/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * USDT probes in programs: a replacement for SystemTap's <sys/sdt.h>.
 *
 * OVERVIEW
 *
 * A program that uses SystemTap's header compiles unchanged with this one: put the directory
 * include/usdt before other include directories.  Each probe is one nop.  An ELF note holds the
 * address of the probe and the locations of its arguments.  readelf -n, gdb, perf, bpftrace and
 * SystemTap read the notes.
 *
 *	#include <sys/sdt.h>
 *
 *	DTRACE_PROBE2(server, request__start, id, text);
 *
 * Arguments are integers, pointers, arrays, enums and floating-point numbers, twelve at most.
 * Arguments are computed even if no tracer is attached, unless the program checks a semaphore
 * first:
 *
 * SEMAPHORES
 *
 * With _SDT_HAS_SEMAPHORES each probe has a counter, which the program defines:
 *
 *	#define _SDT_HAS_SEMAPHORES 1
 *	#include <sys/sdt.h>
 *
 *	volatile unsigned short server_request__start_semaphore __attribute__((section(".probes")));
 *
 *	if (server_request__start_semaphore)
 *		DTRACE_PROBE2(server, request__start, id, describe(request));
 *
 * The note holds the counter's address.  Each tracer increments the counter when it attaches, and
 * decrements the counter when it detaches.  Headers written by "dtrace -h" contain the same check.
 *
 * SITES
 *
 * With USDT_SITES the same probes are also sites of <kmarkers/sdt.h>, with the flavour "jump": a
 * handler in the process may be attached to them by sdt_attach("server:::request-start", ...).  The
 * program is then compiled and linked as described in Documentation/native.md.  A handler gets the
 * first seven arguments; a floating-point number among these does not compile.  Tracers in other
 * processes get no hits of a program that has called kmarkers_start(), because its text was moved.
 *
 * LANGUAGES: C from C99 on and C++ from C++98 on, by gcc and clang; USDT_SITES needs C in the
 * GNU dialect.  There is no macro for assembler files.
 *
 * Source of the format:
 * https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation, version 3 of the notes.
 */
#ifndef _SYS_SDT_H
#define _SYS_SDT_H 1

#pragma GCC system_header

#ifndef __x86_64__
#error "the USDT probes of kmarkers must be compiled for x86-64"
#endif

#ifdef USDT_SITES
#include <kmarkers/sdt.h>
#else
#define __USDT_SITE(provider, name, n, args...)
#endif

/* __builtin_classify_type() is 1 to 4 for integers, 5 for pointers, 8 for floating-point types. */
#define __USDT_IS_REAL(a)	(__builtin_classify_type(a) == 8)

#ifdef __cplusplus
/* Size of an argument's type, and whether the type is signed. */
template <typename T> struct __usdt_type { enum { is_signed = 0, size = sizeof(T) }; };
template <typename T> struct __usdt_type<const T> : __usdt_type<T> {};
template <typename T> struct __usdt_type<volatile T> : __usdt_type<T> {};
template <typename T> struct __usdt_type<const volatile T> : __usdt_type<T> {};
template <typename T> struct __usdt_type<T &> : __usdt_type<T> {};
template <typename T> struct __usdt_type<T[]> : __usdt_type<T *> {};
template <typename T, unsigned long N> struct __usdt_type<T[N]> : __usdt_type<T *> {};
template <typename T, unsigned long N> struct __usdt_type<const T[N]> : __usdt_type<T *> {};
#define __USDT_TYPE(t)							\
template <> struct __usdt_type<t> { enum { is_signed = (t)-1 < (t)1, size = sizeof(t) }; };
__USDT_TYPE(char)
__USDT_TYPE(signed char)
__USDT_TYPE(wchar_t)
__USDT_TYPE(short)
__USDT_TYPE(int)
__USDT_TYPE(long)
__USDT_TYPE(long long)
#undef __USDT_TYPE
template <> struct __usdt_type<long double> { enum { is_signed = 0, size = sizeof(double) }; };

/*
 * The value that is passed for an argument: a pointer for an array, a double for a long double,
 * and an int for a byte, because gdb does not support the registers %r8b to %r15b.
 */
#define __USDT_INLINE	static inline __attribute__((__always_inline__, __unused__))
template <typename T> __USDT_INLINE T __usdt_value(T a) { return a; }
__USDT_INLINE int __usdt_value(bool a) { return a; }
__USDT_INLINE int __usdt_value(char a) { return a; }
__USDT_INLINE int __usdt_value(signed char a) { return a; }
__USDT_INLINE int __usdt_value(unsigned char a) { return a; }
__USDT_INLINE double __usdt_value(long double a) { return (double)a; }
#undef __USDT_INLINE

#define __USDT_SIZE(a)		((int)__usdt_type<__typeof__(a)>::size)
#define __USDT_IS_SIGNED(a)	((int)__usdt_type<__typeof__(a)>::is_signed)
#define __USDT_VALUE(a)		__usdt_value(a)
#else
#define __USDT_IS_INTEGER(a)						\
	(__builtin_classify_type(a) >= 1 && __builtin_classify_type(a) <= 4)
#define __USDT_INTEGER(a)						\
	__typeof__(__builtin_choose_expr(__USDT_IS_INTEGER(a), (a), 0U))
#define __USDT_SIZE(a)							\
	(__builtin_classify_type(a) == 5 ? (int)sizeof(void *) :	\
	 __USDT_IS_LONG(a) ? (int)sizeof(double) : (int)sizeof(a))
#define __USDT_IS_SIGNED(a)	((__USDT_INTEGER(a))-1 < (__USDT_INTEGER(a))1)
/*
 * A byte is passed as an int, because gdb does not support %r8b to %r15b.  A long double is passed
 * as a double.
 */
#define __USDT_IS_LONG(a)	(__USDT_IS_REAL(a) && sizeof(a) > 8)
#define __USDT_IS_BYTE(a)	(__USDT_IS_INTEGER(a) && sizeof(a) == 1)
#define __USDT_VALUE(a)							\
	__builtin_choose_expr(__USDT_IS_BYTE(a), (int)__builtin_choose_expr(__USDT_IS_BYTE(a), (a), 0), \
			      __builtin_choose_expr(__USDT_IS_LONG(a), \
						    (double)__builtin_choose_expr(__USDT_IS_LONG(a), (a), 0), \
						    (a)))
#endif

/*
 * Number that encodes an argument's type: its size in bytes, negative for a signed integer,
 * increased by 100 for a floating-point number.
 */
#define __USDT_CODE(a)							\
	(__USDT_IS_REAL(a) ? 100 + __USDT_SIZE(a) :			\
	 __USDT_IS_SIGNED(a) ? -__USDT_SIZE(a) : __USDT_SIZE(a))

/*
 * A probe with up to six arguments has them in registers or constants, because not every tracer
 * finds a static or a thread-local variable in memory.  Registers do not suffice for seven or more
 * arguments, so these may be in memory.
 */
#define __USDT_IN(operand, a)	"n" (__USDT_CODE(a)), operand (__USDT_VALUE(a))
#define __USDT_ALL_1(operand, a)		__USDT_IN(operand, a)
#define __USDT_ALL_2(operand, a, b...)	__USDT_IN(operand, a), __USDT_ALL_1(operand, b)
#define __USDT_ALL_3(operand, a, b...)	__USDT_IN(operand, a), __USDT_ALL_2(operand, b)
#define __USDT_ALL_4(operand, a, b...)	__USDT_IN(operand, a), __USDT_ALL_3(operand, b)
#define __USDT_ALL_5(operand, a, b...)	__USDT_IN(operand, a), __USDT_ALL_4(operand, b)
#define __USDT_ALL_6(operand, a, b...)	__USDT_IN(operand, a), __USDT_ALL_5(operand, b)
#define __USDT_ALL_7(operand, a, b...)	__USDT_IN(operand, a), __USDT_ALL_6(operand, b)
#define __USDT_ALL_8(operand, a, b...)	__USDT_IN(operand, a), __USDT_ALL_7(operand, b)
#define __USDT_ALL_9(operand, a, b...)	__USDT_IN(operand, a), __USDT_ALL_8(operand, b)
#define __USDT_ALL_10(operand, a, b...)	__USDT_IN(operand, a), __USDT_ALL_9(operand, b)
#define __USDT_ALL_11(operand, a, b...)	__USDT_IN(operand, a), __USDT_ALL_10(operand, b)
#define __USDT_ALL_12(operand, a, b...)	__USDT_IN(operand, a), __USDT_ALL_11(operand, b)
#define __USDT_IN_0()
#define __USDT_IN_1(args...)	__USDT_ALL_1("nr", args)
#define __USDT_IN_2(args...)	__USDT_ALL_2("nr", args)
#define __USDT_IN_3(args...)	__USDT_ALL_3("nr", args)
#define __USDT_IN_4(args...)	__USDT_ALL_4("nr", args)
#define __USDT_IN_5(args...)	__USDT_ALL_5("nr", args)
#define __USDT_IN_6(args...)	__USDT_ALL_6("nr", args)
#define __USDT_IN_7(args...)	__USDT_ALL_7("nor", args)
#define __USDT_IN_8(args...)	__USDT_ALL_8("nor", args)
#define __USDT_IN_9(args...)	__USDT_ALL_9("nor", args)
#define __USDT_IN_10(args...)	__USDT_ALL_10("nor", args)
#define __USDT_IN_11(args...)	__USDT_ALL_11("nor", args)
#define __USDT_IN_12(args...)	__USDT_ALL_12("nor", args)

/*
 * Text of one argument, SIZE@OPERAND.  @code is the number of the asm operand that holds
 * __USDT_CODE() of the argument; @value is the number of the asm operand that holds the argument.
 */
#define __USDT_TEXT(code, value)					\
	"	.if %c" #code " > 100\n"				\
	"	.ifc %c" #code ",104\n	.ascii \"4f@\"\n	.endif\n"\
	"	.ifc %c" #code ",108\n	.ascii \"8f@\"\n	.endif\n"\
	"	.else\n	.ascii \"%c" #code "@\"\n	.endif\n"	\
	"	.ascii \"%" #value "\"\n"
#define __USDT_BLANK	"	.ascii \" \"\n"
#define __USDT_TEXT_0
#define __USDT_TEXT_1	__USDT_TEXT(0, 1)
#define __USDT_TEXT_2	__USDT_TEXT_1 __USDT_BLANK __USDT_TEXT(2, 3)
#define __USDT_TEXT_3	__USDT_TEXT_2 __USDT_BLANK __USDT_TEXT(4, 5)
#define __USDT_TEXT_4	__USDT_TEXT_3 __USDT_BLANK __USDT_TEXT(6, 7)
#define __USDT_TEXT_5	__USDT_TEXT_4 __USDT_BLANK __USDT_TEXT(8, 9)
#define __USDT_TEXT_6	__USDT_TEXT_5 __USDT_BLANK __USDT_TEXT(10, 11)
#define __USDT_TEXT_7	__USDT_TEXT_6 __USDT_BLANK __USDT_TEXT(12, 13)
#define __USDT_TEXT_8	__USDT_TEXT_7 __USDT_BLANK __USDT_TEXT(14, 15)
#define __USDT_TEXT_9	__USDT_TEXT_8 __USDT_BLANK __USDT_TEXT(16, 17)
#define __USDT_TEXT_10	__USDT_TEXT_9 __USDT_BLANK __USDT_TEXT(18, 19)
#define __USDT_TEXT_11	__USDT_TEXT_10 __USDT_BLANK __USDT_TEXT(20, 21)
#define __USDT_TEXT_12	__USDT_TEXT_11 __USDT_BLANK __USDT_TEXT(22, 23)

#ifdef _SDT_HAS_SEMAPHORES
#define __USDT_SEMAPHORE(provider, name)	#provider "_" #name "_semaphore"
#else
#define __USDT_SEMAPHORE(provider, name)	"0"
#endif

/*
 * The .reloc makes the probe refer to the section .stapsdt.base, so that a linker with
 * --gc-sections keeps this section if it keeps the probe.
 */
#define __USDT_PROBE(provider, name, n, args...)			\
	__USDT_PROBE_OF(provider, name, n, ## args)
#define __USDT_PROBE_OF(provider, name, n, args...)			\
do {									\
	__asm__ __volatile__("1:	nop\n"				\
		"	.reloc 1b, R_X86_64_NONE, _.stapsdt.base\n"	\
		"	.pushsection .note.stapsdt, \"?\", @note\n"	\
		"	.balign 4\n"					\
		"	.long 3f - 2f, 5f - 4f, 3\n"			\
		"2:	.asciz \"stapsdt\"\n"				\
		"3:	.balign 4\n"					\
		"4:	.quad 1b, _.stapsdt.base, " __USDT_SEMAPHORE(provider, name) "\n" \
		"	.asciz \"" #provider "\"\n"			\
		"	.asciz \"" #name "\"\n"				\
		__USDT_TEXT_##n						\
		"	.byte 0\n"					\
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
		: : __USDT_IN_##n(args));				\
	__USDT_SITE(provider, name, n, ## args)				\
} while (0)

#ifdef USDT_SITES
#define __USDT_SITE(provider, name, n, args...)	__USDT_SITE_##n(#provider, #name, ## args)
#define __USDT_SITE_0(provider, name)					\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 0, "");
#define __USDT_SITE_1(provider, name, a1)				\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 1, "", a1);
#define __USDT_SITE_2(provider, name, a1, a2)				\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 2, "", a1, a2);
#define __USDT_SITE_3(provider, name, a1, a2, a3)			\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 3, "", a1, a2, a3);
#define __USDT_SITE_4(provider, name, a1, a2, a3, a4)			\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 4, "", a1, a2, a3, a4);
#define __USDT_SITE_5(provider, name, a1, a2, a3, a4, a5)		\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 5, "", a1, a2, a3, a4, a5);
#define __USDT_SITE_6(provider, name, a1, a2, a3, a4, a5, a6)		\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 6, "", a1, a2, a3, a4, a5, a6);
#define __USDT_SITE_7(provider, name, a1, a2, a3, a4, a5, a6, a7)	\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 7, "", a1, a2, a3, a4, a5, a6, a7);
#define __USDT_SITE_8(provider, name, a1, a2, a3, a4, a5, a6, a7, a8)	\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 7, "", a1, a2, a3, a4, a5, a6, a7);
#define __USDT_SITE_9(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9)\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 7, "", a1, a2, a3, a4, a5, a6, a7);
#define __USDT_SITE_10(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 7, "", a1, a2, a3, a4, a5, a6, a7);
#define __USDT_SITE_11(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 7, "", a1, a2, a3, a4, a5, a6, a7);
#define __USDT_SITE_12(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)\
	__SDT_SITE_OF_ITS_OWN(jump, provider, name, 7, "", a1, a2, a3, a4, a5, a6, a7);
#endif

/* <kmarkers/sdt.h> defines other macros of these names, for kernel code. */
#undef DTRACE_PROBE
#undef DTRACE_PROBE1
#undef DTRACE_PROBE2
#undef DTRACE_PROBE3
#undef DTRACE_PROBE4
#undef DTRACE_PROBE5

/**
 * STAP_PROBE0() - place a probe without arguments
 * @provider: provider of the probe
 * @name: name of the probe
 */
#define STAP_PROBE0(provider, name)					\
	__USDT_PROBE(provider, name, 0)
/**
 * STAP_PROBE() - place a probe without arguments, as STAP_PROBE0()
 */
#define STAP_PROBE(provider, name)					\
	__USDT_PROBE(provider, name, 0)
/**
 * STAP_PROBE1() - place a probe with one argument
 */
#define STAP_PROBE1(provider, name, a1)					\
	__USDT_PROBE(provider, name, 1, a1)
/**
 * STAP_PROBE2() - place a probe with two arguments
 */
#define STAP_PROBE2(provider, name, a1, a2)				\
	__USDT_PROBE(provider, name, 2, a1, a2)
/**
 * STAP_PROBE3() - place a probe with three arguments
 */
#define STAP_PROBE3(provider, name, a1, a2, a3)				\
	__USDT_PROBE(provider, name, 3, a1, a2, a3)
/**
 * STAP_PROBE4() - place a probe with four arguments
 */
#define STAP_PROBE4(provider, name, a1, a2, a3, a4)			\
	__USDT_PROBE(provider, name, 4, a1, a2, a3, a4)
/**
 * STAP_PROBE5() - place a probe with five arguments
 */
#define STAP_PROBE5(provider, name, a1, a2, a3, a4, a5)			\
	__USDT_PROBE(provider, name, 5, a1, a2, a3, a4, a5)
/**
 * STAP_PROBE6() - place a probe with six arguments
 */
#define STAP_PROBE6(provider, name, a1, a2, a3, a4, a5, a6)		\
	__USDT_PROBE(provider, name, 6, a1, a2, a3, a4, a5, a6)
/**
 * STAP_PROBE7() - place a probe with seven arguments
 */
#define STAP_PROBE7(provider, name, a1, a2, a3, a4, a5, a6, a7)		\
	__USDT_PROBE(provider, name, 7, a1, a2, a3, a4, a5, a6, a7)
/**
 * STAP_PROBE8() - place a probe with eight arguments
 */
#define STAP_PROBE8(provider, name, a1, a2, a3, a4, a5, a6, a7, a8)	\
	__USDT_PROBE(provider, name, 8, a1, a2, a3, a4, a5, a6, a7, a8)
/**
 * STAP_PROBE9() - place a probe with nine arguments
 */
#define STAP_PROBE9(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9)	\
	__USDT_PROBE(provider, name, 9, a1, a2, a3, a4, a5, a6, a7, a8, a9)
/**
 * STAP_PROBE10() - place a probe with ten arguments
 */
#define STAP_PROBE10(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)\
	__USDT_PROBE(provider, name, 10, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)
/**
 * STAP_PROBE11() - place a probe with eleven arguments
 */
#define STAP_PROBE11(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)\
	__USDT_PROBE(provider, name, 11, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)
/**
 * STAP_PROBE12() - place a probe with twelve arguments
 */
#define STAP_PROBE12(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)\
	__USDT_PROBE(provider, name, 12, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)
/**
 * STAP_PROBEV() - place a probe with zero to twelve arguments
 */
#define STAP_PROBEV(provider, name, args...)				\
	__USDT_PROBEV(provider, name, __USDT_COUNT(name, ## args), ## args)
#define __USDT_PROBEV(provider, name, n, args...)			\
	__USDT_PROBE(provider, name, n, ## args)
#define __USDT_COUNT(name, args...)					\
	__USDT_COUNTED(name, ## args, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define __USDT_COUNTED(z, a, b, c, d, e, f, g, h, i, j, k, l, n, rest...) n

/**
 * DTRACE_PROBE() - another name of STAP_PROBE()
 */
#define DTRACE_PROBE		STAP_PROBE
/**
 * DTRACE_PROBE0() - another name of STAP_PROBE0()
 */
#define DTRACE_PROBE0		STAP_PROBE0
/**
 * DTRACE_PROBE1() - another name of STAP_PROBE1()
 */
#define DTRACE_PROBE1		STAP_PROBE1
/**
 * DTRACE_PROBE2() - another name of STAP_PROBE2()
 */
#define DTRACE_PROBE2		STAP_PROBE2
/**
 * DTRACE_PROBE3() - another name of STAP_PROBE3()
 */
#define DTRACE_PROBE3		STAP_PROBE3
/**
 * DTRACE_PROBE4() - another name of STAP_PROBE4()
 */
#define DTRACE_PROBE4		STAP_PROBE4
/**
 * DTRACE_PROBE5() - another name of STAP_PROBE5()
 */
#define DTRACE_PROBE5		STAP_PROBE5
/**
 * DTRACE_PROBE6() - another name of STAP_PROBE6()
 */
#define DTRACE_PROBE6		STAP_PROBE6
/**
 * DTRACE_PROBE7() - another name of STAP_PROBE7()
 */
#define DTRACE_PROBE7		STAP_PROBE7
/**
 * DTRACE_PROBE8() - another name of STAP_PROBE8()
 */
#define DTRACE_PROBE8		STAP_PROBE8
/**
 * DTRACE_PROBE9() - another name of STAP_PROBE9()
 */
#define DTRACE_PROBE9		STAP_PROBE9
/**
 * DTRACE_PROBE10() - another name of STAP_PROBE10()
 */
#define DTRACE_PROBE10		STAP_PROBE10
/**
 * DTRACE_PROBE11() - another name of STAP_PROBE11()
 */
#define DTRACE_PROBE11		STAP_PROBE11
/**
 * DTRACE_PROBE12() - another name of STAP_PROBE12()
 */
#define DTRACE_PROBE12		STAP_PROBE12

#endif /* _SYS_SDT_H */
