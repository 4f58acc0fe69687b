// SPDX-License-Identifier: GPL-2.0-only
/* Tests of benchmark groups: valid and invalid groups, and block functions with wrong results. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../../bench_modules/groups.h"
#include "../../bench_modules/ops.h"
#include "../../bench_modules/run.h"
#include "groups.h"

static bool never_stop(void)
{
	return false;
}

static u64 return_loops(u32 loops)
{
	return loops;
}

static bench_op *const return_loops_layouts[] = { [0 ... BENCH_LAYOUTS - 1] = return_loops };

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

static const char *check_wrong_block_function(void)
{
	struct bench_config config = { .blocks = 4, .seed = 5 };
	struct bench_result result = { 0 };

	own_samples = 2;
	own_variant = 1;
	EXPECT(!bench_alloc_result(&own_group, &config, &result) && result.planned == 8);
	/* Memory for 8 samples has been allocated: a change of their number has no effect. */
	own_samples = 1000000;
	EXPECT(!bench_run_group(&own_group, &result, never_stop) && result.nr == 8);
	own_samples = 2;
	own_variant = 2;
	EXPECT(!bench_alloc_result(&own_group, &config, &result));
	EXPECT(bench_run_group(&own_group, &result, never_stop) == -EINVAL && !result.nr);
	/* Total numbers of samples that exceed 32 bits, and the number 0, are refused. */
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

static const char *check_bad_groups(void)
{
	static const char *const commands[] = { "start", "stop", "reset", "blocks", "cpu", "seed" };
	struct bench_variant variants[] = {
		BENCH_ROW("base", return_loops), BENCH_ROW("base-clone", return_loops),
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
 * Check that every group of kmarkers satisfies the rules for groups of users' modules and programs.
 * The group of peers (other tracers) is an exception: it has no variants before peers are loaded.
 */
static const char *check_own_groups(void)
{
	unsigned int i;

	bench_groups_init();
	EXPECT(bench_nr_groups > 20);
	for (i = 0; i < bench_nr_groups; i++)
		EXPECT(bench_groups[i] == &bench_empty_loop_peers ||
		       !bench_find_group_error(bench_groups[i]));
	return NULL;
}

const struct test_case group_cases[] = {
	{ "run_accepts_all_own_groups", check_own_groups, NULL },
	{ "run_trusts_no_block_function", check_wrong_block_function, NULL },
	{ "run_refuses_bad_groups", check_bad_groups, NULL },
};

const unsigned int group_nr_cases = ARRAY_SIZE(group_cases);
