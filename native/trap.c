// SPDX-License-Identifier: GPL-2.0-only
/* The SIGTRAP handler, which does in a program what the breakpoint notifier does in the kernel. */
#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#include <linux/ptrace.h>
#include <linux/rcupdate.h>

#include "failure.h"
#include "trap.h"

#define FOR_EACH_REGISTER(copy)						\
	copy(r15, REG_R15) copy(r14, REG_R14) copy(r13, REG_R13) copy(r12, REG_R12) \
	copy(bp, REG_RBP) copy(bx, REG_RBX) copy(r11, REG_R11) copy(r10, REG_R10) \
	copy(r9, REG_R9) copy(r8, REG_R8) copy(ax, REG_RAX) copy(cx, REG_RCX) \
	copy(dx, REG_RDX) copy(si, REG_RSI) copy(di, REG_RDI) copy(ip, REG_RIP) \
	copy(flags, REG_EFL) copy(sp, REG_RSP)

static struct sigaction previous;
static bool (*handle_int3)(struct pt_regs *regs);

static bool dispatch_breakpoint(greg_t *gregs)
{
	struct pt_regs regs;
	bool ours;

#define LOAD(name, index)	regs.name = gregs[index];
#define STORE(name, index)	gregs[index] = regs.name;
	FOR_EACH_REGISTER(LOAD)
	/*
	 * patcher_unregister() waits for running handlers by synchronize_rcu().  In the kernel,
	 * synchronize_rcu() waits for a handler because interrupts are off in the handler; in a
	 * program, it waits for a handler because of this read-side section.
	 */
	rcu_read_lock();
	ours = handle_int3(&regs);
	rcu_read_unlock();
	if (!ours)
		return false;
	FOR_EACH_REGISTER(STORE)
	return true;
}

static void handle_sigtrap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	int before = errno;
	bool ours;

	/* SI_KERNEL means int3; single steps, debug registers and kill(2) have other codes. */
	ours = info->si_code == SI_KERNEL && dispatch_breakpoint(interrupted->uc_mcontext.gregs);
	/* Restore errno: the interrupted code may use it, and does not expect a handler. */
	errno = before;
	if (ours)
		return;
	if (previous.sa_flags & SA_SIGINFO) {
		previous.sa_sigaction(sig, info, context);
	} else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
		previous.sa_handler(sig);
	} else if (previous.sa_handler == SIG_DFL || info->si_code > 0) {
		/*
		 * End the program, as the kernel would.  The kernel also ends a program that
		 * ignores the signal, unless the signal is from kill(2).
		 */
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

bool native_is_trap_handler_installed(void)
{
	struct sigaction now;

	return !sigaction(SIGTRAP, NULL, &now) && now.sa_flags & SA_SIGINFO &&
	       now.sa_sigaction == handle_sigtrap;
}

/*
 * Install the handler.  While the handler runs, all signals but SIGTRAP are blocked, as interrupts
 * are in the kernel: a batch waits for this handler, and must not wait for other handlers that
 * interrupt it.  SIGTRAP is not blocked, because this handler calls the previous handler, which may
 * contain patch sites.  SA_ONSTACK lets a thread with a small stack use an alternate signal stack.
 */
int native_install_sigtrap(bool (*handle)(struct pt_regs *regs))
{
	struct sigaction action = {
		.sa_sigaction = handle_sigtrap,
		.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER,
	};
	sigset_t blocked;

	sigfillset(&action.sa_mask);
	sigdelset(&action.sa_mask, SIGTRAP);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	if (sigismember(&blocked, SIGTRAP))
		return native_report_failure("SIGTRAP is blocked: unblock it before kmarkers_start()",
					     -EPERM);
	/* Do not store this handler as the previous handler if it is already installed. */
	if (native_is_trap_handler_installed())
		return 0;
	handle_int3 = handle;
	if (sigaction(SIGTRAP, &action, &previous))
		return native_report_failure("cannot install a handler of SIGTRAP", -errno);
	return 0;
}
