// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions for SDT notes, which do nothing: the notes of a program are not registered, because
 * only external tracers read them.
 */
#include "../sdt/note_kprobes.h"

int sdt_arm_notes(void)
{
	return 0;
}

void sdt_disarm_notes(void)
{
}
