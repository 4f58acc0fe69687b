// SPDX-License-Identifier: GPL-2.0-only
/* kmbench: the benchmarks in user space. */
#include <cpuid.h>
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <linux/seq_file.h>

#include <kmarkers/user.h>

#include "../bench_modules/bench.h"

#define MAX_GROUPS	64

static const char usage[] =
	"usage: kmbench list\n"
	"       kmbench env [OPTION...]\n"
	"       kmbench run [OPTION...] [BENCHMARK...]\n"
	"  -b, --blocks N   blocks of each benchmark (default 200)\n"
	"  -s, --seed N     seed of the order of variants (default 1)\n"
	"  -c, --cpu N      CPU to run on (default: the last one allowed)\n"
	"  -o, --out DIR    write DIR/<benchmark>.csv and DIR/env instead of summaries\n";

u64 bench_count_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

void bench_pause(void)
{
}

static bool never_stop(void)
{
	return false;
}

/* Ticks per millisecond against CLOCK_MONOTONIC over a tenth of a second. */
static unsigned long measure_tsc_khz(void)
{
	struct timespec start, now;
	u64 ticks = bench_tsc();
	long ns;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		ns = (now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec;
	} while (ns < 100000000L);
	return (bench_tsc() - ticks) * 1000000 / ns;
}

static void cpu_model(char *text)
{
	unsigned int leaf, *words = (void *)text;

	for (leaf = 0; leaf < 3; leaf++)
		if (!__get_cpuid(0x80000002 + leaf, &words[leaf * 4], &words[leaf * 4 + 1],
				 &words[leaf * 4 + 2], &words[leaf * 4 + 3]))
			strcpy(text, "unknown");
}

static void hypervisor(char *text)
{
	unsigned int words[4];

	__get_cpuid(1, &words[0], &words[1], &words[2], &words[3]);
	strcpy(text, "none");
	if (!(words[2] & (1U << 31)))
		return;
	__cpuid(0x40000000, words[0], words[1], words[2], words[3]);
	memcpy(text, &words[1], 12);
	text[12] = 0;
}

static void show_env(FILE *file, const struct bench_config *config)
{
	char model[49] = "", hyper[13];
	struct utsname name;

	uname(&name);
	cpu_model(model);
	hypervisor(hyper);
	fprintf(file, "kernel=%s\n", name.release);
	fprintf(file, "cpu_model=%s\n", model);
	fprintf(file, "cpus=%ld\n", sysconf(_SC_NPROCESSORS_ONLN));
	fprintf(file, "tsc_khz=%lu\n", measure_tsc_khz());
	fprintf(file, "hypervisor=%s\n", hyper);
	fprintf(file, "emulated=%d\n", !strcmp(hyper, "TCGTCGTCGTCG"));
	fprintf(file, "blocks=%u\n", config->blocks);
	fprintf(file, "cpu=%u\n", config->cpu);
	fprintf(file, "seed=%llu\n", config->seed);
}

static int pin(struct bench_config *config, bool chosen)
{
	cpu_set_t allowed, one;
	int cpu = CPU_SETSIZE - 1;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	if (!chosen) {
		while (cpu > 0 && !CPU_ISSET(cpu, &allowed))
			cpu--;
		config->cpu = cpu;
	}
	CPU_ZERO(&one);
	CPU_SET(config->cpu, &one);
	if (!sched_setaffinity(0, sizeof(one), &one))
		return 0;
	fprintf(stderr, "kmbench: cannot run on CPU %u: %s\n", config->cpu, strerror(errno));
	return -EINVAL;
}

/* A file of the output directory; NULL after a message. */
static FILE *create(const char *dir, const char *name, const char *suffix)
{
	char *path;
	FILE *file = NULL;

	if (asprintf(&path, "%s/%s%s", dir, name, suffix) < 0)
		return NULL;
	file = fopen(path, "w");
	if (!file)
		fprintf(stderr, "kmbench: %s: %s\n", path, strerror(errno));
	free(path);
	return file;
}

static int write_env(const char *dir, const struct bench_config *config)
{
	FILE *file = create(dir, "env", "");

	if (!file)
		return -EIO;
	show_env(file, config);
	return fclose(file) ? -EIO : 0;
}

static int write_samples(const char *dir, const struct bench_group *group,
			 const struct bench_result *result)
{
	struct seq_file m = { .file = create(dir, group->name, ".csv") };

	if (!m.file)
		return -EIO;
	bench_show_samples(&m, group, result);
	return fclose(m.file) ? -EIO : 0;
}

static int run_one(const struct bench_group *group, const struct bench_config *config,
		   const char *dir)
{
	struct bench_result result = { 0 };
	struct seq_file out = { .file = stdout };
	int err;

	fprintf(stderr, "kmbench: %s: %u blocks of %u variants\n", group->name, config->blocks,
		group->nr_variants);
	err = bench_alloc_result(group, config, &result);
	if (!err)
		err = bench_run_group(group, &result, never_stop);
	if (err) {
		fprintf(stderr, "kmbench: %s: %s\n", group->name, strerror(-err));
	} else if (dir) {
		err = write_samples(dir, group, &result);
	} else {
		printf("%s\n", group->name);
		err = bench_show_summary(&out, group, &result);
	}
	bench_free_result(&result);
	return err;
}

static int run_all(u64 groups, const struct bench_config *config, const char *dir)
{
	unsigned int i;
	int err = 0;

	if (dir && mkdir(dir, 0777) && errno != EEXIST) {
		fprintf(stderr, "kmbench: %s: %s\n", dir, strerror(errno));
		return -EIO;
	}
	for (i = 0; i < bench_nr_groups && !err; i++)
		if (groups & (1ULL << i))
			err = run_one(bench_groups[i], config, dir);
	if (!err && dir)
		err = write_env(dir, config);
	return err;
}

static int list_groups(void)
{
	unsigned int i, j;

	for (i = 0; i < bench_nr_groups; i++) {
		printf("%s:", bench_groups[i]->name);
		for (j = 0; j < bench_groups[i]->nr_variants; j++)
			printf(" %s", bench_groups[i]->variants[j].name);
		printf("\n");
	}
	return 0;
}

/* The names on the command line, through the parser that debugfs uses. */
static int choose_groups(char **names, int nr, u64 *groups)
{
	enum bench_verb verb;
	int i;

	*groups = nr ? 0 : (1ULL << bench_nr_groups) - 1;
	for (i = 0; i < nr; i++) {
		char *name = strdup(names[i]);
		u64 one;

		if (bench_parse_control(name, &verb, &one) || one & (one - 1) ||
		    verb != BENCH_START) {
			fprintf(stderr, "kmbench: no benchmark named '%s' (see kmbench list)\n",
				names[i]);
			free(name);
			return -EINVAL;
		}
		*groups |= one;
		free(name);
	}
	return 0;
}

static bool parse_number(const char *text, u64 max, u64 *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end && !errno && *value <= max;
}

struct options {
	struct bench_config config;
	bool cpu_chosen;
	const char *dir;
};

static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{ "blocks", required_argument, NULL, 'b' },
		{ "seed", required_argument, NULL, 's' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "out", required_argument, NULL, 'o' },
		{ }
	};
	u64 value = 0;
	int option;

	while ((option = getopt_long(argc, argv, "b:s:c:o:", longs, NULL)) != -1) {
		bool good = option == 'o' || (option != '?' &&
			parse_number(optarg, option == 's' ? ~0ULL : UINT32_MAX, &value));

		if (option == '?')
			return -EINVAL;
		if (option == 'b')
			options->config.blocks = value;
		else if (option == 's')
			options->config.seed = value;
		else if (option == 'c')
			options->config.cpu = value;
		else
			options->dir = optarg;
		options->cpu_chosen |= option == 'c';
		if (!good || bench_check_config(&options->config, CPU_SETSIZE)) {
			fprintf(stderr, "kmbench: bad value '%s' for -%c\n", optarg, option);
			return -EINVAL;
		}
	}
	return 0;
}

static int do_run(char **names, int nr, struct options *options)
{
	u64 groups;
	int err;

	err = choose_groups(names, nr, &groups);
	if (!err)
		err = pin(&options->config, options->cpu_chosen);
	if (!err)
		err = kmarkers_start();
	return err ?: run_all(groups, &options->config, options->dir);
}

int main(int argc, char **argv)
{
	struct options options = { .config = { .blocks = 200, .seed = 1 } };
	const char *command = argc > 1 ? argv[1] : "";
	int err = -EINVAL;

	if (!strcmp(command, "list") && argc == 2)
		return list_groups();
	if (strcmp(command, "run") && strcmp(command, "env")) {
		fputs(usage, stderr);
		return 2;
	}
	if (parse_options(argc - 1, argv + 1, &options))
		return 2;
	if (!strcmp(command, "run")) {
		err = do_run(argv + 1 + optind, argc - 1 - optind, &options);
	} else {
		err = pin(&options.config, options.cpu_chosen);
		if (!err)
			show_env(stdout, &options.config);
	}
	return err == -EINVAL ? 2 : !!err;
}
