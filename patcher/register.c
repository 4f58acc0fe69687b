// SPDX-License-Identifier: GPL-2.0-only
/* Tables of sites that become known, and are forgotten. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/rcupdate.h>

#include "../base/lock.h"
#include "insn.h"
#include "register.h"
#include "sites.h"
#include "stats.h"
#include "text.h"

static int check_site(const struct patcher_table *table, const struct patcher_site *site)
{
	const u8 *bytes = (void *)patcher_site_addr(site);

	if (!site->len || site->len > PATCHER_INSN_MAX)
		return -EINVAL;
	if (!table->core && (site->flags & PATCHER_SITE_ABSOLUTE ||
			     !patcher_text_owned(table->module, (unsigned long)bytes, site->len)))
		return -EPERM;
	if (site->flags & PATCHER_SITE_RUN && site->flags & PATCHER_SITE_PREFIX)
		return -EINVAL;
	if (site->flags & PATCHER_SITE_RUN)
		return patcher_text_can_wait() && !table->core ? 0 : -EPERM;
	if (site->flags & PATCHER_SITE_PREFIX)
		return site->len == 1 && patcher_is_prefix(bytes[0]) ? 0 : -EINVAL;
	return patcher_insn_is_single(bytes, site->len) ? 0 : -EINVAL;
}

static int register_table(struct patcher_table *table, bool allowed)
{
	int err = allowed ? 0 : -EPERM;
	unsigned int i;

	patcher_assert_locked();
	/* Sorting it would move sites that a handler may be looking for. */
	if (!err && patcher_sites_has(table))
		err = -EBUSY;
	for (i = 0; i < table->nr && !err; i++)
		err = check_site(table, &table->sites[i]);
	if (!err)
		err = patcher_sites_add(table);
	if (err)
		patcher_stats_locked()->refused++;
	return err;
}

/**
 * patcher_register() - make the sites of a table known
 * @table: sites, nr, module and owner filled in; must stay until unregistered
 *
 * Each site must hold one instruction of its recorded length that the patcher
 * knows, unless its flags say otherwise.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if a site holds anything else, is a run and a prefix, or two
 * sites overlap; -EBUSY if one overlaps a site of another table; -EPERM
 * if a site is outside the module's text or in text freed after init, or a run
 * where tasks cannot be waited for, or if the table or a site says that it is of
 * core text.
 */
int patcher_register(struct patcher_table *table)
{
	int err;

	patcher_lock();
	err = register_table(table, !table->core);
	patcher_unlock();
	return err;
}
EXPORT_SYMBOL_GPL(patcher_register);

/*
 * The same for core text: not exported.  The caller has asked whose it is, under
 * patcher_lock(), and still holds it.
 */
int patcher_register_core(struct patcher_table *table)
{
	table->core = true;
	return register_table(table, true);
}

/* Of a struct that a caller hands in again: not exported. */
bool patcher_is_registered(const struct patcher_table *table)
{
	bool is;

	patcher_lock();
	is = patcher_sites_has(table);
	patcher_unlock();
	return is;
}

/*
 * Forget the sites of a table: not exported.  The caller has found it registered,
 * and waits for an RCU grace period when he has let go of the lock, after which no
 * breakpoint handler looks at @table.
 */
void patcher_forget_table(struct patcher_table *table)
{
	patcher_assert_locked();
	/* Core text runs on: who is on the way to the handler finds the site yet. */
	if (table->core)
		synchronize_rcu();
	patcher_sites_del(table);
	patcher_stats_locked()->waits += 1 + table->core;
	patcher_text_settle();
}

/**
 * patcher_unregister() - forget the sites of a table
 * @table: as registered
 *
 * Context: may sleep; waits for an RCU grace period, after which no breakpoint
 * handler looks at @table, and for core text for another one before.
 */
void patcher_unregister(struct patcher_table *table)
{
	patcher_lock();
	patcher_forget_table(table);
	patcher_unlock();
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(patcher_unregister);

/**
 * patcher_drop() - forget the sites of a table, without waiting
 * @table: as registered; not of core text
 *
 * None of the code with the sites runs any more.  A handler of somebody else's
 * breakpoint may look at @table until an RCU grace period has passed: until then
 * it and its sites must stay, as the text and data of a module that is
 * MODULE_STATE_GOING do.
 *
 * Context: may sleep.
 */
void patcher_drop(struct patcher_table *table)
{
	patcher_lock();
	patcher_sites_del(table);
	patcher_text_settle();
	patcher_unlock();
}
EXPORT_SYMBOL_GPL(patcher_drop);

/* Every site; none comes or goes meanwhile. */
void patcher_for_each_site(void (*show)(void *data, const struct patcher_table *table,
					const struct patcher_site *site), void *data)
{
	patcher_lock();
	patcher_sites_for_each(show, data);
	patcher_unlock();
}
