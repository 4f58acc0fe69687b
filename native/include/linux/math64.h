/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_MATH64_H
#define NATIVE_MATH64_H
#define div64_s64(a, b)	((a) / (b))
#define div64_u64(a, b)	((a) / (b))
#endif
