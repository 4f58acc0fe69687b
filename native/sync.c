// SPDX-License-Identifier: GPL-2.0-only
/* Implementation of patcher_text_sync(): make all threads execute a serialising instruction. */
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../patcher/text.h"
#include "shadow.h"
#include "sync.h"

/*
 * Make the other running threads of the process execute a serialising instruction, with
 * membarrier(2).  Return 0, or -1 if membarrier(2) is denied.
 */
int native_sync_threads(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

/*
 * Execute a serialising instruction (Intel SDM vol. 3A, 9.3).  Use IRET, because CPUID may trap to
 * a hypervisor.  With a shadow stack, use CPUID instead, because IRET would pop from that stack.
 */
static void serialise_this_core(void)
{
	unsigned long scratch;

	if (native_has_shadow_stack()) {
		asm volatile("cpuid" : : "a" (0) : "rbx", "rcx", "rdx", "memory");
		return;
	}
	asm volatile("movq %%ss, %0\n\t"
		     "subq $128, %%rsp\n\t"
		     "pushq %0\n\t"
		     "leaq 8+128(%%rsp), %0\n\t"
		     "pushq %0\n\t"
		     "pushfq\n\t"
		     "movq %%cs, %0\n\t"
		     "pushq %0\n\t"
		     "leaq 1f(%%rip), %0\n\t"
		     "pushq %0\n\t"
		     "iretq\n"
		     "1:"
		     : "=&r" (scratch) : : "cc", "memory");
}

void patcher_text_sync(void)
{
	if (native_sync_threads()) {
		/*
		 * membarrier(2) was allowed in patcher_text_map() and is denied now.  Without it,
		 * the batch can be neither completed nor undone, so the program must end.
		 */
		perror("kmarkers: membarrier(2) failed in a batch, so the program is aborted");
		abort();
	}
	serialise_this_core();
}
