// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file of kmarkers_test_entry that is compiled without function entry recording: te_plain() is
 * traced by the kernel's ftrace instead.
 */
#include <linux/module.h>

#include "plain.h"

noinline int te_plain(int value)
{
	barrier();
	return value + 1;
}
