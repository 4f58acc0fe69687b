// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module whose init function never returns.  By default, all CPUs loop with interrupts off.  With
 * at_breakpoint=1, one CPU executes the same int3 repeatedly.
 */
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/smp.h>

static bool at_breakpoint;
module_param(at_breakpoint, bool, 0444);

static void loop_with_interrupts_off(void *unused)
{
	local_irq_disable();
	for (;;)
		cpu_relax();
}

/*
 * Handle the trap of the int3: move the instruction pointer back, so that the int3 traps for ever.
 */
static int repeat_int3_for_ever(struct notifier_block *block, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_INT3)
		return NOTIFY_DONE;
	args->regs->ip--;
	return NOTIFY_STOP;
}

static struct notifier_block deaf_block = {
	.notifier_call = repeat_int3_for_ever,
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
	smp_call_function(loop_with_interrupts_off, NULL, 0);
	loop_with_interrupts_off(NULL);
	return 0;
}

module_init(deaf_init);

MODULE_DESCRIPTION("A test module that hangs the machine");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
