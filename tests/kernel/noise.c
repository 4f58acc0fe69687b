// SPDX-License-Identifier: GPL-2.0-only
/*
 * Background activity in the kernel while stress tests change sites.  On every CPU, timers, perf
 * samples and non-maskable interrupts execute a site of an immediate value.  A static key is
 * toggled, and a kprobe is registered and unregistered.
 *
 * Each execution of the site must read FIRST or SECOND.  With probes=1, three sites of SDT probes
 * are executed each time, and each of these sites must call a handler once.  With changes=1,
 * another handler is meanwhile attached and detached, and a breakpoint site is promoted to a jump
 * and demoted.  kmarkers_test_noise/counts in debugfs shows the number of executions.
 */
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <asm/nmi.h>

#include <kmarkers/sdt.h>

#include "shared.h"

#define TIMER_NS	300000
#define SAMPLE_NS	500000
#define FIRST		0x1122334455667788ULL
#define SECOND		0x8877665544332211ULL

static bool changes;
module_param(changes, bool, 0400);
MODULE_PARM_DESC(changes, "if set, also apply batches to this module during stress tests");

static bool probes;
module_param(probes, bool, 0400);
MODULE_PARM_DESC(probes, "if set, also execute SDT sites and, with changes, switch these sites");

enum source { TIMERS, SAMPLES, NMIS, KEYS, KPROBES, CHANGES, NR_SOURCES };

static const char *const names[] = {
	[TIMERS] = "timers", [SAMPLES] = "samples", [NMIS] = "nmis",
	[KEYS] = "keys", [KPROBES] = "kprobes", [CHANGES] = "changes",
};

static atomic_long_t counts[NR_SOURCES], wrong;
static DEFINE_PER_CPU(struct hrtimer, timers);
static DEFINE_PER_CPU(struct perf_event *, samples);
static DEFINE_STATIC_KEY_FALSE(key);
static struct task_struct *toggler, *changer;
static enum cpuhp_state hotplug;
static struct dentry *dir;

static noinline bool is_noise_key_on(void)
{
	return static_branch_unlikely(&key);
}

SDT_PROVIDER_DEFINE(noise);
SDT_PROBE_DEFINE1(noise, , , jumped, "unsigned int *");
SDT_PROBE_DEFINE1(noise, , , trapped, "unsigned int *");

/*
 * Increment the counter to which args[0] points.  Each execution has its own counter, because an
 * interrupt may execute the sites on the same CPU meanwhile.
 */
static void count_hit(void *private, const struct sdt_hit *hit)
{
	++*(unsigned int *)hit->args[0];
}

static void ignore_hit(void *private, const struct sdt_hit *hit)
{
}

/* Execute the three sites, and return the number of calls of count_hit(). */
static unsigned int execute_three_sdt_sites(void)
{
	unsigned int hits = 0;

	SDT_PROBE1(noise, , , jumped, &hits);
	SDT_PROBE_FLAVOUR(breakpoint, noise, , , trapped, &hits);
	SDT_PROBE_FLAVOUR(nop, noise, , , jumped, &hits);
	return hits;
}

/* Execute all sites and check the results.  Context: any. */
static void execute_and_check_sites(enum source source)
{
	u64 value = imv_read(test_shared);

	if (value != FIRST && value != SECOND)
		atomic_long_inc(&wrong);
	if (execute_three_sdt_sites() != (probes ? 3 : 0))
		atomic_long_inc(&wrong);
	atomic_long_inc(&counts[source]);
}

/* Function with the kprobe: notrace, so that the kprobe uses a breakpoint and not ftrace. */
static noinline notrace void probed(void)
{
	asm volatile("xor %%eax, %%eax" : : : "rax", "cc", "memory");
}

static enum hrtimer_restart execute_sites_in_timer(struct hrtimer *timer)
{
	execute_and_check_sites(TIMERS);
	probed();
	hrtimer_forward_now(timer, ns_to_ktime(TIMER_NS));
	return HRTIMER_RESTART;
}

static void execute_sites_in_sample(struct perf_event *event, struct perf_sample_data *data,
				    struct pt_regs *regs)
{
	execute_and_check_sites(SAMPLES);
}

/* Handle NMIs of unknown origin.  In the test kernel, only this module sends them. */
static int execute_sites_in_nmi(unsigned int type, struct pt_regs *regs)
{
	execute_and_check_sites(NMIS);
	return NMI_HANDLED;
}

static void start_timer(void *unused)
{
	struct hrtimer *timer = this_cpu_ptr(&timers);

	hrtimer_setup(timer, execute_sites_in_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED);
	hrtimer_start(timer, ns_to_ktime(TIMER_NS), HRTIMER_MODE_REL_PINNED);
}

static int start_noise_on_cpu(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = SAMPLE_NS,
		.pinned = 1,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, cpu, NULL, execute_sites_in_sample, NULL);
	per_cpu(samples, cpu) = IS_ERR(event) ? NULL : event;
	smp_call_function_single(cpu, start_timer, NULL, 1);
	return 0;
}

static int stop_noise_on_cpu(unsigned int cpu)
{
	hrtimer_cancel(per_cpu_ptr(&timers, cpu));
	if (per_cpu(samples, cpu))
		perf_event_release_kernel(per_cpu(samples, cpu));
	per_cpu(samples, cpu) = NULL;
	return 0;
}

static int count_kprobe_hit(struct kprobe *probe, struct pt_regs *regs)
{
	atomic_long_inc(&counts[KPROBES]);
	return 0;
}

/* Register a kprobe, execute it, and unregister it.  Each call uses a new struct kprobe. */
static int register_kprobe_for_a_while(void)
{
	struct kprobe probe = {
		.symbol_name = "kmarkers_test_noise:probed",
		.pre_handler = count_kprobe_hit,
	};
	int err = register_kprobe(&probe);

	if (err)
		return err;
	probed();
	msleep(5);
	unregister_kprobe(&probe);
	return 0;
}

static int toggle_key_repeatedly(void *unused)
{
	while (!kthread_should_stop()) {
		static_branch_enable(&key);
		if (!is_noise_key_on())
			atomic_long_inc(&wrong);
		static_branch_disable(&key);
		if (is_noise_key_on())
			atomic_long_inc(&wrong);
		atomic_long_inc(&counts[KEYS]);
		if (register_kprobe_for_a_while())
			atomic_long_inc(&wrong);
		msleep(10);
	}
	return 0;
}

/*
 * Attach a handler; promote the site from a breakpoint to a jump, or demote the site; detach the
 * handler.
 */
static int attach_promote_and_detach(bool promoted)
{
	if (!probes)
		return 0;
	return sdt_attach("noise:::*", ignore_hit, NULL) ?:
	       sdt_promote("noise:::trapped", promoted) ?:
	       sdt_detach("noise:::*", ignore_hit, NULL);
}

/* Apply batches to the sites of this module, while stress tests apply batches to other sites. */
static int change_sites_repeatedly(void *unused)
{
	bool second = false;

	while (!kthread_should_stop()) {
		second = !second;
		if (test_set_shared(second ? SECOND : FIRST) || attach_promote_and_detach(second))
			atomic_long_inc(&wrong);
		atomic_long_inc(&counts[CHANGES]);
		msleep(1);
	}
	test_set_shared(FIRST);
	return 0;
}

static int counts_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	for (i = 0; i < NR_SOURCES; i++)
		seq_printf(m, "%s %ld\n", names[i], atomic_long_read(&counts[i]));
	seq_printf(m, "wrong %ld\n", atomic_long_read(&wrong));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counts);

/* Detach count_hit().  All timers, samples, NMIs and threads that execute the sites have ended. */
static void detach_count_hit(void)
{
	if (!probes)
		return;
	sdt_detach("noise:::*", count_hit, NULL);
	sdt_synchronize();
}

static int __init noise_init(void)
{
	int err;

	err = probes ? sdt_attach("noise:::*", count_hit, NULL) : 0;
	if (err)
		return err;
	err = register_nmi_handler(NMI_UNKNOWN, execute_sites_in_nmi, 0, "kmarkers_test");
	if (err)
		goto err_probes;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "kmarkers/test:online", start_noise_on_cpu,
				stop_noise_on_cpu);
	if (err < 0)
		goto err_nmi;
	hotplug = err;
	toggler = kthread_run(toggle_key_repeatedly, NULL, "kmarkers_toggle");
	if (IS_ERR(toggler)) {
		err = PTR_ERR(toggler);
		goto err_hotplug;
	}
	changer = changes ? kthread_run(change_sites_repeatedly, NULL, "kmarkers_change") : NULL;
	if (IS_ERR(changer)) {
		err = PTR_ERR(changer);
		goto err_toggler;
	}
	dir = debugfs_create_dir("kmarkers_test_noise", NULL);
	debugfs_create_file("counts", 0400, dir, NULL, &counts_fops);
	return 0;

err_toggler:
	kthread_stop(toggler);
err_hotplug:
	cpuhp_remove_state(hotplug);
err_nmi:
	unregister_nmi_handler(NMI_UNKNOWN, "kmarkers_test");
err_probes:
	detach_count_hit();
	return err;
}

static void __exit noise_exit(void)
{
	debugfs_remove_recursive(dir);
	if (changer)
		kthread_stop(changer);
	kthread_stop(toggler);
	cpuhp_remove_state(hotplug);
	unregister_nmi_handler(NMI_UNKNOWN, "kmarkers_test");
	detach_count_hit();
}

module_init(noise_init);
module_exit(noise_exit);

MODULE_DESCRIPTION("Interrupts, static keys and kprobes during the stress tests");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
