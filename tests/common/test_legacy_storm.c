// SPDX-License-Identifier: GPL-2.0-only
/* Storm: probes of both historical interfaces are connected and disconnected. */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/marker.h>

#include "cases.h"

/*
 * STAYING probes stay connected.  Every execution must call each of them exactly once, with
 * its own data.  Others are connected and disconnected.  A call with data that are marked
 * as dead is an error.
 */
#define STAYING		3
#define COMING		4

static atomic_long_t counted[STAYING], counted_2006;
static unsigned long wrong;
static bool dead[COMING];

static void count(void *private, void *call_private, const char *fmt, va_list *args)
{
	if (va_arg(*args, long) != 7)
		WRITE_ONCE(wrong, wrong + 1);
	atomic_long_inc((atomic_long_t *)private);
}

static void count_2006(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (va_arg(args, long) != 7)
		WRITE_ONCE(wrong, wrong + 1);
	va_end(args);
	atomic_long_inc(&counted_2006);
}

static void check_alive(void *private, void *call_private, const char *fmt, va_list *args)
{
	if (READ_ONCE(*(bool *)private))
		WRITE_ONCE(wrong, wrong + 1);
}

static void come_and_go_2006(const char *fmt, ...)
{
	if (READ_ONCE(dead[0]))
		WRITE_ONCE(wrong, wrong + 1);
}

static void pass(void)
{
	MARK(test_count, "%ld", 7L);
}

static int come_and_go(unsigned int i)
{
	bool *mine = &dead[i % COMING];
	int err;

	WRITE_ONCE(*mine, false);
	err = marker_probe_register("test_count", NULL, check_alive, mine);
	if (!err && !(i % COMING))
		err = marker_set_probe("test_count", NULL, come_and_go_2006) == 0 ||
		      marker_remove_probe(come_and_go_2006) == 0;
	err = err ?: marker_probe_unregister("test_count", check_alive, mine);
	marker_synchronize_unregister();
	WRITE_ONCE(*mine, true);
	return err;
}

const char *legacy_exactly_once(void)
{
	unsigned long passes;
	unsigned int i;
	int err = 0;

	wrong = 0;
	atomic_long_set(&counted_2006, 0);
	for (i = 0; i < STAYING; i++) {
		atomic_long_set(&counted[i], 0);
		EXPECT(!marker_probe_register("test_count", "%ld", count, &counted[i]));
	}
	EXPECT(marker_set_probe("test_count", "%ld", count_2006));
	EXPECT(!test_start_threads(pass));
	for (i = 0; i < test_batches / 20 && !err; i++)
		err = come_and_go(i);
	passes = test_stop_threads();
	for (i = 0; i < STAYING; i++)
		EXPECT(!marker_probe_unregister("test_count", count, &counted[i]));
	EXPECT(marker_remove_probe(count_2006));
	EXPECT(!err && passes && !wrong);
	for (i = 0; i < STAYING; i++)
		EXPECT(atomic_long_read(&counted[i]) == passes);
	EXPECT(atomic_long_read(&counted_2006) == passes);
	return NULL;
}
