/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compile-time check of a site's arguments against the types in the probe's definition.  The check
 * detects a pointer that is passed for an integer, or an integer for a pointer.  The check skips
 * arguments whose defined type is neither an integer nor a pointer, and sites of a probe that is
 * only declared.
 */
#ifndef KMARKERS_SDT_KIND_H
#define KMARKERS_SDT_KIND_H

/* Check nothing under sparse, which lacks __builtin_classify_type(). */
#ifdef __CHECKER__
#define __SDT_KIND(t)			__SDT_KIND_ANY
#define __SDT_CHECK_KIND(when, id, n, a)
#else
#define __SDT_KIND(t)							\
	(__SDT_IS_POINTER(t) ? __SDT_KIND_POINTER :			\
	 __SDT_IS_INTEGER(t) ? __SDT_KIND_INTEGER : __SDT_KIND_ANY)
#define __SDT_CHECK_KIND(when, id, n, a)				\
	_Static_assert(__SDT_IS_WORD(a), "an argument of a probe is neither an integer nor a pointer"); \
	_Static_assert(__SDT_FITS(a), "an argument of a probe is an __int128, but a probe takes 64 bits: pass its two halves"); \
	_Static_assert(!(when) || __SDT_HAS_KIND(id, n, __SDT_KIND_ANY) || \
		       __SDT_HAS_KIND(id, n, __SDT_PASSED(a)) || __SDT_IS_ZERO(a), \
		       "the probe is defined with an integer where a pointer is passed, or with a pointer where an integer is passed");
#endif

#define __SDT_KIND_ANY			1
#define __SDT_KIND_INTEGER		2
#define __SDT_KIND_POINTER		3

/* True if the last character of @t, a type as a string, is a star. */
#define __SDT_IS_POINTER(t)						\
	(sizeof(t) > 1 && !__builtin_memcmp((t) + sizeof(t) - 2, "*", 1))

/* True if @t, a type as a string, is @name, with or without const or volatile before it. */
#define __SDT_IS(t, name)						\
	(!__builtin_strcmp(t, name) || !__builtin_strcmp(t, "const " name) || \
	 !__builtin_strcmp(t, "volatile " name))
#define __SDT_IS_INTEGER(t)						\
	(__SDT_IS(t, "char") || __SDT_IS(t, "signed char") ||		\
	 __SDT_IS(t, "unsigned char") || __SDT_IS(t, "short") ||	\
	 __SDT_IS(t, "unsigned short") || __SDT_IS(t, "int") ||		\
	 __SDT_IS(t, "unsigned int") || __SDT_IS(t, "unsigned") ||	\
	 __SDT_IS(t, "long") || __SDT_IS(t, "unsigned long") ||		\
	 __SDT_IS(t, "long long") || __SDT_IS(t, "unsigned long long") ||	\
	 __SDT_IS(t, "bool") || __SDT_IS(t, "_Bool") ||			\
	 __SDT_IS(t, "u8") || __SDT_IS(t, "s8") ||			\
	 __SDT_IS(t, "u16") || __SDT_IS(t, "s16") ||			\
	 __SDT_IS(t, "u32") || __SDT_IS(t, "s32") ||			\
	 __SDT_IS(t, "u64") || __SDT_IS(t, "s64") ||			\
	 __SDT_IS(t, "uint8_t") || __SDT_IS(t, "int8_t") ||		\
	 __SDT_IS(t, "uint16_t") || __SDT_IS(t, "int16_t") ||		\
	 __SDT_IS(t, "uint32_t") || __SDT_IS(t, "int32_t") ||		\
	 __SDT_IS(t, "uint64_t") || __SDT_IS(t, "int64_t") ||		\
	 __SDT_IS(t, "size_t") || __SDT_IS(t, "ssize_t") ||		\
	 __SDT_IS(t, "off_t") || __SDT_IS(t, "pid_t") ||		\
	 __SDT_IS(t, "uid_t") || __SDT_IS(t, "gid_t"))

/* Declare arrays that are never defined: an array's length encodes the kind of one argument. */
#define __SDT_DECLARE_KINDS(id)						\
	extern __maybe_unused						\
	char __sdt_kind_1_##id[], __sdt_kind_2_##id[], __sdt_kind_3_##id[], \
	     __sdt_kind_4_##id[], __sdt_kind_5_##id[], __sdt_kind_6_##id[], \
	     __sdt_kind_7_##id[]

#define __SDT_DEFINE_KIND(id, n, t)	extern char __sdt_kind_##n##_##id[__SDT_KIND(t)];
#define __SDT_DEFINE_KINDS_0(id)
#define __SDT_DEFINE_KINDS_1(id, t0)	\
	__SDT_DEFINE_KIND(id, 1, t0)
#define __SDT_DEFINE_KINDS_2(id, t0, t1)	\
	__SDT_DEFINE_KINDS_1(id, t0) __SDT_DEFINE_KIND(id, 2, t1)
#define __SDT_DEFINE_KINDS_3(id, t0, t1, t2)	\
	__SDT_DEFINE_KINDS_2(id, t0, t1) __SDT_DEFINE_KIND(id, 3, t2)
#define __SDT_DEFINE_KINDS_4(id, t0, t1, t2, t3)	\
	__SDT_DEFINE_KINDS_3(id, t0, t1, t2) __SDT_DEFINE_KIND(id, 4, t3)
#define __SDT_DEFINE_KINDS_5(id, t0, t1, t2, t3, t4)	\
	__SDT_DEFINE_KINDS_4(id, t0, t1, t2, t3) __SDT_DEFINE_KIND(id, 5, t4)
#define __SDT_DEFINE_KINDS_6(id, t0, t1, t2, t3, t4, t5)	\
	__SDT_DEFINE_KINDS_5(id, t0, t1, t2, t3, t4) __SDT_DEFINE_KIND(id, 6, t5)
#define __SDT_DEFINE_KINDS_7(id, t0, t1, t2, t3, t4, t5, t6)	\
	__SDT_DEFINE_KINDS_6(id, t0, t1, t2, t3, t4, t5) __SDT_DEFINE_KIND(id, 7, t6)

/* Kind of a passed argument: pointer or integer.  A constant 0 is accepted as either kind. */
#define __SDT_PASSED(a)							\
	(__builtin_classify_type(a) == __builtin_classify_type((void *)0) ? \
	 __SDT_KIND_POINTER : __SDT_KIND_INTEGER)
#define __SDT_IS_ZERO(a)						\
	__builtin_types_compatible_p(__typeof__(1 ? (void *)(unsigned long)(a) : (int *)0), int *)

/* True if @a is a constant 0 or NULL. */
#define __SDT_IS_NOTHING(a)						\
	(__SDT_IS_ZERO(a) ||						\
	 __builtin_types_compatible_p(__typeof__(1 ? _Generic((a), void *: (a), default: (void *)1) : \
						 (int *)0), int *))

/*
 * True if the kind of argument @n is @kind, or if the kind of argument @n is not defined: then the
 * array __sdt_kind_N_ID has no length, and is compatible with an array of any length.
 */
#define __SDT_HAS_KIND(id, n, kind)					\
	__builtin_types_compatible_p(__typeof__(__sdt_kind_##n##_##id), char[kind])

/* True if @a is an integer or a pointer: __builtin_classify_type() returns 1 to 5 for these. */
#define __SDT_IS_WORD(a)						\
	(__builtin_classify_type(a) >= 1 && __builtin_classify_type(a) <= 5)

/*
 * False for an integer of over 64 bits.  sizeof does not accept a bit-field, so the operator ?:
 * promotes it; the operator also converts an array to a pointer.
 */
#define __SDT_FITS(a)			(sizeof(1 ? (a) : (a)) <= sizeof(long) || !__SDT_IS_WORD(a))

#define __SDT_CHECK_KINDS_0(when, id)
#define __SDT_CHECK_KINDS_1(when, id, a0)	\
	__SDT_CHECK_KIND(when, id, 1, a0)
#define __SDT_CHECK_KINDS_2(when, id, a0, a1)	\
	__SDT_CHECK_KINDS_1(when, id, a0) __SDT_CHECK_KIND(when, id, 2, a1)
#define __SDT_CHECK_KINDS_3(when, id, a0, a1, a2)	\
	__SDT_CHECK_KINDS_2(when, id, a0, a1) __SDT_CHECK_KIND(when, id, 3, a2)
#define __SDT_CHECK_KINDS_4(when, id, a0, a1, a2, a3)	\
	__SDT_CHECK_KINDS_3(when, id, a0, a1, a2) __SDT_CHECK_KIND(when, id, 4, a3)
#define __SDT_CHECK_KINDS_5(when, id, a0, a1, a2, a3, a4)	\
	__SDT_CHECK_KINDS_4(when, id, a0, a1, a2, a3) __SDT_CHECK_KIND(when, id, 5, a4)
#define __SDT_CHECK_KINDS_6(when, id, a0, a1, a2, a3, a4, a5)	\
	__SDT_CHECK_KINDS_5(when, id, a0, a1, a2, a3, a4) __SDT_CHECK_KIND(when, id, 6, a5)
#define __SDT_CHECK_KINDS_7(when, id, a0, a1, a2, a3, a4, a5, a6)	\
	__SDT_CHECK_KINDS_6(when, id, a0, a1, a2, a3, a4, a5) __SDT_CHECK_KIND(when, id, 7, a6)

#endif /* KMARKERS_SDT_KIND_H */
