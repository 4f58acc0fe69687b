/* SPDX-License-Identifier: GPL-2.0-only */
/* The work that the getppid benchmarks measure. */
#ifndef BENCH_MODULES_GETPPID_H
#define BENCH_MODULES_GETPPID_H

#ifdef __KERNEL__
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#define GETPPID_NAME	"getppid-copy"

/* The work of getppid(2), as in kernel/sys.c. */
static noinline long getppid_work(void)
{
	long pid;

	rcu_read_lock();
	pid = task_tgid_vnr(rcu_dereference(current->real_parent));
	rcu_read_unlock();
	return pid;
}
#else
#include <sys/syscall.h>

#define GETPPID_NAME	"getppid"

/*
 * As libc does, all variants call the system call at one place.  A loop around a system call of
 * its own takes 300 or 400 TSC cycles on an AMD EPYC (family 25, model 17), according to where it
 * is in memory and to what ran before.
 */
static noinline long getppid_work(void)
{
	long pid;

	asm volatile("syscall" : "=a" (pid) : "a" (SYS_getppid) : "rcx", "r11", "memory");
	return pid;
}
#endif

#endif /* BENCH_MODULES_GETPPID_H */
