// SPDX-License-Identifier: GPL-2.0-only
/* Stands for native_machine_has_invariant_tsc() in kmbench-no-tsc: a CPU that has none. */
#include "../../native/machine.h"

bool __wrap_native_machine_has_invariant_tsc(void);
bool __wrap_native_machine_has_invariant_tsc(void)
{
	return false;
}
