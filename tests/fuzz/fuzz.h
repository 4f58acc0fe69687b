/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of all fuzz targets.  Each target defines LLVMFuzzerTestOneInput(), and is linked with
 * libFuzzer or with replay.c, which call that function with inputs.
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

/* Abort if the condition is false.  The fuzzer stores and reports inputs that cause an abort. */
#define MUST(condition)							\
do {									\
	if (!(condition)) {						\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
		abort();						\
	}								\
} while (0)

/* The part of an input that has not been used yet: address of the first byte, number of bytes. */
struct input {
	const u8 *data;
	size_t left;
};

/* Take @bytes bytes of the input, or fewer at its end, and return the bytes as a number. */
static inline u64 take_number(struct input *in, unsigned int bytes)
{
	u64 value = 0;

	while (bytes-- && in->left) {
		value = value << 8 | *in->data++;
		in->left--;
	}
	return value;
}

/* Take a byte of the input, and return it modulo @limit. */
static inline unsigned int take_number_below(struct input *in, unsigned int limit)
{
	return take_number(in, 1) % limit;
}

#endif /* TESTS_FUZZ_FUZZ_H */
