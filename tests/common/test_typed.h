/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_COMMON_TEST_TYPED_H
#define TESTS_COMMON_TEST_TYPED_H

#include <kmarkers/typed.h>

DECLARE_MARKER(test_typed,
	MARKER_PROTO(u64 sector, u32 bytes, const char *text),
	MARKER_ARGS(sector, bytes, text),
	"sector %llu bytes %u text %s");

DECLARE_MARKER_NOARGS(test_typed_noargs);

/* A marker with more arguments than a call passes in registers. */
DECLARE_MARKER(test_typed_many,
	MARKER_PROTO(int a, u64 b, void *c, s64 d, u8 e, int f, u64 g, int h),
	MARKER_ARGS(a, b, c, d, e, f, g, h),
	"%d %llu %p %lld %u %d %llu %d");

DECLARE_MARKER(test_typed_storm, MARKER_PROTO(unsigned long number), MARKER_ARGS(number), "%lu");

#endif /* TESTS_COMMON_TEST_TYPED_H */
