// SPDX-License-Identifier: GPL-2.0-only
/* Typed markers through their public interface. */
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
DEFINE_MARKER(test_typed_storm);

/* The arguments that a probe saw; each registration has its own. */
struct record {
	unsigned long calls;
	u64 sector;
	u32 bytes;
	const char *text;
};

static struct record records[3];

static void probe(void *private, u64 sector, u32 bytes, const char *text)
{
	struct record *record = private;

	record->calls++;
	record->sector = sector;
	record->bytes = bytes;
	record->text = text;
}

static void probe_too(void *private, u64 sector, u32 bytes, const char *text)
{
	probe(private, sector, bytes, text);
}

static void probe_by_name(void *private, void *call_private, const char *fmt, va_list *args)
{
	struct record *record = private;

	record->calls++;
	record->sector = va_arg(*args, u64);
	record->bytes = va_arg(*args, u32);
	record->text = va_arg(*args, const char *);
}

static void probe_noargs(void *private)
{
	((struct record *)private)->calls++;
}

static bool many_seen;

static void probe_many(void *private, int a, u64 b, void *c, s64 d, u8 e, int f, u64 g, int h)
{
	many_seen = a == -1 && b == 1ULL << 40 && c == &many_seen && d == -(2LL << 40) && e == 200 &&
		    f == -6 && g == 7ULL << 50 && h == -8 && private == &records[2];
}

static int evaluated;

static u64 evaluate(u64 value)
{
	evaluated++;
	return value;
}

static noinline void hit(u64 sector, const char *text)
{
	mark_typed(test_typed, evaluate(sector), 512, text);
}

static noinline void hit_elsewhere(u64 sector, const char *text)
{
	mark_typed(test_typed, evaluate(sector), 4096, text);
}

static noinline void hit_noargs(void)
{
	mark_typed(test_typed_noargs);
}

static noinline void hit_many(void)
{
	mark_typed(test_typed_many, -1, 1ULL << 40, &many_seen, -(2LL << 40), 200, -6,
		   7ULL << 50, -8);
}

static bool saw(const struct record *record, unsigned long calls, u64 sector, const char *text)
{
	return record->calls == calls && record->sector == sector && record->text == text;
}

void typed_forget(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(records); i++) {
		marker_unregister_test_typed(probe, &records[i]);
		marker_unregister_test_typed(probe_too, &records[i]);
		marker_unregister_test_typed_noargs(probe_noargs, &records[i]);
		marker_unregister_test_typed_many(probe_many, &records[i]);
		marker_probe_unregister("test_typed", probe_by_name, &records[i]);
	}
	marker_synchronize_unregister();
	memset(records, 0, sizeof(records));
	evaluated = 0;
}

const char *typed_call(void)
{
	static const char text[] = "abc";
	bool *direct = &__typed_marker_test_typed.direct;

	hit(1, text);
	EXPECT(evaluated == 0);
	EXPECT(!marker_register_test_typed(probe, &records[0]));
	EXPECT(*direct);
	hit(1ULL << 40, text);
	EXPECT(saw(&records[0], 1, 1ULL << 40, text) && records[0].bytes == 512);
	hit_elsewhere(2, text);
	EXPECT(saw(&records[0], 2, 2, text) && records[0].bytes == 4096);
	EXPECT(evaluated == 2);

	/* Two probes, then one in turn, then none. */
	EXPECT(!marker_register_test_typed(probe_too, &records[1]));
	EXPECT(!*direct);
	hit(3, text);
	EXPECT(saw(&records[0], 3, 3, text) && saw(&records[1], 1, 3, text));
	EXPECT(!marker_unregister_test_typed(probe, &records[0]));
	EXPECT(*direct);
	hit(4, text);
	EXPECT(records[0].calls == 3 && saw(&records[1], 2, 4, text));
	EXPECT(!marker_unregister_test_typed(probe_too, &records[1]));
	hit(5, text);
	EXPECT(records[0].calls == 3 && records[1].calls == 2 && evaluated == 4);
	/* A call from a CPU that had passed the branch when the marker was switched off. */
	__marker_call_test_typed(5, 512, text);
	EXPECT(records[0].calls == 3 && records[1].calls == 2);

	/* The same function with other data. */
	EXPECT(!marker_register_test_typed(probe_too, &records[2]));
	hit(6, text);
	EXPECT(records[1].calls == 2 && saw(&records[2], 1, 6, text));
	return NULL;
}

const char *typed_args(void)
{
	EXPECT(!marker_register_test_typed_noargs(probe_noargs, &records[0]));
	hit_noargs();
	EXPECT(records[0].calls == 1);
	many_seen = false;
	EXPECT(!marker_register_test_typed_many(probe_many, &records[2]));
	hit_many();
	EXPECT(many_seen);
	/* The iterator calls the probes. */
	many_seen = false;
	EXPECT(!marker_register_test_typed_many(probe_many, &records[1]));
	EXPECT(!marker_unregister_test_typed_many(probe_many, &records[2]));
	EXPECT(!marker_register_test_typed_many(probe_many, &records[2]));
	hit_many();
	EXPECT(many_seen);
	return NULL;
}

const char *typed_errors(void)
{
	static struct marker_typed unknown = { .marker = { .flavour = MARKER_TYPED } };

	EXPECT(marker_register_test_typed(NULL, NULL) == -EINVAL);
	EXPECT(marker_unregister_test_typed(probe, &records[0]) == -ENOENT);
	EXPECT(!marker_register_test_typed(probe, &records[0]));
	EXPECT(marker_register_test_typed(probe, &records[0]) == -EBUSY);
	EXPECT(marker_unregister_test_typed(probe, &records[1]) == -ENOENT);
	EXPECT(marker_unregister_test_typed(probe_too, &records[0]) == -ENOENT);
	EXPECT(!marker_unregister_test_typed(probe, &records[0]));
	EXPECT(marker_unregister_test_typed(probe, &records[0]) == -ENOENT);
	EXPECT(marker_typed_register(&unknown, (marker_typed_func *)(void *)probe, NULL) == -ENOENT);
	return NULL;
}

/* Probes registered by name, alone and among typed ones. */
const char *typed_by_name(void)
{
	static const char text[] = "abc";

	EXPECT(marker_probe_register("test_typed", "%d", probe_by_name, &records[0]) == 0);
	hit(1, text);
	EXPECT(records[0].calls == 0 && evaluated == 0);
	EXPECT(!marker_probe_unregister("test_typed", probe_by_name, &records[0]));

	EXPECT(!marker_probe_register("test_typed", "sector %llu bytes %u text %s",
				      probe_by_name, &records[0]));
	hit(2, text);
	EXPECT(saw(&records[0], 1, 2, text) && records[0].bytes == 512);
	EXPECT(!marker_register_test_typed(probe, &records[1]));
	hit(3, text);
	EXPECT(saw(&records[0], 2, 3, text) && saw(&records[1], 1, 3, text));
	EXPECT(!marker_probe_unregister("test_typed", probe_by_name, &records[0]));
	hit(4, text);
	EXPECT(records[0].calls == 2 && saw(&records[1], 2, 4, text));
	EXPECT(!marker_probe_register("test_typed", NULL, probe_by_name, &records[0]));
	hit(5, text);
	EXPECT(saw(&records[0], 3, 5, text) && saw(&records[1], 3, 5, text));
	EXPECT(!marker_unregister_test_typed(probe, &records[1]));
	hit(6, text);
	EXPECT(saw(&records[0], 4, 6, text) && records[1].calls == 3);
	EXPECT(!marker_probe_unregister("test_typed", probe_by_name, &records[0]));
	hit(7, text);
	EXPECT(records[0].calls == 4 && records[1].calls == 3);
	return NULL;
}

/*
 * Private data always belongs to the probe that receives it, and none is called
 * after marker_synchronize_unregister(): data that were unregistered become a trap.
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

/* One probe, then at once another, without waiting in between. */
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
	/* One probe, none, another; then one, two, the other one. */
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
* The slot of a stub is rewritten only when no CPU can be in it any more: a CPU that
* was in a section like a site's when the last probe left the slot is waited for.
 */
/* Longer than a few batches on a busy machine, under emulation in the kernel. */
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

/* Is some thread in a section now?  It may take a while until one runs. */
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
 * A registered probe goes while a section lasts, and another one comes; -EAGAIN
 * if the section was over before anything was done.
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
	if (!err && smp_load_acquire(&inside))
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

/* Every execution calls a probe that stays exactly once, while others come and go. */
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
