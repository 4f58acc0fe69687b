// SPDX-License-Identifier: GPL-2.0-only
/*
 * The protocol step by step: after each round the bytes are checked and executed.
 * Breakpoint handlers can be delayed.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include <linux/kernel.h>
#include <linux/ptrace.h>

#include <linux/timekeeping.h>

#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>

#include "mappings.h"
#include "protocol.h"
#include "protocol_stand.h"

static unsigned int round_number;
static bool amiss;

/* After a round: check all bytes of both sites.  Executing the sites must jump. */
static void check_round(void)
{
	const u8 first[] = { INT3, INT3, protocol_jump[0] };
	const u8 *const tail[] = { protocol_nop, protocol_jump, protocol_jump };
	unsigned int i = round_number++;

	if (i >= ARRAY_SIZE(first))
		return;
	if (protocol_site_first[0] != first[i] || protocol_site_second[0] != first[i] ||
	    memcmp(protocol_site_first + 1, tail[i] + 1, INSN - 1) ||
	    memcmp(protocol_site_second + 1, tail[i] + 1, INSN - 1))
		amiss = true;
	/* Wrong bytes are not executed. */
	if (!amiss && protocol_run() != 0)
		amiss = true;
}

static const char *steps(void)
{
	struct patcher_stats before, after;

	EXPECT(!protocol_start());
	round_number = 0;
	amiss = false;
	patcher_read_stats(&before);
	protocol_after_round = check_round;
	EXPECT(!protocol_change(protocol_nop, protocol_jump));
	protocol_after_round = NULL;
	patcher_read_stats(&after);
	EXPECT(round_number == 3);
	EXPECT(!amiss);
	/* In two of the three executions, both sites are breakpoints. */
	EXPECT(after.hits - before.hits == 4);
	EXPECT(protocol_run() == 0);
	return NULL;
}

static bool inside, returned;

static void stay_inside(unsigned int ms)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned int i;

	WRITE_ONCE(inside, true);
	for (i = 0; i < ms && !READ_ONCE(returned); i++)
		nanosleep(&pause, NULL);
	WRITE_ONCE(inside, false);
}

/* Stay in the handler for 0.1 s.  If the batch returns before that, which is an error, leave. */
static void linger(void)
{
	stay_inside(100);
}

static bool entered(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned int i;

	for (i = 0; i < 5000 && !READ_ONCE(inside); i++)
		nanosleep(&pause, NULL);
	return READ_ONCE(inside);
}

static void *run_once(void *unused)
{
	protocol_run();
	return NULL;
}

static pthread_t visitor;

/* After the first round, start a thread that executes the breakpoints. */
static void let_visitor_in(void)
{
	if (round_number++)
		return;
	if (pthread_create(&visitor, NULL, run_once, NULL) || !entered())
		amiss = true;
}

static const char *waits_for_handlers(void)
{
	bool left;

	EXPECT(!protocol_start());
	round_number = 0;
	amiss = returned = false;
	protocol_after_round = let_visitor_in;
	protocol_in_handler = linger;
	EXPECT(!protocol_change(protocol_nop, protocol_jump));
	left = !READ_ONCE(inside);
	WRITE_ONCE(returned, true);
	pthread_join(visitor, NULL);
	EXPECT(!amiss);
	EXPECT(left);
	return NULL;
}

static void check_leaf(void)
{
	amiss |= protocol_leaf() != 0;
}

/* The red zone survives a breakpoint, which the leaf meets after the first two rounds. */
static const char *keeps_red_zone(void)
{
	struct patcher_stats before, after;

	EXPECT(!protocol_start());
	amiss = false;
	patcher_read_stats(&before);
	protocol_after_round = check_leaf;
	EXPECT(!protocol_change(protocol_nop, protocol_jump));
	protocol_after_round = NULL;
	patcher_read_stats(&after);
	EXPECT(!amiss);
	EXPECT(after.hits - before.hits == 2);
	return NULL;
}

static char signal_stack[1 << 16];

/* The handler must run on the signal stack, with all signals blocked except SIGTRAP. */
static void check_handler(void)
{
	const char *here = __builtin_frame_address(0);
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	amiss |= here < signal_stack || here >= signal_stack + sizeof(signal_stack) ||
		 !sigismember(&blocked, SIGUSR1) || !sigismember(&blocked, SIGALRM) ||
		 sigismember(&blocked, SIGTRAP);
}

static const char *handles_apart(void)
{
	stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) }, old;
	struct patcher_stats before, after;
	int err;

#ifdef __SANITIZE_THREAD__
	return "SKIP ThreadSanitizer runs handlers with masks of its own";
#endif
	EXPECT(!protocol_start());
	EXPECT(!sigaltstack(&stack, &old));
	amiss = false;
	patcher_read_stats(&before);
	protocol_after_round = check_leaf;
	protocol_in_handler = check_handler;
	err = protocol_change(protocol_nop, protocol_jump);
	protocol_after_round = NULL;
	sigaltstack(&old, NULL);
	patcher_read_stats(&after);
	EXPECT(!err);
	EXPECT(after.hits - before.hits == 2);
	EXPECT(!amiss);
	return NULL;
}

static const char *retries_stale_breakpoints(void)
{
	struct pt_regs regs = { .ip = (unsigned long)protocol_site_first + 1 };
	struct patcher_stats before, after;

	EXPECT(!protocol_start());
	patcher_read_stats(&before);
	EXPECT(patcher_handle_int3(&regs));
	EXPECT(regs.ip == (unsigned long)protocol_site_first);
	patcher_read_stats(&after);
	EXPECT(after.stale == before.stale + 1 && after.hits == before.hits);
	regs.ip = (unsigned long)protocol_site_first + 2;
	EXPECT(!patcher_handle_int3(&regs));
	return NULL;
}

static void *change_once(void *unused)
{
	amiss |= protocol_change(protocol_nop, protocol_jump) != 0;
	return NULL;
}

/* Delay the batch after the first round, while its breakpoints are in memory. */
static void stay_in_first_round(void)
{
	if (!round_number++)
		stay_inside(5000);
}

static void begin_batch(void)
{
	if (pthread_create(&visitor, NULL, change_once, NULL) || !entered())
		amiss = true;
}

/* A batch begins between the handler's lookup and its look at memory, which holds an int3. */
static const char *retries_breakpoints_of_new_batches(void)
{
	struct pt_regs regs = { .ip = (unsigned long)protocol_site_first + 1 };
	u8 byte;
	bool ours;

	EXPECT(!protocol_start());
	round_number = 0;
	amiss = returned = false;
	protocol_after_round = stay_in_first_round;
	__atomic_store_n(&protocol_in_lookup, begin_batch, __ATOMIC_RELEASE);
	ours = patcher_handle_int3(&regs);
	byte = protocol_site_first[0];
	WRITE_ONCE(returned, true);
	pthread_join(visitor, NULL);
	EXPECT(!amiss);
	EXPECT(byte == INT3);
	EXPECT(ours && regs.ip == (unsigned long)protocol_site_first);
	return NULL;
}

static bool disown(const struct patcher_table *table, const struct patcher_site *site,
		   struct pt_regs *regs)
{
	return false;
}

/* Trap function that disowns a breakpoint, which is removed and set again meanwhile. */
static bool disown_and_return(const struct patcher_table *table, const struct patcher_site *site,
			      struct pt_regs *regs)
{
	amiss |= protocol_store(protocol_trapped, protocol_nop) || protocol_store(protocol_nop, protocol_trapped);
	return false;
}

/* A permanent breakpoint is set again between its trap function and the look at memory. */
static const char *retries_traps_that_return(void)
{
	struct pt_regs regs = { .ip = (unsigned long)protocol_site_first + 1 };
	bool foreign, ours;

	protocol_trap = disown;
	EXPECT(!protocol_start());
	EXPECT(!protocol_store(protocol_nop, protocol_trapped));
	amiss = false;
	foreign = !patcher_handle_int3(&regs);
	protocol_forget();
	protocol_trap = disown_and_return;
	EXPECT(!protocol_start());
	EXPECT(!protocol_store(protocol_nop, protocol_trapped));
	ours = patcher_handle_int3(&regs);
	EXPECT(foreign && !amiss);
	EXPECT(ours && regs.ip == (unsigned long)protocol_site_first);
	return NULL;
}

SDT_PROVIDER_DEFINE(protocol);
SDT_PROBE_DEFINE0(protocol, , , met);

static noinline void meet(void)
{
	SDT_PROBE_FLAVOUR(breakpoint, protocol, , , met);
}

static unsigned long met_at;
static unsigned int unclaimed;

static void note_place(void *private, const struct sdt_hit *hit)
{
	met_at = hit->ip;
}

static void trap_met(void)
{
	struct pt_regs regs = { .ip = met_at + 1 };

	unclaimed += !patcher_handle_int3(&regs) || regs.ip == met_at;
}

/* A breakpoint is met as soon as it is stored: when it is armed, and when it is demoted. */
static const char *claims_breakpoints_at_once(void)
{
	int err;

	EXPECT(!sdt_attach("met", note_place, NULL));
	meet();
	EXPECT(!sdt_detach("met", note_place, NULL));
	unclaimed = 0;
	protocol_after_round = trap_met;
	err = sdt_attach("met", note_place, NULL);
	protocol_after_round = NULL;
	EXPECT(!err);
	EXPECT(!sdt_promote("met", true));
	protocol_after_round = trap_met;
	err = sdt_promote("met", false);
	protocol_after_round = NULL;
	EXPECT(!err);
	EXPECT(!sdt_detach("met", note_place, NULL));
	EXPECT(!unclaimed);
	return NULL;
}

static const char *leaves_no_alias(void)
{
	EXPECT(!protocol_start());
	EXPECT(bad_mappings(protocol_site_first) == 0);
	EXPECT(!protocol_change(protocol_nop, protocol_jump));
	EXPECT(bad_mappings(protocol_site_first) == 0);
	EXPECT(protocol_change(protocol_nop, protocol_jump) == -EILSEQ);
	EXPECT(bad_mappings(protocol_site_first) == 0);
	return NULL;
}

static void pause_3_ms(void)
{
	const struct timespec pause = { .tv_nsec = 3000000 };

	nanosleep(&pause, NULL);
}

/* The bucket of a batch fits its duration: 9 ms at least, and the measured time at most. */
static const char *counts_durations(void)
{
	struct patcher_stats before, after;
	unsigned int bucket = 0;
	u64 begin;

	EXPECT(!protocol_start());
	patcher_read_stats(&before);
	protocol_after_round = pause_3_ms;
	begin = ktime_get_ns();
	EXPECT(!protocol_change(protocol_nop, protocol_jump));
	begin = ktime_get_ns() - begin;
	protocol_after_round = NULL;
	patcher_read_stats(&after);
	while (bucket < PATCHER_BUCKETS && after.durations[bucket] == before.durations[bucket])
		bucket++;
	EXPECT(bucket >= patcher_bucket(9000000));
	EXPECT(bucket <= patcher_bucket(begin));
	EXPECT(after.apply_ns - before.apply_ns >= 9000000);
	EXPECT(after.longest_round_ns >= 3000000);
	return NULL;
}

const struct test_case protocol_cases[] = {
	{ "protocol_counts_durations", counts_durations, protocol_forget },
	{ "protocol_steps", steps, protocol_forget },
	{ "protocol_waits_for_handlers", waits_for_handlers, protocol_forget },
	{ "protocol_keeps_red_zone", keeps_red_zone, protocol_forget },
	{ "protocol_handles_apart", handles_apart, protocol_forget },
	{ "protocol_retries_stale_breakpoints", retries_stale_breakpoints, protocol_forget },
	{ "protocol_retries_new_breakpoints", retries_breakpoints_of_new_batches, protocol_forget },
	{ "protocol_retries_traps_that_return", retries_traps_that_return, protocol_forget },
	{ "sdt_claims_breakpoints_at_once", claims_breakpoints_at_once, protocol_forget },
	{ "protocol_leaves_no_alias", leaves_no_alias, protocol_forget },
};

const unsigned int protocol_nr_cases = ARRAY_SIZE(protocol_cases);
