// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the fallback IMV_PLAIN, with which immediate values are loaded from memory. */
#define IMV_PLAIN

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/marker.h>
#include <kmarkers/patcher.h>

#include "cases.h"

static DEFINE_IMV(bool, flag) = true;
static DEFINE_IMV(s8, small) = -5;
static DEFINE_IMV(u16, medium) = 0xabcd;
static DEFINE_IMV(long, large) = -1;
static DEFINE_IMV(const char *, pointer) = "text";
static int sum;

static void add_argument_to_sum(void *probe_private, void *call_private, const char *fmt,
				va_list *args)
{
	sum += va_arg(*args, int);
}

static noinline int count_taken_branches(void)
{
	return imv_branch(flag) + imv_cmp_flip(flag) + imv_xor_flip(flag);
}

static noinline int hit_marker(int *evaluated)
{
	trace_mark(test_plain, "%d", ++*evaluated);
	return *evaluated;
}

static const char *check_values_in_memory(void)
{
	struct imv_change changes[] = {
		IMV_CHANGE(small, -128), IMV_CHANGE(medium, 7), IMV_CHANGE(large, 1L << 62),
	};

	EXPECT(imv_read(flag) && count_taken_branches() == 3);
	EXPECT(imv_read(small) == -5 && imv_read(medium) == 0xabcd && imv_read(large) == -1);
	EXPECT(!strcmp(imv_read(pointer), "text"));
	EXPECT(imv_equal(-5, small) && imv_below(-6, small) && !imv_above(-5, small));
	EXPECT(imv_at_most(0xabcd, medium) && imv_at_least(0xabcd, medium));
	EXPECT(!imv_below(0L, large) && imv_above(0L, large));
	EXPECT(!imv_set(flag, false) && !imv_read(flag) && !count_taken_branches());
	EXPECT(!imv_set(pointer, "other") && !strcmp(imv_read(pointer), "other"));
	EXPECT(!imv_set_many(changes, ARRAY_SIZE(changes)));
	EXPECT(imv_read(small) == -128 && imv_read(medium) == 7 && imv_read(large) == 1L << 62);
	changes[1] = changes[0];
	EXPECT(imv_set_many(changes, ARRAY_SIZE(changes)) == -EINVAL);
	return NULL;
}

const char *imv_plain_loads_values_from_memory(void)
{
	struct patcher_stats before, after;
	const char *failed;
	int evaluated = 0;

	patcher_read_stats(&before);
	failed = check_values_in_memory();
	if (failed)
		return failed;
	EXPECT(hit_marker(&evaluated) == 0);
	EXPECT(!marker_probe_register("test_plain", "%d", add_argument_to_sum, &sum));
	EXPECT(hit_marker(&evaluated) == 1 && sum == 1);
	EXPECT(!marker_probe_unregister("test_plain", add_argument_to_sum, &sum));
	EXPECT(hit_marker(&evaluated) == 1 && sum == 1);
	patcher_read_stats(&after);
	/* The patcher has not changed any text. */
	EXPECT(after.batches == before.batches);
	return NULL;
}

void plain_cleanup(void)
{
	struct imv_change changes[] = {
		IMV_CHANGE(flag, true), IMV_CHANGE(small, -5), IMV_CHANGE(medium, 0xabcd),
		IMV_CHANGE(large, -1),
	};

	imv_set_many(changes, ARRAY_SIZE(changes));
	imv_set(pointer, "text");
	marker_probe_unregister("test_plain", add_argument_to_sum, &sum);
	marker_synchronize_unregister();
	sum = 0;
}
