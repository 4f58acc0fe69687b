// SPDX-License-Identifier: GPL-2.0-only
/* The first hundred markers of many.c, in a module of their own. */
#define HUNDRED_ONLY
#include "many.c"
