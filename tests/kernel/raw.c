// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the raw tracepoints of typed markers, without a BPF program.  A function is attached as
 * the kernel attaches a BPF program: this file finds the marker's struct bpf_raw_event_map in the
 * module, and registers the function at the tracepoint in that struct.  The function is called with
 * a pointer to a struct program and the arguments of the marker.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/module.h>

#include "../common/cases.h"
#include "../common/test_typed.h"

#ifdef CONFIG_BPF_EVENTS

#define LIMIT_MS	20000

struct program {
	unsigned long calls;
	u64 args[12];
};

static struct program programs[2];
static atomic_long_t counted;

static void store_5_args(void *data, u64 a, u64 b, u64 c, u64 d, u64 e)
{
	struct program *program = data;

	program->calls++;
	memcpy(program->args, ((u64[]){ a, b, c, d, e }), 5 * sizeof(u64));
}

static void store_12_args(void *data, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i,
			  u64 j, u64 k, u64 l)
{
	struct program *program = data;

	program->calls++;
	memcpy(program->args, ((u64[]){ a, b, c, d, e, f, g, h, i, j, k, l }), 12 * sizeof(u64));
}

static void count_call_with_number_7(void *data, u64 number)
{
	if (number == 7)
		atomic_long_inc(&counted);
}

static const struct bpf_raw_event_map *find_raw_event(const char *name)
{
	unsigned int i;

	for (i = 0; i < THIS_MODULE->num_bpf_raw_events; i++)
		if (!strcmp(THIS_MODULE->bpf_raw_events[i].tp->name, name))
			return &THIS_MODULE->bpf_raw_events[i];
	return NULL;
}

/*
 * The attached functions.  detach_program() detaches only functions in this list, because the
 * kernel warns if a function is detached that is not attached.
 */
static struct attached {
	const char *name;
	void *function, *data;
} attached[4];

static struct attached *find_attached_program(const char *name, void *function, void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(attached); i++)
		if (!strcmp(attached[i].name ?: "", name ?: "") && attached[i].function == function &&
		    attached[i].data == data)
			return &attached[i];
	return NULL;
}

static int attach_program(const char *name, void *function, void *data)
{
	const struct bpf_raw_event_map *record = find_raw_event(name);
	struct attached *place = find_attached_program(NULL, NULL, NULL);
	int err;

	if (!record || !place)
		return -ENOENT;
	err = tracepoint_probe_register_may_exist(record->tp, function, data);
	if (!err)
		*place = (struct attached){ name, function, data };
	return err;
}

static int detach_program(const char *name, void *function, void *data)
{
	struct attached *place = find_attached_program(name, function, data);

	if (!place)
		return -ENOENT;
	memset(place, 0, sizeof(*place));
	return tracepoint_probe_unregister(find_raw_event(name)->tp, function, data);
}

/*
 * Wait until the marker's raw tracepoint is connected (@on is true) or disconnected (@on is false).
 * Return false after LIMIT_MS.  If another task held the lock of the marker registry,
 * attach_program() returns before the tracepoint is connected.
 */
static bool wait_for_connection_state(const struct marker_typed *typed, bool on)
{
	unsigned int i;

	for (i = 0; i < LIMIT_MS && READ_ONCE(typed->raw->connected) != on; i++)
		msleep(1);
	return READ_ONCE(typed->raw->connected) == on;
}

static noinline void hit_marker(u64 sector)
{
	mark_typed(test_typed, sector, 512, (const char *)programs);
}

static noinline void hit_marker_with_eight_args(void)
{
	mark_typed(test_typed_many, -1, 1ULL << 40, programs, -2, 200, -6, 7, -8);
}

void raw_cleanup(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(attached); i++)
		if (attached[i].name)
			detach_program(attached[i].name, attached[i].function, attached[i].data);
	tracepoint_synchronize_unregister();
	memset(programs, 0, sizeof(programs));
}

static bool has_recorded(const struct program *program, unsigned long calls, u64 sector)
{
	return program->calls == calls && program->args[0] == sector && program->args[1] == 512 &&
	       program->args[2] == (unsigned long)programs;
}

const char *raw_tracepoint_calls_programs(void)
{
	struct marker_typed *typed = &__typed_marker_test_typed;

	EXPECT(find_raw_event("test_typed")->num_args == 3);
	EXPECT(find_raw_event("test_typed_noargs")->num_args == 0);
	EXPECT(find_raw_event("test_typed_many")->num_args == 8);
	EXPECT(!find_raw_event("test_marker"));
	hit_marker(1);
	EXPECT(!attach_program("test_typed", store_5_args, &programs[0]));
	EXPECT(wait_for_connection_state(typed, true) && typed->direct);
	/* Connecting the marker to its raw tracepoint a second time has no effect. */
	EXPECT(!marker_raw_switch(typed, true) && typed->raw->wanted && typed->raw->connected);
	hit_marker(1ULL << 40);
	EXPECT(has_recorded(&programs[0], 1, 1ULL << 40));
	EXPECT(!attach_program("test_typed", store_5_args, &programs[1]));
	hit_marker(3);
	EXPECT(has_recorded(&programs[0], 2, 3) && has_recorded(&programs[1], 1, 3));
	EXPECT(!detach_program("test_typed", store_5_args, &programs[0]));
	hit_marker(4);
	EXPECT(programs[0].calls == 2 && has_recorded(&programs[1], 2, 4));
	EXPECT(!detach_program("test_typed", store_5_args, &programs[1]));
	EXPECT(wait_for_connection_state(typed, false) && !typed->marker.state__imv);
	EXPECT(!marker_raw_switch(typed, false) && !typed->raw->connected);
	hit_marker(5);
	EXPECT(programs[0].calls == 2 && programs[1].calls == 2);
	return NULL;
}

const char *raw_tracepoint_arguments(void)
{
	const struct program *program = &programs[0];
	const u64 wanted[12] = {
		-1, 1ULL << 40, (unsigned long)programs, -2, 200, -6, 7, -8,
	};

	EXPECT(!attach_program("test_typed_many", store_12_args, &programs[0]));
	EXPECT(wait_for_connection_state(&__typed_marker_test_typed_many, true));
	hit_marker_with_eight_args();
	EXPECT(program->calls == 1 && !memcmp(program->args, wanted, sizeof(wanted)));
	EXPECT(!attach_program("test_typed_noargs", store_5_args, &programs[0]));
	EXPECT(wait_for_connection_state(&__typed_marker_test_typed_noargs, true));
	mark_typed(test_typed_noargs);
	EXPECT(program->calls == 2 && !program->args[0]);
	return NULL;
}

#define FAR	1000

/* Attaching a program succeeds after an attempt that failed for lack of memory. */
const char *raw_tracepoint_after_a_refusal(void)
{
	const struct marker_typed *typed = &__typed_marker_test_typed;
	unsigned int nth, calls = 0, refused = 0;
	bool failed = true;
	int err;

	if (test_enable_failing_allocations())
		return "SKIP allocations cannot be made to fail here";
	for (nth = 1; nth < FAR && failed; nth++) {
		test_fail_nth_allocation(nth);
		err = attach_program("test_typed", store_5_args, &programs[0]);
		failed = test_has_allocation_failed();
		test_fail_nth_allocation(0);
		EXPECT(!err || (failed && err == -ENOMEM));
		refused += !!err;
		hit_marker(nth);
		calls += !err;
		EXPECT(programs[0].calls == calls);
		if (err)
			EXPECT(!attach_program("test_typed", store_5_args, &programs[0]));
		EXPECT(wait_for_connection_state(typed, true));
		hit_marker(nth);
		EXPECT(has_recorded(&programs[0], ++calls, nth));
		EXPECT(!detach_program("test_typed", store_5_args, &programs[0]));
		EXPECT(wait_for_connection_state(typed, false));
	}
	EXPECT(refused && nth < FAR);
	return NULL;
}

void raw_refusal_cleanup(void)
{
	test_disable_failing_allocations();
	raw_cleanup();
}

static void hit_storm_marker(void)
{
	mark_typed(test_typed_storm, 7);
}

/*
 * While a second program is attached and detached, each hit calls the first program exactly once.
 */
const char *raw_tracepoint_exactly_once(void)
{
	unsigned long passes;
	unsigned int i;
	int err;

	atomic_long_set(&counted, 0);
	EXPECT(!attach_program("test_typed_storm", count_call_with_number_7, NULL));
	EXPECT(wait_for_connection_state(&__typed_marker_test_typed_storm, true));
	err = test_start_threads(hit_storm_marker);
	for (i = 0; i < test_batches / 20 && !err; i++)
		err = attach_program("test_typed_storm", store_5_args, &programs[0]) ?:
		      detach_program("test_typed_storm", store_5_args, &programs[0]);
	passes = test_stop_threads();
	EXPECT(!err && passes);
	EXPECT(atomic_long_read(&counted) == passes);
	return NULL;
}

static void __used module_get_callback(void *data, struct module *module, unsigned long ip)
{
	trace_mark_tp(test_raw_callback, module_get, module_get_callback, "ip %lx", ip);
}

static void empty_probe(void *private, void *call_private, const char *fmt, va_list *args)
{
}

static bool busy;

/*
 * Register and unregister a probe, in one thread at a time.  Registering takes the mutex of the
 * marker registry and then the kernel's mutex of tracepoints.
 */
static void register_and_unregister_probe(void)
{
	if (xchg(&busy, true)) {
		msleep(1);
		return;
	}
	marker_probe_register("test_raw_callback", "ip %lx", empty_probe, NULL);
	marker_probe_unregister("test_raw_callback", empty_probe, NULL);
	WRITE_ONCE(busy, false);
}

/*
 * Take the mutex of tracepoints and the mutex of the marker registry in both orders.  Attaching a
 * program takes the mutex of tracepoints first; registering a probe takes the mutex of the registry
 * first.  At the end, the marker must be in the last state that the kernel has set.
 */
const char *raw_tracepoint_storm_of_locks(void)
{
	const struct marker_typed *typed = &__typed_marker_test_typed_storm;
	unsigned int i;
	int err;

	busy = false;
	err = test_start_threads(register_and_unregister_probe);
	for (i = 0; i < test_batches / 20 && !err; i++)
		err = attach_program("test_typed_storm", count_call_with_number_7, NULL) ?:
		      detach_program("test_typed_storm", count_call_with_number_7, NULL);
	err = err ?: attach_program("test_typed_storm", count_call_with_number_7, NULL);
	EXPECT(test_stop_threads());
	EXPECT(!err);
	EXPECT(wait_for_connection_state(typed, true));
	EXPECT(!detach_program("test_typed_storm", count_call_with_number_7, NULL));
	EXPECT(wait_for_connection_state(typed, false));
	return NULL;
}

#else

const char *raw_tracepoint_calls_programs(void)
{
	return "SKIP this kernel has no BPF programs for tracepoints";
}

const char *raw_tracepoint_arguments(void)
{
	return raw_tracepoint_calls_programs();
}

const char *raw_tracepoint_exactly_once(void)
{
	return raw_tracepoint_calls_programs();
}

const char *raw_tracepoint_after_a_refusal(void)
{
	return raw_tracepoint_calls_programs();
}

void raw_refusal_cleanup(void)
{
}

const char *raw_tracepoint_storm_of_locks(void)
{
	return raw_tracepoint_calls_programs();
}

void raw_cleanup(void)
{
}

#endif
