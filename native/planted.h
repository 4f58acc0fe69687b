/* SPDX-License-Identifier: GPL-2.0-only */
/* A benchmark of instructions of known cost, which runs only if the command line names it. */
#ifndef NATIVE_PLANTED_H
#define NATIVE_PLANTED_H

#include <kmarkers/bench.h>

extern const struct bench_group native_planted;

#endif /* NATIVE_PLANTED_H */
