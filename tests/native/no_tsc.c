// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes kmbench-no-tsc run as on a CPU without invariant TSC: the linker replaces
 * native_machine_has_invariant_tsc().
 */
#include "../../native/machine.h"

bool __wrap_native_machine_has_invariant_tsc(void);
bool __wrap_native_machine_has_invariant_tsc(void)
{
	return false;
}
