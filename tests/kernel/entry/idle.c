// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cpuidle driver whose only idle state calls a recorded function (built with entry.mk) instead of
 * halting the CPU, so that the function is called where RCU does not watch the CPU. The parameter
 * "idle" registers the driver.
 */
#include <linux/atomic.h>
#include <linux/cpuidle.h>
#include <linux/module.h>

/* Number of calls of te_idle() whenever a CPU enters the idle state. */
#define CALLS	50

static atomic_t te_idle_calls = ATOMIC_INIT(0), te_idle_wrong = ATOMIC_INIT(0);

static noinline __noclone int te_idle(int value)
{
	atomic_inc(&te_idle_calls);
	return value + 1;
}

static int te_idle_enter(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	unsigned int i;

	for (i = 0; i < CALLS; i++)
		if (te_idle(i) != i + 1)
			atomic_inc(&te_idle_wrong);
	return index;
}

static struct cpuidle_driver te_idle_driver = {
	.name = "kmarkers_test",
	.owner = THIS_MODULE,
	.states = {
		{
			.name = "CALL",
			.desc = "calls a recorded function",
			.exit_latency = 1,
			.target_residency = 1,
			.enter = te_idle_enter,
		},
	},
	.state_count = 1,
};

module_param_named(calls, te_idle_calls.counter, int, 0400);
MODULE_PARM_DESC(calls, "number of calls of te_idle by idle tasks");
module_param_named(wrong, te_idle_wrong.counter, int, 0400);
MODULE_PARM_DESC(wrong, "number of calls that gave a wrong result");

static bool te_idle_on;

static int te_set_idle(const char *text, const struct kernel_param *unused)
{
	bool wanted;
	int err = kstrtobool(text, &wanted);

	if (err || wanted == te_idle_on)
		return err;
	if (wanted)
		err = cpuidle_register(&te_idle_driver, NULL);
	else
		cpuidle_unregister(&te_idle_driver);
	te_idle_on = wanted && !err;
	return err;
}

static const struct kernel_param_ops te_idle_ops = { .set = te_set_idle };

module_param_cb(idle, &te_idle_ops, NULL, 0200);
MODULE_PARM_DESC(idle, "1: register the cpuidle driver that calls te_idle; 0: unregister it");

static int __init te_idle_init(void)
{
	return 0;
}

static void __exit te_idle_exit(void)
{
	if (te_idle_on)
		cpuidle_unregister(&te_idle_driver);
}

module_init(te_idle_init);
module_exit(te_idle_exit);

MODULE_DESCRIPTION("A recorded function that idle tasks call");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
