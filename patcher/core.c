// SPDX-License-Identifier: GPL-2.0-only
/* Register single instructions of core text, the kernel's own text, as sites. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include <kmarkers/opcodes.h>
#include <kmarkers/redirect.h>

#include "../base/lock.h"
#include "../base/symbols.h"
#include "core.h"
#include "functions.h"
#include "claim_check.h"
#include "register.h"
#include "sites.h"
#include "text.h"

static int register_core_site(struct patcher_core_site *core)
{
	struct kmarkers_extent extent;
	unsigned long addr;
	int err;

	if (patcher_sites_has_table(&core->table))
		return -EBUSY;
	err = patcher_find_function(core->function, &extent);
	if (err)
		return err;
	if (core->offset >= extent.size || core->len > extent.size - core->offset)
		return -EINVAL;
	addr = extent.start + core->offset;
	/* The check would mistake a guard whose kprobe was removed for a kprobe of other code. */
	patcher_text_remove_unneeded_guards();
	err = patcher_check_core_write(addr, core->len);
	if (err)
		return err;
	core->addr = (u8 *)addr;
	core->site.addr = addr;
	core->site.key = 0;
	core->site.len = core->len;
	core->site.flags = PATCHER_SITE_ABSOLUTE;
	core->table.sites = &core->site;
	core->table.nr = 1;
	core->table.module = NULL;
	core->table.owner = core->owner;
	/*
	 * If a kprobe was armed after patcher_check_core_write(), this copy begins with an int3.
	 * If a kprobe is armed after the copy is made, patcher_register_core_table() returns
	 * -EINVAL.
	 */
	memcpy(core->original, core->addr, core->len);
	if (core->original[0] == KMARKERS_INT3)
		return -EBUSY;
	err = patcher_register_core_table(&core->table);
	if (err == -EINVAL && READ_ONCE(*core->addr) == KMARKERS_INT3)
		return -EBUSY;
	if (err == -EINVAL || err == -EBUSY)
		pr_info("site at %pS refused: %s\n", core->addr, err == -EINVAL ?
			"the patcher cannot emulate this instruction" :
			"it overlaps another site");
	return err;
}

/**
 * patcher_core_register() - register one instruction of core text as a site
 * @core: the site, with function, offset, len and owner filled in; must stay valid until it is
 *	unregistered
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if the kernel itself has no such function; -EINVAL unless the bytes at the
 * offset are exactly one instruction that patcher_insn_decode() accepts; -EPERM if the instruction
 * must not be changed; -EBUSY if a kprobe or another site overlaps the instruction, or if @core is
 * registered already; -ENOMEM.
 */
int patcher_core_register(struct patcher_core_site *core)
{
	int err;

	if (!core->function || !core->len || core->len > PATCHER_INSN_MAX || !core->owner)
		return -EINVAL;
	patcher_lock();
	err = register_core_site(core);
	patcher_unlock();
	return err;
}
EXPORT_SYMBOL_GPL(patcher_core_register);

/*
 * Return 0 if a site holds its original bytes, -EBUSY if other code has set a breakpoint at the
 * site, -EILSEQ if the site holds other bytes, and -EINVAL if the site is not registered.
 */
static int compare_original_bytes(const struct patcher_core_site *core)
{
	if (!patcher_sites_has_table(&core->table))
		return -EINVAL;
	if (!memcmp(core->addr, core->original, core->len))
		return 0;
	return READ_ONCE(*core->addr) == KMARKERS_INT3 ? -EBUSY : -EILSEQ;
}

/**
 * patcher_core_unregister() - unregister a site of core text
 * @core: a registered site that holds its original bytes
 *
 * The owner must have restored the original bytes.  A site that holds other bytes stays
 * registered: an error is logged, and the owner can still restore the bytes.  @core must
 * stay valid until this function has returned 0.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @core is not registered; -EILSEQ if the site does not hold
 * its original bytes; -EBUSY if other code has set a breakpoint at the site.
 */
int patcher_core_unregister(struct patcher_core_site *core)
{
	int err;

	patcher_lock();
	err = compare_original_bytes(core);
	if (!err)
		patcher_unregister_table_locked(&core->table);
	patcher_unlock();
	if (!err)
		synchronize_rcu();
	else if (err != -EINVAL)
		pr_err("site %pS of owner %s cannot be unregistered: %s\n", core->addr, core->owner,
		       err == -EBUSY ? "other code has set a breakpoint at this site: remove the breakpoint first"
				     : "its original bytes were not restored");
	return err;
}
EXPORT_SYMBOL_GPL(patcher_core_unregister);

/*
 * Check that the patcher is allowed to write a registered site of core text now.  Return 0 or an
 * error.
 */
int patcher_check_core_site(const struct patcher_core_site *core)
{
	int err;

	patcher_lock();
	/* The check would mistake a guard whose kprobe was removed for a kprobe of other code. */
	patcher_text_remove_unneeded_guards();
	err = patcher_check_core_write((unsigned long)core->addr, core->len);
	patcher_unlock();
	return err;
}
