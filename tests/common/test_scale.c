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
/* Limit of the ratio of the two times. */
#define MOST		3
#define NAME_LEN	32

static u8 tags[MANY];
static unsigned long calls;
static bool by_name;

static void probe(void *private, void *call_private, const char *fmt, va_list *args)
{
	calls++;
}

static noinline void hit(void)
{
	trace_mark(test_scale, MARK_NOARGS);
}

/* Return the marker name of probe @i: a name of its own if by_name is set, else a common one. */
static const char *get_name(unsigned int i, char *name)
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
		err = marker_probe_register(get_name(i, name), NULL, probe, &tags[i]);
	return err;
}

static int unregister_probes(unsigned int nr)
{
	char name[NAME_LEN];
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = marker_probe_unregister(get_name(i, name), probe, &tags[i]);
	return err;
}

/* Return the time in nanoseconds.  In a program it is the CPU time of this thread. */
static u64 now_ns(void)
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
static u64 time_probes(unsigned int nr)
{
	u64 start = now_ns(), ns;

	if (register_probes(nr))
		return 0;
	ns = now_ns() - start;
	calls = 0;
	hit();
	if (unregister_probes(nr) || calls != (by_name ? 0 : nr))
		return 0;
	return ns ?: 1;
}

/* Return the nanoseconds to register MANY probes, FEW at a time, or 0 on error. */
static u64 time_parts(void)
{
	u64 ns, sum = 0;
	unsigned int i;

	for (i = 0; i < MANY / FEW; i++) {
		ns = time_probes(FEW);
		if (!ns)
			return 0;
		sum += ns;
	}
	return sum;
}

/*
 * Check that registering MANY probes at once takes about as long as FEW at a time, eight times.  If
 * the work were quadratic, it would take eight times as long.  Both times are minima of several
 * tries, since other load only adds to them.
 */
static const char *check_scaling(void)
{
	u64 parts = ~0ULL, whole = ~0ULL, ns;
	unsigned int i;

	for (i = 0; i < TRIES && (!i || whole >= MOST * parts); i++) {
		ns = time_parts();
		EXPECT(ns);
		parts = ns < parts ? ns : parts;
		ns = time_probes(MANY);
		EXPECT(ns);
		whole = ns < whole ? ns : whole;
	}
	EXPECT(whole < MOST * parts);
	return NULL;
}

const char *markers_scale_on_one_name(void)
{
	by_name = false;
	return check_scaling();
}

const char *markers_scale_on_many_names(void)
{
	by_name = true;
	return check_scaling();
}

void scale_cleanup(void)
{
	char name[NAME_LEN];
	unsigned int i;

	for (i = 0; i < MANY; i++)
		marker_probe_unregister(get_name(i, name), probe, &tags[i]);
	marker_synchronize_unregister();
}
