// SPDX-License-Identifier: GPL-2.0-only
/* A replacement that makes kmbench-no-tsc run as on a CPU without invariant TSC. */
#include "../../native/machine.h"

bool __wrap_native_machine_has_invariant_tsc(void);
bool __wrap_native_machine_has_invariant_tsc(void)
{
	return false;
}
