/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_STDDEF_H
#define NATIVE_STDDEF_H
#include_next <linux/stddef.h>
#include <stddef.h>
#endif
