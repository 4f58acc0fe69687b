// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the patcher's protocol, step by step: after each IPI round the bytes of the sites are
 * checked and executed.  Breakpoint handlers and batches are delayed to test races.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/kernel.h>
#include <linux/ptrace.h>

#include <linux/timekeeping.h>

#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>

#include "../../sdt/promote.h"
#include "mappings.h"
#include "process.h"
#include "protocol.h"
#include "protocol_stand.h"

static unsigned int round_number;
static bool failed;

/*
 * Called after each round: check all bytes of both sites, and check that both sites jump when they
 * are executed.
 */
static void check_sites_after_round(void)
{
	const u8 first[] = { INT3, INT3, protocol_jump[0] };
	const u8 *const tail[] = { protocol_nop, protocol_jump, protocol_jump };
	unsigned int i = round_number++;

	if (i >= ARRAY_SIZE(first))
		return;
	if (protocol_site_first[0] != first[i] || protocol_site_second[0] != first[i] ||
	    memcmp(protocol_site_first + 1, tail[i] + 1, INSN - 1) ||
	    memcmp(protocol_site_second + 1, tail[i] + 1, INSN - 1))
		failed = true;
	/* Execute the sites only if their bytes are correct. */
	if (!failed && protocol_execute_sites() != 0)
		failed = true;
}

static const char *protocol_stores_bytes_in_three_rounds(void)
{
	struct patcher_stats before, after;

	EXPECT(!protocol_register_sites());
	round_number = 0;
	failed = false;
	patcher_read_stats(&before);
	protocol_after_round = check_sites_after_round;
	EXPECT(!protocol_change_sites(protocol_nop, protocol_jump));
	protocol_after_round = NULL;
	patcher_read_stats(&after);
	EXPECT(round_number == 3);
	EXPECT(!failed);
	/* Both sites were breakpoints in two of the three executions. */
	EXPECT(after.hits - before.hits == 4);
	EXPECT(protocol_execute_sites() == 0);
	return NULL;
}

/*
 * The variable "inside" is true while a hook delays its caller; "returned" is true after the tested
 * call has returned.
 */
static bool inside, returned;

/* Delay the caller of a hook for @ms milliseconds, or until the tested call has returned. */
static void delay_hook_for_ms(unsigned int ms)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned int i;

	WRITE_ONCE(inside, true);
	for (i = 0; i < ms && !READ_ONCE(returned); i++)
		nanosleep(&pause, NULL);
	WRITE_ONCE(inside, false);
}

/* Delay the breakpoint handler by 0.1 s, or until the batch returns, which would be an error. */
static void delay_breakpoint_handler(void)
{
	delay_hook_for_ms(100);
}

/* Wait until a hook delays its caller, or for 5 s.  Return true if a hook delays its caller. */
static bool wait_until_hook_runs(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned int i;

	for (i = 0; i < 5000 && !READ_ONCE(inside); i++)
		nanosleep(&pause, NULL);
	return READ_ONCE(inside);
}

static void *run_sites_once(void *unused)
{
	protocol_execute_sites();
	return NULL;
}

static pthread_t other_thread;

/* Start a thread that executes the sites after the first round, when they are breakpoints. */
static void start_executing_thread(void)
{
	if (round_number++)
		return;
	if (pthread_create(&other_thread, NULL, run_sites_once, NULL) || !wait_until_hook_runs())
		failed = true;
}

static const char *protocol_waits_for_handlers(void)
{
	bool left;

	EXPECT(!protocol_register_sites());
	round_number = 0;
	failed = returned = false;
	protocol_after_round = start_executing_thread;
	protocol_in_handler = delay_breakpoint_handler;
	EXPECT(!protocol_change_sites(protocol_nop, protocol_jump));
	left = !READ_ONCE(inside);
	WRITE_ONCE(returned, true);
	pthread_join(other_thread, NULL);
	EXPECT(!failed);
	EXPECT(left);
	return NULL;
}

static void check_leaf_result(void)
{
	failed |= protocol_leaf() != 0;
}

/* Check that the breakpoint handler does not change the red zone of a leaf function that traps. */
static const char *protocol_keeps_red_zone(void)
{
	struct patcher_stats before, after;

	EXPECT(!protocol_register_sites());
	failed = false;
	patcher_read_stats(&before);
	protocol_after_round = check_leaf_result;
	EXPECT(!protocol_change_sites(protocol_nop, protocol_jump));
	protocol_after_round = NULL;
	patcher_read_stats(&after);
	EXPECT(!failed);
	EXPECT(after.hits - before.hits == 2);
	return NULL;
}

static char signal_stack[1 << 16];

/* Check that the handler runs on the signal stack, with all signals blocked except SIGTRAP. */
static void check_stack_and_signal_mask(void)
{
	const char *here = __builtin_frame_address(0);
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	failed |= here < signal_stack || here >= signal_stack + sizeof(signal_stack) ||
		 !sigismember(&blocked, SIGUSR1) || !sigismember(&blocked, SIGALRM) ||
		 sigismember(&blocked, SIGTRAP);
}

static const char *protocol_runs_handlers_on_the_signal_stack(void)
{
	stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) }, old;
	struct patcher_stats before, after;
	int err;

#ifdef __SANITIZE_THREAD__
	return "SKIP ThreadSanitizer runs handlers with masks of its own";
#endif
	EXPECT(!protocol_register_sites());
	EXPECT(!sigaltstack(&stack, &old));
	failed = false;
	patcher_read_stats(&before);
	protocol_after_round = check_leaf_result;
	protocol_in_handler = check_stack_and_signal_mask;
	err = protocol_change_sites(protocol_nop, protocol_jump);
	protocol_after_round = NULL;
	sigaltstack(&old, NULL);
	patcher_read_stats(&after);
	EXPECT(!err);
	EXPECT(after.hits - before.hits == 2);
	EXPECT(!failed);
	return NULL;
}

static const char *protocol_retries_stale_breakpoints(void)
{
	struct pt_regs regs = { .ip = (unsigned long)protocol_site_first + 1 };
	struct patcher_stats before, after;

	EXPECT(!protocol_register_sites());
	patcher_read_stats(&before);
	EXPECT(patcher_handle_int3(&regs));
	EXPECT(regs.ip == (unsigned long)protocol_site_first);
	patcher_read_stats(&after);
	EXPECT(after.stale == before.stale + 1 && after.hits == before.hits);
	regs.ip = (unsigned long)protocol_site_first + 2;
	EXPECT(!patcher_handle_int3(&regs));
	return NULL;
}

static void *change_sites_once(void *unused)
{
	failed |= protocol_change_sites(protocol_nop, protocol_jump) != 0;
	return NULL;
}

/* Delay the batch after the first round, while its breakpoints are in memory. */
static void delay_after_first_round(void)
{
	if (!round_number++)
		delay_hook_for_ms(5000);
}

static void start_changing_thread(void)
{
	if (pthread_create(&other_thread, NULL, change_sites_once, NULL) || !wait_until_hook_runs())
		failed = true;
}

/*
 * Check a breakpoint whose address is not in the current batch.  While the handler looks up the
 * site, a new batch stores a breakpoint at this address: the handler must return to the site.
 */
static const char *protocol_retries_new_breakpoints(void)
{
	struct pt_regs regs = { .ip = (unsigned long)protocol_site_first + 1 };
	u8 byte;
	bool ours;

	EXPECT(!protocol_register_sites());
	round_number = 0;
	failed = returned = false;
	protocol_after_round = delay_after_first_round;
	__atomic_store_n(&protocol_in_lookup, start_changing_thread, __ATOMIC_RELEASE);
	ours = patcher_handle_int3(&regs);
	byte = protocol_site_first[0];
	WRITE_ONCE(returned, true);
	pthread_join(other_thread, NULL);
	EXPECT(!failed);
	EXPECT(byte == INT3);
	EXPECT(ours && regs.ip == (unsigned long)protocol_site_first);
	return NULL;
}

static bool refuse_trap(const struct patcher_table *table, const struct patcher_site *site,
			struct pt_regs *regs)
{
	return false;
}

/* A trap function that removes the breakpoint, stores it again, and then refuses the trap. */
static bool restore_breakpoint_and_refuse_trap(const struct patcher_table *table,
					       const struct patcher_site *site,
					       struct pt_regs *regs)
{
	failed |= protocol_store_trap(protocol_trapped, protocol_nop) ||
		  protocol_store_trap(protocol_nop, protocol_trapped);
	return false;
}

/*
 * Check a permanent breakpoint that is removed and restored while its handler runs, before the
 * handler reads the byte in memory: the handler must return to the site.
 */
static const char *protocol_retries_traps_that_return(void)
{
	struct pt_regs regs = { .ip = (unsigned long)protocol_site_first + 1 };
	bool foreign, ours;

	protocol_trap = refuse_trap;
	EXPECT(!protocol_register_sites());
	EXPECT(!protocol_store_trap(protocol_nop, protocol_trapped));
	failed = false;
	foreign = !patcher_handle_int3(&regs);
	protocol_restore_sites();
	protocol_trap = restore_breakpoint_and_refuse_trap;
	EXPECT(!protocol_register_sites());
	EXPECT(!protocol_store_trap(protocol_nop, protocol_trapped));
	ours = patcher_handle_int3(&regs);
	EXPECT(foreign && !failed);
	EXPECT(ours && regs.ip == (unsigned long)protocol_site_first);
	return NULL;
}

SDT_PROVIDER_DEFINE(protocol);
SDT_PROBE_DEFINE0(protocol, , , trapped);

static noinline void hit_trapped_site(void)
{
	SDT_PROBE_FLAVOUR(breakpoint, protocol, , , trapped);
}

static unsigned long trapped_at;
static unsigned int unclaimed;

static void record_hit_address(void *private, const struct sdt_hit *hit)
{
	trapped_at = sdt_hit_ip(hit);
}

static void handle_int3_at_site(void)
{
	struct pt_regs regs = { .ip = trapped_at + 1 };

	unclaimed += !patcher_handle_int3(&regs) || regs.ip == trapped_at;
}

/*
 * Check that the first hit after a breakpoint is stored calls the trap function: the handler must
 * not return to the breakpoint.  The first breakpoint enables the site.  The second breakpoint
 * replaces the jump of the promoted site.
 */
static const char *sdt_handles_the_first_hit_of_a_breakpoint(void)
{
	int err;

	EXPECT(!sdt_attach("trapped", record_hit_address, NULL));
	hit_trapped_site();
	EXPECT(!sdt_detach("trapped", record_hit_address, NULL));
	unclaimed = 0;
	protocol_after_round = handle_int3_at_site;
	err = sdt_attach("trapped", record_hit_address, NULL);
	protocol_after_round = NULL;
	EXPECT(!err);
	EXPECT(!sdt_promote("trapped", true));
	protocol_after_round = handle_int3_at_site;
	err = sdt_promote("trapped", false);
	protocol_after_round = NULL;
	EXPECT(!err);
	EXPECT(!sdt_detach("trapped", record_hit_address, NULL));
	EXPECT(!unclaimed);
	return NULL;
}

SDT_PROBE_DEFINE0(protocol, , , beside);
SDT_PROBE_DEFINE0(protocol, , , apart);

static noinline void hit_site_beside_kprobe(void)
{
	SDT_PROBE_FLAVOUR(breakpoint, protocol, , , beside);
}

static noinline void hit_site_in_own_function(void)
{
	SDT_PROBE_FLAVOUR(breakpoint, protocol, , , apart);
}

static const u8 *site_beside, *site_apart;

/*
 * Hit both sites @nr times, then promote the sites that have more than 2 hits, and demote all other
 * sites.  Return the number of rounds that promotion and demotion take.
 */
static unsigned int count_rounds_of_promotion(unsigned int nr)
{
	struct patcher_stats before, after;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		hit_site_beside_kprobe();
		site_beside = (const u8 *)trapped_at;
		hit_site_in_own_function();
		site_apart = (const u8 *)trapped_at;
	}
	patcher_read_stats(&before);
	if (sdt_promote_hot_sites(2))
		return -1;
	patcher_read_stats(&after);
	return after.rounds - before.rounds;
}

static bool is_site_beside_kprobe(const u8 *addr)
{
	return addr == site_beside;
}

static bool are_sites_breakpoints(bool beside, bool apart)
{
	return (*site_beside == INT3) == beside && (*site_apart == INT3) == apart;
}

/*
 * Check that hot sites are promoted and other sites are demoted, and that the patcher is not called
 * for a hot site beside a kprobe.  The first promotion of a site takes 3 rounds.  A demotion and
 * the next promotion take 1 round each, because only the first byte of the jump changes.
 */
static const char *sdt_promotes_hot_sites_without_a_kprobe(void)
{
	EXPECT(!sdt_attach("beside", record_hit_address, NULL));
	EXPECT(!sdt_attach("apart", record_hit_address, NULL));
	EXPECT(count_rounds_of_promotion(2) == 0 && are_sites_breakpoints(true, true));
	EXPECT(count_rounds_of_promotion(3) == 3 && are_sites_breakpoints(false, false));
	EXPECT(count_rounds_of_promotion(3) == 0 && are_sites_breakpoints(false, false));
	EXPECT(count_rounds_of_promotion(2) == 1 && are_sites_breakpoints(true, true));

	protocol_is_probed = is_site_beside_kprobe;
	EXPECT(count_rounds_of_promotion(3) == 1 && are_sites_breakpoints(true, false));
	EXPECT(count_rounds_of_promotion(3) == 0 && are_sites_breakpoints(true, false));
	protocol_is_probed = NULL;
	EXPECT(count_rounds_of_promotion(3) == 1 && are_sites_breakpoints(false, false));
	protocol_is_probed = is_site_beside_kprobe;
	EXPECT(count_rounds_of_promotion(0) == 1 && are_sites_breakpoints(false, true));
	EXPECT(count_rounds_of_promotion(0) == 0 && are_sites_breakpoints(false, true));

	/*
	 * The hook affects only sdt_promote_hot_sites().  sdt_promote() and sdt_detach() change the
	 * site, because this program has no real kprobe.
	 */
	EXPECT(!sdt_promote("beside", false) && are_sites_breakpoints(true, true));
	EXPECT(!sdt_promote("beside", true) && are_sites_breakpoints(false, true));
	EXPECT(!sdt_detach("beside", record_hit_address, NULL));
	EXPECT(*site_beside == 0x0f);
	EXPECT(!sdt_attach("beside", record_hit_address, NULL));
	EXPECT(are_sites_breakpoints(false, true));
	EXPECT(!sdt_promote("beside", false) && are_sites_breakpoints(true, true));
	return NULL;
}

/* Check that a hot site that cannot be patched does not keep other sites from being demoted. */
static const char *sdt_demotes_sites_beside_foreign_int3(void)
{
	int err;

	EXPECT(!sdt_attach("beside", record_hit_address, NULL));
	EXPECT(!sdt_attach("apart", record_hit_address, NULL));
	EXPECT(count_rounds_of_promotion(3) == 3 && are_sites_breakpoints(false, false));
	EXPECT(!test_plant_breakpoint((u8 *)site_beside));
	err = sdt_promote_hot_sites(2);
	EXPECT(!test_remove_breakpoint());
	EXPECT(err == -EILSEQ && are_sites_breakpoints(false, true));
	EXPECT(count_rounds_of_promotion(2) == 1 && are_sites_breakpoints(true, true));
	return NULL;
}

SDT_PROBE_DEFINE0(protocol, , , ten);

#define HIT_TWO_SITES()								\
do {										\
	SDT_PROBE_FLAVOUR(breakpoint, protocol, , , ten);			\
	SDT_PROBE_FLAVOUR(breakpoint, protocol, , , ten);			\
} while (0)

static noinline void hit_ten_sites(void)
{
	HIT_TWO_SITES();
	HIT_TWO_SITES();
	HIT_TWO_SITES();
	HIT_TWO_SITES();
	HIT_TWO_SITES();
}

static bool is_every_site_probed(const u8 *addr)
{
	return true;
}

static unsigned int count_occurrences(const char *text, const char *word)
{
	unsigned int nr = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		nr++;
	}
	return nr;
}

/*
 * Promote the sites that were hit, and demote all other sites.  Return the number of messages about
 * single sites, plus 100 times the number of sites that the summarising message gives.
 */
static unsigned int count_messages_of_promotion(void)
{
	char said[4096] = "";
	unsigned int others = 0;
	struct capture capture;
	const char *more;
	int err;

	begin_stderr_capture(&capture);
	err = sdt_promote_hot_sites(0);
	end_stderr_capture(&capture, said, sizeof(said));
	more = strstr(said, " more sites could not be ");
	while (more && more > said && more[-1] != ' ')
		more--;
	if (more)
		others = strtoul(more, NULL, 10);
	return err ? -1U : count_occurrences(said, "SDT probe ten: could not be ") + 100 * others;
}

/*
 * Check the log after an attempt to promote ten sites, none of which can be promoted: the log names
 * 8 sites, and gives the number of the other sites, 2.  The next attempt must log nothing.
 */
static const char *sdt_logs_few_sites_that_are_not_promoted(void)
{
	EXPECT(!sdt_attach("ten", record_hit_address, NULL));
	protocol_is_probed = is_every_site_probed;
	hit_ten_sites();
	EXPECT(count_messages_of_promotion() == 208);
	hit_ten_sites();
	EXPECT(count_messages_of_promotion() == 0);
	protocol_is_probed = NULL;
	hit_ten_sites();
	EXPECT(count_messages_of_promotion() == 0);
	protocol_is_probed = is_every_site_probed;
	EXPECT(count_messages_of_promotion() == 208);
	return NULL;
}

static void clean_up_hot_sites(void)
{
	test_remove_breakpoint();
	sdt_detach("ten", record_hit_address, NULL);
	sdt_detach("beside", record_hit_address, NULL);
	sdt_detach("apart", record_hit_address, NULL);
	protocol_restore_sites();
}

static const char *protocol_leaves_no_writable_mapping(void)
{
	EXPECT(!protocol_register_sites());
	EXPECT(count_bad_mappings(protocol_site_first) == 0);
	EXPECT(!protocol_change_sites(protocol_nop, protocol_jump));
	EXPECT(count_bad_mappings(protocol_site_first) == 0);
	EXPECT(protocol_change_sites(protocol_nop, protocol_jump) == -EILSEQ);
	EXPECT(count_bad_mappings(protocol_site_first) == 0);
	return NULL;
}

static void pause_3_ms(void)
{
	const struct timespec pause = { .tv_nsec = 3000000 };

	nanosleep(&pause, NULL);
}

/*
 * Check in which bucket of the histogram a batch is counted.  Each of the three rounds is delayed
 * by 3 ms, so the batch takes at least 9 ms.  The batch takes at most the time that this function
 * measures around the call.
 */
static const char *protocol_counts_durations(void)
{
	struct patcher_stats before, after;
	unsigned int bucket = 0;
	u64 begin;

	EXPECT(!protocol_register_sites());
	patcher_read_stats(&before);
	protocol_after_round = pause_3_ms;
	begin = ktime_get_ns();
	EXPECT(!protocol_change_sites(protocol_nop, protocol_jump));
	begin = ktime_get_ns() - begin;
	protocol_after_round = NULL;
	patcher_read_stats(&after);
	while (bucket < PATCHER_BUCKETS && after.durations[bucket] == before.durations[bucket])
		bucket++;
	EXPECT(bucket >= patcher_get_duration_bucket(9000000));
	EXPECT(bucket <= patcher_get_duration_bucket(begin));
	EXPECT(after.apply_ns - before.apply_ns >= 9000000);
	EXPECT(after.longest_round_ns >= 3000000);
	return NULL;
}

const struct test_case protocol_cases[] = {
	{ "protocol_counts_durations", protocol_counts_durations, protocol_restore_sites },
	{ "protocol_stores_bytes_in_three_rounds", protocol_stores_bytes_in_three_rounds,
	  protocol_restore_sites },
	{ "protocol_waits_for_handlers", protocol_waits_for_handlers, protocol_restore_sites },
	{ "protocol_keeps_red_zone", protocol_keeps_red_zone, protocol_restore_sites },
	{ "protocol_runs_handlers_on_the_signal_stack", protocol_runs_handlers_on_the_signal_stack,
	  protocol_restore_sites },
	{ "protocol_retries_stale_breakpoints", protocol_retries_stale_breakpoints,
	  protocol_restore_sites },
	{ "protocol_retries_new_breakpoints", protocol_retries_new_breakpoints,
	  protocol_restore_sites },
	{ "protocol_retries_traps_that_return", protocol_retries_traps_that_return,
	  protocol_restore_sites },
	{ "sdt_handles_the_first_hit_of_a_breakpoint", sdt_handles_the_first_hit_of_a_breakpoint,
	  protocol_restore_sites },
	{ "sdt_promotes_hot_sites_without_a_kprobe", sdt_promotes_hot_sites_without_a_kprobe,
	  clean_up_hot_sites },
	{ "sdt_demotes_sites_beside_foreign_int3", sdt_demotes_sites_beside_foreign_int3,
	  clean_up_hot_sites },
	{ "sdt_logs_few_sites_that_are_not_promoted", sdt_logs_few_sites_that_are_not_promoted,
	  clean_up_hot_sites },
	{ "protocol_leaves_no_writable_mapping", protocol_leaves_no_writable_mapping,
	  protocol_restore_sites },
};

const unsigned int protocol_nr_cases = ARRAY_SIZE(protocol_cases);
