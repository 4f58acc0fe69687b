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

/**
 * sdt_call_all_handlers() - call all handlers of a set; used for sites with several handlers
 * @private: array of the handlers; an element whose function is NULL ends the array
 * @hit: the hit
 *
 * Context: any; preemption is disabled.
 */
void sdt_call_all_handlers(void *private, const struct sdt_hit *hit)
{
	const struct sdt_call *call = private;

	/* The last handler is called after the loop, where the compiler can make a tail call. */
	for (; READ_ONCE(call[1].handler); call++)
		sdt_call_handler(call, hit);
	sdt_call_handler(call, hit);
}

/*
 * Count a hit of a site whose flavour is "breakpoint". Such a site is promoted to a jump if it is
 * hit often. @state is the state of the first copy.
 */
static __always_inline void count_hit(struct sdt_state *state)
{
	WRITE_ONCE(state->hits, READ_ONCE(state->hits) + 1);
}

/*
 * Call the handlers of the site that jumped to @target, with the first @nr of the arguments @a0 to
 * @a6. If @count is true, count the hit. Store only the fields that a handler may read, each once:
 * for an initializer the compiler would use rep stos, which takes three times as long as the rest
 * of the function. The fields are stored at descending addresses, from this function's return address
 * on the stack down to the handler's return address, because the CPU can write adjacent stores
 * together.
 */
static __always_inline void call_site_handlers(const struct sdt_target *target, bool count,
					       unsigned int nr,
					       unsigned long a0, unsigned long a1,
					       unsigned long a2, unsigned long a3,
					       unsigned long a4, unsigned long a5,
					       unsigned long a6)
{
	const struct sdt_call *call;
	struct sdt_state *state;
	struct sdt_hit hit;

	preempt_disable_notrace();
	/* Pairs with rcu_assign_pointer() in sdt_link_site_copies(). */
	state = rcu_dereference_raw(target->state);
	if (unlikely(!state))
		goto out;
	if (count)
		count_hit(state);
	/* Pairs with rcu_assign_pointer() in sdt_assign_handler_set(). */
	call = rcu_dereference_raw(state->call);
	if (nr > 6)
		WRITE_ONCE(hit.args[6], a6);
	if (nr > 5)
		WRITE_ONCE(hit.args[5], a5);
	if (nr > 4)
		WRITE_ONCE(hit.args[4], a4);
	if (nr > 3)
		WRITE_ONCE(hit.args[3], a3);
	if (nr > 2)
		WRITE_ONCE(hit.args[2], a2);
	if (nr > 1)
		WRITE_ONCE(hit.args[1], a1);
	if (nr > 0)
		WRITE_ONCE(hit.args[0], a0);
	/* Store nr, and 0 in the next field, counted. */
	BUILD_BUG_ON(offsetof(struct sdt_hit, counted) != offsetof(struct sdt_hit, nr) + 4);
	WRITE_ONCE(*(u64 *)&hit.nr, nr);
	WRITE_ONCE(hit.site, &state->shown);
	sdt_call_handler(call, &hit);
out:
	preempt_enable_notrace();
}

/*
 * Define sdt_fire_N() and sdt_fire_counted_N(). If a site with N arguments is a jump, its jump
 * target calls one of these functions, in any context: sdt_fire_counted_N() if the flavour of the
 * site is "breakpoint", else sdt_fire_N(). So neither function has to test the flavour. Each
 * function begins at a cache line, because each line that the CPU fetches takes one cycle.
 */
#define DEFINE_FIRE(n, args...)						\
__aligned(64) void sdt_fire_##n(const struct sdt_target *target __SDT_PARAMS_##n)	\
{									\
	call_site_handlers(target, false, n, args);			\
}									\
									\
__aligned(64) void sdt_fire_counted_##n(const struct sdt_target *target __SDT_PARAMS_##n) \
{									\
	call_site_handlers(target, true, n, args);			\
}

DEFINE_FIRE(0, 0, 0, 0, 0, 0, 0, 0)
DEFINE_FIRE(1, a0, 0, 0, 0, 0, 0, 0)
DEFINE_FIRE(2, a0, a1, 0, 0, 0, 0, 0)
DEFINE_FIRE(3, a0, a1, a2, 0, 0, 0, 0)
DEFINE_FIRE(4, a0, a1, a2, a3, 0, 0, 0)
DEFINE_FIRE(5, a0, a1, a2, a3, a4, 0, 0)
DEFINE_FIRE(6, a0, a1, a2, a3, a4, a5, 0)
DEFINE_FIRE(7, a0, a1, a2, a3, a4, a5, a6)

/* These lines use no macro, because native/Makefile finds the exports of libkmarkers.a in them. */
EXPORT_SYMBOL_GPL(sdt_fire_0);
EXPORT_SYMBOL_GPL(sdt_fire_1);
EXPORT_SYMBOL_GPL(sdt_fire_2);
EXPORT_SYMBOL_GPL(sdt_fire_3);
EXPORT_SYMBOL_GPL(sdt_fire_4);
EXPORT_SYMBOL_GPL(sdt_fire_5);
EXPORT_SYMBOL_GPL(sdt_fire_6);
EXPORT_SYMBOL_GPL(sdt_fire_7);
EXPORT_SYMBOL_GPL(sdt_fire_counted_0);
EXPORT_SYMBOL_GPL(sdt_fire_counted_1);
EXPORT_SYMBOL_GPL(sdt_fire_counted_2);
EXPORT_SYMBOL_GPL(sdt_fire_counted_3);
EXPORT_SYMBOL_GPL(sdt_fire_counted_4);
EXPORT_SYMBOL_GPL(sdt_fire_counted_5);
EXPORT_SYMBOL_GPL(sdt_fire_counted_6);
EXPORT_SYMBOL_GPL(sdt_fire_counted_7);

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
	/*
	 * Set .args without a loop: the compiler could turn a loop into memcpy(), which may have a
	 * kprobe.
	 */
	struct sdt_hit hit = {
		.site = &first->shown,
		.nr = sdt_count_args(site),
		.args = {
			regs->di, regs->si, regs->dx, regs->cx, regs->r8, regs->r9, regs->ax,
		},
	};

	/* In any mode other than SDT_TRAPPED, other code has set the breakpoint. */
	if (READ_ONCE(state->mode) != SDT_TRAPPED)
		return false;
	if (sdt_get_flavour(site) == SDT_BREAKPOINT)
		count_hit(first);
	/* For trace records, raise the preemption depth as call_site_handlers() does. */
	preempt_disable_notrace();
	sdt_call_handler(rcu_dereference_raw(state->call), &hit);
	preempt_enable_notrace();
	regs->ip = patcher_site_addr(site) + site->len;
	return true;
}
NOKPROBE_SYMBOL(sdt_handle_trap);
