/* SPDX-License-Identifier: GPL-2.0-only */
/* The benchmark whose costs are known.  It runs only if it is named. */
#ifndef NATIVE_PLANTED_H
#define NATIVE_PLANTED_H

#include <kmarkers/bench.h>

extern const struct bench_group native_planted;

#endif /* NATIVE_PLANTED_H */
