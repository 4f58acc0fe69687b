// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes allocations of one task fail: handlers of kprobes on the kernel's allocation functions make
 * the functions return NULL.  Each kernel version has only some of the functions.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../common/test.h"

static struct task_struct *failing;
static unsigned int fail_at;

static notrace noinline void *return_null(void)
{
	return NULL;
}

static int fail_allocation_in_kprobe(struct kprobe *kp, struct pt_regs *regs)
{
	if (current != READ_ONCE(failing) || !fail_at || --fail_at)
		return 0;
	regs->ip = (unsigned long)return_null;
	return 1;
}
NOKPROBE_SYMBOL(fail_allocation_in_kprobe);

/*
 * An empty post_handler prevents the optimisation of a kprobe: the handler of an optimised kprobe
 * cannot change regs->ip.
 */
static void empty_allocation_post_handler(struct kprobe *kp, struct pt_regs *regs,
					  unsigned long flags)
{
}

#define ON(function)							\
	{								\
		.symbol_name = function,				\
		.pre_handler = fail_allocation_in_kprobe,		\
		.post_handler = empty_allocation_post_handler,		\
	}

static struct kprobe probes[] = {
	ON("__kmalloc"), ON("__kmalloc_noprof"),
	ON("kmem_cache_alloc_trace"), ON("kmalloc_trace"), ON("__kmalloc_cache_noprof"),
	ON("kvmalloc_node"), ON("__kvmalloc_node_noprof"),
	ON("kstrdup"), ON("kstrdup_noprof"),
	ON("vmap"),
};

/* Return true if there is a kprobe on a function with @part in its name. */
static bool has_kprobe_on(const char *part)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (probes[i].addr && strstr(probes[i].symbol_name, part))
			return true;
	return false;
}

int test_enable_failing_allocations(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i].addr = NULL;
		probes[i].flags = 0;
		if (register_kprobe(&probes[i]))
			probes[i].addr = NULL;
	}
	WRITE_ONCE(failing, current);
	return has_kprobe_on("kmalloc") && has_kprobe_on("kvmalloc") && has_kprobe_on("vmap") ?
		0 : -ENOENT;
}

void test_fail_nth_allocation(unsigned int nth)
{
	fail_at = nth;
}

bool test_has_allocation_failed(void)
{
	return !fail_at;
}

void test_disable_failing_allocations(void)
{
	unsigned int i;

	WRITE_ONCE(failing, NULL);
	fail_at = 0;
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (probes[i].addr)
			unregister_kprobe(&probes[i]);
		probes[i].addr = NULL;
	}
}
