/* SPDX-License-Identifier: GPL-2.0-only */
/* A program cannot disable interrupts.  Samples with a context switch are flagged instead. */
#ifndef NATIVE_IRQFLAGS_H
#define NATIVE_IRQFLAGS_H
#define local_irq_save(flags)		((void)((flags) = 0))
#define local_irq_restore(flags)	((void)(flags))
#endif
