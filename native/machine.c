// SPDX-License-Identifier: GPL-2.0-only
/* Print a description of the machine, with the keys of the debugfs file bench/env. */
#include <cpuid.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/timekeeping.h>

#include <kmarkers/hypervisor.h>

#include <kmarkers/bench.h>
#include "../bench_modules/output.h"
#include "../bench_modules/platform.h"
#include "machine.h"

#define INVARIANT_TSC_BIT	(1U << 8)

/*
 * Read the TSC and CLOCK_MONOTONIC at the same moment.  Of 20 attempts, use the attempt with the
 * shortest time between its two readings of the TSC, which no interrupt or page fault has delayed.
 */
static void read_tsc_and_clock(u64 *tsc, u64 *ns)
{
	u64 shortest = ~0ULL;
	int attempt;

	for (attempt = 0; attempt < 20; attempt++) {
		u64 before = bench_read_tsc(), now = ktime_get_ns(), after = bench_read_tsc();

		if (after - before >= shortest)
			continue;
		shortest = after - before;
		*tsc = before + shortest / 2;
		*ns = now;
	}
}

/* Measure TSC ticks per millisecond against CLOCK_MONOTONIC over a tenth of a second. */
static unsigned long measure_tsc_khz(void)
{
	u64 tsc, start, end_tsc, end;

	read_tsc_and_clock(&tsc, &start);
	do
		read_tsc_and_clock(&end_tsc, &end);
	while (end - start < 100000000);
	return (end_tsc - tsc) * 1000000 / (end - start);
}

static void read_cpu_model(char *text)
{
	unsigned int leaf, *words = (void *)text;

	for (leaf = 0; leaf < 3; leaf++)
		if (!__get_cpuid(0x80000002 + leaf, &words[leaf * 4], &words[leaf * 4 + 1],
				 &words[leaf * 4 + 2], &words[leaf * 4 + 3]))
			strcpy(text, "unknown");
}

bool native_machine_has_invariant_tsc(void)
{
	unsigned int words[4];

	return __get_cpuid(0x80000007, &words[0], &words[1], &words[2], &words[3]) &&
	       words[3] & INVARIANT_TSC_BIT;
}

void native_machine_write_env(FILE *file, bool invariant_tsc)
{
	char model[49] = "", name[KMARKERS_HYPERVISOR_BYTES];
	struct utsname system;

	uname(&system);
	read_cpu_model(model);
	kmarkers_read_hypervisor_name(name);
	fprintf(file, "kernel=%s\n", system.release);
	fprintf(file, "cpu_model=%s\n", model);
	fprintf(file, "cpus=%ld\n", sysconf(_SC_NPROCESSORS_ONLN));
	fprintf(file, "invariant_tsc=%d\n", invariant_tsc);
	if (invariant_tsc)
		fprintf(file, "tsc_khz=%lu\n", measure_tsc_khz());
	fprintf(file, "hypervisor=%s\n", name[0] ? name : "none");
	fprintf(file, "emulated=%d\n", kmarkers_is_emulated());
	fprintf(file, "cycles=%s\n", bench_cycles_names[bench_find_cycles_source()]);
}
