/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_STRINGIFY_H
#define NATIVE_STRINGIFY_H
#define __stringify_1(x...)	#x
#define __stringify(x...)	__stringify_1(x)
#endif
