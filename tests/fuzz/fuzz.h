/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of all fuzz targets.  Each target defines LLVMFuzzerTestOneInput().  It is
 * linked with libFuzzer, or with replay.c, which passes files or random bytes to it.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/types.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Crash if the condition is false.  The fuzzer reports inputs that cause crashes. */
#define MUST(condition)							\
do {									\
	if (!(condition)) {						\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
		abort();						\
	}								\
} while (0)

struct input {
	const u8 *data;
	size_t left;
};

/* Return the next @bytes of the input as a number.  Missing bytes are 0. */
static inline u64 take(struct input *in, unsigned int bytes)
{
	u64 value = 0;

	while (bytes-- && in->left) {
		value = value << 8 | *in->data++;
		in->left--;
	}
	return value;
}

static inline unsigned int take_below(struct input *in, unsigned int limit)
{
	return take(in, 1) % limit;
}

#endif /* TESTS_FUZZ_FUZZ_H */
