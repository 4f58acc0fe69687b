/* SPDX-License-Identifier: GPL-2.0-only */
/* The benchmarks that a program of others registered with BENCH_GROUP(). */
#ifndef NATIVE_REGISTERED_H
#define NATIVE_REGISTERED_H

/* Name a benchmark that cannot be used.  Returns 0 or -EINVAL. */
int native_registered_check(void);

#endif /* NATIVE_REGISTERED_H */
