/* SPDX-License-Identifier: GPL-2.0-only */
/* The operation that the getppid benchmarks measure. */
#ifndef BENCH_MODULES_GETPPID_H
#define BENCH_MODULES_GETPPID_H

#ifdef __KERNEL__
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#define GETPPID_NAME	"getppid-copy"

/* Do the work of getppid(2); copied from kernel/sys.c. */
static noinline long read_parent_pid(void)
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
 * Call getppid(2).  All variants share this syscall instruction, as all callers in a program share
 * the syscall instruction of libc.  If each loop had its own syscall instruction, an iteration
 * would take 300 or 400 TSC cycles on an AMD EPYC (family 25, model 17), depending on the address
 * of that instruction and on the code that ran before.
 */
static noinline long read_parent_pid(void)
{
	long pid;

	asm volatile("syscall" : "=a" (pid) : "a" (SYS_getppid) : "rcx", "r11", "memory");
	return pid;
}
#endif

#endif /* BENCH_MODULES_GETPPID_H */
