// SPDX-License-Identifier: GPL-2.0-only
/* Counters, with an event that every machine counts: page faults. */
#include <linux/perf_event.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kernel.h>

#include "../../native/counters.h"
#include "counters.h"

#define PAGE_BYTES	4096UL

/* Two page faults in each pass. */
static u64 touch(u32 loops)
{
	size_t size = 2 * loops * PAGE_BYTES;
	volatile char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t at;

	if (pages == MAP_FAILED)
		return 0;
	madvise((void *)pages, size, MADV_NOHUGEPAGE);
	for (at = 0; at < size; at += PAGE_BYTES)
		pages[at] = 1;
	munmap((void *)pages, size);
	return 1;
}

static const char *count_passes(void)
{
	static const struct native_counter faults = {
		"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
	};
	static const struct bench_variant variant = {
		.name = "touch",
		.op = { touch, touch, touch, touch, touch, touch, touch, touch },
	};
	static const u32 loops[BENCH_LOOP_COUNTS] = { 4, 8, 20 };
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
