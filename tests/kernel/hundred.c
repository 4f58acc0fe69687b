// SPDX-License-Identifier: GPL-2.0-only
/* The first hundred of these markers, in a module of their own. */
#define HUNDRED_ONLY
#include "many.c"
