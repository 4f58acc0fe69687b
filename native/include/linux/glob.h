/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_GLOB_H
#define NATIVE_GLOB_H
#include <fnmatch.h>
#define glob_match(pattern, text)	(!fnmatch(pattern, text, 0))
#endif
