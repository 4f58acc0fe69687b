// SPDX-License-Identifier: GPL-2.0-only
/* Tests of typed markers, through their public interface. */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "cases.h"
#include "test_typed.h"

DEFINE_MARKER(test_typed);
DEFINE_MARKER(test_typed_noargs);
DEFINE_MARKER(test_typed_many);

/* Private data of a registered probe: number of its calls, and arguments of the last call. */
struct record {
	unsigned long calls;
	u64 sector;
	u32 bytes;
	const char *text;
};

static struct record records[3];

static void record_call(void *private, u64 sector, u32 bytes, const char *text)
{
	struct record *record = private;

	record->calls++;
	record->sector = sector;
	record->bytes = bytes;
	record->text = text;
}

static void record_call_as_second_probe(void *private, u64 sector, u32 bytes, const char *text)
{
	record_call(private, sector, bytes, text);
}

static void record_call_by_name(void *private, void *call_private, const char *fmt, va_list *args)
{
	struct record *record = private;

	record->calls++;
	record->sector = va_arg(*args, u64);
	record->bytes = va_arg(*args, u32);
	record->text = va_arg(*args, const char *);
}

static void count_call(void *private)
{
	((struct record *)private)->calls++;
}

static bool many_seen;

static void check_eight_args(void *private, int a, u64 b, void *c, s64 d, u8 e, int f, u64 g, int h)
{
	many_seen = a == -1 && b == 1ULL << 40 && c == &many_seen && d == -(2LL << 40) && e == 200 &&
		    f == -6 && g == 7ULL << 50 && h == -8 && private == &records[2];
}

static int evaluated;

static u64 count_evaluation(u64 value)
{
	evaluated++;
	return value;
}

static noinline void hit_marker(u64 sector, const char *text)
{
	mark_typed(test_typed, count_evaluation(sector), 512, text);
}

static noinline void hit_marker_in_other_function(u64 sector, const char *text)
{
	mark_typed(test_typed, count_evaluation(sector), 4096, text);
}

static noinline void hit_marker_without_args(void)
{
	mark_typed(test_typed_noargs);
}

static noinline void hit_marker_with_eight_args(void)
{
	mark_typed(test_typed_many, -1, 1ULL << 40, &many_seen, -(2LL << 40), 200, -6,
		   7ULL << 50, -8);
}

static bool record_holds(const struct record *record, unsigned long calls, u64 sector,
			 const char *text)
{
	return record->calls == calls && record->sector == sector && record->text == text;
}

void typed_cleanup(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(records); i++) {
		marker_unregister_test_typed(record_call, &records[i]);
		marker_unregister_test_typed(record_call_as_second_probe, &records[i]);
		marker_unregister_test_typed_noargs(count_call, &records[i]);
		marker_unregister_test_typed_many(check_eight_args, &records[i]);
		marker_probe_unregister("test_typed", record_call_by_name, &records[i]);
	}
	marker_synchronize_unregister();
	memset(records, 0, sizeof(records));
	evaluated = 0;
}

const char *typed_markers_call_probes(void)
{
	static const char text[] = "abc";
	bool *direct = &__typed_marker_test_typed.direct;

	hit_marker(1, text);
	EXPECT(evaluated == 0);
	EXPECT(!marker_register_test_typed(record_call, &records[0]));
	EXPECT(*direct);
	hit_marker(1ULL << 40, text);
	EXPECT(record_holds(&records[0], 1, 1ULL << 40, text) && records[0].bytes == 512);
	hit_marker_in_other_function(2, text);
	EXPECT(record_holds(&records[0], 2, 2, text) && records[0].bytes == 4096);
	EXPECT(evaluated == 2);

	/* Register a second probe, then unregister the first probe, then the second probe. */
	EXPECT(!marker_register_test_typed(record_call_as_second_probe, &records[1]));
	EXPECT(!*direct);
	hit_marker(3, text);
	EXPECT(record_holds(&records[0], 3, 3, text) && record_holds(&records[1], 1, 3, text));
	EXPECT(!marker_unregister_test_typed(record_call, &records[0]));
	EXPECT(*direct);
	hit_marker(4, text);
	EXPECT(records[0].calls == 3 && record_holds(&records[1], 2, 4, text));
	EXPECT(!marker_unregister_test_typed(record_call_as_second_probe, &records[1]));
	hit_marker(5, text);
	EXPECT(records[0].calls == 3 && records[1].calls == 2 && evaluated == 4);
	/*
	 * Call the stub, as happens if a CPU executed the site just before the site was disabled.
	 */
	__marker_call_test_typed(5, 512, text);
	EXPECT(records[0].calls == 3 && records[1].calls == 2);

	/* Register the same function with other private data. */
	EXPECT(!marker_register_test_typed(record_call_as_second_probe, &records[2]));
	hit_marker(6, text);
	EXPECT(records[1].calls == 2 && record_holds(&records[2], 1, 6, text));
	return NULL;
}

const char *typed_markers_pass_arguments(void)
{
	EXPECT(!marker_register_test_typed_noargs(count_call, &records[0]));
	hit_marker_without_args();
	EXPECT(records[0].calls == 1);
	many_seen = false;
	EXPECT(!marker_register_test_typed_many(check_eight_args, &records[2]));
	hit_marker_with_eight_args();
	EXPECT(many_seen);
	/* The stub of a marker with two probes calls an iterator, which calls the probes. */
	many_seen = false;
	EXPECT(!marker_register_test_typed_many(check_eight_args, &records[1]));
	EXPECT(!marker_unregister_test_typed_many(check_eight_args, &records[2]));
	EXPECT(!marker_register_test_typed_many(check_eight_args, &records[2]));
	hit_marker_with_eight_args();
	EXPECT(many_seen);
	return NULL;
}

const char *typed_markers_report_errors(void)
{
	static struct marker_typed unknown = { .marker = { .flavour = MARKER_TYPED } };

	EXPECT(marker_register_test_typed(NULL, NULL) == -EINVAL);
	EXPECT(marker_unregister_test_typed(record_call, &records[0]) == -ENOENT);
	EXPECT(!marker_register_test_typed(record_call, &records[0]));
	EXPECT(marker_register_test_typed(record_call, &records[0]) == -EBUSY);
	EXPECT(marker_unregister_test_typed(record_call, &records[1]) == -ENOENT);
	EXPECT(marker_unregister_test_typed(record_call_as_second_probe, &records[0]) == -ENOENT);
	EXPECT(!marker_unregister_test_typed(record_call, &records[0]));
	EXPECT(marker_unregister_test_typed(record_call, &records[0]) == -ENOENT);
	EXPECT(marker_typed_register(&unknown, (marker_typed_func *)(void *)record_call, NULL) ==
	       -ENOENT);
	return NULL;
}

/* Register probes by name, with and without a typed probe at the same time. */
const char *typed_markers_call_probes_by_name(void)
{
	static const char text[] = "abc";

	EXPECT(marker_probe_register("test_typed", "%d", record_call_by_name, &records[0]) == 0);
	hit_marker(1, text);
	EXPECT(records[0].calls == 0 && evaluated == 0);
	EXPECT(!marker_probe_unregister("test_typed", record_call_by_name, &records[0]));

	EXPECT(!marker_probe_register("test_typed", "sector %llu bytes %u text %s",
				      record_call_by_name, &records[0]));
	hit_marker(2, text);
	EXPECT(record_holds(&records[0], 1, 2, text) && records[0].bytes == 512);
	EXPECT(!marker_register_test_typed(record_call, &records[1]));
	hit_marker(3, text);
	EXPECT(record_holds(&records[0], 2, 3, text) && record_holds(&records[1], 1, 3, text));
	EXPECT(!marker_probe_unregister("test_typed", record_call_by_name, &records[0]));
	hit_marker(4, text);
	EXPECT(records[0].calls == 2 && record_holds(&records[1], 2, 4, text));
	EXPECT(!marker_probe_register("test_typed", NULL, record_call_by_name, &records[0]));
	hit_marker(5, text);
	EXPECT(record_holds(&records[0], 3, 5, text) && record_holds(&records[1], 3, 5, text));
	EXPECT(!marker_unregister_test_typed(record_call, &records[1]));
	hit_marker(6, text);
	EXPECT(record_holds(&records[0], 4, 6, text) && records[1].calls == 3);
	EXPECT(!marker_probe_unregister("test_typed", record_call_by_name, &records[0]));
	hit_marker(7, text);
	EXPECT(records[0].calls == 4 && records[1].calls == 3);
	return NULL;
}
