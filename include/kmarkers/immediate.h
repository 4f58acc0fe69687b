/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Immediate values: variables that are read as operands of instructions.
 *
 * OVERVIEW
 *
 * Reading an immediate value is one instruction, mov $value,%reg, with the value inside the
 * instruction.  The read touches no data cache line, so it costs the same whether the data caches
 * are warm or cold.  Changing an immediate value is expensive: every instruction that reads it is
 * patched on the running system, all in one batch.  Use immediate values for data that is read
 * often and changed rarely.  A boolean can be read as a branch, imv_branch(): one nop or one jump,
 * without a test.  A threshold is best written as a comparison, such as imv_above(): one cmp with
 * the value inside, and one jump.
 *
 * EXAMPLE
 *
 *	DEFINE_IMV(int, threshold) = 100;
 *	EXPORT_IMV_SYMBOL_GPL(threshold);	(only if other modules read it)
 *
 *	if (imv_above(length, threshold))	(length > threshold)
 *		...
 *
 *	err = imv_set(threshold, 200);
 *
 *	DEFINE_IMV(bool, profiling);
 *
 *	if (imv_branch(profiling))
 *		...
 *
 *	struct imv_change changes[] = {
 *		IMV_CHANGE(threshold, 300),
 *		IMV_CHANGE(profiling, true),
 *	};
 *
 *	err = imv_set_many(changes, 2);	(all or none, in one batch)
 *
 * and, in a header for other modules, DECLARE_IMV(int, threshold);
 *
 * CONTEXT
 *
 *	macro			may sleep  irq	nmi
 *	imv_read(), imv_branch(), _imv_read(), imv_above() and the other comparisons
 *				no	   yes	yes
 *	imv_set(), imv_set_many()
 *				yes	   no	no
 *
 * imv_set() must not be called under cpus_read_lock(): see LOCKS in
 * <kmarkers/patcher.h>.
 *
 * GUARANTEES
 *
 * Each read yields either the old or the new value, never a mixture.  After imv_set()
 * returned 0, no imv_read() on any CPU yields the old value.  imv_read() is volatile: the
 * compiler keeps every read.  A branch and a comparison are reads.  A read does not order other
 * accesses: to pass data along with a value, synchronise as for any variable.
 *
 * imv_read() must not be used in __init text, which is freed while its sites stay registered.  In
 * __init text, use _imv_read(), which is a plain load.  A module that breaks this rule is refused
 * when it is loaded.
 *
 * Types of 1, 2, 4 and 8 bytes are allowed: integers, enums, bool, pointers.
 *
 * If IMV_PLAIN is defined, or on an architecture other than x86-64, reads are plain loads;
 * everything else is the same.
 *
 * Source: the immediate values patches of 2007-2008, from which the names are taken.
 */
#ifndef KMARKERS_IMMEDIATE_H
#define KMARKERS_IMMEDIATE_H

#if !defined(__KERNEL__) && !defined(NATIVE_BUILD)
#pragma GCC system_header
#endif

#include <kmarkers/dialect.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/string.h>
#include <linux/types.h>
#include <kmarkers/branch.h>
#include <kmarkers/table.h>

#if !defined(__x86_64__) && !defined(IMV_PLAIN)
#define IMV_PLAIN
#endif

/* Tables of values refer to this symbol, so modules with values depend on kmarkers_immediate. */
extern const u8 imv_tables_need_immediate;

#ifndef IMV_PLAIN
KMARKERS_CHUNK(imv, imv_tables_need_immediate, 12);
#endif

/**
 * DEFINE_IMV() - define an immediate value
 * @type: type of the value, of 1, 2, 4 or 8 bytes
 * @name: name of the value
 *
 * "static" may precede the macro, and a static initialiser may follow the macro.
 */
#define DEFINE_IMV(type, name)		__typeof__(type) name##__imv

/*
 * The asm operands of the sites must be constants.  In user space, the compiler treats the address
 * of a variable as a constant only if the visibility of the variable is hidden.
 */
#ifdef __KERNEL__
#define __IMV_EXTERN			extern
#else
#define __IMV_EXTERN			extern __attribute__((__visibility__("hidden")))
#endif

/**
 * DECLARE_IMV() - declare an immediate value that another file defines
 * @type: type of the value
 * @name: name of the value
 */
#define DECLARE_IMV(type, name)		__IMV_EXTERN __typeof__(type) name##__imv

/**
 * EXPORT_IMV_SYMBOL() - let other modules read and set an immediate value
 * @name: name of the value, which must not be static
 */
#define EXPORT_IMV_SYMBOL(name)		EXPORT_SYMBOL(name##__imv)

/**
 * EXPORT_IMV_SYMBOL_GPL() - EXPORT_IMV_SYMBOL() for GPL-compatible modules only
 * @name: name of the value, which must not be static
 */
#define EXPORT_IMV_SYMBOL_GPL(name)	EXPORT_SYMBOL_GPL(name##__imv)

/**
 * _imv_read() - read an immediate value with a plain load
 * @name: name of the value
 *
 * The result is an lvalue.  This macro is required in __init and __exit text.
 */
#define _imv_read(name)			(name##__imv)

/* Stop the build unless @x and the value have the same type after integer promotion. */
#define __IMV_CHECK_TYPE(x, name)					\
	_Static_assert(__builtin_types_compatible_p(__typeof__(+(x)), __typeof__(+name##__imv)), \
		       "an immediate value is compared with a number of another type: cast the number")

#ifdef IMV_PLAIN

#define __IMV_COMPARE(x, name, op, ...)					\
({									\
	__IMV_CHECK_TYPE(x, name);					\
	(x) op READ_ONCE(name##__imv);					\
})

#define imv_read(name)		READ_ONCE(name##__imv)
#define imv_branch(name)	(READ_ONCE(name##__imv) != 0)
#define imv_cmp_flip(name)	imv_branch(name)
#define imv_xor_flip(name)	imv_branch(name)

#else

/*
 * Flags of struct patcher_site.  IMV_BRANCH marks the instruction of an imv_branch(); IMV_FLIP
 * marks a conditional jump that is changed between jne and je.  IMV_COMPARE marks a comparison;
 * with IMV_SIGNED, its value is sign-extended to the size of the operand.
 */
#define IMV_BRANCH	0x100
#define IMV_FLIP	0x200
#define IMV_COMPARE	0x400
#define IMV_SIGNED	0x800

/* Emit an instruction that reads a value, and its struct patcher_site. */
#define __IMV_SITE(instruction, var, bytes, flags)			\
	"1:	" instruction "\n"					\
	"2:\n"								\
	KMARKERS_RECORD(imv,						\
	"	.long 1b - ., %c" var " - .\n"				\
	"	.byte 2b - 1b, " bytes "\n"				\
	"	.short " flags "\n")

/**
 * imv_read() - read an immediate value
 * @name: name of the value
 *
 * Values of one and two bytes are read with a 32-bit mov.  A mov of 8 bits keeps the rest of the
 * register, so the CPU waits for the register's old value.  An immediate of 16 bits needs a
 * prefix that changes the length of the instruction, which stalls some decoders (Intel
 * Optimization Reference Manual, 3.4.2.3).
 *
 * Return: the value, with the type of its definition.
 */
#define imv_read(name)							\
({									\
	__typeof__(name##__imv) __imv_value;				\
									\
	BUILD_BUG_ON(sizeof(__imv_value) != 1 && sizeof(__imv_value) != 2 && \
		     sizeof(__imv_value) != 4 && sizeof(__imv_value) != 8); \
	switch (sizeof(__imv_value)) {					\
	case 1:								\
		asm volatile(__IMV_SITE("movl $0, %k0", "1", "1", "0") \
			     : "=r" (__imv_value) : "i" (&name##__imv)); \
		break;							\
	case 2:								\
		asm volatile(__IMV_SITE("movl $0, %k0", "1", "2", "0") \
			     : "=r" (__imv_value) : "i" (&name##__imv)); \
		break;							\
	case 4:								\
		asm volatile(__IMV_SITE("movl $0, %k0", "1", "4", "0") \
			     : "=r" (__imv_value) : "i" (&name##__imv)); \
		break;							\
	default:							\
		asm volatile(__IMV_SITE("movabs $0, %q0", "1", "8", "0") \
			     : "=r" (__imv_value) : "i" (&name##__imv)); \
		break;							\
	}								\
	__imv_value;							\
})

/* Emit the branch of 7 bytes that <kmarkers/branch.h> describes. */
static __always_inline bool __imv_branch(const void *var)
{
	asm goto(__IMV_SITE(KMARKERS_BRANCH("%l[on]"), "0", "1", __stringify(IMV_BRANCH))
		 : : "i" (var) : : on);
	return false;
on:
	return true;
}

/**
 * imv_branch() - read a boolean immediate value as a branch
 * @name: name of the value, whose size must be one byte
 *
 * The code is one nop while the value is 0, else one jump; there is no test and no load.
 *
 * Return: true if the value is not 0.
 */
#define imv_branch(name)						\
({									\
	BUILD_BUG_ON(sizeof(name##__imv) != 1);				\
	__imv_branch(&name##__imv);					\
})

/*
 * Two other forms of a branch, as in kernel patches of 2006 and 2008.  Each has two instructions.
 * The first instruction sets ZF: a cmp of a register with itself, or an xor that clears a register.
 * The second instruction is a jne while the branch is off, and is never taken because ZF is set.  A
 * change of one byte turns the jne into a je, which is always taken: the branch is on.
 */
static __always_inline bool __imv_cmp_flip(const void *var)
{
	asm goto("cmpl %%eax, %%eax\n"
		 __IMV_SITE("jne %l[on]", "0", "1", __stringify(IMV_FLIP))
		 : : "i" (var) : "cc" : on);
	return false;
on:
	return true;
}

static __always_inline bool __imv_xor_flip(const void *var)
{
	asm goto("xorl %%eax, %%eax\n"
		 __IMV_SITE("jne %l[on]", "0", "1", __stringify(IMV_FLIP))
		 : : "i" (var) : "eax", "cc" : on);
	return false;
on:
	return true;
}

/**
 * imv_cmp_flip() - imv_branch() as two instructions, cmp and jne, for benchmarks
 * @name: name of the value, whose size must be one byte
 *
 * The cmp of a register with itself sets ZF, so the jne is not taken.  While the value is not 0, a
 * je, which is taken, replaces the jne.
 *
 * Return: true if the value is not 0.
 */
#define imv_cmp_flip(name)	__imv_cmp_flip(&name##__imv)

/**
 * imv_xor_flip() - imv_branch() as two instructions, xor and jne, for benchmarks
 * @name: name of the value, whose size must be one byte
 *
 * The xor of a register with itself sets ZF, so the jne is not taken.  While the value is not 0, a
 * je, which is taken, replaces the jne.
 *
 * Return: true if the value is not 0.
 */
#define imv_xor_flip(name)	__imv_xor_flip(&name##__imv)

/*
 * Define two functions that compare @x with the value of a variable, and return true if the jump
 * with the condition @cc is taken.  One function compares 8 bits.  The other function compares 32
 * bits; smaller values are extended to 32 bits.
 *
 * The constant of the compiled cmp is the largest signed number, because the assembler would
 * shorten a small constant of 32 bits to 8 bits.
 */
#define __IMV_DEFINE_COMPARISON(cc)					\
static __always_inline bool __imv_compare_8_##cc(u8 x, const void *var)	\
{									\
	asm goto(__IMV_SITE("cmpb $0x7f, %b0", "1", "1", __stringify(IMV_COMPARE)) \
		 "	j" #cc " %l[yes]"				\
		 : : "r" (x), "i" (var) : "cc" : yes);			\
	return false;							\
yes:									\
	return true;							\
}									\
									\
static __always_inline bool						\
__imv_compare_32_##cc(u32 x, const void *var, int size, int flags)	\
{									\
	asm goto(__IMV_SITE("cmpl $0x7fffffff, %k0", "1", "%c2", "%c3")	\
		 "	j" #cc " %l[yes]"				\
		 : : "r" (x), "i" (var), "i" (size), "i" (flags) : "cc" : yes); \
	return false;							\
yes:									\
	return true;							\
}

__IMV_DEFINE_COMPARISON(e)
__IMV_DEFINE_COMPARISON(b)
__IMV_DEFINE_COMPARISON(be)
__IMV_DEFINE_COMPARISON(a)
__IMV_DEFINE_COMPARISON(ae)
__IMV_DEFINE_COMPARISON(l)
__IMV_DEFINE_COMPARISON(le)
__IMV_DEFINE_COMPARISON(g)
__IMV_DEFINE_COMPARISON(ge)

#define __IMV_IS_SIGNED(type)	((type)-1 < (type)1)

/* True if @x and the value have the same type of one byte: then neither is extended. */
#define __IMV_COMPARES_BYTES(x, name)					\
	(sizeof(name##__imv) == 1 &&					\
	 __builtin_types_compatible_p(__typeof__(x), __typeof__(name##__imv)))

/*
 * Compare @x with a value by a cmp and a conditional jump.  The condition of the jump is @greater
 * for signed numbers, and @above for unsigned numbers.  Numbers of 8 bytes are compared with an
 * imv_read(), by the operator @op.
 */
#define __IMV_COMPARE(x, name, op, above, greater)			\
({									\
	__typeof__(+(x)) __imv_x = (x);					\
	const int __imv_flags = IMV_COMPARE | (sizeof(name##__imv) < 4 && \
		__IMV_IS_SIGNED(__typeof__(name##__imv)) ? IMV_SIGNED : 0); \
									\
	__IMV_CHECK_TYPE(x, name);					\
	sizeof(__imv_x) == 8 ? __imv_x op imv_read(name) :		\
	__IMV_COMPARES_BYTES(x, name) ?					\
		__IMV_IS_SIGNED(__typeof__(name##__imv)) ?		\
			__imv_compare_8_##greater((u8)__imv_x, &name##__imv) : \
			__imv_compare_8_##above((u8)__imv_x, &name##__imv) : \
	__IMV_IS_SIGNED(__typeof__(__imv_x)) ?				\
		__imv_compare_32_##greater((u32)__imv_x, &name##__imv, \
					   sizeof(name##__imv), __imv_flags) : \
		__imv_compare_32_##above((u32)__imv_x, &name##__imv,	\
					 sizeof(name##__imv), __imv_flags); \
})

#endif /* IMV_PLAIN */

/**
 * imv_equal() - test whether a number equals an immediate value
 * @x: the number; evaluated once
 * @name: name of the immediate value, which is an integer, enum or bool
 *
 * Numbers of 1, 2 and 4 bytes take one cmp with the value as its operand, and one conditional jump.
 * A cmp has no operand of 8 bytes, so numbers of 8 bytes take an imv_read(), too.
 *
 * After integer promotion, @x must have the type of the value; any other type is a compiler error.
 *
 * Return: true if @x equals the value.
 */
#define imv_equal(x, name)	__IMV_COMPARE(x, name, ==, e, e)

/**
 * imv_below() - test whether a number is less than an immediate value
 * @x: the number; evaluated once
 * @name: name of the immediate value, which is an integer, enum or bool
 *
 * imv_equal() describes the code and the allowed types.  Numbers of a signed type are compared as
 * signed numbers.
 *
 * Return: true if @x is less.
 */
#define imv_below(x, name)	__IMV_COMPARE(x, name, <, b, l)

/**
 * imv_at_most() - test whether a number is less than or equal to an immediate value
 * @x: the number; evaluated once
 * @name: name of the immediate value, which is an integer, enum or bool
 *
 * See imv_below().
 *
 * Return: true if @x is less or equal.
 */
#define imv_at_most(x, name)	__IMV_COMPARE(x, name, <=, be, le)

/**
 * imv_above() - test whether a number is greater than an immediate value
 * @x: the number; evaluated once
 * @name: name of the immediate value, which is an integer, enum or bool
 *
 * See imv_below().
 *
 * Return: true if @x is greater.
 */
#define imv_above(x, name)	__IMV_COMPARE(x, name, >, a, g)

/**
 * imv_at_least() - test whether a number is greater than or equal to an immediate value
 * @x: the number; evaluated once
 * @name: name of the immediate value, which is an integer, enum or bool
 *
 * See imv_below().
 *
 * Return: true if @x is greater or equal.
 */
#define imv_at_least(x, name)	__IMV_COMPARE(x, name, >=, ae, ge)

/**
 * struct imv_change - the new value of an immediate value, in a batch of changes
 * @var: address of the variable that holds the value
 * @value: new value of the variable, in the low @size bytes
 * @size: size of the variable in bytes
 */
struct imv_change {
	void *var;
	u64 value;
	u8 size;
};

int imv_set_many(struct imv_change *changes, unsigned int nr);

/**
 * IMV_CHANGE() - initialise a struct imv_change
 * @name: name of the immediate value, which is an integer, enum or bool
 * @to: the new value
 */
#define IMV_CHANGE(name, to)						\
	{ .var = &name##__imv, .value = (u64)(__typeof__(name##__imv))(to), .size = sizeof(name##__imv) }

/**
 * imv_set() - change an immediate value
 * @name: name of the value
 * @to: the new value
 *
 * Context: may sleep.
 * Return: 0; or, with the value and all sites unchanged, -ENOMEM or an error of
 * patcher_apply().
 */
#define imv_set(name, to)						\
({									\
	__typeof__(name##__imv) __imv_new = (to);			\
	struct imv_change __imv_change = {				\
		.var = &name##__imv, .size = sizeof(name##__imv),	\
	};								\
									\
	memcpy(&__imv_change.value, &__imv_new, sizeof(__imv_new));	\
	imv_set_many(&__imv_change, 1);					\
})

/**
 * struct imv_settable - an immediate value that root may change through debugfs
 * @name: name of the value and of its file in debugfs
 * @var: address of the variable that holds the value
 * @size: size of the variable in bytes
 * @is_signed: true if the type of the variable is signed
 * @min: smallest value allowed
 * @max: largest value allowed
 * @private: private to the module kmarkers_immediate
 */
struct imv_settable {
	const char *name;
	void *var;
	u8 size;
	bool is_signed;
	s64 min;
	s64 max;
	void *private;
};

/**
 * IMV_SETTABLE() - let root change an immediate value through debugfs
 * @imv_name: name of the value, which is an integer or bool, and defined above in the same file
 * @lowest: smallest value allowed, an integer constant
 * @highest: largest value allowed, an integer constant
 *
 * Use this macro at file scope.  While the module is loaded, the value can be read from and
 * written to immediate/values/<module>.<name> in debugfs; anything other than a number
 * between the bounds is refused with -EINVAL.  Bounds that the type cannot hold, or whose order is
 * wrong, are compiler errors.
 */
#define IMV_SETTABLE(imv_name, lowest, highest)				\
_Static_assert((s64)(__typeof__(imv_name##__imv))(lowest) == (s64)(lowest) && \
	       (s64)(__typeof__(imv_name##__imv))(highest) == (s64)(highest) && \
	       (s64)(lowest) <= (s64)(highest),				\
	       "the bounds of a settable immediate value do not fit its type, or are not in order"); \
static struct imv_settable __imv_settable_##imv_name __used = {		\
	.name = #imv_name,						\
	.var = &imv_name##__imv,					\
	.size = sizeof(imv_name##__imv),				\
	.is_signed = (__typeof__(imv_name##__imv))-1 < (__typeof__(imv_name##__imv))1, \
	.min = lowest,							\
	.max = highest,							\
};									\
asm(KMARKERS_RECORD(settable, "	.long __imv_settable_" #imv_name " - .\n"))

KMARKERS_CHUNK(settable, imv_tables_need_immediate, 4);

#endif /* KMARKERS_IMMEDIATE_H */
