/* SPDX-License-Identifier: GPL-2.0-only */
/* For programs with benchmarks: <linux/compiler.h> leaves this name to other programs. */
#ifndef NATIVE_NOINLINE_H
#define NATIVE_NOINLINE_H
#ifndef noinline
#define noinline	__attribute__((__noinline__))
#endif
#endif
