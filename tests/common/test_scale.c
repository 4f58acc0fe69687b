// SPDX-License-Identifier: GPL-2.0-only
/* Test that the time to register many probes is proportional to their number, not quadratic. */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include <kmarkers/marker.h>

#include "cases.h"

#define FEW		500
#define MANY		4000
#define TRIES		5
/* Limit of the ratio of the times that check_registration_scales() compares. */
#define MOST		3
#define NAME_LEN	32

static u8 tags[MANY];
static unsigned long calls;
static bool by_name;

static void count_hit(void *private, void *call_private, const char *fmt, va_list *args)
{
	calls++;
}

static noinline void hit_marker(void)
{
	trace_mark(test_scale, MARK_NOARGS);
}

/*
 * Return the marker name for which probe @i is registered: a separate name for each probe if
 * by_name is set, else the same name for all probes.
 */
static const char *choose_marker_name(unsigned int i, char *name)
{
	if (!by_name)
		return "test_scale";
	snprintf(name, NAME_LEN, "test_scale_%u", i);
	return name;
}

static int register_probes(unsigned int nr)
{
	char name[NAME_LEN];
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = marker_probe_register(choose_marker_name(i, name), NULL, count_hit, &tags[i]);
	return err;
}

static int unregister_probes(unsigned int nr)
{
	char name[NAME_LEN];
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = marker_probe_unregister(choose_marker_name(i, name), count_hit, &tags[i]);
	return err;
}

/*
 * Return the time in ns that is used to measure a registration: in the kernel, the monotonic time;
 * in user space, the CPU time of this thread.
 */
static u64 read_registration_clock_ns(void)
{
#ifdef __KERNEL__
	return ktime_get_ns();
#else
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
#endif
}

/* Register and unregister @nr probes.  Return the nanoseconds to register them, or 0 on error. */
static u64 measure_registration_ns(unsigned int nr)
{
	u64 start = read_registration_clock_ns(), ns;

	if (register_probes(nr))
		return 0;
	ns = read_registration_clock_ns() - start;
	calls = 0;
	hit_marker();
	if (unregister_probes(nr) || calls != (by_name ? 0 : nr))
		return 0;
	return ns ?: 1;
}

/* Return the nanoseconds to register MANY probes, FEW at a time, or 0 on error. */
static u64 measure_registration_in_parts_ns(void)
{
	u64 ns, sum = 0;
	unsigned int i;

	for (i = 0; i < MANY / FEW; i++) {
		ns = measure_registration_ns(FEW);
		if (!ns)
			return 0;
		sum += ns;
	}
	return sum;
}

/*
 * Check that registering MANY probes at once takes less than MOST times as long as registering the
 * same number in MANY / FEW = 8 parts of FEW probes.  If the time of one registration were
 * proportional to the number of registered probes, the ratio would be about eight.  Both times are
 * minima of several tries, because other load can only increase the times.
 */
static const char *check_registration_scales(void)
{
	u64 parts = ~0ULL, whole = ~0ULL, ns;
	unsigned int i;

	for (i = 0; i < TRIES && (!i || whole >= MOST * parts); i++) {
		ns = measure_registration_in_parts_ns();
		EXPECT(ns);
		parts = ns < parts ? ns : parts;
		ns = measure_registration_ns(MANY);
		EXPECT(ns);
		whole = ns < whole ? ns : whole;
	}
	EXPECT(whole < MOST * parts);
	return NULL;
}

const char *markers_scale_on_one_name(void)
{
	by_name = false;
	return check_registration_scales();
}

const char *markers_scale_on_many_names(void)
{
	by_name = true;
	return check_registration_scales();
}

void scale_cleanup(void)
{
	char name[NAME_LEN];
	unsigned int i;

	for (i = 0; i < MANY; i++)
		marker_probe_unregister(choose_marker_name(i, name), count_hit, &tags[i]);
	marker_synchronize_unregister();
}
