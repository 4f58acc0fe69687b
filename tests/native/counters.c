// SPDX-License-Identifier: GPL-2.0-only
/* Counters, with an event that every machine counts: page faults. */
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
 * Two page faults in each pass.  The stores are in assembly, since those of C fault in
 * ThreadSanitizer's own memory, too.
 */
static u64 touch(u32 loops)
{
	u32 i;

	if (madvise(pages, sizeof(pages), MADV_DONTNEED))
		return 0;
	for (i = 0; i < 2 * loops; i++)
		asm volatile("movb $1, %0" : "=m"(pages[i][0]));
	return 1;
}

static const char *count_passes(void)
{
	static const struct native_counter faults = {
		"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
	};
	static bench_op *const touch_layouts[] = { [0 ... 7] = touch };
	static const struct bench_variant variant = BENCH_ROW("touch", touch);
	static const u32 loops[BENCH_LOOP_COUNTS] = { 4, 8, MOST_LOOPS };
	int fd = native_counter_open(&faults);
	double share = 0, events;

	if (fd < 0)
		return "SKIP no permission for perf events";
	events = native_counter_passes(fd, &variant, loops, &share);
	close(fd);
	EXPECT(events > 1.9 && events < 2.1);
	EXPECT(share > 0.99 && share <= 1);
	EXPECT(isnan(native_counter_passes(fd, &variant, loops, &share)));
	return NULL;
}

/* Counters that ran for a part of the time are scaled; those that did not run have no number. */
static const char *multiplexed(void)
{
	struct native_count half = { 100, 2000, 1000 }, none = { 0, 2000, 0 }, odd = { 1, 1, 2 };

	EXPECT(native_count_scaled(&half) == 200);
	EXPECT(isnan(native_count_scaled(&none)));
	EXPECT(isnan(native_count_scaled(&odd)));
	return NULL;
}

static const char *refuses_unknown(void)
{
	static const struct native_counter unknown = { "unknown", PERF_TYPE_HW_CACHE, 0xffffff };

	EXPECT(native_counter_open(&unknown) < 0);
	return NULL;
}

const struct test_case counters_cases[] = {
	{ "counters_count_passes", count_passes, NULL },
	{ "counters_notice_multiplexing", multiplexed, NULL },
	{ "counters_refuse_unknown_events", refuses_unknown, NULL },
};

const unsigned int counters_nr_cases = ARRAY_SIZE(counters_cases);
