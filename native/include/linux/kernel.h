/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_KERNEL_H
#define NATIVE_KERNEL_H
#include_next <linux/kernel.h>
#include <stdarg.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>
#define ALIGN(x, to)	(((x) + (to) - 1) / (to) * (to))
/*
 * A cancellation point of threads.  Functions that wait call might_sleep() before they change
 * anything.
 */
#define might_sleep()	pthread_testcancel()
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define container_of(ptr, type, member)					\
	((type *)((char *)(ptr) - offsetof(type, member)))

/*
 * Parse a number as the kernel does.  strtoull() alone would accept leading spaces and a minus
 * sign.
 */
static inline int kstrtou64(const char *text, unsigned int base, u64 *value)
{
	const char *digits = text + (*text == '+');
	char *end;

	if (*digits < '0' || *digits > '9')
		return -EINVAL;
	if (!base)
		base = *digits != '0' ? 10 : (digits[1] | 0x20) == 'x' ? 16 : 8;
	errno = 0;
	*value = strtoull(digits, &end, base);
	return *end && strcmp(end, "\n") ? -EINVAL : -errno;
}

static inline int kstrtos64(const char *text, unsigned int base, s64 *value)
{
	bool negative = *text == '-';
	u64 size = 0;
	int err = negative && text[1] == '+' ? -EINVAL : kstrtou64(text + negative, base, &size);

	*value = negative ? -size : size;
	return err ?: size > INT64_MAX + (u64)negative ? -ERANGE : 0;
}
#endif
