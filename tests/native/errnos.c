// SPDX-License-Identifier: GPL-2.0-only
/* Tests that a hit of a marker or SDT probe leaves errno as it was before the hit. */
#include <errno.h>
#include <pthread.h>

#include <linux/kernel.h>

#include <kmarkers/sdt.h>
#include <kmarkers/user.h>

#include "errnos.h"

#define THREADS		200

static unsigned int called;

static noinline void hit_marker(void)
{
	trace_mark(errnos_hit, "%d", 1);
}

static void count_call(void *private, void *call_private, const char *format, va_list *args)
{
	__atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
}

static pthread_barrier_t all_have_hit;
static unsigned int changed_errno;

static void *hit_in_new_thread(void *unused)
{
	errno = 0;
	hit_marker();
	if (errno)
		__atomic_fetch_add(&changed_errno, 1, __ATOMIC_RELAXED);
	pthread_barrier_wait(&all_have_hit);
	return NULL;
}

static int hit_in_many_threads(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t small;
	unsigned int i;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 17);
	pthread_barrier_init(&all_have_hit, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], &small, hit_in_new_thread, NULL))
			return 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* Check that the first hit in each of many threads does not change errno. */
static const char *errno_is_kept_by_first_hits(void)
{
	unsigned int before = called;
	int err;

	changed_errno = 0;
	EXPECT(!marker_probe_register("errnos_hit", "%d", count_call, NULL));
	err = hit_in_many_threads();
	EXPECT(!marker_probe_unregister("errnos_hit", count_call, NULL));
	EXPECT(!err);
	EXPECT(called == before + THREADS);
	EXPECT(!changed_errno);
	return NULL;
}

SDT_PROVIDER_DEFINE(errnos);
SDT_PROBE_DEFINE1(errnos, , , trapped, "int");

static noinline void hit_breakpoint(void)
{
	SDT_PROBE_FLAVOUR(breakpoint, errnos, , , trapped, 1);
}

static void set_errno_in_handler(void *private, const struct sdt_hit *hit)
{
	__atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
	errno = EIO;
}

/* Check that errno is restored after a breakpoint whose handler has changed errno. */
static const char *errno_is_kept_by_breakpoints(void)
{
	unsigned int before = called;

	EXPECT(!sdt_attach("errnos:::trapped", set_errno_in_handler, NULL));
	errno = 0;
	hit_breakpoint();
	EXPECT(errno == 0);
	EXPECT(!sdt_detach("errnos:::trapped", set_errno_in_handler, NULL));
	EXPECT(called == before + 1);
	return NULL;
}

const struct test_case errno_cases[] = {
	{ "errno_is_kept_by_first_hits", errno_is_kept_by_first_hits, NULL },
	{ "errno_is_kept_by_breakpoints", errno_is_kept_by_breakpoints, NULL },
};

const unsigned int errno_nr_cases = ARRAY_SIZE(errno_cases);
