/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Defines noinline for users' programs with benchmarks, where <linux/compiler.h> does not define
 * it.
 */
#ifndef NATIVE_NOINLINE_H
#define NATIVE_NOINLINE_H
#ifndef noinline
#define noinline	__attribute__((__noinline__))
#endif
#endif
