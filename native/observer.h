/* SPDX-License-Identifier: GPL-2.0-only */
/* The observer thread of user space, which bench_observer_start() starts. */
#ifndef NATIVE_OBSERVER_H
#define NATIVE_OBSERVER_H

#include <linux/types.h>

/* Return true while the observer thread keeps a CPU busy that is not the CPU of the benchmark. */
bool native_observer_is_running(void);

#endif /* NATIVE_OBSERVER_H */
