// SPDX-License-Identifier: GPL-2.0-only
/* Storms: probes of a typed marker are connected and disconnected while it is executed. */
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
 * A probe must receive its own private data, and must not be called after it was
 * unregistered and marker_synchronize_unregister() has returned: then, its data are marked
 * as dead.
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

static void storm_pass(void)
{
	mark_typed(test_typed_storm, 7);
}

static int come(unsigned int i)
{
	struct tag *tag = &tags[i % TAGS];

	WRITE_ONCE(tag->probe, i & 1 ? typed_probe_a : typed_probe_b);
	WRITE_ONCE(tag->dead, false);
	return marker_register_test_typed_storm(tag->probe, tag);
}

static int go(unsigned int i)
{
	struct tag *tag = &tags[i % TAGS];
	int err = marker_unregister_test_typed_storm(tag->probe, tag);

	marker_synchronize_unregister();
	WRITE_ONCE(tag->dead, true);
	return err;
}

/* Replace one probe by another repeatedly, without waiting in between. */
static int exchange(unsigned int times)
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
	EXPECT(!test_start_threads(storm_pass));
	/* Register one probe, none, another one; then one, both, the other one. */
	for (i = 0; i < test_batches / 40 + 1 && !err; i++)
		err = come(i) ?: go(i);
	for (i = 0; i < test_batches / 40 + 1 && !err; i++)
		err = (i ? 0 : come(0)) ?: come(i + 1) ?: go(i);
	err = err ?: go(i) ?: exchange(test_batches / 20);
	EXPECT(test_stop_threads());
	EXPECT(!err);
	EXPECT(!wrong);
	return NULL;
}

/*
 * A stub is rewritten only when no CPU can be inside it.  After its last probe was
 * unregistered, the next change waits for CPUs with preemption off, as at a marker; in a
 * program it does not wait, and the probe is called through the iterator.
 */
/* Longer than a few batches take on a busy machine; in the kernel, under emulation. */
#ifdef __KERNEL__
#define HOLD_NS		4000000000ULL
#else
#define HOLD_NS		500000000ULL
#endif

static atomic_t tickets;
static bool wanted, inside, released;

static void hold_pass(void)
{
	u64 start;

	/* Only the first thread enters the long section. */
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

/* Wait until a thread is in the long section.  Return whether one is. */
static bool await_section(void)
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
 * Unregister a probe during a section, and register another one.  Return -EAGAIN if the
 * section ended before the probe was unregistered.
 */
static int replace_in_section(void)
{
	static struct tag a = { typed_probe_a }, b = { typed_probe_b };
	int err;

	err = marker_register_test_typed_storm(a.probe, &a);
	if (err)
		return err;
	if (!await_section())
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

const char *typed_waits(void)
{
	unsigned int i;
	int err = -EAGAIN;

	if (test_alone())
		return "SKIP one CPU: nothing else runs while a section lasts";
	EXPECT(!test_start_threads(hold_pass));
	for (i = 0; i < 10 && err == -EAGAIN; i++)
		err = replace_in_section();
	WRITE_ONCE(wanted, false);
	test_stop_threads();
	EXPECT(!err);
	return NULL;
}

/* Every execution must call a probe that stays exactly once, while others are changed. */
static atomic_long_t counted;

static void count_number(void *private, unsigned long number)
{
	atomic_long_inc(&counted);
}

const char *typed_exactly_once(void)
{
	unsigned long passes;
	unsigned int i;
	int err;

	wrong = 0;
	atomic_long_set(&counted, 0);
	EXPECT(!marker_register_test_typed_storm(count_number, NULL));
	err = test_start_threads(storm_pass);
	for (i = 0; i < test_batches / 20 && !err; i++)
		err = come(i) ?: go(i);
	passes = test_stop_threads();
	EXPECT(!marker_unregister_test_typed_storm(count_number, NULL));
	EXPECT(!err && passes);
	EXPECT(atomic_long_read(&counted) == passes);
	EXPECT(!wrong);
	return NULL;
}
