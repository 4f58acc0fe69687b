/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Immediate values: variables that are read as operands of instructions.
 *
 * OVERVIEW
 *
 * Reading an immediate value is one instruction, mov $value,%reg, with the
 * value inside the instruction.  It touches no data cache line, so it costs
 * the same whether the data caches are warm or cold.  Changing an immediate value is expensive:
 * every instruction that reads it is patched on the running system, all in one batch.
 * Use immediate values for data that is read often and changed rarely.  A boolean can
 * be read as a branch, imv_branch(): one nop or one jump, without a test.
 *
 * EXAMPLE
 *
 *	DEFINE_IMV(int, threshold) = 100;
 *	EXPORT_IMV_SYMBOL_GPL(threshold);	(only if other modules read it)
 *
 *	if (length > imv_read(threshold))
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
 *	imv_read(), imv_branch(), _imv_read()
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
 * compiler keeps every read.  A read does not order other accesses: to pass data along with a
 * value, synchronise as for any variable.
 *
 * imv_read() must not be used in __init text, which is freed while its sites stay
 * registered: use _imv_read(), a plain load, in such text.  A module that breaks this rule is
 * refused when it is loaded.
 *
 * Types of 1, 2, 4 and 8 bytes are allowed: integers, enums, bool, pointers.
 *
 * If IMV_PLAIN is defined, and on architectures other than x86-64, reads are plain
 * loads and everything else is the same.
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

/* Tables of values refer to this symbol, so they need kmarkers_immediate; its value is unused. */
extern const u8 imv_tables_need_immediate;

#ifndef IMV_PLAIN
KMARKERS_CHUNK(imv, imv_tables_need_immediate, 12);
#endif

/**
 * DEFINE_IMV() - define an immediate value
 * @type: its type, of 1, 2, 4 or 8 bytes
 * @name: its name
 *
 * A static initialiser may follow; "static" may precede.
 */
#define DEFINE_IMV(type, name)		__typeof__(type) name##__imv

/* In a program, the compiler treats the address of a hidden variable as a constant. */
#ifdef __KERNEL__
#define __IMV_EXTERN			extern
#else
#define __IMV_EXTERN			extern __attribute__((__visibility__("hidden")))
#endif

/**
 * DECLARE_IMV() - declare an immediate value that another file defines
 * @type: its type
 * @name: its name
 */
#define DECLARE_IMV(type, name)		__IMV_EXTERN __typeof__(type) name##__imv

/**
 * EXPORT_IMV_SYMBOL() - let other modules read and set an immediate value
 * @name: its name; not static
 */
#define EXPORT_IMV_SYMBOL(name)		EXPORT_SYMBOL(name##__imv)

/**
 * EXPORT_IMV_SYMBOL_GPL() - EXPORT_IMV_SYMBOL() for GPL-compatible modules only
 * @name: its name; not static
 */
#define EXPORT_IMV_SYMBOL_GPL(name)	EXPORT_SYMBOL_GPL(name##__imv)

/**
 * _imv_read() - read an immediate value with a plain load
 * @name: its name
 *
 * The result is an lvalue.  This macro is required in __init and __exit text.
 */
#define _imv_read(name)			(name##__imv)

#ifdef IMV_PLAIN

#define imv_read(name)		READ_ONCE(name##__imv)
#define imv_branch(name)	(READ_ONCE(name##__imv) != 0)
#define imv_cmp_flip(name)	imv_branch(name)
#define imv_xor_flip(name)	imv_branch(name)

#else

/*
 * Flags of struct patcher_site.  IMV_BRANCH marks the instruction of an imv_branch(); IMV_FLIP
 * marks a conditional jump that is changed between jne and je.
 */
#define IMV_BRANCH	0x100
#define IMV_FLIP	0x200

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
 * @name: its name
 *
 * One and two bytes are read with a 32-bit mov.  A mov of 8 bits keeps the rest of the
 * register, so it waits for the register's old value.  An immediate of 16 bits needs a
 * prefix that changes the length of the instruction, which stalls some decoders (Intel
 * Optimization Reference Manual, 3.4.2.3).
 *
 * Return: the value, of the type it was defined with.
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
 * @name: its name; of one byte
 *
 * The code is one nop while the value is 0 and one jump while it is not; there is no
 * test and no load.
 *
 * Return: true if the value is not 0.
 */
#define imv_branch(name)						\
({									\
	BUILD_BUG_ON(sizeof(name##__imv) != 1);				\
	__imv_branch(&name##__imv);					\
})

/*
 * Two other forms of branches, which were tried in 2006 and 2008.  The first instruction of each
 * sets ZF: it compares a register with itself, or clears a register with xor.  The second is a
 * jne, which is then never taken.  Changing one byte turns the jne into a je, which is always
 * taken.
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
 * imv_cmp_flip() - imv_branch() as two instructions, for benchmarks
 * @name: its name; of one byte
 *
 * The instructions are cmp of a register with itself, and jne or je.
 *
 * Return: true if the value is not 0.
 */
#define imv_cmp_flip(name)	__imv_cmp_flip(&name##__imv)

/**
 * imv_xor_flip() - imv_branch() as two instructions that clear a register, for benchmarks
 * @name: its name; of one byte
 *
 * The instructions are xor of a register with itself, and jne or je.
 *
 * Return: true if the value is not 0.
 */
#define imv_xor_flip(name)	__imv_xor_flip(&name##__imv)

#endif /* IMV_PLAIN */

/**
 * struct imv_change - the new value of an immediate value, in a batch of changes
 * @var: address of the variable that holds the value
 * @value: its new value, in the low @size bytes
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
 * @name: name of the immediate value; an integer, enum or bool
 * @to: its new value
 */
#define IMV_CHANGE(name, to)						\
	{ .var = &name##__imv, .value = (u64)(__typeof__(name##__imv))(to), .size = sizeof(name##__imv) }

/**
 * imv_set() - change an immediate value
 * @name: its name
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
 * @name: its name, also of its file
 * @var: address of the variable that holds the value
 * @size: size of the variable in bytes
 * @is_signed: true if its type is signed
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
 * @imv_name: its name; an integer or bool, defined above in the same file
 * @lowest: smallest value allowed
 * @highest: largest value allowed
 *
 * Use this macro at file scope.  While the module is loaded, the value can be read from and
 * written to immediate/values/<module>.<name> in debugfs; anything other than a number
 * between the bounds is refused with -EINVAL.
 */
#define IMV_SETTABLE(imv_name, lowest, highest)				\
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
