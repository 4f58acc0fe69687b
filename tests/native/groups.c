// SPDX-License-Identifier: GPL-2.0-only
/* Tests of benchmark groups: valid and invalid groups, and block functions with wrong results. */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/smp.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>

#include "../../bench_modules/caches.h"
#include "../../bench_modules/groups.h"
#include "../../bench_modules/ops.h"
#include "../../bench_modules/run.h"
#include "../../bench_modules/sites.h"
#include "../../bench_modules/sites_peers.h"
#include "../../sdt/promote.h"
#include "groups.h"
#include "mappings.h"
#include "nomem.h"

static bool never_stop(void)
{
	return false;
}

static u64 return_loop_count(u32 loops)
{
	return loops;
}

static bench_op *const return_loop_count_layouts[] = {
	[0 ... BENCH_LAYOUTS - 1] = return_loop_count
};

/* A group whose blocks are measured by fill_own_block().  Tests change the samples of a block. */
static const struct bench_variant own_variants[] = {
	{ .name = "sites", .measured = BENCH_SWITCH },
	{ .name = "rounds", .measured = BENCH_ROUNDS },
};
static unsigned int own_samples, own_variant;

static int fill_own_block(u32 block, struct bench_sample *samples)
{
	samples[0] = (struct bench_sample) { .block = block, .size = 1 };
	samples[1] = (struct bench_sample) { .block = block, .size = 1, .variant = own_variant };
	return 0;
}

static unsigned int get_own_sample_count(void)
{
	return own_samples;
}

static const struct bench_group own_group = {
	.name = "own", .variants = own_variants, .nr_variants = 2,
	.block = fill_own_block, .block_samples = get_own_sample_count,
};

static const char *run_validates_results_of_block_functions(void)
{
	struct bench_config config = { .blocks = 4, .seed = 5 };
	struct bench_result result = { 0 };

	own_samples = 2;
	own_variant = 1;
	EXPECT(!bench_alloc_result(&own_group, &config, &result) && result.planned == 8);
	/*
	 * Memory for 8 samples has been allocated: a change of the number of samples has no effect.
	 */
	own_samples = 1000000;
	EXPECT(!bench_run_group(&own_group, &result, never_stop) && result.nr == 8);
	own_samples = 2;
	own_variant = 2;
	EXPECT(!bench_alloc_result(&own_group, &config, &result));
	EXPECT(bench_run_group(&own_group, &result, never_stop) == -EINVAL && !result.nr);
	/* A total number of samples is refused if it exceeds 32 bits or is 0. */
	config.blocks = BENCH_MAX_BLOCKS;
	own_samples = 1000000;
	EXPECT(bench_alloc_result(&own_group, &config, &result) == -E2BIG && !result.samples);
	own_samples = 1U << 31;
	config.blocks = 2;
	EXPECT(bench_alloc_result(&own_group, &config, &result) == -E2BIG && !result.samples);
	own_samples = 0;
	EXPECT(bench_alloc_result(&own_group, &config, &result) == -EINVAL && !result.planned);
	return NULL;
}

static bool is_refused(const struct bench_group *group, const char *word)
{
	const char *why = bench_find_group_error(group);

	return why && strstr(why, word);
}

static const char *run_refuses_invalid_groups(void)
{
	static const char *const commands[] = { "start", "stop", "reset", "blocks", "cpu", "seed" };
	struct bench_variant variants[] = {
		BENCH_ROW("base", return_loop_count), BENCH_ROW("base-clone", return_loop_count),
	};
	struct bench_group loops = { .name = "g", .variants = variants, .nr_variants = 2 };
	struct bench_group own = own_group;
	char name[BENCH_MAX_NAME + 2] = "";
	unsigned int i;

	own_samples = 2;
	EXPECT(!bench_find_group_error(&loops) && !bench_find_group_error(&own));
	own.nr_variants = 1;
	EXPECT(!bench_find_group_error(&own));
	own.block_samples = NULL;
	EXPECT(is_refused(&own, ".block_samples is not"));
	loops.block_samples = get_own_sample_count;
	EXPECT(is_refused(&loops, ".block is not"));
	loops.block_samples = NULL;
	own.block_samples = get_own_sample_count;
	own_samples = 0;
	EXPECT(is_refused(&own, "no samples"));
	variants[1].measured = BENCH_ROUNDS + 1;
	EXPECT(is_refused(&loops, "enum bench_measured"));
	variants[1].measured = BENCH_SWITCH;
	EXPECT(is_refused(&loops, "measures no loop"));
	variants[1].measured = BENCH_LOOP;
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		loops.name = commands[i];
		EXPECT(is_refused(&loops, "command"));
	}
	memset(name, 'a', BENCH_MAX_NAME);
	loops.name = name;
	EXPECT(!bench_find_group_error(&loops));
	name[BENCH_MAX_NAME] = 'a';
	EXPECT(is_refused(&loops, "64"));
	loops.name = "g";
	loops.lacks = "a line\nblocks=1";
	EXPECT(is_refused(&loops, "one line"));
	return NULL;
}

/*
 * Check that a group must have 2 to BENCH_MAX_VARIANTS variants; a group with a block function may
 * have 1.
 */
static const char *run_limits_the_number_of_variants(void)
{
	static struct bench_variant variants[BENCH_MAX_VARIANTS + 1];
	static char names[ARRAY_SIZE(variants)][8];
	struct bench_group loops = { .name = "g", .variants = variants }, own = own_group;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(variants); i++) {
		snprintf(names[i], sizeof(names[i]), i == 1 ? "0-clone" : "%u", i);
		variants[i] = (struct bench_variant) BENCH_ROW(names[i], return_loop_count);
	}
	own.variants = variants;
	own_samples = 2;
	for (i = 0; i <= ARRAY_SIZE(variants); i++) {
		loops.nr_variants = own.nr_variants = i;
		EXPECT(is_refused(&loops, "number of variants") == (i < 2 || i > BENCH_MAX_VARIANTS));
		EXPECT(is_refused(&own, "number of variants") == (i < 1 || i > BENCH_MAX_VARIANTS));
		EXPECT(i < 2 || i > BENCH_MAX_VARIANTS || !bench_find_group_error(&loops));
	}
	return NULL;
}

/*
 * Check that a group is refused if a variant has no layouts, or more or fewer layouts than the first
 * variant.
 */
static const char *run_refuses_groups_that_lack_layouts(void)
{
	bench_op *first[BENCH_LAYOUTS + 1], *second[BENCH_LAYOUTS + 1];
	struct bench_variant variants[] = {
		{ .name = "base", .op = first }, { .name = "base-clone", .op = second },
	};
	const struct bench_group group = { .name = "g", .variants = variants, .nr_variants = 2 };
	bench_op **const ops[] = { first, second };
	unsigned int i, layout;

	for (i = 0; i <= BENCH_LAYOUTS; i++)
		first[i] = second[i] = return_loop_count;
	for (i = 1; i <= BENCH_LAYOUTS; i++) {
		variants[0].nr_layouts = variants[1].nr_layouts = i;
		EXPECT(!bench_find_group_error(&group));
		variants[1].nr_layouts = i - 1;
		EXPECT(is_refused(&group, "more or fewer layouts"));
	}
	variants[0].nr_layouts = variants[1].nr_layouts = BENCH_LAYOUTS + 1;
	EXPECT(is_refused(&group, "layouts"));
	variants[0].nr_layouts = variants[1].nr_layouts = 0;
	EXPECT(is_refused(&group, "layouts"));
	variants[0].nr_layouts = variants[1].nr_layouts = BENCH_LAYOUTS;
	for (i = 0; i < 2; i++) {
		for (layout = 0; layout < BENCH_LAYOUTS; layout++) {
			ops[i][layout] = NULL;
			EXPECT(is_refused(&group, "lacks a layout"));
			ops[i][layout] = return_loop_count;
		}
		variants[i].op = NULL;
		EXPECT(is_refused(&group, "lacks a layout"));
		variants[i].op = (bench_op *const *)ops[i];
	}
	EXPECT(!bench_find_group_error(&group));
	return NULL;
}

/*
 * Check that loop counts are accepted only if they ascend or are all 0, and that names are accepted
 * only if they are valid.
 */
static const char *run_refuses_invalid_names_and_loop_counts(void)
{
	static const u32 good[][BENCH_LOOP_COUNTS] = { { 0, 0, 0 }, { 1, 2, 3 }, { 5, 90, 91 } };
	static const u32 bad[][BENCH_LOOP_COUNTS] = {
		{ 0, 1, 2 }, { 0, 1, 0 }, { 0, 0, 1 }, { 1, 0, 0 }, { 1, 2, 2 }, { 1, 1, 2 },
		{ 1, 2, 0 }, { 2, 1, 3 }, { 1, 3, 2 }, { 3, 2, 1 },
	};
	static const char *const names[] = { "a", "z", "A", "Z", "0", "9", "-", "_", "azAZ09-_" };
	static const char *const bad_names[] = {
		"", "`", "{", "@", "[", "/", ":", ",", "a b", "a ", " a", "a.b", "\xe4",
	};
	struct bench_variant variants[] = {
		BENCH_ROW("base", return_loop_count), BENCH_ROW("base-clone", return_loop_count),
		BENCH_ROW("other", return_loop_count),
	};
	struct bench_group group = { .name = "g", .variants = variants, .nr_variants = 3 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		memcpy(group.loops, good[i], sizeof(good[i]));
		EXPECT(!bench_find_group_error(&group));
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memcpy(group.loops, bad[i], sizeof(bad[i]));
		EXPECT(is_refused(&group, "loop counts"));
	}
	memset(group.loops, 0, sizeof(group.loops));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		group.name = variants[2].name = names[i];
		EXPECT(!bench_find_group_error(&group));
	}
	for (i = 0; i < ARRAY_SIZE(bad_names); i++) {
		group.name = bad_names[i];
		EXPECT(is_refused(&group, "its name"));
		group.name = "g";
		variants[2].name = bad_names[i];
		EXPECT(is_refused(&group, "the name of a variant"));
		variants[2].name = "other";
	}
	variants[1].name = "base-clone2";
	EXPECT(is_refused(&group, "-clone"));
	variants[1].name = "base";
	EXPECT(is_refused(&group, "the same name"));
	return NULL;
}

/*
 * Check that each method that gets the number n switches exactly the first n sites, in the given
 * number of batches, and that all sites are off after the teardown.  Also check that exactly n
 * pokes are filled in; the array of pokes is the first allocation of the setup.
 */
static const char *run_switches_only_the_first_sites(void)
{
	static const struct {
		enum sites_method method;
		unsigned int batches;
	} methods[] = { { SITES_BATCHED, 1 }, { SITES_CHUNKED, 1 }, { SITES_ONE_BY_ONE, 3 } };
	struct patcher_stats before, after;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		enum sites_method method = methods[i].method;
		const struct patcher_poke *pokes;
		bool filled, filled_others;
		int errs[6];

		test_first_allocation = NULL;
		EXPECT(!bench_sites.setup());
		pokes = test_first_allocation;
		bench_sites.set(SITES_STOP_MACHINE, 2, true);
		filled = pokes[0].addr && pokes[1].addr == pokes[0].addr + pokes[0].len &&
			 pokes[1].alias == pokes[0].alias + pokes[0].len;
		filled_others = pokes[2].addr != NULL;
		patcher_read_stats(&before);
		errs[0] = bench_sites.set(method, 3, true);
		patcher_read_stats(&after);
		filled_others |= pokes[3].addr != NULL;
		errs[1] = bench_sites.set(SITES_BATCHED, 3, true);
		errs[2] = bench_sites.set(SITES_BATCHED, 4, false);
		errs[3] = bench_sites.set(method, 3, false);
		errs[4] = bench_sites.set(method, 3, false);
		errs[5] = bench_sites.set(method, 2, true);
		bench_sites.teardown();
		EXPECT(filled && !filled_others && !errs[0] && !errs[3] && !errs[5]);
		EXPECT(errs[1] == -EILSEQ && errs[2] == -EILSEQ && errs[4] == -EILSEQ);
		EXPECT(after.batches - before.batches == methods[i].batches);
		EXPECT(after.rounds - before.rounds == 3 * methods[i].batches);
	}
	return NULL;
}

/* Number of 5-byte sites of which the last byte of the last site is the first byte of a page. */
#define SITES_AND_A_BYTE	3277

/*
 * Check that the steps of a batch can be measured one by one: each call must return 0, give each
 * site its own address, and leave no mapping.
 */
static const char *run_measures_steps_of_a_batch(void)
{
	static struct patcher_poke pokes[SITES_AND_A_BYTE];
	struct sites_stores stores = { pokes, SITES_AND_A_BYTE };
	unsigned int i;
	int nr = 0;

	for (i = 0; i < SITES_AND_A_BYTE; i++)
		pokes[i].len = 5;
	/* The first calls may allocate memory that later calls use. */
	for (i = 0; i < 3; i++) {
		nr = count_mappings();
		EXPECT(!bench_switch_sites_without_patcher(SITES_BY_HAND, 1, true));
		EXPECT(!bench_store_batch_to_mapping(&stores));
	}
	EXPECT(nr > 0 && count_mappings() == nr);
	for (i = 1; i < SITES_AND_A_BYTE; i++)
		EXPECT(pokes[i].alias == pokes[i - 1].alias + 5);
	for (i = 0; i < SITES_BY_HAND; i++)
		EXPECT(bench_switch_sites_without_patcher(i, 1, true) == -EINVAL);
	return NULL;
}

/* Count the files of a folder whose names do not begin with a dot. */
static unsigned int count_files(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	unsigned int nr = 0;

	while (dir && (entry = readdir(dir)))
		nr += *entry->d_name != '.';
	if (dir)
		closedir(dir);
	return nr;
}

/*
 * Wait up to a second until the process has @nr threads, because a thread stays visible for a while
 * after its end.  Return false after a second.
 */
static bool wait_for_thread_count(unsigned int nr)
{
	unsigned int tries = 1000;

	while (count_files("/proc/self/task") != nr && --tries)
		usleep(1000);
	return tries;
}

static const char *check_observer_thread(const struct bench_group *group)
{
	unsigned int before = count_files("/proc/self/task");
	bool is_running;

	EXPECT(before && !group->setup());
	is_running = wait_for_thread_count(before + 1);
	group->teardown();
	EXPECT(is_running);
	EXPECT(wait_for_thread_count(before));
	return NULL;
}

/* Check that the observer thread runs from the setup of a group to its teardown, and no longer. */
static const char *run_stops_the_observer_thread_at_teardown(void)
{
	cpu_set_t before, one;
	const char *failed;
	int cpu = 0;

#ifdef __SANITIZE_THREAD__
	return "SKIP ThreadSanitizer starts a thread of its own";
#endif
	EXPECT(!sched_getaffinity(0, sizeof(before), &before));
	if (CPU_COUNT(&before) < 2)
		return "SKIP the observer thread needs a CPU of its own";
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	EXPECT(!sched_setaffinity(0, sizeof(one), &one));
	failed = check_observer_thread(&bench_arm_scaling) ?:
		 check_observer_thread(&bench_arm_stall) ?:
		 check_observer_thread(&bench_xadd_prefix_contended);
	EXPECT(!sched_setaffinity(0, sizeof(before), &before));
	return failed;
}

/* Return the shortest time of ten windows of the first variant of cold-icache groups, in ticks. */
static u64 measure_cold_code_ticks(void)
{
	u64 least = ~0ULL, ticks;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		ticks = bench_cold_icache_l1.variants[0].op[0](4);
		least = ticks < least ? ticks : least;
	}
	return least;
}

/*
 * Check that cold-icache-memory evicts the code, so that the code takes more than twice as long,
 * and that cold-icache-l1 evicts nothing, even if it follows cold-icache-memory.
 */
static const char *run_evicts_code_in_cold_groups(void)
{
	int err = bench_cold_icache_memory.setup();
	u64 evicted;

	if (err == -ENODEV)
		return "SKIP an emulated CPU has no caches";
	EXPECT(!err);
	evicted = measure_cold_code_ticks();
	EXPECT(!bench_cold_icache_l1.setup());
	EXPECT(evicted > 2 * measure_cold_code_ticks());
	return NULL;
}

static unsigned int nr_readings;

/*
 * Emulate and count an RDTSC instruction, which raises SIGSEGV while this thread is not allowed to
 * read the TSC.
 */
static void emulate_rdtsc(int sig, siginfo_t *info, void *context)
{
	static const u8 rdtsc[] = { 0x0f, 0x31 };
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (memcmp((void *)regs[REG_RIP], rdtsc, sizeof(rdtsc)))
		abort();
	regs[REG_RAX] = ++nr_readings;
	regs[REG_RDX] = 0;
	regs[REG_RIP] += sizeof(rdtsc);
}

/*
 * Return how often a window of @loops passes reads the TSC, or 0 if the readings cannot be counted.
 */
static unsigned int count_tsc_readings(const struct bench_variant *variant, u32 loops)
{
	struct sigaction counting = { .sa_sigaction = emulate_rdtsc, .sa_flags = SA_SIGINFO };
	struct sigaction before;

	nr_readings = 0;
	if (sigaction(SIGSEGV, &counting, &before))
		return 0;
	if (!prctl(PR_SET_TSC, PR_TSC_SIGSEGV)) {
		variant->op[0](loops);
		prctl(PR_SET_TSC, PR_TSC_ENABLE);
	}
	sigaction(SIGSEGV, &before, NULL);
	return nr_readings;
}

/*
 * Check that in the benchmark function-entry, the hooks of a profiler read the TSC once per pass,
 * and that all other hooks never read the TSC.
 */
static const char *run_reads_the_tsc_in_profiler_hooks(void)
{
	unsigned int i, seen = 0;

#ifdef __SANITIZE_THREAD__
	return "SKIP ThreadSanitizer may read the TSC";
#endif
	if (!count_tsc_readings(&bench_function_entry.variants[0], 1))
		return "SKIP the kernel cannot disable the TSC";
	for (i = 0; i < bench_function_entry.nr_variants; i++) {
		const struct bench_variant *variant = &bench_function_entry.variants[i];
		bool profiles = strstr(variant->name, "count");

		seen += profiles;
		EXPECT(count_tsc_readings(variant, 1) == 2U + profiles);
		EXPECT(count_tsc_readings(variant, 5) == 2U + 5 * profiles);
	}
	EXPECT(seen == 4);
	return NULL;
}

/*
 * Check that every group of kmarkers satisfies the rules for groups of users' modules and programs.
 * The group of peers (other tracers) is an exception: it has no variants before peers are loaded.
 */
static const char *run_accepts_all_builtin_groups(void)
{
	unsigned int i;

	bench_groups_init();
	EXPECT(bench_nr_groups > 20);
	for (i = 0; i < bench_nr_groups; i++)
		EXPECT(bench_groups[i] == &bench_empty_loop_peers ||
		       !bench_find_group_error(bench_groups[i]));
	return NULL;
}

#define CACHE_FILE	"/sys/devices/system/cpu/cpu%u/cache/index%u/%s"

/*
 * Read the first word of a file in sysfs that describes a cache of a CPU.  Return false if there is
 * no such file.
 */
static bool read_cache_file(unsigned int cpu, unsigned int index, const char *name, char word[16])
{
	char path[80];
	FILE *file;
	bool found;

	snprintf(path, sizeof(path), CACHE_FILE, cpu, index, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	found = fscanf(file, "%15s", word) == 1;
	fclose(file);
	return found;
}

/* Read the sizes of the caches on @cpu: CPUs of one machine may have different caches. */
static bool read_caches_of_cpu(unsigned int cpu, struct bench_caches *caches)
{
	cpu_set_t before, one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_getaffinity(0, sizeof(before), &before) ||
	    sched_setaffinity(0, sizeof(one), &one))
		return false;
	bench_read_caches(caches);
	return !sched_setaffinity(0, sizeof(before), &before);
}

/* Check that the sizes of the caches equal the sizes that the kernel shows in sysfs. */
static const char *run_reads_cache_sizes_like_the_kernel(void)
{
	unsigned int cpu = raw_smp_processor_id();
	u64 code = 0, middle = 0, last = 0;
	struct bench_caches caches;
	char level[16], type[16], size[16];
	unsigned int i;

	for (i = 0; read_cache_file(cpu, i, "level", level) &&
		    read_cache_file(cpu, i, "type", type) &&
		    read_cache_file(cpu, i, "size", size); i++) {
		u64 bytes = strtoul(size, NULL, 10) * 1024;

		if (!strcmp(type, "Instruction"))
			code = bytes > code ? bytes : code;
		else if (atoi(level) == 2)
			middle = bytes;
		if (strcmp(type, "Instruction") && atoi(level) >= 2)
			last = bytes > last ? bytes : last;
	}
	if (!code || !middle || !last)
		return "SKIP the kernel has no sizes of caches";
	EXPECT(read_caches_of_cpu(cpu, &caches));
	EXPECT(caches.code == code && caches.middle == middle && caches.last == last);
	return NULL;
}

/* Measure a block of a group, and call @before before this block.  Return the error. */
static int run_block_after(const struct bench_group *group, bool (*before)(void))
{
	struct bench_config config = { .blocks = 1 };
	struct bench_result result = { 0 };
	int err = bench_alloc_result(group, &config, &result) ?:
		  bench_run_group(group, &result, before);

	bench_free_result(&result);
	return err;
}

static void ignore_hit(void *private, const struct sdt_hit *hit)
{
}

/* Measure a block of a group, with a handler attached to an SDT probe.  Return the error. */
static int run_with_attached_handler(const struct bench_group *group, const char *pattern)
{
	int err = sdt_attach(pattern, ignore_hit, NULL);

	if (err)
		return err;
	err = run_block_after(group, never_stop);
	sdt_detach(pattern, ignore_hit, NULL);
	sdt_synchronize();
	return err;
}

static const char *run_fails_while_a_handler_is_attached(void)
{
	EXPECT(run_with_attached_handler(&bench_sdt_dormant, "bench_sdt:::off") == -EBUSY);
	EXPECT(run_with_attached_handler(&bench_lock_pair_mutex, "bench_lock:::acquire") == -EBUSY);
	EXPECT(run_with_attached_handler(&bench_lock_pair_mutex, "bench_lock:::release") == -EBUSY);
	EXPECT(run_with_attached_handler(&bench_sdt_enabled, "bench_sdt:::on") == -EBUSY);
	EXPECT(run_with_attached_handler(&bench_sdt_enabled, "bench_sdt:::two") == -EBUSY);
	EXPECT(run_with_attached_handler(&bench_sdt_enabled, "bench_sdt:::promoted") == -EBUSY);
	EXPECT(!run_with_attached_handler(&bench_lock_pair_mutex, "bench_sdt:::off"));
	return NULL;
}

/*
 * Promote all sites that were hit, between two blocks.  In the kernel, sites are promoted once a
 * second if the module parameter promote_after is set.
 */
static bool promote_all_hit_sites(void)
{
	sdt_promote_hot_sites(0);
	return false;
}

static bool demote_all_sites(void)
{
	sdt_promote_hot_sites(UINT_MAX);
	return false;
}

static const char *run_fails_if_an_sdt_site_is_promoted_or_demoted(void)
{
	EXPECT(!run_block_after(&bench_sdt_trapped, never_stop));
	EXPECT(run_block_after(&bench_sdt_trapped, promote_all_hit_sites) == -EBUSY);
	/* Sites stay promoted while they have no handlers. */
	EXPECT(run_block_after(&bench_sdt_trapped, never_stop) == -EBUSY);
	demote_all_sites();
	EXPECT(!run_block_after(&bench_sdt_enabled, never_stop));
	EXPECT(run_block_after(&bench_sdt_enabled, demote_all_sites) == -EBUSY);
	return NULL;
}

const struct test_case group_cases[] = {
	{ "run_fails_while_a_handler_is_attached", run_fails_while_a_handler_is_attached, NULL },
	{ "run_fails_if_an_sdt_site_is_promoted_or_demoted",
	  run_fails_if_an_sdt_site_is_promoted_or_demoted, NULL },
	{ "run_accepts_all_builtin_groups", run_accepts_all_builtin_groups, NULL },
	{ "run_validates_results_of_block_functions", run_validates_results_of_block_functions,
	  NULL },
	{ "run_refuses_invalid_groups", run_refuses_invalid_groups, NULL },
	{ "run_limits_the_number_of_variants", run_limits_the_number_of_variants, NULL },
	{ "run_refuses_groups_that_lack_layouts", run_refuses_groups_that_lack_layouts, NULL },
	{ "run_refuses_invalid_names_and_loop_counts", run_refuses_invalid_names_and_loop_counts,
	  NULL },
	{ "run_reads_cache_sizes_like_the_kernel", run_reads_cache_sizes_like_the_kernel, NULL },
	{ "run_switches_only_the_first_sites", run_switches_only_the_first_sites, NULL },
	{ "run_measures_steps_of_a_batch", run_measures_steps_of_a_batch, NULL },
	{ "run_stops_the_observer_thread_at_teardown", run_stops_the_observer_thread_at_teardown,
	  NULL },
	{ "run_evicts_code_in_cold_groups", run_evicts_code_in_cold_groups, NULL },
	{ "run_reads_the_tsc_in_profiler_hooks", run_reads_the_tsc_in_profiler_hooks, NULL },
};

const unsigned int group_nr_cases = ARRAY_SIZE(group_cases);
