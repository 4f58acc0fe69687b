/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_BUILD_BUG_H
#define NATIVE_BUILD_BUG_H
#define BUILD_BUG_ON(condition)	_Static_assert(!(condition), #condition)
#endif
