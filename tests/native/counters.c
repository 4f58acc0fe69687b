// SPDX-License-Identifier: GPL-2.0-only
/* Tests of perf event counters, with an event that every machine counts: page faults. */
#include <linux/perf_event.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/compiler.h>
#include <linux/kernel.h>

#include "../../native/counters.h"
#include "counters.h"

#define PAGE_BYTES	4096UL
#define MOST_LOOPS	20

static char pages[2 * MOST_LOOPS][PAGE_BYTES] __aligned(PAGE_BYTES);

/*
 * Cause two page faults per loop.  The stores are in assembly: for each store in C, ThreadSanitizer
 * accesses memory of its own, and causes further page faults.
 */
static u64 touch_pages(u32 loops)
{
	u32 i;

	if (madvise(pages, sizeof(pages), MADV_DONTNEED))
		return 0;
	for (i = 0; i < 2 * loops; i++)
		asm volatile("movb $1, %0" : "=m"(pages[i][0]));
	return 1;
}

static const char *check_counts_per_pass(void)
{
	static const struct native_counter faults = {
		"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
	};
	static bench_op *const touch_pages_layouts[] = { [0 ... 7] = touch_pages };
	static const struct bench_variant variant = BENCH_ROW("touch", touch_pages);
	static const u32 loops[BENCH_LOOP_COUNTS] = { 4, 8, MOST_LOOPS };
	int fd = native_open_perf_counter(&faults);
	double share = 0, events;

	if (fd < 0)
		return "SKIP no permission for perf events";
	events = native_count_loop_events(fd, &variant, loops, &share);
	close(fd);
	EXPECT(events > 1.9 && events < 2.1);
	EXPECT(share > 0.99 && share <= 1);
	EXPECT(isnan(native_count_loop_events(fd, &variant, loops, &share)));
	return NULL;
}

/*
 * Check that the count of a counter that ran for a part of the time is scaled up, and that the
 * count of a counter that never ran is NaN.
 */
static const char *check_scaled_counts(void)
{
	struct native_count half = { 100, 2000, 1000 }, none = { 0, 2000, 0 }, odd = { 1, 1, 2 };

	EXPECT(native_scale_count(&half) == 200);
	EXPECT(isnan(native_scale_count(&none)));
	EXPECT(isnan(native_scale_count(&odd)));
	return NULL;
}

static const char *check_unknown_event(void)
{
	static const struct native_counter unknown = { "unknown", PERF_TYPE_HW_CACHE, 0xffffff };

	EXPECT(native_open_perf_counter(&unknown) < 0);
	return NULL;
}

const struct test_case counters_cases[] = {
	{ "counters_count_passes", check_counts_per_pass, NULL },
	{ "counters_notice_multiplexing", check_scaled_counts, NULL },
	{ "counters_refuse_unknown_events", check_unknown_event, NULL },
};

const unsigned int counters_nr_cases = ARRAY_SIZE(counters_cases);
