// SPDX-License-Identifier: GPL-2.0-only
/*
 * Detect user shadow stacks.  In a thread with a shadow stack, the SIGTRAP handler cannot emulate
 * a call: it can push the return address to the stack but not to the shadow stack, so the return
 * would fault.  Jumps and immediate values push nothing.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "../patcher/insn.h"
#include "shadow.h"

/* <asm/prctl.h> of Debian 12 does not define ARCH_SHSTK_STATUS. */
#define ARCH_SHSTK_STATUS	0x5005
#define SHADOW_STACK		1UL

/*
 * If the system call fails, there is no shadow stack: Linux 6.6 added both this arch_prctl() and
 * user shadow stacks.
 */
bool native_has_shadow_stack(void)
{
	unsigned long features = 0;

	return !syscall(SYS_arch_prctl, ARCH_SHSTK_STATUS, &features) && features & SHADOW_STACK;
}

static bool is_call_insn(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;

	return !patcher_insn_decode(bytes, len, &insn) && insn.kind == PATCHER_INSN_CALL;
}

bool native_batch_has_call(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (is_call_insn(pokes[i].old, pokes[i].len) ||
		    is_call_insn(pokes[i].new, pokes[i].len))
			return true;
	}
	return false;
}
