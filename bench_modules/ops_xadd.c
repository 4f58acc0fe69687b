// SPDX-License-Identifier: GPL-2.0-only
/*
 * xadd-prefix: the cost of XADD to memory without a prefix, with the LOCK prefix, and with two
 * replacements of this prefix.  On machines with one CPU, kernels of 2008 replaced LOCK by a DS
 * prefix, which is a part of the instruction, or by a nop, which is another instruction.
 *
 * In xadd-prefix-contended, another CPU adds to the same cache line all the time.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "observer.h"
#include "observer_thread.h"
#include "ops.h"

static struct {
	u32 number;
} line __aligned(64);

#define XADD(prefix)							\
do {									\
	u32 one = 1;							\
									\
	asm volatile(prefix "xaddl %0, %1" : "+r" (one), "+m" (line.number) : : "cc"); \
} while (0)

BENCH_OPS(xadd_empty, (void)0)
BENCH_OPS(xadd_clone, (void)0)
BENCH_OPS(xadd_plain, XADD(""))
BENCH_OPS(xadd_nop, XADD("nop\n\t"))
BENCH_OPS(xadd_ds, XADD(".byte 0x3e\n\t"))
BENCH_OPS(xadd_lock, XADD("lock "))

static const struct bench_variant xadd_variants[] = {
	BENCH_ROW("empty", xadd_empty),
	BENCH_ROW("empty-clone", xadd_clone),
	BENCH_ROW("plain", xadd_plain),
	BENCH_ROW("nop", xadd_nop),
	BENCH_ROW("ds", xadd_ds),
	BENCH_ROW("lock", xadd_lock),
};

const struct bench_group bench_xadd_prefix = {
	.name = "xadd-prefix",
	.variants = xadd_variants,
	.nr_variants = ARRAY_SIZE(xadd_variants),
};

/* Add to the contended cache line.  The observer thread calls this before it reads the clock. */
static void contend_for_cache_line(void)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		XADD("lock ");
}

static int start_contending_thread(void)
{
	int err;

	bench_observer_set_callback(contend_for_cache_line);
	err = bench_observer_start(false);
	if (err)
		bench_observer_set_callback(NULL);
	return err;
}

static void stop_contending_thread(void)
{
	bench_observer_stop();
	bench_observer_set_callback(NULL);
}

const struct bench_group bench_xadd_prefix_contended = {
	.name = "xadd-prefix-contended",
	.variants = xadd_variants,
	.nr_variants = ARRAY_SIZE(xadd_variants),
	.setup = start_contending_thread,
	.teardown = stop_contending_thread,
	.lacks = "no second CPU is available for the thread that contends for the cache line",
};
