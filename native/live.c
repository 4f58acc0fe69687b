// SPDX-License-Identifier: GPL-2.0-only
/*
 * kmlive: times getppid(2) while the kernel's own implementation is switched
 * between implementations with and without markers.  It runs in a test kernel or on a
 * machine that has kmarkers_bench loaded, and is linked statically, for a small
 * initramfs.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "attach.h"
#include "../bench_modules/output.h"
#include "../bench_modules/run.h"
#include "../bench_modules/getppid.h"
#include "../bench_modules/walk.h"

#define CONTROL	"/sys/module/kmarkers_bench/parameters/control"

static u8 *buffer;
static u64 walk = 1;

BENCH_OPS(quiet, getppid_work())
BENCH_OPS_EACH(pressure, walk_evict(buffer, EVICT_ORDER, EVICT_STEPS, &walk), getppid_work())

/* All variants time the same code of this program; the kernel's code differs. */
#define ROWS(id)							\
	BENCH_ROW("compiled-out", id), BENCH_ROW("compiled-out-clone", id), \
	BENCH_ROW("generic", id), BENCH_ROW("immediate", id), BENCH_ROW("original", id)

static const struct bench_variant quiet_variants[] = { ROWS(quiet) };
static const struct bench_variant pressure_variants[] = { ROWS(pressure) };

static int select_variant(unsigned int variant)
{
	const char *name = quiet_variants[variant].name;
	int file = open(CONTROL, O_WRONLY);
	int err = 0;

	if (file < 0 || dprintf(file, "getppid-live %s", name) < 0)
		err = -errno;
	if (err)
		fprintf(stderr, "kmlive: %s: %s: %s\n", CONTROL, name, strerror(errno));
	if (file >= 0)
		close(file);
	return err;
}

static int setup(void)
{
	buffer = vmalloc(1UL << EVICT_ORDER);
	if (!buffer)
		return -ENOMEM;
	memset(buffer, 1, 1UL << EVICT_ORDER);
	return 0;
}

static void teardown(void)
{
	vfree(buffer);
}

static const struct bench_group groups[] = {
	{
		.name = "getppid-quiet",
		.variants = quiet_variants,
		.nr_variants = ARRAY_SIZE(quiet_variants),
		.select = select_variant,
	},
	{
		.name = "getppid-pressure",
		.variants = pressure_variants,
		.nr_variants = ARRAY_SIZE(pressure_variants),
		.loops = { 2, 4, 18 },
		.setup = setup,
		.teardown = teardown,
		.select = select_variant,
	},
};

static bool never_stop(void)
{
	return false;
}

static int run_group(const struct bench_group *group, const struct bench_config *config,
		     const char *dir)
{
	struct bench_result result = { 0 };
	struct seq_file m;
	char path[4096];
	int err;

	err = bench_alloc_result(group, config, &result);
	if (!err)
		err = bench_run_group(group, &result, never_stop);
	snprintf(path, sizeof(path), "%s/%s.csv", dir, group->name);
	m.file = err ? NULL : fopen(path, "w");
	if (m.file) {
		bench_show_samples(&m, group, &result);
		err = fclose(m.file) ? -errno : 0;
		m.file = stdout;
		printf("%s\n", group->name);
		bench_show_summary(&m, group, &result);
	} else if (!err) {
		err = -errno;
	}
	if (err)
		fprintf(stderr, "kmlive: %s: %s\n", group->name, strerror(-err));
	bench_free_result(&result);
	return err;
}

int main(int argc, char **argv)
{
	struct bench_config config = { .seed = 1 };
	unsigned int i;
	cpu_set_t one;
	int err = 0;

	if (argc == 3 && !strcmp(argv[1], "attach"))
		return native_attach(argv[2]);
	if (argc != 4 || atoi(argv[1]) < 1 || atoi(argv[1]) > BENCH_MAX_BLOCKS) {
		fprintf(stderr, "usage: kmlive BLOCKS SEED DIR | kmlive attach PID\n");
		return 2;
	}
	config.blocks = atoi(argv[1]);
	config.seed = strtoull(argv[2], NULL, 0);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (i = 0; i < ARRAY_SIZE(groups) && !err; i++)
		err = run_group(&groups[i], &config, argv[3]);
	return err ? 1 : 0;
}
