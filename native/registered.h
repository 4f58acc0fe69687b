/* SPDX-License-Identifier: GPL-2.0-only */
/* Benchmarks that a user's program registered with BENCH_GROUP(). */
#ifndef NATIVE_REGISTERED_H
#define NATIVE_REGISTERED_H

/* Report a benchmark that is not valid.  Return 0 or -EINVAL. */
int native_check_registered_groups(void);

#endif /* NATIVE_REGISTERED_H */
