/* SPDX-License-Identifier: GPL-2.0-only */
/* The observer thread of user space, which bench_observer_start() starts. */
#ifndef NATIVE_OBSERVER_H
#define NATIVE_OBSERVER_H

#include <sched.h>

#include <linux/types.h>

/* Return true while the observer thread keeps a CPU other than the benchmark's CPU busy. */
bool native_observer_is_running(void);

/* Return the CPUs that the process could use before it was pinned to one of them. */
const cpu_set_t *native_get_allowed_cpus(void);

#endif /* NATIVE_OBSERVER_H */
