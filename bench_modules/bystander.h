/* SPDX-License-Identifier: GPL-2.0-only */
/* A CPU that executes no site: it reads the clock all the time, and notices gaps. */
#ifndef BENCH_MODULES_BYSTANDER_H
#define BENCH_MODULES_BYSTANDER_H

#include <linux/types.h>

/*
 * On a CPU other than the caller's; -ENODEV if there is none.  With @first it
 * goes before all threads there but those of stop_machine(): for short runs, and
 * not with PREEMPT_RT.
 */
int bystander_start(bool first);
void bystander_stop(void);

/*
 * The longest gap between two readings, in ticks, since the last call.  Gaps that
 * an interrupt of that CPU's timer makes by itself are left out: they come anyway.
 * The first call takes a tenth of a second, in which that is learnt.
 */
u64 bystander_gap(void);

/* What the thread runs, and what it needs from where it runs. */
void bystander_loop(void);
bool bystander_should_stop(void);
unsigned int bystander_timer_irqs(void);
void bystander_yield(void);

#endif /* BENCH_MODULES_BYSTANDER_H */
