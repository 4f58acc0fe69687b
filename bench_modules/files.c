// SPDX-License-Identifier: GPL-2.0-only
/* The debugfs files of the benchmarks, in bench/. */
#include <linux/cpumask.h>
#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/utsname.h>
#include <asm/processor.h>
#include <asm/tsc.h>

#include <kmarkers/control.h>
#include <kmarkers/hypervisor.h>
#include <kmarkers/patcher.h>
#include <kmarkers/words.h>

#include "control.h"
#include "files.h"
#include "groups.h"
#include "live.h"
#include "ops.h"
#include "output.h"
#include "platform.h"
#include "run.h"
#include "thread.h"

static struct dentry *top;

static const char *const state_names[] = {
	[BENCH_IDLE] = "idle",
	[BENCH_RUNNING] = "running",
	[BENCH_DONE] = "done",
	[BENCH_STOPPED] = "stopped",
	[BENCH_FAILED] = "failed",
};

/*
 * Return the name of the benchmark that is running or has failed.  If this benchmark was removed,
 * return "a removed group", because its former element of bench_groups[] may be NULL or may hold
 * another benchmark.
 */
static const char *get_current_group_name(void)
{
	unsigned int current_group = READ_ONCE(bench_session.current_group);

	if (!(bench_session.groups & (1ULL << current_group)))
		return "a removed group";
	return bench_groups[current_group]->name;
}

/* Print the state, the benchmark that is running, and the numbers of samples taken and planned. */
static int status_show(struct seq_file *m, void *unused)
{
	unsigned int i, done = 0, total = 0;
	enum bench_state state;

	mutex_lock(&bench_session.lock);
	/* Pairs with smp_store_release() in measure_session_in_thread(). */
	state = smp_load_acquire(&bench_session.state);
	for (i = 0; i < bench_nr_groups; i++) {
		if (!(bench_session.groups & (1ULL << i)))
			continue;
		/* Pairs with the release in measure_blocks(). */
		done += smp_load_acquire(&bench_session.results[i].nr);
		total += bench_session.results[i].planned;
	}
	seq_printf(m, "%s %s %u/%u", state_names[state],
		   state == BENCH_RUNNING ? get_current_group_name() : "-", done, total);
	if (state == BENCH_FAILED)
		seq_printf(m, " error %d in %s", READ_ONCE(bench_session.err),
			   get_current_group_name());
	seq_puts(m, "\n");
	mutex_unlock(&bench_session.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

/* Print the benchmarks of the run that cannot be measured on this machine, with the reasons. */
static void show_unmeasurable_groups(struct seq_file *m)
{
	unsigned int i;

	for (i = 0; i < bench_nr_groups; i++)
		if (bench_session.groups & (1ULL << i) && !bench_session.results[i].planned)
			seq_printf(m, "lacks:%s=%s\n", bench_groups[i]->name,
				   bench_groups[i]->lacks ?: "cannot be measured on this machine");
}

static int env_show(struct seq_file *m, void *unused)
{
	char name[KMARKERS_HYPERVISOR_BYTES];
	u64 buffer, cache;

	kmarkers_read_hypervisor_name(name);
	mutex_lock(&bench_session.lock);
	seq_printf(m, "kernel=%s\n", init_utsname()->release);
	seq_printf(m, "cpu_model=%s\n", boot_cpu_data.x86_model_id);
	seq_printf(m, "microcode=0x%x\n", boot_cpu_data.microcode);
	seq_printf(m, "cpus=%u\n", num_online_cpus());
	seq_printf(m, "tsc_khz=%u\n", tsc_khz);
	seq_printf(m, "hypervisor=%s\n", name[0] ? name : "none");
	seq_printf(m, "emulated=%d\n", kmarkers_is_emulated());
	seq_printf(m, "cycles=%s\n", bench_cycles_names[bench_find_cycles_source()]);
	seq_printf(m, "blocks=%u\n", bench_session.config.blocks);
	seq_printf(m, "cpu=%u\n", bench_session.config.cpu);
	seq_printf(m, "seed=%llu\n", bench_session.config.seed);
	if (bench_read_cold_buffer(&buffer, &cache))
		seq_printf(m, "cold_buffer_bytes=%llu\nlast_cache_bytes=%llu\n", buffer, cache);
	bench_show_time_limits(m, &bench_session.config);
	show_unmeasurable_groups(m);
	mutex_unlock(&bench_session.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(env);

/**
 * struct reader - state of an open file "samples", which is read in several parts
 * @group: index of the group in bench_groups[]
 * @run: number of the run whose samples are read
 */
struct reader {
	unsigned long group;
	u64 run;
};

/*
 * Position 0 is the CSV header, position n is sample n - 1.  Return -ESTALE if another run has
 * replaced the samples since position 0 was read.
 */
static void *samples_start(struct seq_file *m, loff_t *pos)
{
	struct reader *reader = m->private;
	const struct bench_result *result = &bench_session.results[reader->group];

	mutex_lock(&bench_session.lock);
	if (!*pos)
		reader->run = result->run;
	else if (reader->run != result->run)
		return ERR_PTR(-ESTALE);
	return *pos ? bench_get_sample(result, *pos - 1) : SEQ_START_TOKEN;
}

static void *samples_next(struct seq_file *m, void *sample, loff_t *pos)
{
	struct reader *reader = m->private;

	return bench_get_sample(&bench_session.results[reader->group], (*pos)++);
}

static void samples_stop(struct seq_file *m, void *sample)
{
	mutex_unlock(&bench_session.lock);
}

static int samples_show(struct seq_file *m, void *sample)
{
	struct reader *reader = m->private;

	if (sample == SEQ_START_TOKEN)
		bench_show_csv_header(m);
	else
		bench_show_sample(m, bench_groups[reader->group], sample);
	return 0;
}

static const struct seq_operations samples_ops = {
	.start = samples_start,
	.next = samples_next,
	.stop = samples_stop,
	.show = samples_show,
};

static int samples_open(struct inode *inode, struct file *file)
{
	struct reader *reader = __seq_open_private(file, &samples_ops, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->group = (unsigned long)inode->i_private;
	return 0;
}

static const struct file_operations samples_fops = {
	.owner = THIS_MODULE,
	.open = samples_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};

static int summary_show(struct seq_file *m, void *unused)
{
	unsigned long group = (unsigned long)m->private;
	int err;

	mutex_lock(&bench_session.lock);
	err = bench_show_summary(m, bench_groups[group], &bench_session.results[group]);
	mutex_unlock(&bench_session.lock);
	return err;
}
DEFINE_SHOW_ATTRIBUTE(summary);

static int config_show(struct seq_file *m, void *unused)
{
	unsigned long item = (unsigned long)m->private;
	u64 value;

	mutex_lock(&bench_session.lock);
	value = item == BENCH_CONFIG_BLOCKS ? bench_session.config.blocks :
		item == BENCH_CONFIG_CPU ? bench_session.config.cpu : bench_session.config.seed;
	mutex_unlock(&bench_session.lock);
	seq_printf(m, "%llu\n", value);
	return 0;
}

static int set_config_item(enum bench_config_item item, u64 value)
{
	struct bench_config config = bench_session.config;
	int err;

	if (bench_is_running())
		return -EBUSY;
	if (item == BENCH_CONFIG_SEED)
		config.seed = value;
	else if (value > U32_MAX)
		return -EINVAL;
	else if (item == BENCH_CONFIG_BLOCKS)
		config.blocks = value;
	else
		config.cpu = value;
	err = bench_check_config(&config, nr_cpu_ids);
	if (!err)
		bench_session.config = config;
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
	mutex_lock(&bench_session.lock);
	err = set_config_item(item, value);
	mutex_unlock(&bench_session.lock);
	return err ?: count;
}
DEFINE_SHOW_STORE_ATTRIBUTE(config);

static int parse_and_set_config_item(enum bench_config_item item, const char *text)
{
	u64 value;
	int err = patcher_parse_number(text, false, &value);

	if (err)
		return err;
	mutex_lock(&bench_session.lock);
	err = set_config_item(item, value);
	mutex_unlock(&bench_session.lock);
	return err;
}

/*
 * Execute a line of bench/control: a command; the name of a setting and a value; or the name of a
 * live benchmark and the variant to select (see live.h).
 */
static int execute_bench_control_line(char *line)
{
	char *value = strchr(line, ' ');
	struct bench_live *live;
	int item;

	if (value) {
		*value = '\0';
		item = bench_find_config_item(line);
		if (item >= 0)
			return parse_and_set_config_item(item, value + 1);
		live = bench_live_find_benchmark(line);
		if (live)
			return bench_live_select_variant(live, value + 1);
		*value = ' ';
	}
	return bench_run_command(line);
}

PATCHER_CONTROL(control, execute_bench_control_line,
		"start [BENCHMARK...] | stop | reset | BENCHMARK... | blocks N | cpu N | seed N");
MODULE_PARM_DESC(control, "takes the commands of the debugfs file bench/control, also under kernel lockdown");

static ssize_t bench_control_write(struct file *file, const char __user *buf, size_t count,
				   loff_t *ppos)
{
	return patcher_control_write(&control, buf, count);
}

static int bench_control_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	seq_printf(m, "%s |\n", control.usage);
	bench_live_show_usage(m);
	mutex_lock(&bench_session.lock);
	for (i = 0; i < bench_nr_groups; i++)
		if (bench_groups[i])
			seq_printf(m, "%s\n", bench_groups[i]->name);
	mutex_unlock(&bench_session.lock);
	return 0;
}
DEFINE_SHOW_STORE_ATTRIBUTE(bench_control);

/* Return true if bench/ contains a file or directory of this name. */
bool bench_is_file_name_used(const char *name)
{
	struct dentry *found = debugfs_lookup(name, top);

	dput(found);
	return found;
}

/* Create the directory and the files of a group. */
void bench_create_group_files(unsigned long group)
{
	struct dentry *dir = debugfs_create_dir(bench_groups[group]->name, top);

	debugfs_create_file("samples", 0400, dir, (void *)group, &samples_fops);
	debugfs_create_file("summary", 0400, dir, (void *)group, &summary_fops);
}

/* Remove the files of a group, and wait for their readers. */
void bench_remove_group_files(const struct bench_group *group)
{
	struct dentry *dir = debugfs_lookup(group->name, top);

	debugfs_remove_recursive(dir);
	dput(dir);
}

void bench_files_init(void)
{
	struct dentry *dir;
	unsigned long i;

	top = debugfs_create_dir("bench", patcher_get_debugfs_dir());
	debugfs_create_file("control", 0600, top, NULL, &bench_control_fops);
	debugfs_create_file("status", 0400, top, NULL, &status_fops);
	debugfs_create_file("env", 0400, top, NULL, &env_fops);
	bench_live_init(top);
	dir = debugfs_create_dir("config", top);
	for (i = 0; i < BENCH_CONFIG_ITEMS; i++)
		debugfs_create_file(bench_config_names[i], 0600, dir, (void *)i, &config_fops);
	for (i = 0; i < bench_nr_groups; i++)
		bench_create_group_files(i);
	patcher_control_open(&control);
}

/* Remove all files, waiting for their readers and writers.  No run can be started afterwards. */
void bench_files_exit(void)
{
	patcher_control_close(&control);
	debugfs_remove_recursive(top);
	bench_live_exit();
}
