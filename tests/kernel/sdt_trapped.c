// SPDX-License-Identifier: GPL-2.0-only
/* Ten thousand SDT probes whose flavour is "breakpoint", trapped:::p0000 to trapped:::p9999. */
#define MANY_PROVIDER	trapped
#define MANY_FLAVOUR	SDT_BREAKPOINT

#include "sdt_many.h"

MODULE_DESCRIPTION("Ten thousand SDT probes that are armed by a breakpoint");
