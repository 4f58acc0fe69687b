// SPDX-License-Identifier: GPL-2.0-only
/* From a site that is on to its handlers. */
#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>

#include <kmarkers/search.h>

#include "hit.h"
#include "registry.h"
#include "sets.h"

static __always_inline unsigned long addr_of_target(const void *targets, unsigned int i)
{
	return ((const struct sdt_target *)targets)[i].addr;
}

/* The last of a table that leads to @here or before it, or NULL. */
static const struct sdt_target *last_target(const struct sdt_table *table, unsigned long here)
{
	unsigned int i = kmarkers_lower_bound(table->targets, table->nr_targets, here + 1,
					      addr_of_target);

	return i ? &table->targets[i - 1] : NULL;
}

/*
 * The site whose jump led to @here: that of all whose target is the nearest before it,
 * because the compiler keeps what is done with a hit in one piece.
 */
static const struct sdt_table *find_jump(unsigned long here, unsigned int *site)
{
	const struct sdt_table *found = NULL;
	const struct sdt_target *target;
	unsigned long nearest = 0;
	struct list_head *node;

	/* Open-coded for the same reason as in patcher_sites_find(). */
	for (node = READ_ONCE(sdt_registry.tables.next); node != &sdt_registry.tables;
	     node = READ_ONCE(node->next)) {
		const struct sdt_table *table = list_entry(node, struct sdt_table, node);

		target = last_target(table, here);
		if (!target || target->addr <= nearest)
			continue;
		nearest = target->addr;
		*site = target->site;
		found = table;
	}
	return found;
}

/* @site is of one that can be promoted: how hot it is decides. */
static void count_hit(struct sdt_state *state, const struct patcher_site *site)
{
	if (sdt_flavour_of(site) == SDT_BREAKPOINT)
		WRITE_ONCE(state->hits, READ_ONCE(state->hits) + 1);
}

/* Preemption is disabled, or the registry's lock is held. */
void sdt_call_handlers(const struct sdt_set *set, const struct sdt_hit *hit)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		READ_ONCE(set->call[i].handler)(set->call[i].private, hit);
}

/**
 * sdt_fire() - call the handlers of a site
 * @probe: its probe
 * @here: where its jump led to
 *
 * Called by SDT_PROBEn() while the site is a jump.
 *
 * Context: any.
 */
void sdt_fire(const struct sdt_probe *probe, unsigned long here, ...)
{
	struct sdt_hit hit = { .probe = probe, .nr = probe->nr };
	const struct sdt_table *table;
	const struct sdt_set *set;
	unsigned int site, i;
	va_list args;

	preempt_disable_notrace();
	table = find_jump(here, &site);
	/* Pairs with rcu_assign_pointer() in sdt_sets_use(). */
	set = table ? rcu_dereference_raw(table->states[site].set) : NULL;
	if (!set)
		goto out;
	hit.site = &table->states[site];
	count_hit(hit.site, &table->sites.sites[site]);
	hit.ip = patcher_site_addr(&table->sites.sites[site]);
	va_start(args, here);
	for (i = 0; i < hit.nr; i++)
		hit.args[i] = va_arg(args, unsigned long);
	va_end(args);
	sdt_call_handlers(set, &hit);
out:
	preempt_enable_notrace();
}
EXPORT_SYMBOL_GPL(sdt_fire);

/**
 * sdt_trap() - a breakpoint at one of our sites
 * @sites: the patcher's table
 * @site: the site
 * @regs: the interrupted context
 *
 * Context: any, NMI included, with preemption off.
 * Return: true if the site is armed: its handlers were called, and @regs goes on
 * behind it.
 */
bool sdt_trap(const struct patcher_table *sites, const struct patcher_site *site,
	      struct pt_regs *regs)
{
	const struct sdt_table *table = container_of(sites, struct sdt_table, sites);
	struct sdt_state *state = &table->states[site - sites->sites];
	const struct sdt_probe *probe = sdt_probe_of(site);
	const struct sdt_set *set;
	struct sdt_hit hit = {
		.probe = probe,
		.ip = patcher_site_addr(site),
		.nr = probe->nr,
		.args = { regs->di, regs->si, regs->dx, regs->cx, regs->r8, regs->r9, regs->ax },
		.site = state,
	};

	/* Whatever else it is, a breakpoint is not ours. */
	if (READ_ONCE(state->mode) != SDT_TRAPPED)
		return false;
	set = rcu_dereference_raw(state->set);
	if (set) {
		count_hit(state, site);
		/* Once, as in sdt_fire(): records of trace events have the depth. */
		preempt_disable_notrace();
		sdt_call_handlers(set, &hit);
		preempt_enable_notrace();
	}
	regs->ip = hit.ip + site->len;
	return true;
}
NOKPROBE_SYMBOL(sdt_trap);
