// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stubs for SDT notes: only external tracers read the notes of a program, so none are registered.
 */
#include "../sdt/note_kprobes.h"

int sdt_arm_notes(void)
{
	return 0;
}

void sdt_disarm_notes(void)
{
}
