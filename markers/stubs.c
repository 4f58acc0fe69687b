// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stubs of typed markers.  The site of a typed marker calls the stub of the marker.  The stub
 * jumps to the only probe of the marker directly, or to the iterator, a function that calls all
 * probes.
 *
 * A stub has three instructions: see <kmarkers/typed.h>.  The first is the *entry*: a jump to the
 * iterator, or a nop.  The other two are the *slot*: a mov that loads the private data of the only
 * probe, and a jump to the probe.  The slot is written only after the entry has been a jump to the
 * iterator for a grace period.  Sites call stubs with preemption disabled, so after the grace
 * period no CPU is between the two instructions of the slot.  A CPU there would call the new probe
 * with the private data of the old probe.
 *
 * The slot jumps to a typed probe.  If the only probe is registered by name, the slot jumps to a
 * function that does the same as the probe but takes the arguments in CPU registers: see stubs.h.
 *
 * The iterator is correct for any number of probes; the slot is a shortcut.  A change of a marker's
 * probes therefore begins by patching the entry to jump to the iterator.  If the marker has exactly
 * one probe after the change, the slot is written, and then the entry is patched to a nop.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>

#include "names.h"
#include "stubs.h"

#define ENTRY		0
#define SLOT_MOV	5
#define SLOT_JMP	15
#define JMP_LEN		5
#define MOV_LEN		10
#define SITES		3	/* number of sites (patched instructions) of a stub */

static const char owner[] = "markers";
static const u8 nop[JMP_LEN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

/* The sites of all stubs of a module. */
struct stub_table {
	struct list_head node;
	struct rcu_head rcu;
	struct patcher_table sites;
};

static LIST_HEAD(stub_tables);

marker_reg_args_probe_func *marker_stub_find_reg_args_probe;

/**
 * marker_typed_nothing() - do nothing: a stub jumps here until its marker is registered
 *
 * Context: any.
 */
void marker_typed_nothing(void)
{
}
EXPORT_SYMBOL_GPL(marker_typed_nothing);

static void init_stub_poke(struct patcher_poke *poke, u8 *addr, unsigned int len)
{
	*poke = (struct patcher_poke){ .addr = addr, .len = len };
	memcpy(poke->old, addr, len);
}

/*
 * Fill in @poke to write a jump from @addr to @target.  Return 0, or -ERANGE if the distance does
 * not fit into 32 bits.
 */
static int fill_jmp_poke(struct patcher_poke *poke, u8 *addr, unsigned long target)
{
	long distance = target - ((unsigned long)addr + JMP_LEN);
	s32 displacement = distance;

	if (displacement != distance)
		return -ERANGE;
	init_stub_poke(poke, addr, JMP_LEN);
	poke->new[0] = 0xe9;
	memcpy(poke->new + 1, &displacement, sizeof(displacement));
	return 0;
}

static void fill_mov_poke(struct patcher_poke *poke, u8 *addr, void *private)
{
	init_stub_poke(poke, addr, MOV_LEN);
	poke->new[0] = 0x48;
	poke->new[1] = 0xbf;
	memcpy(poke->new + 2, &private, sizeof(private));
}

/**
 * marker_stub_use_iterator() - patch the stub of a typed marker to jump to the iterator
 * @marker: the marker; nothing is done if it is not typed
 *
 * Return: 0; or an error of patcher_apply(), in which case nothing is changed.
 */
int marker_stub_use_iterator(struct marker *marker)
{
	struct marker_typed *typed = get_typed_marker(marker);
	struct patcher_poke poke;
	int err;

	lockdep_assert_held(&marker_registry.lock);
	if (!typed || !typed->direct)
		return 0;
	err = fill_jmp_poke(&poke, typed->stub + ENTRY, (unsigned long)typed->iterator);
	if (!err)
		err = patcher_apply(owner, &poke, 1);
	if (err)
		return err;
	typed->direct = false;
	typed->idle = get_state_synchronize_rcu();
	return 0;
}

static int patch_stub_slot(struct marker_typed *typed, const struct marker_probe *probe)
{
	struct patcher_poke pokes[2];
	int err;

	err = fill_jmp_poke(&pokes[1], typed->stub + SLOT_JMP, (unsigned long)probe->func);
	if (err)
		return err;
	fill_mov_poke(&pokes[0], typed->stub + SLOT_MOV, probe->private);
	cond_synchronize_rcu(typed->idle);
	/* In user space, the wait for a grace period can time out: do not change the slot then. */
	if (!rcu_wait_succeeded(typed->idle))
		return -EBUSY;
	return patcher_apply(owner, pokes, 2);
}

/* Return the first live (not removed) probe of an array, which must have a live probe. */
static const struct marker_probe *get_first_live_probe(const struct probe_array *array,
						       marker_probe_func *noop)
{
	const struct marker_probe *probe = array->probe;

	while (probe->func == noop)
		probe++;
	return probe;
}

/* Return the array of probes registered under a marker's name.  The registry's lock is held. */
static const struct probe_array *get_probes_registered_by_name(const struct marker *marker)
{
	const struct marker_probe *first = rcu_dereference_raw(marker->probes);

	return first ? container_of(first, struct probe_array, probe[0]) : NULL;
}

/*
 * Set @slot to the register-argument probe (see stubs.h) of the only live probe in @array.  Return
 * false if the live probe has no register-argument probe.
 */
static bool fill_slot_with_reg_args_probe(const struct probe_array *array,
					  struct marker_probe *slot)
{
	const struct marker_probe *probe = get_first_live_probe(array, marker_array_do_nothing);

	if (!marker_stub_find_reg_args_probe)
		return false;
	slot->func = (marker_probe_func *)(void *)marker_stub_find_reg_args_probe(probe);
	slot->private = probe->private;
	return slot->func;
}

/*
 * Set @slot to the function that the stub of a marker can call instead of the iterator: a single
 * typed probe, or the register-argument probe of a single probe that is registered by name.  Return
 * false if there is no such function.
 */
static bool find_single_probe(const struct marker_typed *typed, struct marker_probe *slot)
{
	const struct probe_array *named = get_probes_registered_by_name(&typed->marker);

	if (count_live_probes(typed->array) + count_live_probes(named) != 1)
		return false;
	if (count_live_probes(named))
		return fill_slot_with_reg_args_probe(named, slot);
	*slot = *get_first_live_probe(typed->array, get_typed_noop(typed));
	return true;
}

/**
 * marker_stub_use_single_probe() - patch the stub of a typed marker to call its only probe directly
 * @marker: the marker; nothing is done unless it is typed and has exactly one probe
 *
 * If the stub cannot be patched, the iterator still calls the probe.
 */
void marker_stub_use_single_probe(struct marker *marker)
{
	struct marker_typed *typed = get_typed_marker(marker);
	struct marker_probe slot;
	struct patcher_poke poke;

	lockdep_assert_held(&marker_registry.lock);
	if (!typed || !typed->stub || typed->direct)
		return;
	if (!find_single_probe(typed, &slot) || patch_stub_slot(typed, &slot))
		return;
	init_stub_poke(&poke, typed->stub + ENTRY, JMP_LEN);
	memcpy(poke.new, nop, JMP_LEN);
	typed->direct = !patcher_apply(owner, &poke, 1);
}

/* Return true if site[0] to site[2] are the instructions of one stub of __DEFINE_MARKER_STUB(). */
static bool is_valid_stub(const struct patcher_site *site)
{
	static const u8 at[SITES] = { ENTRY, SLOT_MOV, SLOT_JMP };
	static const u8 len[SITES] = { JMP_LEN, MOV_LEN, JMP_LEN };
	unsigned int i;

	for (i = 0; i < SITES; i++)
		if (site[i].flags || site[i].len != len[i] ||
		    patcher_site_key(&site[i]) != patcher_site_key(site) ||
		    patcher_site_addr(&site[i]) != patcher_site_addr(site) + at[i])
			return false;
	return true;
}

static struct marker_typed *get_site_marker(const struct patcher_site *site)
{
	return (void *)patcher_site_key(site);
}

static int fill_iterator_poke(struct patcher_poke *poke, const struct patcher_site *site)
{
	if (!is_valid_stub(site))
		return -EINVAL;
	return fill_jmp_poke(poke, (void *)patcher_site_addr(site),
			     (unsigned long)get_site_marker(site)->iterator);
}

/* Patch each stub of a new table to jump to the iterator of its marker; on error, patch no stub. */
static int patch_new_stubs(const struct patcher_table *table)
{
	const struct patcher_site *site = table->sites;
	unsigned long idle = get_state_synchronize_rcu();
	unsigned int i, nr = table->nr / SITES;
	struct patcher_poke *pokes;
	int err = 0;

	pokes = kvcalloc(nr, sizeof(*pokes), GFP_KERNEL);
	if (!pokes)
		return -ENOMEM;
	for (i = 0; i < nr && !err; i++)
		err = fill_iterator_poke(&pokes[i], &site[i * SITES]);
	if (!err)
		err = patcher_apply_at_load(table, pokes, nr);
	for (i = 0; i < nr && !err; i++) {
		struct marker_typed *typed = get_site_marker(&site[i * SITES]);

		typed->stub = (void *)patcher_site_addr(&site[i * SITES]);
		/*
		 * Replace the initial value 0: RCU's counter of grace periods starts below 0, so
		 * grace period number 0 may still be in the future.
		 */
		typed->idle = idle;
	}
	kvfree(pokes);
	return err;
}

static int add_stub_table(struct stub_table *table)
{
	int err;

	lockdep_assert_held(&marker_registry.lock);
	err = patcher_register(&table->sites);
	if (err)
		return err;
	err = patch_new_stubs(&table->sites);
	if (err) {
		patcher_unregister(&table->sites);
		return err;
	}
	list_add_tail(&table->node, &stub_tables);
	return 0;
}

/**
 * marker_stubs_register_module() - register the stubs of a module
 * @module: the module being loaded; NULL in user space
 * @span: the sites of the module's stubs
 *
 * The function must be called before the module's markers are registered.
 *
 * Context: may sleep; no code of @module runs yet.
 * Return: 0; -EINVAL for a malformed table; -ENOMEM; or an error of patcher_register()
 * or patcher_apply().
 */
int marker_stubs_register_module(struct module *module, const struct kmarkers_span *span)
{
	int err, nr = kmarkers_count_records(span, sizeof(struct patcher_site));
	struct stub_table *table;

	if (nr <= 0)
		return nr;
	if (nr % SITES)
		return -EINVAL;
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->sites.sites = span->first;
	table->sites.nr = nr;
	table->sites.module = module;
	table->sites.owner = owner;

	mutex_lock(&marker_registry.lock);
	err = add_stub_table(table);
	mutex_unlock(&marker_registry.lock);
	if (err)
		kfree(table);
	return err;
}

/*
 * Unregister the stubs of a module that is being unloaded.  The module's markers have been
 * unregistered, so no site calls a stub any more.
 */
void marker_stubs_unregister_module(struct module *module)
{
	struct stub_table *table, *next;

	lockdep_assert_held(&marker_registry.lock);
	list_for_each_entry_safe(table, next, &stub_tables, node) {
		if (table->sites.module != module)
			continue;
		list_del(&table->node);
		patcher_unregister_nowait(&table->sites);
		kfree_rcu(table, rcu);
	}
}
