// SPDX-License-Identifier: GPL-2.0-only
/* The benchmarks of kmbench itself, which tests check. */
#include "registered.h"

int native_registered_check(void)
{
	return 0;
}
