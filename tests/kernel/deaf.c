// SPDX-License-Identifier: GPL-2.0-only
/* A module whose init never returns: CPUs loop with interrupts off, or one CPU loops at an int3. */
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/smp.h>

static bool at_breakpoint;
module_param(at_breakpoint, bool, 0444);

static void deaf_waits(void *unused)
{
	local_irq_disable();
	for (;;)
		cpu_relax();
}

/* Return to the breakpoint, so that the CPU executes it again. */
static int deaf_met_breakpoint(struct notifier_block *block, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_INT3)
		return NOTIFY_DONE;
	args->regs->ip--;
	return NOTIFY_STOP;
}

static struct notifier_block deaf_block = {
	.notifier_call = deaf_met_breakpoint,
	.priority = 1,
};

static int __init deaf_init(void)
{
	int error;

	if (at_breakpoint) {
		error = register_die_notifier(&deaf_block);
		if (error)
			return error;
		local_irq_disable();
		asm volatile("int3");
	}
	smp_call_function(deaf_waits, NULL, 0);
	deaf_waits(NULL);
	return 0;
}

module_init(deaf_init);

MODULE_DESCRIPTION("A test module that makes a machine stand still");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
