// SPDX-License-Identifier: GPL-2.0-only
/*
 * kmlive: measure the time of system calls while the kernel's code is switched between variants
 * with and without markers.  This file measures getppid(2); macro.c measures packets.  kmlive needs
 * the module kmarkers_bench, and is linked statically, so that it fits into a small initramfs.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "attach.h"
#include "live.h"
#include "number.h"
#include "output.h"
#include "../bench_modules/output.h"
#include "../bench_modules/run.h"
#include "../bench_modules/getppid.h"
#include "../bench_modules/walk.h"

const char *const native_program_name = "kmlive";

static u8 *buffer;
static u64 walk = 1;

BENCH_OPS(quiet, read_parent_pid())
BENCH_OPS_EACH(pressure, evict_caches_by_walk(buffer, EVICT_ORDER, EVICT_STEPS, &walk),
	       read_parent_pid())

/* All variants measure the same user-space code; they differ in the code of the kernel. */
#define ROWS(id)							\
	BENCH_ROW("compiled-out", id), BENCH_ROW("compiled-out-clone", id), \
	BENCH_ROW("generic", id), BENCH_ROW("immediate", id), BENCH_ROW("jump", id), \
	BENCH_ROW("original", id)

static const struct bench_variant quiet_variants[] = { ROWS(quiet) };
static const struct bench_variant pressure_variants[] = { ROWS(pressure) };

static int select_getppid_variant(unsigned int variant)
{
	return native_select_live_variant("getppid-live", quiet_variants[variant].name);
}

static int alloc_walk_buffer(void)
{
	buffer = vmalloc(1UL << EVICT_ORDER);
	if (!buffer)
		return -ENOMEM;
	memset(buffer, 1, 1UL << EVICT_ORDER);
	return 0;
}

static void free_walk_buffer(void)
{
	vfree(buffer);
}

static const struct bench_group getppid_quiet = {
	.name = "getppid-quiet",
	.variants = quiet_variants,
	.nr_variants = ARRAY_SIZE(quiet_variants),
	.select = select_getppid_variant,
};

static const struct bench_group getppid_pressure = {
	.name = "getppid-pressure",
	.variants = pressure_variants,
	.nr_variants = ARRAY_SIZE(pressure_variants),
	.loops = { 2, 4, 18 },
	.setup = alloc_walk_buffer,
	.teardown = free_walk_buffer,
	.select = select_getppid_variant,
};

static const struct bench_group *const groups[] = {
	&getppid_quiet, &getppid_pressure, &native_macro_ping, &native_macro_hackbench,
};

static bool never_stop(void)
{
	return false;
}

static int measure_live_group(const struct bench_group *group, const struct bench_config *config,
			      const char *dir)
{
	struct seq_file m = { .file = stdout };
	struct bench_result result = { 0 };
	int err;

	err = bench_alloc_result(group, config, &result);
	if (!err)
		err = bench_run_group(group, &result, never_stop);
	if (err == -ENODEV && group->lacks) {
		fprintf(native_live_env, "lacks:%s=%s\n", group->name, group->lacks);
		err = 0;
	} else if (err) {
		fprintf(stderr, "kmlive: benchmark %s failed: %s\n", group->name, strerror(-err));
	} else {
		err = native_write_samples(dir, group, &result);
		printf("%s\n", group->name);
		bench_show_summary(&m, group, &result);
	}
	bench_free_result(&result);
	return err;
}

static const struct bench_group *find_live_group(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		if (!strcmp(name, groups[i]->name))
			return groups[i];
	return NULL;
}

/* Parse the arguments BLOCKS, SEED, DIR and BENCHMARK..., before anything is written. */
static bool parse_live_arguments(char **args, struct bench_config *config)
{
	u64 blocks;

	if (!native_parse_number("BLOCKS", args[0], 1, BENCH_MAX_BLOCKS, &blocks) ||
	    !native_parse_number("SEED", args[1], 0, ~0ULL, &config->seed))
		return false;
	config->blocks = blocks;
	for (args += 3; *args; args++) {
		if (find_live_group(*args))
			continue;
		fprintf(stderr, "kmlive: no benchmark named '%s'\n", *args);
		return false;
	}
	return true;
}

static int measure_named_live_groups(char **names, const struct bench_config *config,
				     const char *dir)
{
	for (; *names; names++)
		if (measure_live_group(find_live_group(*names), config, dir))
			return -EIO;
	return 0;
}

int main(int argc, char **argv)
{
	struct bench_config config = { };
	cpu_set_t one = { };
	int err;

	if (argc == 3 && !strcmp(argv[1], "attach"))
		return native_attach_bpf_programs(argv[2]);
	if (argc < 5 || !parse_live_arguments(argv + 1, &config)) {
		fprintf(stderr, "usage: kmlive BLOCKS SEED DIR BENCHMARK... | kmlive attach PID\n");
		return 2;
	}
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	native_live_env = native_create_output_file(argv[3], "live", "");
	if (!native_live_env)
		return 1;
	err = measure_named_live_groups(argv + 4, &config, argv[3]);
	err = native_close_output_file(native_live_env, argv[3], "live", "") ?: err;
	return native_flush_output(stdout, "standard output") || err ? 1 : 0;
}
