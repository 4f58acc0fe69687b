// SPDX-License-Identifier: GPL-2.0-only
/* Ten thousand SDT probes whose flavour is "jump", many:::p0000 to many:::p9999. */
#define MANY_PROVIDER	many
#define MANY_FLAVOUR	SDT_JUMP

#include "sdt_many.h"

MODULE_DESCRIPTION("Ten thousand SDT probes");
