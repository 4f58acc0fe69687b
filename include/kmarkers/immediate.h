/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Immediate values: variables that are read as operands of instructions.
 *
 * OVERVIEW
 *
 * Reading an immediate value is one instruction, mov $value,%reg, with the
 * value inside the instruction.  It touches no data cache line, so it costs
 * the same however cold the data caches are.  Changing one is expensive: every
 * place that reads it is patched, on the running system, all in one batch.
 * Use them for what is read often and changed rarely.
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
 * and, in a header for other modules, DECLARE_IMV(int, threshold);
 *
 * CONTEXT
 *
 *	macro			may sleep  irq	nmi
 *	imv_read(), _imv_read()	no	   yes	yes
 *	imv_set()		yes	   no	no
 *
 * PROMISES
 *
 * Each read yields the old or the new value, whole.  After imv_set() returned
 * 0, no imv_read() on any CPU yields the old one.  imv_read() is volatile: each
 * execution reads anew.  It orders nothing else: to pass data along with a
 * value, synchronise as for any variable.
 *
 * imv_read() must not stand in __init text, which is freed while sites live on:
 * there, use _imv_read(), a plain load.  A module that breaks this rule is
 * refused when it is loaded.
 *
 * Types of 1, 2, 4 and 8 bytes are allowed: integers, enums, bool, pointers.
 *
 * Source: the immediate values patches of 2007-2008, whose names these are.
 */
#ifndef KMARKERS_IMMEDIATE_H
#define KMARKERS_IMMEDIATE_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/string.h>
#include <linux/types.h>
#include <kmarkers/table.h>

/* Referred to by every table of immediate values; its value is unused. */
extern const u8 imv_tables_need_immediate;

KMARKERS_CHUNK(imv, imv_tables_need_immediate, 12);

/**
 * DEFINE_IMV() - define an immediate value
 * @type: its type, of 1, 2, 4 or 8 bytes
 * @name: its name
 *
 * A static initialiser may follow; "static" may stand in front.
 */
#define DEFINE_IMV(type, name)		__typeof__(type) name##__imv

/**
 * DECLARE_IMV() - declare an immediate value that another file defines
 * @type: its type
 * @name: its name
 */
#define DECLARE_IMV(type, name)		extern __typeof__(type) name##__imv

#define EXPORT_IMV_SYMBOL(name)		EXPORT_SYMBOL(name##__imv)
#define EXPORT_IMV_SYMBOL_GPL(name)	EXPORT_SYMBOL_GPL(name##__imv)

/**
 * _imv_read() - read an immediate value with a plain load
 * @name: its name
 *
 * An lvalue.  Required in __init and __exit text.
 */
#define _imv_read(name)			(name##__imv)

/* One reading instruction and its struct patcher_site. */
#define __IMV_SITE(instruction, var, bytes)				\
	"1:	" instruction "\n"					\
	"2:\n"								\
	KMARKERS_RECORD(imv,						\
	"	.long 1b - ., %c" var " - .\n"				\
	"	.byte 2b - 1b, " bytes "\n"				\
	"	.short 0\n")

/**
 * imv_read() - read an immediate value
 * @name: its name
 *
 * Two bytes are read with a 32-bit mov: an immediate of 16 bits needs a prefix
 * that changes the length of the instruction, which stalls some decoders (Intel
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
		asm volatile(__IMV_SITE("movb $0, %b0", "1", "1")	\
			     : "=r" (__imv_value) : "i" (&name##__imv)); \
		break;							\
	case 2:								\
		asm volatile(__IMV_SITE("movl $0, %k0", "1", "2")	\
			     : "=r" (__imv_value) : "i" (&name##__imv)); \
		break;							\
	case 4:								\
		asm volatile(__IMV_SITE("movl $0, %k0", "1", "4")	\
			     : "=r" (__imv_value) : "i" (&name##__imv)); \
		break;							\
	default:							\
		asm volatile(__IMV_SITE("movabs $0, %q0", "1", "8")	\
			     : "=r" (__imv_value) : "i" (&name##__imv)); \
		break;							\
	}								\
	__imv_value;							\
})

/**
 * struct imv_change - one change in a batch
 * @var: address of the variable behind an immediate value
 * @value: its new value, in the low @size bytes
 * @size: bytes of the variable
 */
struct imv_change {
	void *var;
	u64 value;
	u8 size;
};

int imv_apply(struct imv_change *changes, unsigned int nr);

/**
 * imv_set() - change an immediate value
 * @name: its name
 * @to: the new value
 *
 * Context: may sleep.
 * Return: 0; or -ENOMEM, or what patcher_apply() returns, with value and sites
 * as they were.
 */
#define imv_set(name, to)						\
({									\
	__typeof__(name##__imv) __imv_new = (to);			\
	struct imv_change __imv_change = {				\
		.var = &name##__imv, .size = sizeof(name##__imv),	\
	};								\
									\
	memcpy(&__imv_change.value, &__imv_new, sizeof(__imv_new));	\
	imv_apply(&__imv_change, 1);					\
})

#endif /* KMARKERS_IMMEDIATE_H */
