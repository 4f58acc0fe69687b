// SPDX-License-Identifier: GPL-2.0-only
/* The twenty thousand functions of many.h, recorded by kmarkers. */
#define MANY_ENTRY	"call __fentry__"

#include "many.h"

MODULE_DESCRIPTION("Twenty thousand functions that are recorded");
