/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_BSEARCH_H
#define NATIVE_BSEARCH_H
#include <stdlib.h>
#endif
