/* SPDX-License-Identifier: GPL-2.0-only */
/* Benchmark groups of kmlive, and the selection of their variants in the kernel. */
#ifndef NATIVE_LIVE_H
#define NATIVE_LIVE_H

#include <stdio.h>

#include <kmarkers/bench.h>

/*
 * The file "live" in the output directory: lines key=value, which are appended to the file "env"
 * later.
 */
extern FILE *native_live_env;

int native_select_live_variant(const char *benchmark, const char *variant);

extern const struct bench_group native_macro_ping;
extern const struct bench_group native_macro_hackbench;

#endif /* NATIVE_LIVE_H */
