// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a thread has a shadow stack, the handler cannot emulate a call: it stores the
 * return address to the stack, and cannot store it to the shadow stack, so that the
 * return would be a fault.  Jumps and values need no store.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "../patcher/insn.h"
#include "shadow.h"

/* Missing in <asm/prctl.h> of Debian 12. */
#define ARCH_SHSTK_STATUS	0x5005
#define SHADOW_STACK		1UL

/* Kernels before 6.6 do not have this arch_prctl(). */
bool native_has_shadow_stack(void)
{
	unsigned long features = 0;

	return !syscall(SYS_arch_prctl, ARCH_SHSTK_STATUS, &features) && features & SHADOW_STACK;
}

static bool is_call(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;

	return !patcher_insn_decode(bytes, len, &insn) && insn.kind == PATCHER_INSN_CALL;
}

bool native_batch_has_call(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (is_call(pokes[i].old, pokes[i].len) || is_call(pokes[i].new, pokes[i].len))
			return true;
	}
	return false;
}
