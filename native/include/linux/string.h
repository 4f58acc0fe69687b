/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_STRING_H
#define NATIVE_STRING_H
#include <string.h>
#endif
