// SPDX-License-Identifier: GPL-2.0-only
/* Dispatch a hit of an enabled site to its handlers. */
#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>

#include "hit.h"
#include "registry.h"
#include "sets.h"

/* Count a hit, if the site is of the flavour that is promoted to a jump when it is hit often. */
static void count_promotable_hit(struct sdt_state *state, const struct patcher_site *site)
{
	if (sdt_flavour_of(site) == SDT_BREAKPOINT)
		WRITE_ONCE(state->hits, READ_ONCE(state->hits) + 1);
}

/* Call all handlers of a set. Preemption is disabled, or the registry's lock is held. */
void sdt_call_handlers(const struct sdt_set *set, const struct sdt_hit *hit)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		READ_ONCE(set->call[i].handler)(set->call[i].private, hit);
}

/**
 * sdt_fire() - call the handlers of a site
 * @target: record of the code to which the site jumped
 * @...: the arguments of the site
 *
 * Called by SDT_PROBEn() while the site is a jump.
 *
 * Context: any.
 */
void sdt_fire(const struct sdt_target *target, ...)
{
	const struct sdt_set *set = NULL;
	struct sdt_state *state;
	struct sdt_hit hit = {};
	unsigned int i;
	va_list args;

	preempt_disable_notrace();
	/* Pairs with rcu_assign_pointer() in sdt_link_site_copies(). */
	state = rcu_dereference_raw(target->state);
	/* Pairs with rcu_assign_pointer() in sdt_assign_handler_set(). */
	if (state)
		set = rcu_dereference_raw(state->set);
	if (!set)
		goto out;
	count_promotable_hit(state, state->site);
	hit.site = state;
	hit.ip = patcher_site_addr(state->site);
	hit.probe = sdt_probe_of(state->site);
	hit.nr = sdt_count_args(state->site);
	va_start(args, target);
	for (i = 0; i < hit.nr; i++)
		hit.args[i] = va_arg(args, unsigned long);
	va_end(args);
	sdt_call_handlers(set, &hit);
out:
	preempt_enable_notrace();
}
EXPORT_SYMBOL_GPL(sdt_fire);

/**
 * sdt_handle_trap() - handle a breakpoint at the site of an SDT probe
 * @sites: table of the site, as registered with the patcher
 * @site: the site
 * @regs: the interrupted context
 *
 * Context: any, NMI included; preemption is disabled.
 * Return: true if the site is armed by a breakpoint: its handlers were called, and @regs->ip is
 * the address of the next instruction.
 */
bool sdt_handle_trap(const struct patcher_table *sites, const struct patcher_site *site,
		     struct pt_regs *regs)
{
	struct sdt_table *table = container_of((struct patcher_table *)sites, struct sdt_table,
					       sites);
	struct sdt_state *state = &table->states[site - sites->sites];
	struct sdt_state *first = sdt_get_first_copy(state);
	unsigned int nr = sdt_count_args(site);
	const struct sdt_set *set;
	/*
	 * Set .args without a loop: the compiler could turn a loop into memcpy(), which may have a
	 * kprobe.
	 */
	struct sdt_hit hit = {
		.probe = sdt_probe_of(site),
		.ip = patcher_site_addr(first->site),
		.nr = nr,
		.args = {
			nr > 0 ? regs->di : 0, nr > 1 ? regs->si : 0, nr > 2 ? regs->dx : 0,
			nr > 3 ? regs->cx : 0, nr > 4 ? regs->r8 : 0, nr > 5 ? regs->r9 : 0,
			nr > 6 ? regs->ax : 0,
		},
		.site = first,
	};

	/* In any other mode, another owner set the breakpoint. */
	if (READ_ONCE(state->mode) != SDT_TRAPPED)
		return false;
	set = rcu_dereference_raw(state->set);
	if (set) {
		count_promotable_hit(first, site);
		/* Raise the preemption depth by one, as in sdt_fire(): trace records store it. */
		preempt_disable_notrace();
		sdt_call_handlers(set, &hit);
		preempt_enable_notrace();
	}
	regs->ip = patcher_site_addr(site) + site->len;
	return true;
}
NOKPROBE_SYMBOL(sdt_handle_trap);
