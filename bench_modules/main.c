// SPDX-License-Identifier: GPL-2.0-only
/* The harness as a module: a thread that measures, and its files in debugfs. */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/processor.h>
#include <asm/tsc.h>

#include <kmarkers/patcher.h>
#include <kmarkers/version.h>
#include <kmarkers/words.h>

#include "bench.h"
#include "bystander.h"
#include "dormant.h"
#include "live.h"
#include "sites.h"

#define MAX_GROUPS	64
#define MAX_COMMAND	1024

enum run_state {
	RUN_IDLE,
	RUN_RUNNING,
	RUN_DONE,
	RUN_STOPPED,
	RUN_FAILED,
};

static const char *const state_names[] = {
	[RUN_IDLE] = "idle",
	[RUN_RUNNING] = "running",
	[RUN_DONE] = "done",
	[RUN_STOPPED] = "stopped",
	[RUN_FAILED] = "failed",
};

static struct {
	struct mutex lock;		/* all below, but for what the thread writes */
	struct bench_config config;
	struct bench_result results[MAX_GROUPS];
	struct task_struct *thread;	/* with a reference; may have ended by itself */
	u64 groups;			/* of the present or last run */
	struct dentry *dir;
	unsigned int current_group;	/* these three written by the thread */
	int err;
	enum run_state state;
} bench = {
	.lock = __MUTEX_INITIALIZER(bench.lock),
	.config = { .blocks = 100, .seed = 1 },
};

static unsigned int blocks = 100;
module_param(blocks, uint, 0400);
MODULE_PARM_DESC(blocks, "blocks of a run at first, 1 to 100000 (default 100)");

u64 bench_count_switches(void)
{
	return current->nvcsw + current->nivcsw;
}

void bench_pause(void)
{
	cond_resched();
}

const struct bench_sites *bench_get_sites(void)
{
	return symbol_get(bench_sites);
}

void bench_put_sites(void)
{
	symbol_put(bench_sites);
}

/* Twelve letters and a zero; nothing on real hardware. */
static void read_hypervisor(u32 name[4])
{
	u32 eax;

	memset(name, 0, 4 * sizeof(*name));
	if (boot_cpu_has(X86_FEATURE_HYPERVISOR))
		cpuid(0x40000000, &eax, &name[0], &name[1], &name[2]);
}

static bool is_emulated(void)
{
	u32 name[4];

	read_hypervisor(name);
	return !strcmp((char *)name, "TCGTCGTCGTCG");
}

enum bench_cycles bench_cycles_source(void)
{
	if (is_emulated())
		return BENCH_CYCLES_NONE;
	return boot_cpu_has(X86_FEATURE_APERFMPERF) ? BENCH_CYCLES_COUNTED : BENCH_CYCLES_ESTIMATED;
}

/* APERF counts at the frequency of the core (Intel SDM vol. 3B, 15.2). */
u64 bench_read_cycles(void)
{
	u32 low, high;

	rdmsr(MSR_IA32_APERF, low, high);
	return low | (u64)high << 32;
}

/* A marker that is on ends the run, whoever switched it on. */
static bool should_stop(void)
{
	if (!bench_groups[bench.current_group]->arms && dormant_check("run failed"))
		WRITE_ONCE(bench.err, -EBUSY);
	return bench.err || kthread_should_stop();
}

/* After it no marker is on, whatever the group switched on for itself. */
static int run_group(unsigned int i)
{
	int err = bench_run_group(bench_groups[i], &bench.results[i], should_stop);

	if (err && err != -EINTR)
		return err;
	return bench.err ?: dormant_check("run failed") ?: err;
}

static enum run_state run_groups(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < bench_nr_groups; i++) {
		if (!(bench.groups & (1ULL << i)))
			continue;
		WRITE_ONCE(bench.current_group, i);
		err = run_group(i);
		if (err == -EINTR)
			return RUN_STOPPED;
		/* Not here; nobody asked for it alone. */
		if (err == -ENODEV && hweight64(bench.groups) > 1) {
			bench.results[i].planned = 0;
			continue;
		}
		if (err) {
			WRITE_ONCE(bench.err, err);
			return RUN_FAILED;
		}
	}
	return RUN_DONE;
}

static int run_thread(void *unused)
{
	enum run_state end = run_groups();

	/* The results are complete for whoever reads the new state. */
	smp_store_release(&bench.state, end);
	return 0;
}

static bool is_running(void)
{
	/* Pairs with the release at the end of a run. */
	return smp_load_acquire(&bench.state) == RUN_RUNNING;
}

/* Ends the thread if it still runs, and drops the reference. */
static void reap_thread(void)
{
	if (!bench.thread)
		return;
	kthread_stop(bench.thread);
	put_task_struct(bench.thread);
	bench.thread = NULL;
	/* Stopped before it ran at all. */
	if (is_running())
		bench.state = RUN_STOPPED;
}

static int alloc_results(u64 groups)
{
	unsigned int i;
	int err;

	for (i = 0; i < bench_nr_groups; i++) {
		if (!(groups & (1ULL << i)))
			continue;
		err = bench_alloc_result(bench_groups[i], &bench.config, &bench.results[i]);
		if (err)
			return err;
	}
	return 0;
}

static int start_run(u64 groups)
{
	struct task_struct *thread;
	int err;

	if (is_running())
		return -EBUSY;
	reap_thread();
	if (!cpu_online(bench.config.cpu))
		return -EINVAL;
	err = dormant_check("not started");
	if (err)
		return err;
	err = alloc_results(groups);
	if (err)
		return err;
	thread = kthread_create(run_thread, NULL, "kmarkers_bench");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	kthread_bind(thread, bench.config.cpu);
	get_task_struct(thread);
	bench.thread = thread;
	bench.groups = groups;
	bench.err = 0;
	bench.state = RUN_RUNNING;
	wake_up_process(thread);
	return 0;
}

static int reset_results(void)
{
	unsigned int i;

	if (is_running())
		return -EBUSY;
	reap_thread();
	for (i = 0; i < bench_nr_groups; i++)
		bench_free_result(&bench.results[i]);
	bench.groups = 0;
	bench.state = RUN_IDLE;
	return 0;
}

static int do_command(enum bench_verb verb, u64 groups)
{
	int err = 0;

	mutex_lock(&bench.lock);
	if (verb == BENCH_START)
		err = start_run(groups);
	else if (verb == BENCH_STOP)
		reap_thread();
	else
		err = reset_results();
	mutex_unlock(&bench.lock);
	return err;
}

static ssize_t control_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	enum bench_verb verb;
	u64 groups;
	char *line;
	int err;

	line = patcher_read_line(buf, count, MAX_COMMAND);
	if (IS_ERR(line))
		return PTR_ERR(line);
	err = bench_parse_control(line, &verb, &groups);
	kfree(line);
	if (!err)
		err = do_command(verb, groups);
	return err ?: count;
}

static int control_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	seq_puts(m, "start [BENCHMARK...] | stop | reset | BENCHMARK...\n");
	for (i = 0; i < bench_nr_groups; i++)
		seq_printf(m, "%s\n", bench_groups[i]->name);
	return 0;
}

static int control_open(struct inode *inode, struct file *file)
{
	return single_open(file, control_show, NULL);
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = control_open,
	.read = seq_read,
	.write = control_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* state, the benchmark being run, windows done of windows planned */
static int status_show(struct seq_file *m, void *unused)
{
	unsigned int i, done = 0, total = 0;
	enum run_state state;

	mutex_lock(&bench.lock);
	/* Pairs with the release at the end of a run. */
	state = smp_load_acquire(&bench.state);
	for (i = 0; i < bench_nr_groups; i++) {
		if (!(bench.groups & (1ULL << i)))
			continue;
		/* Pairs with the release in run_blocks(). */
		done += smp_load_acquire(&bench.results[i].nr);
		total += bench.results[i].planned;
	}
	seq_printf(m, "%s %s %u/%u", state_names[state],
		   state == RUN_RUNNING ? bench_groups[READ_ONCE(bench.current_group)]->name : "-",
		   done, total);
	if (state == RUN_FAILED)
		seq_printf(m, " error %d in %s", READ_ONCE(bench.err),
			   bench_groups[bench.current_group]->name);
	seq_puts(m, "\n");
	mutex_unlock(&bench.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

static int env_show(struct seq_file *m, void *unused)
{
	u32 name[4];

	read_hypervisor(name);
	mutex_lock(&bench.lock);
	seq_printf(m, "kernel=%s\n", init_utsname()->release);
	seq_printf(m, "cpu_model=%s\n", boot_cpu_data.x86_model_id);
	seq_printf(m, "microcode=0x%x\n", boot_cpu_data.microcode);
	seq_printf(m, "cpus=%u\n", num_online_cpus());
	seq_printf(m, "tsc_khz=%u\n", tsc_khz);
	seq_printf(m, "hypervisor=%s\n", name[0] ? (char *)name : "none");
	seq_printf(m, "emulated=%d\n", is_emulated());
	seq_printf(m, "cycles=%s\n", bench_cycles_names[bench_cycles_source()]);
	seq_printf(m, "blocks=%u\n", bench.config.blocks);
	seq_printf(m, "cpu=%u\n", bench.config.cpu);
	seq_printf(m, "seed=%llu\n", bench.config.seed);
	mutex_unlock(&bench.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(env);

static int samples_show(struct seq_file *m, void *unused)
{
	unsigned long group = (unsigned long)m->private;

	mutex_lock(&bench.lock);
	bench_show_samples(m, bench_groups[group], &bench.results[group]);
	mutex_unlock(&bench.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(samples);

static int summary_show(struct seq_file *m, void *unused)
{
	unsigned long group = (unsigned long)m->private;
	int err;

	mutex_lock(&bench.lock);
	err = bench_show_summary(m, bench_groups[group], &bench.results[group]);
	mutex_unlock(&bench.lock);
	return err;
}
DEFINE_SHOW_ATTRIBUTE(summary);

/* One file per member of struct bench_config. */
enum config_item {
	CONFIG_BLOCKS,
	CONFIG_CPU,
	CONFIG_SEED,
};

static const char *const config_names[] = {
	[CONFIG_BLOCKS] = "blocks",
	[CONFIG_CPU] = "cpu",
	[CONFIG_SEED] = "seed",
};

static int config_show(struct seq_file *m, void *unused)
{
	unsigned long item = (unsigned long)m->private;
	u64 value;

	mutex_lock(&bench.lock);
	value = item == CONFIG_BLOCKS ? bench.config.blocks :
		item == CONFIG_CPU ? bench.config.cpu : bench.config.seed;
	mutex_unlock(&bench.lock);
	seq_printf(m, "%llu\n", value);
	return 0;
}

static int set_config(enum config_item item, u64 value)
{
	struct bench_config config = bench.config;
	int err;

	if (is_running())
		return -EBUSY;
	if (item == CONFIG_SEED)
		config.seed = value;
	else if (value > U32_MAX)
		return -EINVAL;
	else if (item == CONFIG_BLOCKS)
		config.blocks = value;
	else
		config.cpu = value;
	err = bench_check_config(&config, nr_cpu_ids);
	if (!err)
		bench.config = config;
	return err;
}

static ssize_t config_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	unsigned long item = (unsigned long)file_inode(file)->i_private;
	u64 value;
	int err;

	err = patcher_read_number(buf, count, false, &value);
	if (err)
		return err;
	mutex_lock(&bench.lock);
	err = set_config(item, value);
	mutex_unlock(&bench.lock);
	return err ?: count;
}

static int config_open(struct inode *inode, struct file *file)
{
	return single_open(file, config_show, inode->i_private);
}

static const struct file_operations config_fops = {
	.owner = THIS_MODULE,
	.open = config_open,
	.read = seq_read,
	.write = config_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static void create_files(void)
{
	struct dentry *dir;
	unsigned long i;

	bench.dir = debugfs_create_dir("bench", patcher_debugfs_dir());
	debugfs_create_file("control", 0600, bench.dir, NULL, &control_fops);
	debugfs_create_file("status", 0400, bench.dir, NULL, &status_fops);
	debugfs_create_file("env", 0400, bench.dir, NULL, &env_fops);
	live_init(bench.dir);
	dir = debugfs_create_dir("config", bench.dir);
	for (i = 0; i < ARRAY_SIZE(config_names); i++)
		debugfs_create_file(config_names[i], 0600, dir, (void *)i, &config_fops);
	for (i = 0; i < bench_nr_groups; i++) {
		dir = debugfs_create_dir(bench_groups[i]->name, bench.dir);
		debugfs_create_file("samples", 0400, dir, (void *)i, &samples_fops);
		debugfs_create_file("summary", 0400, dir, (void *)i, &summary_fops);
	}
}

static int __init bench_init(void)
{
	bench.config.blocks = blocks;
	if (bench_check_config(&bench.config, nr_cpu_ids)) {
		pr_err("blocks=%u is not 1 to %u\n", blocks, BENCH_MAX_BLOCKS);
		return -EINVAL;
	}
	create_files();
	return 0;
}

static void __exit bench_exit(void)
{
	/* Waits for readers and writers; none can start a run after it. */
	debugfs_remove_recursive(bench.dir);
	mutex_lock(&bench.lock);
	reap_thread();
	reset_results();
	mutex_unlock(&bench.lock);
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Benchmarks of dormant and active instrumentation");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(KMARKERS_VERSION);
