// SPDX-License-Identifier: GPL-2.0-only
/*
 * getppid-*: the cost of two dormant markers around getppid(2), with warm caches (quiet) and with
 * L1 and L2 evicted by a random walk before each call (pressure), as measured for immediate values
 * in 2008.
 *
 * In the kernel, the markers are around a copy of the system call's work, without a system call.
 * In user space, they are around the real system call.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/vmalloc.h>

#include <kmarkers/marker.h>

#include "getppid.h"
#include "ops.h"
#include "walk.h"

static u8 *pressure_buffer;
static u64 pressure_walk = 1;

static void evict_l1_and_l2_caches(void)
{
	evict_caches_by_walk(pressure_buffer, EVICT_ORDER, EVICT_STEPS, &pressure_walk);
}

/* The measured work between two markers. */
#define CALL(flavour)							\
	long ppid;							\
									\
	trace_mark_flavour(flavour, bench_getppid_entry, NULL, MARK_NOARGS); \
	ppid = read_parent_pid();					\
	trace_mark_flavour(flavour, bench_getppid_exit, NULL, "%ld", ppid)

BENCH_OPS(quiet_out, read_parent_pid())
BENCH_OPS(quiet_out_clone, read_parent_pid())
BENCH_OPS(quiet_generic, CALL(generic))
BENCH_OPS(quiet_immediate, CALL(immediate))
BENCH_OPS(quiet_jump, CALL(jump))

static const struct bench_variant quiet_variants[] = {
	BENCH_ROW("compiled-out", quiet_out),
	BENCH_ROW("compiled-out-clone", quiet_out_clone),
	BENCH_ROW("generic", quiet_generic),
	BENCH_ROW("immediate", quiet_immediate),
	BENCH_ROW("jump", quiet_jump),
};

const struct bench_group bench_getppid_quiet = {
	.name = GETPPID_NAME "-quiet",
	.variants = quiet_variants,
	.nr_variants = ARRAY_SIZE(quiet_variants),
};

BENCH_OPS_EACH(pressure_out, evict_l1_and_l2_caches(), read_parent_pid())
BENCH_OPS_EACH(pressure_out_clone, evict_l1_and_l2_caches(), read_parent_pid())
BENCH_OPS_EACH(pressure_generic, evict_l1_and_l2_caches(), CALL(generic))
BENCH_OPS_EACH(pressure_immediate, evict_l1_and_l2_caches(), CALL(immediate))
BENCH_OPS_EACH(pressure_jump, evict_l1_and_l2_caches(), CALL(jump))
/* Measure the cost of reading the clock, which every other variant includes. */
BENCH_OPS_EACH(pressure_clock, evict_l1_and_l2_caches(), (void)0)

static const struct bench_variant pressure_variants[] = {
	BENCH_ROW("compiled-out", pressure_out),
	BENCH_ROW("compiled-out-clone", pressure_out_clone),
	BENCH_ROW("generic", pressure_generic),
	BENCH_ROW("immediate", pressure_immediate),
	BENCH_ROW("jump", pressure_jump),
	BENCH_ROW("clock", pressure_clock),
};

static int alloc_pressure_buffer(void)
{
	pressure_buffer = vmalloc(1UL << EVICT_ORDER);
	if (!pressure_buffer)
		return -ENOMEM;
	memset(pressure_buffer, 1, 1UL << EVICT_ORDER);
	return 0;
}

static void free_pressure_buffer(void)
{
	vfree(pressure_buffer);
}

const struct bench_group bench_getppid_pressure = {
	.name = GETPPID_NAME "-pressure",
	.variants = pressure_variants,
	.nr_variants = ARRAY_SIZE(pressure_variants),
	.loops = { 2, 4, 18 },
	.setup = alloc_pressure_buffer,
	.teardown = free_pressure_buffer,
};
