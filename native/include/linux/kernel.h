/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_KERNEL_H
#define NATIVE_KERNEL_H
#include_next <linux/kernel.h>
#include <stdarg.h>
#include <stdio.h>
#include <linux/types.h>
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define container_of(ptr, type, member)					\
	((type *)((char *)(ptr) - offsetof(type, member)))
#endif
