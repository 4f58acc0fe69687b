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
#define LEAST_LOOPS	4
#define MOST_LOOPS	20
#define FIRST_PAGES	200

static char pages[2 * MOST_LOOPS][PAGE_BYTES] __aligned(PAGE_BYTES);
static char first_pages[FIRST_PAGES][PAGE_BYTES] __aligned(PAGE_BYTES);
/* The number of calls of touch_pages() with LEAST_LOOPS, with MOST_LOOPS and with another number. */
static unsigned int least_calls, most_calls, other_calls;

/*
 * Cause a page fault for each of @nr pages.  The stores are in assembly: for each store in C,
 * ThreadSanitizer accesses memory of its own, and causes further page faults.
 */
static bool touch_pages(char (*page)[PAGE_BYTES], u32 nr)
{
	u32 i;

	if (madvise(page, nr * PAGE_BYTES, MADV_DONTNEED))
		return false;
	for (i = 0; i < nr; i++)
		asm volatile("movb $1, %0" : "=m"(page[i][0]));
	return true;
}

/* Touch @per_loop pages per loop, and further pages in the first call. */
static u64 touch_pages_in_loops(u32 loops, u32 per_loop)
{
	if (!least_calls && !most_calls && !touch_pages(first_pages, FIRST_PAGES))
		return 0;
	least_calls += loops == LEAST_LOOPS;
	most_calls += loops == MOST_LOOPS;
	other_calls += loops != LEAST_LOOPS && loops != MOST_LOOPS;
	return touch_pages(pages, loops * per_loop);
}

static u64 touch_one_page_per_loop(u32 loops)
{
	return touch_pages_in_loops(loops, 1);
}

static u64 touch_two_pages_per_loop(u32 loops)
{
	return touch_pages_in_loops(loops, 2);
}

/*
 * Check that the number of events per loop is averaged over the layouts, and does not contain the
 * events of the first call, which warms up caches.  The smallest and the largest loop count are
 * used, because the slope between closer loop counts would have a larger error.
 */
static const char *counters_count_events_per_loop(void)
{
	static const struct native_counter faults = {
		"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
	};
	static bench_op *const touch_pages_layouts[] = {
		[0 ... 1] = touch_one_page_per_loop, [2 ... 7] = touch_two_pages_per_loop,
	};
	static const struct bench_variant variant = BENCH_ROW("touch", touch_pages);
	static const u32 loops[BENCH_LOOP_COUNTS] = { LEAST_LOOPS, 8, MOST_LOOPS };
	int fd = native_open_perf_counter(&faults);
	double share = 0, events;

	if (fd < 0)
		return "SKIP no permission for perf events";
	events = native_count_loop_events(fd, &variant, loops, &share);
	close(fd);
	EXPECT(events > 1.7 && events < 1.8);
	EXPECT(share > 0.99 && share <= 1);
	EXPECT(least_calls == 16 && most_calls == 8 && !other_calls);
	EXPECT(isnan(native_count_loop_events(fd, &variant, loops, &share)));
	return NULL;
}

/*
 * Check how a count is scaled: it is scaled up if the counter ran only for a part of the time, and
 * NaN if the counter never ran.
 */
static const char *counters_scale_multiplexed_counts(void)
{
	struct native_count whole = { 100, 2000, 2000 }, half = { 100, 2000, 1000 };
	struct native_count none = { 0, 2000, 0 }, lost = { 1, 2000, 0 }, odd = { 1, 1, 2 };

	EXPECT(native_scale_perf_count(&whole) == 100);
	EXPECT(native_scale_perf_count(&half) == 200);
	EXPECT(isnan(native_scale_perf_count(&none)));
	EXPECT(isnan(native_scale_perf_count(&lost)));
	EXPECT(isnan(native_scale_perf_count(&odd)));
	return NULL;
}

static const char *counters_refuse_unknown_events(void)
{
	static const struct native_counter unknown = { "unknown", PERF_TYPE_HW_CACHE, 0xffffff };

	EXPECT(native_open_perf_counter(&unknown) < 0);
	return NULL;
}

const struct test_case counters_cases[] = {
	{ "counters_count_events_per_loop", counters_count_events_per_loop, NULL },
	{ "counters_scale_multiplexed_counts", counters_scale_multiplexed_counts, NULL },
	{ "counters_refuse_unknown_events", counters_refuse_unknown_events, NULL },
};

const unsigned int counters_nr_cases = ARRAY_SIZE(counters_cases);
