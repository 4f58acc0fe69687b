// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions whose entries and exits are recorded.  A write of N to the parameter "pass" makes N
 * passes; a write of N to the parameter "storm" makes N passes on each of two CPUs at the same
 * time.  In each pass
 *
 *	te_leaf		is called twice, once by a jump from te_tail
 *	te_many_returns	is called once; has several return statements and a 128-bit result
 *	te_recurse	is called four times
 *	te_cold		is called once, and is in another section than the other functions
 *	te_split	is called once; has an exit in the separate part te_split.cold, unless the
 *			compiler makes no tail calls
 *	te_plain	is called once, and is not recorded
 *
 * and the results are checked: the parameter wrong is the number of wrong results.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/smp.h>
#include <asm/nmi.h>

#include "plain.h"

static atomic_t te_wrong = ATOMIC_INIT(0);

static noinline __cold unsigned long te_cold(unsigned long value)
{
	barrier();
	return value ^ 1;
}

/* The compiler moves the tail call of a cold function to te_split.cold. */
static noinline __noclone __used unsigned long te_split(unsigned long value)
{
	if (value == ULONG_MAX)
		return te_cold(value);
	barrier();
	return value + 2;
}

/*
 * A function in init text.  The functions that follow in this file are in other text; their records
 * follow the records of this function.
 */
static noinline __noclone unsigned long __init te_early(unsigned long value)
{
	barrier();
	return value + 1;
}

/*
 * A function whose record is behind the end of the table: kmarkers_entry must not read this record.
 */
asm(".pushsection .text\n"
	"	.type te_behind, @function\n"
	"te_behind:\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	" ASM_RET "\n"
	"	.size te_behind, . - te_behind\n"
	".popsection\n"
	".pushsection .discard_kmarkers_entry, 3, \"aw\", @progbits\n"
	"	.long te_behind - ., 0\n"
	".popsection\n");

static noinline __noclone unsigned long te_leaf(unsigned long a, unsigned long b, unsigned long c,
				      unsigned long d, unsigned long e, unsigned long f)
{
	barrier();
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

/* Exit with a tail call, whose six arguments are in registers. */
static noinline __noclone unsigned long te_tail(unsigned long a, unsigned long b, unsigned long c,
				      unsigned long d, unsigned long e, unsigned long f)
{
	return te_leaf(f, e, d, c, b, a);
}

static noinline __noclone unsigned __int128 te_many_returns(unsigned long which,
							     unsigned long value)
{
	if (which % 3 == 0)
		return (unsigned __int128)value << 64 | which;
	if (which % 3 == 1)
		return (unsigned __int128)which << 64 | value;
	return (unsigned __int128)te_leaf(1, 1, 1, 1, 1, 1) << 64 | 21;
}

static noinline __noclone unsigned int te_recurse(unsigned int depth)
{
	unsigned int below = depth ? te_recurse(depth - 1) : 0;

	/* Keep the compiler from making a loop of the recursion. */
	barrier();
	return below + 1;
}

static void te_expect(bool is_so)
{
	if (!is_so)
		atomic_inc(&te_wrong);
}

static void te_pass_once(unsigned long i)
{
	unsigned __int128 both = te_many_returns(2 * (i % 2), i);

	te_expect(te_leaf(i, 2, 3, 4, 5, 6) == i + 90);
	te_expect(te_tail(i, 2, 3, 4, 5, 6) == 6 + 10 + 12 + 12 + 10 + 6 * i);
	te_expect(te_recurse(3) == 4);
	te_expect(te_plain(i) == (int)i + 1);
	te_expect(te_cold(i) == (i ^ 1));
	te_expect(te_split(i) == i + 2);
	te_expect(both == (i % 2 ? (unsigned __int128)21 << 64 | 21 : (unsigned __int128)i << 64));
}

/* Handle a write to the parameter pass. */
static int te_pass(const char *text, const struct kernel_param *unused)
{
	unsigned long i, times;
	int err = kstrtoul(text, 0, &times);

	/* te_many_returns() would call te_leaf() a third time if the argument were odd. */
	for (i = 0; i < times && !err; i++)
		te_pass_once(2 * i);
	return err;
}

static unsigned long te_times;

static int te_call_repeatedly(void *done)
{
	unsigned long i;

	for (i = 0; i < te_times; i++) {
		te_pass_once(2 * i);
		if (i % 1024 == 0)
			cond_resched();
	}
	complete(done);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* Handle a write to the parameter "storm": make passes in threads on the first two online CPUs. */
static int te_storm(const char *text, const struct kernel_param *unused)
{
	struct task_struct *threads[2] = { NULL };
	struct completion done;
	unsigned int cpu, nr = 0, i;
	int err = kstrtoul(text, 0, &te_times);

	if (err)
		return err;
	init_completion(&done);
	for_each_online_cpu(cpu) {
		if (nr == ARRAY_SIZE(threads))
			break;
		threads[nr] = kthread_create(te_call_repeatedly, &done, "te_storm");
		if (IS_ERR(threads[nr]))
			break;
		kthread_bind(threads[nr], cpu);
		wake_up_process(threads[nr++]);
	}
	for (i = 0; i < nr; i++)
		wait_for_completion(&done);
	for (i = 0; i < nr; i++)
		kthread_stop(threads[i]);
	return nr == min_t(unsigned int, num_online_cpus(), ARRAY_SIZE(threads)) ? 0 : -ENOMEM;
}

static DECLARE_COMPLETION(te_gone_done);

static noinline void __noreturn te_never_returns(void)
{
	compat_complete_and_exit(&te_gone_done, 0);
}

static int te_calls_never_returns(void *unused)
{
	te_never_returns();
}

/*
 * Handle a write to the parameter "never": call a function that does not return, in a new thread.
 */
static int te_set_never(const char *text, const struct kernel_param *unused)
{
	struct task_struct *thread = kthread_run(te_calls_never_returns, NULL, "te_never");

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	wait_for_completion(&te_gone_done);
	return 0;
}

static int te_empty_kprobe_handler(struct kprobe *probe, struct pt_regs *regs)
{
	return 0;
}

static const char *const te_probed[] = {
	"kmarkers_test_entry:te_leaf", "kmarkers_test_entry:te_tail",
};

static struct kprobe te_kprobes[ARRAY_SIZE(te_probed)];
static unsigned int te_nr_kprobes;

static int te_set_nr_kprobes(unsigned int wanted)
{
	int err = 0;

	for (; te_nr_kprobes < wanted && !err; te_nr_kprobes += !err) {
		te_kprobes[te_nr_kprobes] = (struct kprobe) {
			.symbol_name = te_probed[te_nr_kprobes],
			.pre_handler = te_empty_kprobe_handler,
		};
		err = register_kprobe(&te_kprobes[te_nr_kprobes]);
	}
	while (te_nr_kprobes > wanted)
		unregister_kprobe(&te_kprobes[--te_nr_kprobes]);
	return err;
}

static int te_set_kprobes(const char *text, const struct kernel_param *unused)
{
	unsigned int wanted;
	int err = kstrtouint(text, 0, &wanted);

	if (!err && wanted > ARRAY_SIZE(te_kprobes))
		err = -EINVAL;
	return err ?: te_set_nr_kprobes(wanted);
}

/* Number of NMIs of unknown origin, in each of which te_in_nmi() was called once. */
static atomic_t te_nmis = ATOMIC_INIT(0);
static bool te_handles_nmis;

static noinline __noclone int te_in_nmi(int value)
{
	barrier();
	return value + 1;
}

static int te_on_nmi(unsigned int type, struct pt_regs *regs)
{
	atomic_inc(&te_nmis);
	te_expect(te_in_nmi(1) == 2);
	return NMI_HANDLED;
}

static int te_set_nmi(const char *text, const struct kernel_param *unused)
{
	bool wanted;
	int err = kstrtobool(text, &wanted);

	if (err || wanted == te_handles_nmis)
		return err;
	if (wanted)
		err = register_nmi_handler(NMI_UNKNOWN, te_on_nmi, 0, "kmarkers_test_entry");
	else
		unregister_nmi_handler(NMI_UNKNOWN, "kmarkers_test_entry");
	te_handles_nmis = wanted && !err;
	return err;
}

static const struct kernel_param_ops te_pass_ops = { .set = te_pass };
static const struct kernel_param_ops te_storm_ops = { .set = te_storm };
static const struct kernel_param_ops te_never_ops = { .set = te_set_never };
static const struct kernel_param_ops te_kprobes_ops = { .set = te_set_kprobes };
static const struct kernel_param_ops te_nmi_ops = { .set = te_set_nmi };

module_param_cb(pass, &te_pass_ops, NULL, 0200);
MODULE_PARM_DESC(pass, "write N to make N passes");
module_param_cb(storm, &te_storm_ops, NULL, 0200);
MODULE_PARM_DESC(storm, "write N to make N passes on each of two CPUs");
module_param_cb(never, &te_never_ops, NULL, 0200);
MODULE_PARM_DESC(never, "any value: call a function that does not return");
module_param_cb(kprobes, &te_kprobes_ops, NULL, 0200);
MODULE_PARM_DESC(kprobes, "number of kprobes on entries: 1 for te_leaf, 2 for te_leaf and te_tail");
module_param_cb(nmi, &te_nmi_ops, NULL, 0200);
MODULE_PARM_DESC(nmi, "1: handle NMIs of unknown origin, and call te_in_nmi in each; 0: do not");
module_param_named(nmis, te_nmis.counter, int, 0400);
MODULE_PARM_DESC(nmis, "number of NMIs of unknown origin that were handled");
module_param_named(wrong, te_wrong.counter, int, 0400);
MODULE_PARM_DESC(wrong, "number of calls that gave a wrong result");

static bool te_stay_in_init;
module_param_named(stay, te_stay_in_init, bool, 0600);
MODULE_PARM_DESC(stay, "1: the init function waits until this is 0, for at most 60 seconds");

static int __init te_init(void)
{
	unsigned long end = jiffies + 60 * HZ;

	te_pass_once(0);
	te_expect(te_early(1) == 2);
	while (READ_ONCE(te_stay_in_init) && time_before(jiffies, end))
		msleep(20);
	return 0;
}

static void __exit te_exit(void)
{
	te_pass_once(0);
	te_set_nr_kprobes(0);
}

module_init(te_init);
module_exit(te_exit);

MODULE_DESCRIPTION("Functions whose entries and exits are recorded");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
