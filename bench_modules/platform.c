// SPDX-License-Identifier: GPL-2.0-only
/* Kernel implementation of platform.h: count context switches and core cycles. */
#include <linux/export.h>
#include <linux/sched.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>

#include <kmarkers/bench.h>
#include <kmarkers/hypervisor.h>

#include "platform.h"

u64 bench_count_context_switches(void)
{
	return current->nvcsw + current->nivcsw;
}

/**
 * bench_let_tasks_run() - let other tasks run; called between timed windows
 *
 * Context: may sleep.
 */
void bench_let_tasks_run(void)
{
	cond_resched();
}
EXPORT_SYMBOL_GPL(bench_let_tasks_run);

enum bench_cycles bench_find_cycles_source(void)
{
	if (kmarkers_is_emulated())
		return BENCH_CYCLES_NONE;
	return boot_cpu_has(X86_FEATURE_APERFMPERF) ? BENCH_CYCLES_COUNTED : BENCH_CYCLES_ESTIMATED;
}

/* Read the counter APERF, which counts at the frequency of the core (Intel SDM vol. 3B, 15.2). */
u64 bench_read_cycle_counter(void)
{
	u32 low, high;

	rdmsr(MSR_IA32_APERF, low, high);
	return low | (u64)high << 32;
}
