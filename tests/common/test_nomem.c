// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of operations in which an allocation fails: they must return -ENOMEM and change nothing.
 * Each operation is called repeatedly: in call number n, allocation number n fails.  The calls end
 * when the operation makes fewer than n allocations.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>

#include <kmarkers/marker.h>
#include <kmarkers/typed.h>

#include "cases.h"

DECLARE_MARKER(test_typed_nomem, MARKER_PROTO(int number), MARKER_ARGS(number), "%d");
DEFINE_MARKER(test_typed_nomem);

/* Upper limit of the number of allocations that one operation makes. */
#define FAR	1000

/*
 * Call @operation while its @nth allocation fails, and set @err to its return value.  Return false
 * if the operation made fewer than @nth allocations.
 */
static bool fail_allocation_of(unsigned int nth, int (*operation)(void), int *err)
{
	bool failed;

	test_fail_nth_allocation(nth);
	*err = operation();
	failed = test_has_allocation_failed();
	test_fail_nth_allocation(0);
	return failed;
}

static DEFINE_IMV(int, number) = 1;
static DEFINE_IMV(u64, large) = 2;
static DEFINE_IMV(bool, flag);

static int set_all_values(void)
{
	struct imv_change changes[] = {
		IMV_CHANGE(number, 10), IMV_CHANGE(large, 20), IMV_CHANGE(flag, true),
	};

	return imv_set_many(changes, ARRAY_SIZE(changes));
}

static const char *check_values_unchanged(void)
{
	EXPECT(imv_read(number) == 1 && _imv_read(number) == 1);
	EXPECT(imv_read(large) == 2 && _imv_read(large) == 2);
	EXPECT(!imv_branch(flag) && !_imv_read(flag));
	return NULL;
}

const char *imv_unchanged_without_memory(void)
{
	unsigned int nth;
	int err;

	if (test_enable_failing_allocations())
		return "SKIP allocations cannot be made to fail here";
	for (nth = 1; nth < FAR && fail_allocation_of(nth, set_all_values, &err); nth++) {
		EXPECT(err == -ENOMEM);
		EXPECT(!check_values_unchanged());
	}
	EXPECT(nth > 1 && nth < FAR);
	EXPECT(!err);
	EXPECT(imv_read(number) == 10 && imv_read(large) == 20 && imv_branch(flag));
	return NULL;
}

static unsigned int calls;

static void count_hit(void *private, void *call_private, const char *fmt, va_list *args)
{
	calls++;
}

static noinline void hit_marker(void)
{
	trace_mark(test_nomem, "%d", 1);
}

static int register_probe(void)
{
	return marker_probe_register("test_nomem", "%d", count_hit, &calls);
}

static int unregister_probe(void)
{
	return marker_probe_unregister("test_nomem", count_hit, &calls);
}

const char *markers_unchanged_without_memory(void)
{
	unsigned int nth;
	int err;

	if (test_enable_failing_allocations())
		return "SKIP allocations cannot be made to fail here";
	for (nth = 1; nth < FAR && fail_allocation_of(nth, register_probe, &err); nth++) {
		EXPECT(err == -ENOMEM);
		hit_marker();
		EXPECT(calls == 0);
		EXPECT(unregister_probe() == -ENOENT);
	}
	EXPECT(nth > 1 && nth < FAR && !err);
	hit_marker();
	EXPECT(calls == 1);

	/* A hit must call the probe if, and only if, unregistering the probe has failed. */
	for (nth = 1; nth < FAR && fail_allocation_of(nth, unregister_probe, &err); nth++) {
		calls = 0;
		hit_marker();
		EXPECT(calls == (err ? 1 : 0));
		EXPECT(!err || err == -ENOMEM);
		if (!err)
			EXPECT(!register_probe());
	}
	EXPECT(nth > 1 && nth < FAR && !err);
	calls = 0;
	hit_marker();
	EXPECT(calls == 0);
	return NULL;
}

/*
 * Private data of a second probe.  Failing to unregister the second probe must not affect the first
 * probe.
 */
static unsigned int others;

static int unregister_second_probe(void)
{
	return marker_probe_unregister("test_nomem", count_hit, &others);
}

const char *markers_unregister_without_memory(void)
{
	unsigned int nth;
	int err = 0;

	if (test_enable_failing_allocations())
		return "SKIP allocations cannot be made to fail here";
	EXPECT(!register_probe());
	for (nth = 1; nth < FAR; nth++) {
		EXPECT(!marker_probe_register("test_nomem", "%d", count_hit, &others));
		calls = 0;
		if (!fail_allocation_of(nth, unregister_second_probe, &err))
			break;
		EXPECT(!err);
		hit_marker();
		EXPECT(calls == 1);
		EXPECT(unregister_second_probe() == -ENOENT);
	}
	EXPECT(nth > 1 && nth < FAR && !err);
	return NULL;
}

static unsigned int typed_calls;

static void typed_probe(void *private, int number)
{
	typed_calls++;
}

static noinline void hit_typed_marker(void)
{
	mark_typed(test_typed_nomem, 1);
}

static int register_typed_probe(void)
{
	return marker_register_test_typed_nomem(typed_probe, &typed_calls);
}

static int unregister_typed_probe(void)
{
	return marker_unregister_test_typed_nomem(typed_probe, &typed_calls);
}

static bool does_hit_call_typed_probe(void)
{
	typed_calls = 0;
	hit_typed_marker();
	return typed_calls == 1;
}

/*
 * If an allocation fails, registering a typed probe may fail or succeed.  A hit must call the probe
 * if, and only if, the probe is registered.
 */
const char *typed_unchanged_without_memory(void)
{
	unsigned int nth;
	int err = 0;

	if (test_enable_failing_allocations())
		return "SKIP allocations cannot be made to fail here";
	for (nth = 1; nth < FAR && fail_allocation_of(nth, register_typed_probe, &err); nth++) {
		EXPECT(!err || err == -ENOMEM);
		EXPECT(does_hit_call_typed_probe() == !err);
		EXPECT(unregister_typed_probe() == (err ? -ENOENT : 0));
	}
	EXPECT(nth > 1 && nth < FAR && !err && does_hit_call_typed_probe());
	for (nth = 1; nth < FAR && fail_allocation_of(nth, unregister_typed_probe, &err); nth++) {
		EXPECT(!err || err == -ENOMEM);
		EXPECT(does_hit_call_typed_probe() == !!err);
		EXPECT(err || !register_typed_probe());
	}
	EXPECT(nth > 1 && nth < FAR && !err && !does_hit_call_typed_probe());
	return NULL;
}

void nomem_cleanup(void)
{
	struct imv_change changes[] = {
		IMV_CHANGE(number, 1), IMV_CHANGE(large, 2), IMV_CHANGE(flag, false),
	};

	test_disable_failing_allocations();
	unregister_probe();
	unregister_second_probe();
	unregister_typed_probe();
	imv_set_many(changes, ARRAY_SIZE(changes));
	calls = 0;
}
