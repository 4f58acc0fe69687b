// SPDX-License-Identifier: GPL-2.0-only
/* A module with a hundred markers, many_000 to many_099, made by many.c. */
#define HUNDRED_ONLY
#include "many.c"
