/* SPDX-License-Identifier: GPL-2.0-only */
/* Typed markers of the benchmark marker-enabled, with the same arguments as its other variants. */
#ifndef BENCH_MODULES_TYPED_MARKERS_H
#define BENCH_MODULES_TYPED_MARKERS_H

#include <kmarkers/typed.h>

#define BENCH_DECLARE_MARKER(name)					\
	DECLARE_MARKER(name, MARKER_PROTO(int number, void *pointer),	\
		       MARKER_ARGS(number, pointer), "%d %p")

BENCH_DECLARE_MARKER(bench_typed_1);
BENCH_DECLARE_MARKER(bench_typed_2);
BENCH_DECLARE_MARKER(bench_typed_8);
BENCH_DECLARE_MARKER(bench_typed_event);

#endif /* BENCH_MODULES_TYPED_MARKERS_H */
