// SPDX-License-Identifier: GPL-2.0-only
/* Twenty thousand functions that are recorded. */
#define MANY_ENTRY	"call __fentry__"

#include "many.h"

MODULE_DESCRIPTION("Twenty thousand functions that are recorded");
