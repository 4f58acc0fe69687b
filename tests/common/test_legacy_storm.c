// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stress test: probes of both historical interfaces are connected and disconnected while all CPUs
 * execute a marker.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/marker.h>

#include "cases.h"

/*
 * NR_CONNECTED probes stay connected: every execution of the marker must call each of these probes
 * exactly once, with the probe's own private data.  One more probe is connected and disconnected
 * repeatedly, with the private data &dead[0], &dead[1] and so on in turn.  While dead[i] is true,
 * no probe with the private data &dead[i] is connected, and a call with these data is an error.
 */
#define NR_CONNECTED	3
#define NR_ADDRESSES	4

static atomic_long_t counted[NR_CONNECTED], counted_2006;
static unsigned long wrong;
static bool dead[NR_ADDRESSES];

static void count_hit(void *private, void *call_private, const char *fmt, va_list *args)
{
	if (va_arg(*args, long) != 7)
		WRITE_ONCE(wrong, wrong + 1);
	atomic_long_inc((atomic_long_t *)private);
}

static void count_call_of_variadic_probe(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (va_arg(args, long) != 7)
		WRITE_ONCE(wrong, wrong + 1);
	va_end(args);
	atomic_long_inc(&counted_2006);
}

static void check_probe_registered(void *private, void *call_private, const char *fmt,
				   va_list *args)
{
	if (READ_ONCE(*(bool *)private))
		WRITE_ONCE(wrong, wrong + 1);
}

static void check_variadic_probe_registered(const char *fmt, ...)
{
	if (READ_ONCE(dead[0]))
		WRITE_ONCE(wrong, wrong + 1);
}

static void hit_marker(void)
{
	MARK(test_count, "%ld", 7L);
}

/*
 * Register and unregister a probe with the interface of 2.6.25 and, if @i is a multiple of
 * NR_ADDRESSES, a probe with the interface of 2006.
 */
static int register_probe_for_a_while(unsigned int i)
{
	bool *mine = &dead[i % NR_ADDRESSES];
	int err;

	WRITE_ONCE(*mine, false);
	err = marker_probe_register("test_count", NULL, check_probe_registered, mine);
	if (!err && !(i % NR_ADDRESSES))
		err = marker_set_probe("test_count", NULL, check_variadic_probe_registered) == 0 ||
		      marker_remove_probe(check_variadic_probe_registered) == 0;
	err = err ?: marker_probe_unregister("test_count", check_probe_registered, mine);
	marker_synchronize_unregister();
	WRITE_ONCE(*mine, true);
	return err;
}

const char *markers_storm_exactly_once(void)
{
	unsigned long passes;
	unsigned int i;
	int err = 0;

	wrong = 0;
	atomic_long_set(&counted_2006, 0);
	for (i = 0; i < NR_CONNECTED; i++) {
		atomic_long_set(&counted[i], 0);
		EXPECT(!marker_probe_register("test_count", "%ld", count_hit, &counted[i]));
	}
	EXPECT(marker_set_probe("test_count", "%ld", count_call_of_variadic_probe));
	EXPECT(!test_start_threads(hit_marker));
	for (i = 0; i < test_batches / 20 && !err; i++)
		err = register_probe_for_a_while(i);
	passes = test_stop_threads();
	for (i = 0; i < NR_CONNECTED; i++)
		EXPECT(!marker_probe_unregister("test_count", count_hit, &counted[i]));
	EXPECT(marker_remove_probe(count_call_of_variadic_probe));
	EXPECT(!err && passes && !wrong);
	for (i = 0; i < NR_CONNECTED; i++)
		EXPECT(atomic_long_read(&counted[i]) == passes);
	EXPECT(atomic_long_read(&counted_2006) == passes);
	return NULL;
}
