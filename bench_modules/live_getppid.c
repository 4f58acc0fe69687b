// SPDX-License-Identifier: GPL-2.0-only
/*
 * Redirect the call of __task_pid_nr_ns() in getppid(2) of the running kernel.  Each replacement
 * function calls __task_pid_nr_ns(), too.  It contains either two markers or no marker.  The
 * benchmark repeats a measurement that was made for immediate values in 2008.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched.h>

#include <kmarkers/marker.h>
#include <kmarkers/redirect.h>

#include "live.h"

/*
 * Define a function that getppid(2) calls instead of __task_pid_nr_ns().  The defined function runs
 * @before, calls __task_pid_nr_ns(), and runs @after.
 */
#define LIVE(id, before, after)						\
static noinline pid_t id(struct task_struct *task, enum pid_type type,	\
			 struct pid_namespace *ns)			\
{									\
	pid_t pid;							\
									\
	before;								\
	pid = __task_pid_nr_ns(task, type, ns);				\
	after;								\
	return pid;							\
}

#define MARKED(id, flavour)						\
	LIVE(id,							\
	     trace_mark_flavour(flavour, live_getppid_entry, NULL, MARK_NOARGS), \
	     trace_mark_flavour(flavour, live_getppid_exit, NULL, "%d", pid))

LIVE(live_out, barrier(), barrier())
LIVE(live_out_clone, barrier(), barrier())
MARKED(live_generic, generic)
MARKED(live_immediate, immediate)
MARKED(live_jump, jump)

static const char *const getppid_variants[] = {
	"original", "compiled-out", "compiled-out-clone", "generic", "immediate", "jump",
};

static void *const functions[] = {
	NULL, live_out, live_out_clone, live_generic, live_immediate, live_jump,
};

static struct patcher_redirect redirect = {
	.function = "__x64_sys_getppid",
	.callee = "__task_pid_nr_ns",
	/* This module cannot be unloaded while the call is redirected. */
	.module = THIS_MODULE,
};

static int install_getppid_variant(unsigned int variant)
{
	redirect.replacement = functions[variant];
	return patcher_redirect_call(&redirect);
}

static int remove_getppid_variant(unsigned int variant)
{
	return patcher_restore_call(&redirect);
}

struct bench_live bench_live_getppid = {
	.name = "getppid-live",
	.variants = getppid_variants,
	.nr_variants = ARRAY_SIZE(getppid_variants),
	.begin = install_getppid_variant,
	.end = remove_getppid_variant,
};
