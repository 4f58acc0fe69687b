// SPDX-License-Identifier: GPL-2.0-only
/* Register and unregister tables of sites. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/rcupdate.h>

#include "../base/lock.h"
#include "insn.h"
#include "register.h"
#include "sites.h"
#include "stats.h"
#include "text.h"

static int check_site_insn(const struct patcher_table *table, const struct patcher_site *site,
			   const u8 *bytes)
{
	if (!site->len || site->len > PATCHER_INSN_MAX)
		return -EINVAL;
	if (!table->core &&
	    (site->flags & PATCHER_SITE_ABSOLUTE ||
	     !patcher_is_module_text(table->module, (unsigned long)bytes, site->len)))
		return -EPERM;
	if (site->flags & PATCHER_SITE_RUN && site->flags & PATCHER_SITE_PREFIX)
		return -EINVAL;
	if (site->flags & PATCHER_SITE_RUN)
		return patcher_text_can_wait_for_tasks() && !table->core ? 0 : -EPERM;
	if (site->flags & PATCHER_SITE_PREFIX)
		return site->len == 1 && patcher_is_lock_or_ds_prefix(bytes[0]) ? 0 : -EINVAL;
	return patcher_is_single_insn(bytes, site->len) ? 0 : -EINVAL;
}

/*
 * Check and register a table.  Return -EPERM if @is_permitted is false: the caller may not register
 * a table of core text.  After an error, count the table as refused.
 */
static int check_and_register_table(struct patcher_table *table, bool is_permitted)
{
	int err = is_permitted ? 0 : -EPERM;
	unsigned int i;

	patcher_assert_locked();
	/* Refuse a registered table: sorting would move records that a handler may be reading. */
	if (!err && patcher_sites_has_table(table))
		err = -EBUSY;
	for (i = 0; i < table->nr && !err; i++)
		err = check_site_insn(table, patcher_get_site(table, i),
				      (u8 *)patcher_get_site_addr(table, i));
	if (!err)
		err = patcher_sites_add_table(table);
	if (err)
		patcher_get_stats_locked()->refused++;
	return err;
}

/**
 * patcher_register() - register a table of sites
 * @table: the table, with sites, nr, module and owner filled in; must stay valid until it is
 *	unregistered
 *
 * Each site must hold one instruction of its recorded length that patcher_insn_decode()
 * accepts, except for sites with PATCHER_SITE_RUN or PATCHER_SITE_PREFIX.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if a site holds other bytes, has both flags PATCHER_SITE_RUN and
 * PATCHER_SITE_PREFIX, or overlaps another site of the table; -EBUSY if the table is registered
 * already, or a site overlaps a site of another table; -EPERM if the table or a site is marked as
 * core text, if a site is outside the module's text or in text freed after init, or if a site has
 * PATCHER_SITE_RUN and patcher_text_can_wait_for_tasks() returns false.
 */
int patcher_register(struct patcher_table *table)
{
	int err;

	patcher_lock();
	err = check_and_register_table(table, !table->core);
	patcher_unlock();
	return err;
}
EXPORT_SYMBOL_GPL(patcher_register);

/*
 * Register a table whose single site is in core text.  This function is not exported.  The caller
 * must hold patcher_lock(), and must have checked the site with patcher_check_core_write() after
 * taking this lock.
 */
int patcher_register_core_table(struct patcher_table *table)
{
	table->core = true;
	return check_and_register_table(table, true);
}

/* Return true if a table is registered.  This function is not exported. */
bool patcher_is_table_registered(const struct patcher_table *table)
{
	bool is;

	patcher_lock();
	is = patcher_sites_has_table(table);
	patcher_unlock();
	return is;
}

/*
 * Unregister a registered table.  This function is not exported.  The caller holds patcher_lock(),
 * releases it, and then waits for an RCU grace period, after which no breakpoint handler uses
 * @table.
 */
void patcher_unregister_table_locked(struct patcher_table *table)
{
	patcher_assert_locked();
	/*
	 * Other CPUs may be executing core text: wait for breakpoint handlers that may still use
	 * the site.
	 */
	if (table->core)
		synchronize_rcu();
	patcher_sites_del_table(table);
	patcher_get_stats_locked()->waits += 1 + table->core;
	patcher_text_remove_unneeded_guards();
}

/**
 * patcher_unregister() - unregister the sites of a table
 * @table: a registered table
 *
 * Context: may sleep; waits for an RCU grace period, after which no breakpoint
 * handler uses @table; for core text, waits for two grace periods.
 */
void patcher_unregister(struct patcher_table *table)
{
	patcher_lock();
	patcher_unregister_table_locked(table);
	patcher_unlock();
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(patcher_unregister);

/**
 * patcher_unregister_nowait() - unregister the sites of a table, without waiting
 * @table: a registered table; not of core text
 *
 * CPUs may still execute the text that contains the sites.  No CPU executes an int3 of the patcher
 * in this text, because a batch ends only after all CPUs have left its int3s.  But a handler of an
 * int3 at another address may use @table until an RCU grace period has passed.  Until then the
 * table and its sites must stay in memory, as the text and data of a module in MODULE_STATE_GOING
 * do.
 *
 * Context: may sleep.
 */
void patcher_unregister_nowait(struct patcher_table *table)
{
	patcher_lock();
	patcher_sites_del_table(table);
	patcher_text_remove_unneeded_guards();
	patcher_unlock();
}
EXPORT_SYMBOL_GPL(patcher_unregister_nowait);

/* Call @show for every registered site, with patcher_lock() held. */
void patcher_for_each_site(void (*show)(void *data, const struct patcher_table *table,
					const struct patcher_site *site, u8 *addr), void *data)
{
	patcher_lock();
	patcher_sites_for_each(show, data);
	patcher_unlock();
}
