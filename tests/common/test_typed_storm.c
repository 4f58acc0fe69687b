// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stress tests of typed markers: probes are connected to the marker test_typed_storm, and
 * disconnected from it, while a thread on each CPU executes the marker.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/timekeeping.h>

#include "cases.h"
#include "test_typed.h"

DEFINE_MARKER(test_typed_storm);

/*
 * A struct tag is the private data of a probe.  Each probe checks that .probe of its tag is the
 * probe's own address. .dead is set when the probe was unregistered and
 * marker_synchronize_unregister() has returned: any later call with this tag is an error.  The
 * variable "wrong" counts the errors.
 */
#define TAGS	4

static unsigned long wrong;

static struct tag {
	void (*probe)(void *private, unsigned long number);
	bool dead;
} tags[TAGS];

static void check_tag(const struct tag *tag, void (*probe)(void *, unsigned long),
		      unsigned long number)
{
	if (READ_ONCE(tag->probe) != probe || READ_ONCE(tag->dead) || number != 7)
		WRITE_ONCE(wrong, wrong + 1);
}

static void typed_probe_a(void *private, unsigned long number)
{
	check_tag(private, typed_probe_a, number);
}

static void typed_probe_b(void *private, unsigned long number)
{
	check_tag(private, typed_probe_b, number);
}

static void hit_storm_marker(void)
{
	mark_typed(test_typed_storm, 7);
}

static int register_probe_with_tag(unsigned int i)
{
	struct tag *tag = &tags[i % TAGS];

	WRITE_ONCE(tag->probe, i & 1 ? typed_probe_a : typed_probe_b);
	WRITE_ONCE(tag->dead, false);
	return marker_register_test_typed_storm(tag->probe, tag);
}

static int unregister_probe_with_tag(unsigned int i)
{
	struct tag *tag = &tags[i % TAGS];
	int err = marker_unregister_test_typed_storm(tag->probe, tag);

	marker_synchronize_unregister();
	WRITE_ONCE(tag->dead, true);
	return err;
}

/* Replace a probe by another probe @times times, without waiting for grace periods. */
static int replace_probe_repeatedly(unsigned int times)
{
	static struct tag fixed[2] = { { typed_probe_a }, { typed_probe_b } };
	unsigned int i;
	int err;

	err = marker_register_test_typed_storm(fixed[0].probe, &fixed[0]);
	for (i = 0; i < times && !err; i++) {
		struct tag *old = &fixed[i % 2], *new = &fixed[(i + 1) % 2];

		err = marker_unregister_test_typed_storm(old->probe, old) ?:
		      marker_register_test_typed_storm(new->probe, new);
	}
	return err ?: marker_unregister_test_typed_storm(fixed[i % 2].probe, &fixed[i % 2]);
}

const char *typed_storm(void)
{
	unsigned int i;
	int err = 0;

	wrong = 0;
	EXPECT(!test_start_threads(hit_storm_marker));
	/*
	 * In the first loop the marker has 0 and 1 probes alternately, in the second loop 1 and 2
	 * probes.
	 */
	for (i = 0; i < test_batches / 40 + 1 && !err; i++)
		err = register_probe_with_tag(i) ?: unregister_probe_with_tag(i);
	for (i = 0; i < test_batches / 40 + 1 && !err; i++)
		err = (i ? 0 : register_probe_with_tag(0)) ?: register_probe_with_tag(i + 1) ?:
		      unregister_probe_with_tag(i);
	err = err ?: unregister_probe_with_tag(i) ?: replace_probe_repeatedly(test_batches / 20);
	EXPECT(test_stop_threads());
	EXPECT(!err);
	EXPECT(!wrong);
	return NULL;
}

/*
 * typed_storm_waits_for_preemption() tests that the stub of a marker is rewritten only when no CPU
 * can be executing the stub.  A site calls the stub with preemption disabled.  In this test, a
 * thread disables preemption for up to HOLD_NS, longer than a few batches of the patcher take.
 * Meanwhile the only probe of the marker is replaced.  In the kernel, the stub must not be
 * rewritten before the thread enables preemption.  In user space, the wait for the thread is
 * limited: after a timeout the stub must not be rewritten, and the iterator calls the new probe.
 */
#ifdef __KERNEL__
#define HOLD_NS		4000000000ULL
#else
#define HOLD_NS		500000000ULL
#endif

static atomic_t tickets;
static bool wanted, inside, released;

/*
 * Called by each thread.  If the variable "wanted" is set, disable preemption in one of the
 * threads, until the variable "released" is set or HOLD_NS have passed.
 */
static void disable_preemption_on_request(void)
{
	u64 start;

	/*
	 * Once "wanted" is set, "tickets" is 1: only the first thread that decrements "tickets"
	 * gets 0 and disables preemption.
	 */
	if (!READ_ONCE(wanted) || atomic_dec_return_release(&tickets))
		return;
	preempt_disable_notrace();
	WRITE_ONCE(wanted, false);
	start = ktime_get_ns();
	WRITE_ONCE(inside, true);
	while (!READ_ONCE(released) && ktime_get_ns() - start < HOLD_NS)
		cpu_relax();
	smp_store_release(&inside, false);
	preempt_enable_notrace();
}

/*
 * Request that a thread disables preemption, and wait until a thread has done so.  Return false if
 * no thread has done so after 4 * HOLD_NS.
 */
static bool wait_for_disabled_preemption(void)
{
	u64 start = ktime_get_ns();

	WRITE_ONCE(released, false);
	atomic_set_release(&tickets, 1);
	WRITE_ONCE(wanted, true);
	while (!READ_ONCE(inside) && ktime_get_ns() - start < 4 * HOLD_NS)
		cpu_relax();
	return READ_ONCE(inside);
}

/*
 * Replace the only probe by another probe while a thread has preemption disabled.  Return -EAGAIN
 * if no thread has disabled preemption; -EBUSY if the stub was rewritten although the thread still
 * has preemption disabled.
 */
static int replace_probe_with_preemption_disabled(void)
{
	static struct tag a = { typed_probe_a }, b = { typed_probe_b };
	int err;

	err = marker_register_test_typed_storm(a.probe, &a);
	if (err)
		return err;
	if (!wait_for_disabled_preemption())
		err = -EAGAIN;
	err = marker_unregister_test_typed_storm(a.probe, &a) ?: err;
	if (err)
		return err;
	err = marker_register_test_typed_storm(b.probe, &b);
	if (!err && __typed_marker_test_typed_storm.direct && smp_load_acquire(&inside))
		err = -EBUSY;
	WRITE_ONCE(released, true);
	return marker_unregister_test_typed_storm(b.probe, &b) ?: err;
}

const char *typed_storm_waits_for_preemption(void)
{
	unsigned int i;
	int err = -EAGAIN;

	if (test_has_one_cpu())
		return "SKIP this test needs a second CPU, on which a thread disables preemption";
	EXPECT(!test_start_threads(disable_preemption_on_request));
	for (i = 0; i < 10 && err == -EAGAIN; i++)
		err = replace_probe_with_preemption_disabled();
	WRITE_ONCE(wanted, false);
	test_stop_threads();
	EXPECT(!err);
	return NULL;
}

/*
 * Number of calls of the probe that stays registered while other probes are registered and
 * unregistered.
 */
static atomic_long_t counted;

static void count_probe_call(void *private, unsigned long number)
{
	atomic_long_inc(&counted);
}

const char *typed_storm_exactly_once(void)
{
	unsigned long passes;
	unsigned int i;
	int err;

	wrong = 0;
	atomic_long_set(&counted, 0);
	EXPECT(!marker_register_test_typed_storm(count_probe_call, NULL));
	err = test_start_threads(hit_storm_marker);
	for (i = 0; i < test_batches / 20 && !err; i++)
		err = register_probe_with_tag(i) ?: unregister_probe_with_tag(i);
	passes = test_stop_threads();
	EXPECT(!marker_unregister_test_typed_storm(count_probe_call, NULL));
	EXPECT(!err && passes);
	EXPECT(atomic_long_read(&counted) == passes);
	EXPECT(!wrong);
	return NULL;
}
