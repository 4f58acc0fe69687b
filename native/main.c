// SPDX-License-Identifier: GPL-2.0-only
/* kmbench: run the benchmarks in user space. */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/seq_file.h>

#include <kmarkers/user.h>

#include "../bench_modules/control.h"
#include "../bench_modules/groups.h"
#include "../bench_modules/output.h"
#include "../bench_modules/platform.h"
#include "../bench_modules/run.h"
#include "counters.h"
#include "idle.h"
#include "machine.h"
#include "number.h"
#include "observer.h"
#include "output.h"
#include "peers.h"
#include "place.h"
#include "progress.h"
#include "registered.h"
#include "step.h"

#define EXIT_USAGE		2
#define EXIT_SKIP		4
#define EXIT_INTERRUPTED	130

const char *const native_program_name = "kmbench";

static const char usage[] =
	"usage: kmbench list\n"
	"       kmbench env [OPTION...]\n"
	"       kmbench run [OPTION...] [BENCHMARK...]\n"
	"       kmbench --help\n"
	"  -b, --blocks N   blocks (rounds of all variants) per benchmark (default: 200)\n"
	"  -s, --seed N     seed of the random order of variants (default: 1)\n"
	"  -c, --cpu N      number of the CPU to run on (default: the idlest CPU)\n"
	"  -p, --prefer N   number of the CPU to run on unless another CPU is idler\n"
	"  -o, --out DIR    write DIR/<benchmark>.csv and DIR/env instead of summaries\n"
	"Progress is shown on stderr.  An interrupted run keeps its complete blocks.  Exit\n"
	"codes: 0 done, 1 failed, 2 wrong arguments, 4 this machine can measure nothing,\n"
	"130 interrupted.\n";

static const char step_usage[] =
	"kmbench step [--without-int3] shows the bytes of an instruction while it is replaced,\n"
	"and stops after each round if stdin is a terminal; --without-int3 shows why int3 is\n"
	"needed.\n";

/* The signal that interrupted the run, or 0. */
static volatile sig_atomic_t interrupted;

static void record_interrupt_signal(int sig)
{
	interrupted = sig;
}

/*
 * End the run in an orderly way after these signals, so that no program or probe of another tracer
 * stays, nor an incomplete file.  SIGXFSZ is sent at a limit of the file size.  A closed terminal
 * or pipe does not end the run if this process was started with the signal ignored, as by nohup(1).
 */
static void install_signal_handlers(void)
{
	static const int signals[] = { SIGHUP, SIGPIPE, SIGXFSZ, SIGINT, SIGTERM };
	struct sigaction action = { .sa_handler = record_interrupt_signal }, before;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &before);
		if (before.sa_handler != SIG_IGN || signals[i] == SIGINT || signals[i] == SIGTERM)
			sigaction(signals[i], &action, NULL);
	}
}

struct options {
	struct bench_config config;
	bool cpu_chosen;
	int preferred_cpu;
	const char *dir;
};

/*
 * The configuration of the run, whose CPU kmbench may replace by another CPU of allowed_cpus
 * between blocks; NULL if the user has chosen the CPU.
 */
static struct bench_config *movable;
static cpu_set_t allowed_cpus;

static int pin_thread_to_cpu(unsigned int cpu)
{
	cpu_set_t one = { };

	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

/*
 * If other programs use the CPU of this thread, or if this CPU is offline, move the thread to
 * another CPU, and print a message.
 */
static void move_from_busy_cpu(void)
{
	char why[80];
	int old = movable->cpu, cpu = native_find_quieter_cpu(old, &allowed_cpus, why, sizeof(why));

	if (cpu == old || pin_thread_to_cpu(cpu))
		return;
	movable->cpu = cpu;
	fprintf(stderr, "\nkmbench: measuring on CPU %d, no longer on CPU %d, %s\n", cpu, old, why);
}

/*
 * Called between two blocks: show the progress, and move to another CPU if this CPU is busy.
 * Return true if the run was interrupted.
 */
static bool show_progress_and_check_interrupt(void)
{
	native_progress_show();
	/* The thread must not move to the CPU of the observer thread. */
	if (movable && !native_observer_is_running())
		move_from_busy_cpu();
	return interrupted;
}

static void print_usage(FILE *file)
{
	fputs(usage, file);
	if (native_run_step_command)
		fputs(step_usage, file);
}

static void write_env_lines(FILE *file, const struct bench_config *config)
{
	struct seq_file m = { .file = file };

	native_machine_write_env(file, native_machine_has_invariant_tsc());
	fprintf(file, "blocks=%u\n", config->blocks);
	fprintf(file, "cpu=%u\n", config->cpu);
	fprintf(file, "seed=%llu\n", config->seed);
	native_show_memory_offsets(file, config->seed);
	native_write_group_details_to_env(file);
	bench_show_time_limits(&m, config);
}

/*
 * Pin the process to the CPU that the user chose.  If the user chose no CPU, try to pin the process
 * to the idlest CPU, and print the number of this CPU and the reason.
 */
static int pin_process_to_cpu(struct options *options)
{
	struct bench_config *config = &options->config;
	char why[80] = "";

	if (!options->cpu_chosen) {
		if (!sched_getaffinity(0, sizeof(allowed_cpus), &allowed_cpus))
			movable = config;
		config->cpu = native_find_idlest_cpu(options->preferred_cpu, why, sizeof(why));
	}
	if (!pin_thread_to_cpu(config->cpu)) {
		if (*why && (int)config->cpu != options->preferred_cpu)
			fprintf(stderr, "kmbench: measuring on CPU %u, %s\n", config->cpu, why);
		return 0;
	}
	if (options->cpu_chosen) {
		fprintf(stderr, "kmbench: cannot run on CPU %u: %s: choose a CPU that is online and in the cpuset of this process\n",
			config->cpu, strerror(errno));
		return -EINVAL;
	}
	movable = NULL;
	fprintf(stderr, "kmbench: SKIP pinning to a CPU: %s; samples during which the thread migrates are flagged\n",
		strerror(errno));
	return 0;
}

/* Report missing features of this machine.  Return false if live patching does not work. */
static bool report_missing_features(void)
{
	if (!native_machine_has_invariant_tsc())
		fputs("kmbench: SKIP tsc_khz: the TSC is not invariant: ticks vary in duration\n",
		      stderr);
	/* This call prints a message if core cycles can only be estimated. */
	bench_find_cycles_source();
	if (!kmarkers_start())
		return true;
	fprintf(stderr, "kmbench: SKIP all benchmarks: live patching does not work on this machine\n");
	return false;
}

/*
 * Write the file "env", or replace an older file.  If that fails, the older file "env" stays as it
 * is.
 */
static int write_env_file(const char *dir, const struct bench_config *config)
{
	FILE *file = native_create_output_file(dir, "env", ".new");
	int err;

	if (!file)
		return -EIO;
	write_env_lines(file, config);
	err = native_close_output_file(file, dir, "env", ".new");
	return err ?: native_rename_output_file(dir, "env.new", "env");
}

static int write_or_print_result(const struct bench_group *group, const struct bench_result *result,
				 const char *dir)
{
	struct seq_file out = { .file = stdout };
	int err;

	if (dir)
		return native_write_samples(dir, group, result);
	printf("%s\n", group->name);
	err = bench_show_summary(&out, group, result);
	return err ?: native_flush_output(stdout, "standard output");
}

/*
 * Measure a group, and print its result or write the result to a file.  If the run is interrupted,
 * keep the complete blocks.
 */
static int measure_group(const struct bench_group *group, const struct bench_config *config,
			 const char *dir)
{
	struct bench_result result = { 0 };
	int err, kept = 0;

	err = bench_alloc_result(group, config, &result);
	native_progress_start(group, &result);
	if (!err)
		err = bench_run_group(group, &result, show_progress_and_check_interrupt);
	native_progress_end(err);
	if (!err || (err == -EINTR && result.nr))
		kept = write_or_print_result(group, &result, dir);
	bench_free_result(&result);
	if (!err)
		native_counters_write_group(group);
	return kept ?: err;
}

static int count_groups_in_mask(u64 groups)
{
	return __builtin_popcountll(groups);
}

static bool has_group_named(u64 groups, const char *name)
{
	unsigned int i;

	for (i = 0; i < bench_nr_groups; i++)
		if (groups & (1ULL << i) && !strcmp(bench_groups[i]->name, name))
			return true;
	return false;
}

/*
 * Measure the groups in a bit mask.  Skip a group that cannot be measured on this machine, unless
 * it is the only group.
 */
static int measure_groups(u64 groups, const struct bench_config *config, const char *dir)
{
	unsigned int i;
	int err;

	/*
	 * Write the file "env" now, so that a write error ends the run early.  At the end, even if
	 * the run was interrupted, replace the file by one that gives the reasons why variants are
	 * missing.
	 */
	if (dir && (native_create_output_dir(dir) || write_env_file(dir, config)))
		return -EIO;
	err = native_counters_open(dir);
	native_progress_set_total(count_groups_in_mask(groups));
	if (has_group_named(groups, "empty-loop-peers"))
		native_load_other_tracers();
	for (i = 0; i < bench_nr_groups && !err; i++) {
		if (!(groups & (1ULL << i)))
			continue;
		err = measure_group(bench_groups[i], config, dir);
		if (err == -ENODEV && count_groups_in_mask(groups) > 1)
			err = 0;
	}
	err = native_counters_close(dir) ?: err;
	if (dir && write_env_file(dir, config))
		err = -EIO;
	return err;
}

static void list_groups(void)
{
	unsigned int i, j;

	native_load_other_tracers();
	for (i = 0; i < bench_nr_groups; i++) {
		if (!(native_get_default_groups() & (1ULL << i)))
			continue;
		printf("%s:", bench_groups[i]->name);
		for (j = 0; j < bench_groups[i]->nr_variants; j++)
			printf(" %s", bench_groups[i]->variants[j].name);
		printf("\n");
	}
}

static int parse_group_names(char **names, int nr, u64 *groups)
{
	int i, group;

	*groups = nr ? 0 : native_get_default_groups();
	for (i = 0; i < nr; i++) {
		group = bench_find_group_index(names[i]);
		if (group < 0) {
			fprintf(stderr, "kmbench: no benchmark named '%s' (see kmbench list)\n",
				names[i]);
			return -EINVAL;
		}
		*groups |= 1ULL << group;
	}
	return 0;
}

/* The options; ranges[] below has the allowed range of each option whose value is a number. */
static const struct option longs[] = {
	{ "blocks", required_argument, NULL, 'b' },
	{ "seed", required_argument, NULL, 's' },
	{ "cpu", required_argument, NULL, 'c' },
	{ "prefer", required_argument, NULL, 'p' },
	{ "out", required_argument, NULL, 'o' },
	{ }
};

static const struct {
	u64 least, most;
} ranges[ARRAY_SIZE(longs)] = {
	{ 1, BENCH_MAX_BLOCKS }, { 0, ~0ULL }, { 0, CPU_SETSIZE - 1 }, { 0, CPU_SETSIZE - 1 },
};

/* Store the value of an option, which is longs[@i]. */
static int store_option_value(struct options *options, unsigned int i, const char *text)
{
	char name[16];
	u64 value;

	snprintf(name, sizeof(name), "--%s", longs[i].name);
	if (longs[i].val == 'o') {
		options->dir = text;
		if (!*text)
			fprintf(stderr, "kmbench: --out: bad value '': give the name of a directory\n");
		return *text ? 0 : -EINVAL;
	}
	if (!native_parse_number(name, text, ranges[i].least, ranges[i].most, &value))
		return -EINVAL;
	if (longs[i].val == 'b')
		options->config.blocks = value;
	else if (longs[i].val == 's')
		options->config.seed = value;
	else if (longs[i].val == 'p')
		options->preferred_cpu = value;
	else
		options->config.cpu = value;
	options->cpu_chosen |= longs[i].val == 'c';
	return 0;
}

/* Parse options.  An option that is given twice is refused, because one of the values is wrong. */
static int parse_options(int argc, char **argv, struct options *options)
{
	bool given[ARRAY_SIZE(longs)] = { };
	unsigned int i;
	int option;

	while ((option = getopt_long(argc, argv, "b:s:c:p:o:", longs, NULL)) != -1) {
		for (i = 0; longs[i].name && longs[i].val != option; i++)
			;
		if (!longs[i].name) {
			fprintf(stderr, "kmbench: wrong option: kmbench --help lists all options\n");
			return -EINVAL;
		}
		if (given[i]) {
			fprintf(stderr, "kmbench: --%s: given again, with value '%s': give it once\n",
				longs[i].name, optarg);
			return -EINVAL;
		}
		given[i] = true;
		if (store_option_value(options, i, optarg))
			return -EINVAL;
	}
	return 0;
}

static int run_benchmarks(char **names, int nr, struct options *options)
{
	u64 groups;
	int err;

	err = parse_group_names(names, nr, &groups);
	if (!err)
		err = pin_process_to_cpu(options);
	if (err)
		return err;
	if (!report_missing_features())
		return -ENODEV;
	install_signal_handlers();
	native_move_heap(options->config.seed);
	NATIVE_MOVE_STACK(options->config.seed);
	return measure_groups(groups, &options->config, options->dir);
}

static int print_env(char **args, int nr, struct options *options)
{
	int err;

	if (nr) {
		fprintf(stderr, "kmbench: env takes no argument '%s'\n", args[0]);
		return -EINVAL;
	}
	if (options->dir) {
		fprintf(stderr, "kmbench: env takes no --out '%s': it writes to standard output\n",
			options->dir);
		return -EINVAL;
	}
	err = pin_process_to_cpu(options);
	if (!err)
		write_env_lines(stdout, &options->config);
	return err;
}

static int convert_to_exit_code(int err)
{
	switch (err) {
	case 0:
		return 0;
	case -EINVAL:
		return EXIT_USAGE;
	case -ENODEV:
		return EXIT_SKIP;
	case -EINTR:
		return EXIT_INTERRUPTED;
	default:
		return EXIT_FAILURE;
	}
}

int main(int argc, char **argv)
{
	struct options options = {
		.config = { .blocks = 200, .seed = 1 },
		.preferred_cpu = -1,
	};
	const char *command = argc > 1 ? argv[1] : "";
	int err = native_check_registered_groups();

	if (err)
		return convert_to_exit_code(err);
	if (!strcmp(command, "run") || !strcmp(command, "env")) {
		/* getopt_long() prints this name. */
		argv[1] = (char *)native_program_name;
		err = parse_options(argc - 1, argv + 1, &options);
		if (!err)
			err = (*command == 'r' ? run_benchmarks : print_env)(argv + 1 + optind,
									     argc - 1 - optind,
									     &options);
	} else if (native_run_step_command && !strcmp(command, "step")) {
		err = native_run_step_command(argv + 2, argc - 2);
	} else if (!strcmp(command, "list") && argc == 2) {
		list_groups();
	} else if (!strcmp(command, "--help") && argc == 2) {
		print_usage(stdout);
	} else {
		print_usage(stderr);
		err = -EINVAL;
	}
	return convert_to_exit_code(err ?: native_flush_output(stdout, "standard output"));
}
