// SPDX-License-Identifier: GPL-2.0-only
/* A file of the same module whose functions the kernel's ftrace traces, not kmarkers. */
#include <linux/module.h>

#include "plain.h"

noinline int te_plain(int value)
{
	barrier();
	return value + 1;
}
