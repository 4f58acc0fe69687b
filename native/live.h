/* SPDX-License-Identifier: GPL-2.0-only */
/* The groups that kmlive measures. */
#ifndef NATIVE_LIVE_H
#define NATIVE_LIVE_H

#include <stdio.h>

#include <kmarkers/bench.h>

/* Output of groups beside their samples: lines of key=value for env. */
extern FILE *native_live_env;

int native_live_select(const char *place, const char *variant);

extern const struct bench_group native_macro_ping;
extern const struct bench_group native_macro_hackbench;

#endif /* NATIVE_LIVE_H */
