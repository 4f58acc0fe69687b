// SPDX-License-Identifier: GPL-2.0-only
/* native_machine_has_invariant_tsc() of kmbench-no-tsc: the CPU has no invariant TSC. */
#include "../../native/machine.h"

bool __wrap_native_machine_has_invariant_tsc(void);
bool __wrap_native_machine_has_invariant_tsc(void)
{
	return false;
}
