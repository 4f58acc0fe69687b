// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of operations in which an allocation fails: they must return -ENOMEM and change nothing.
 * Each operation is repeated while its first allocation fails, then its second one and so on, until
 * it makes no more allocations.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>

#include <kmarkers/marker.h>
#include <kmarkers/typed.h>

#include "cases.h"

DECLARE_MARKER(test_typed_nomem, MARKER_PROTO(int number), MARKER_ARGS(number), "%d");
DEFINE_MARKER(test_typed_nomem);

/* Limit of the number of allocations of one operation. */
#define FAR	1000

/* Call @operation while its @nth allocation fails.  Return false if it made fewer allocations. */
static bool fail_allocation(unsigned int nth, int (*operation)(void), int *err)
{
	bool failed;

	test_fail_at(nth);
	*err = operation();
	failed = test_has_failed();
	test_fail_at(0);
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

	if (test_fail_allocations())
		return "SKIP no way to make allocations fail";
	for (nth = 1; nth < FAR && fail_allocation(nth, set_all_values, &err); nth++) {
		EXPECT(err == -ENOMEM);
		EXPECT(!check_values_unchanged());
	}
	EXPECT(nth > 1 && nth < FAR);
	EXPECT(!err);
	EXPECT(imv_read(number) == 10 && imv_read(large) == 20 && imv_branch(flag));
	return NULL;
}

static unsigned int calls;

static void probe(void *private, void *call_private, const char *fmt, va_list *args)
{
	calls++;
}

static noinline void hit(void)
{
	trace_mark(test_nomem, "%d", 1);
}

static int register_probe(void)
{
	return marker_probe_register("test_nomem", "%d", probe, &calls);
}

static int unregister_probe(void)
{
	return marker_probe_unregister("test_nomem", probe, &calls);
}

const char *markers_unchanged_without_memory(void)
{
	unsigned int nth;
	int err;

	if (test_fail_allocations())
		return "SKIP no way to make allocations fail";
	for (nth = 1; nth < FAR && fail_allocation(nth, register_probe, &err); nth++) {
		EXPECT(err == -ENOMEM);
		hit();
		EXPECT(calls == 0);
		EXPECT(unregister_probe() == -ENOENT);
	}
	EXPECT(nth > 1 && nth < FAR && !err);
	hit();
	EXPECT(calls == 1);

	/* The probe is called if unregistering has failed, and not called if it has succeeded. */
	for (nth = 1; nth < FAR && fail_allocation(nth, unregister_probe, &err); nth++) {
		calls = 0;
		hit();
		EXPECT(calls == (err ? 1 : 0));
		EXPECT(!err || err == -ENOMEM);
		if (!err)
			EXPECT(!register_probe());
	}
	EXPECT(nth > 1 && nth < FAR && !err);
	calls = 0;
	hit();
	EXPECT(calls == 0);
	return NULL;
}

/* Private data of a second probe, which is unregistered without memory: the first one stays. */
static unsigned int others;

static int unregister_other(void)
{
	return marker_probe_unregister("test_nomem", probe, &others);
}

const char *unregistering_without_memory(void)
{
	unsigned int nth;
	int err = 0;

	if (test_fail_allocations())
		return "SKIP no way to make allocations fail";
	EXPECT(!register_probe());
	for (nth = 1; nth < FAR; nth++) {
		EXPECT(!marker_probe_register("test_nomem", "%d", probe, &others));
		calls = 0;
		if (!fail_allocation(nth, unregister_other, &err))
			break;
		EXPECT(!err);
		hit();
		EXPECT(calls == 1);
		EXPECT(unregister_other() == -ENOENT);
	}
	EXPECT(nth > 1 && nth < FAR && !err);
	return NULL;
}

static unsigned int typed_calls;

static void typed_probe(void *private, int number)
{
	typed_calls++;
}

static noinline void hit_typed(void)
{
	mark_typed(test_typed_nomem, 1);
}

static int register_typed(void)
{
	return marker_register_test_typed_nomem(typed_probe, &typed_calls);
}

static int unregister_typed(void)
{
	return marker_unregister_test_typed_nomem(typed_probe, &typed_calls);
}

static bool is_typed_called(void)
{
	typed_calls = 0;
	hit_typed();
	return typed_calls == 1;
}

/* After a failed allocation, registering has failed or the probe is called. */
const char *typed_unchanged_without_memory(void)
{
	unsigned int nth;
	int err = 0;

	if (test_fail_allocations())
		return "SKIP no way to make allocations fail";
	for (nth = 1; nth < FAR && fail_allocation(nth, register_typed, &err); nth++) {
		EXPECT(!err || err == -ENOMEM);
		EXPECT(is_typed_called() == !err);
		EXPECT(unregister_typed() == (err ? -ENOENT : 0));
	}
	EXPECT(nth > 1 && nth < FAR && !err && is_typed_called());
	for (nth = 1; nth < FAR && fail_allocation(nth, unregister_typed, &err); nth++) {
		EXPECT(!err || err == -ENOMEM);
		EXPECT(is_typed_called() == !!err);
		EXPECT(err || !register_typed());
	}
	EXPECT(nth > 1 && nth < FAR && !err && !is_typed_called());
	return NULL;
}

void nomem_cleanup(void)
{
	struct imv_change changes[] = {
		IMV_CHANGE(number, 1), IMV_CHANGE(large, 2), IMV_CHANGE(flag, false),
	};

	test_stop_failing();
	unregister_probe();
	unregister_other();
	unregister_typed();
	imv_set_many(changes, ARRAY_SIZE(changes));
	calls = 0;
}
