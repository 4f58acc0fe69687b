// SPDX-License-Identifier: GPL-2.0-only
/*
 * Immediate values: the tables of all loaded modules, and changes as batches of
 * the patcher.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include <kmarkers/immediate.h>
#include <kmarkers/patcher.h>

#include "imv.h"

/**
 * struct imv_table - the sites of a module
 * @node: in the list of all
 * @rcu: for the grace period before it is freed
 * @sites: what the patcher knows: sorted by address
 * @by_var: the same sites, sorted by variable
 */
struct imv_table {
	struct list_head node;
	struct rcu_head rcu;
	struct patcher_table sites;
	const struct patcher_site **by_var;
};

static struct {
	struct mutex lock;		/* before the patcher's; also keeps the variables still */
	struct list_head tables;
} imv = {
	.lock = __MUTEX_INITIALIZER(imv.lock),
	.tables = LIST_HEAD_INIT(imv.tables),
};

static const char owner[] = "immediate";

const u8 imv_tables_need_immediate;
EXPORT_SYMBOL_GPL(imv_tables_need_immediate);

/* Bytes of the operand: two-byte values are read with a 32-bit mov. */
static unsigned int operand_size(const struct patcher_site *site)
{
	return site->size == 2 ? 4 : site->size;
}

static u64 load_value(const void *var, unsigned int size)
{
	u64 value = 0;

	memcpy(&value, var, size);
	return value;
}

static void store_value(void *var, u64 value, unsigned int size)
{
	switch (size) {
	case 1:
		WRITE_ONCE(*(u8 *)var, value);
		break;
	case 2:
		WRITE_ONCE(*(u16 *)var, value);
		break;
	case 4:
		WRITE_ONCE(*(u32 *)var, value);
		break;
	default:
		WRITE_ONCE(*(u64 *)var, value);
	}
}

/* The first bytes of a branch, before the distance: see __imv_branch(). */
static const u8 branch_compiled[] = { 0x3e, 0x0f, 0x85 };
static const u8 branch_off[] = { 0x0f, 0x1f, 0x80 }, branch_on[] = { 0x2e, 0x2e, 0xe9 };

#define BRANCH_LEN	(sizeof(branch_off) + sizeof(s32))

/* The last opcode byte of jne and je, short or near, differ in one bit. */
static void flip(u8 *insn, u64 value)
{
	u8 *opcode = insn[0] == 0x0f ? insn + 1 : insn;

	*opcode = value ? *opcode & ~1 : *opcode | 1;
}

#define REX_MASK	0xf0
#define REX		0x40
#define REX_W		0x08

/* mov $imm,%reg with at most a REX prefix, and an immediate of the site's size. */
static bool holds_mov(const struct patcher_site *site, const u8 *insn)
{
	unsigned int size = operand_size(site), prefixes = site->len - size - 1;
	u8 rex = prefixes ? insn[0] : REX;

	if (prefixes > 1 || (rex & REX_MASK) != REX)
		return false;
	if (size == 1)
		return (insn[prefixes] & 0xf8) == 0xb0;
	return (insn[prefixes] & 0xf8) == 0xb8 && !(rex & REX_W) == (size == 4);
}

/* Is @insn, found at a registered site, what reads a value of its kind? */
static bool is_read(const struct patcher_site *site, const u8 *insn)
{
	if (site->flags & IMV_BRANCH)
		return !memcmp(insn, branch_compiled, sizeof(branch_compiled)) ||
		       !memcmp(insn, branch_off, sizeof(branch_off)) ||
		       !memcmp(insn, branch_on, sizeof(branch_on));
	if (site->flags & IMV_FLIP)
		return site->len == 2 ? (insn[0] & 0xfe) == 0x74
				      : insn[0] == 0x0f && (insn[1] & 0xfe) == 0x84;
	return holds_mov(site, insn);
}

/*
 * The bytes are read once: kprobes come and go meanwhile.  Return false if they
 * are somebody else's; the patcher, which will not find what is expected then,
 * says whose.
 */
static bool fill_poke(struct patcher_poke *poke, const struct patcher_site *site, u64 value)
{
	unsigned int size = operand_size(site);
	bool ours;

	/* As the variable will have it. */
	value = load_value(&value, site->size);
	poke->addr = (u8 *)patcher_site_addr(site);
	poke->len = site->len;
	memcpy(poke->old, poke->addr, site->len);
	memcpy(poke->new, poke->old, site->len);
	ours = is_read(site, poke->new);
	if (!ours)
		poke->old[0] = ~poke->old[0];
	if (site->flags & IMV_BRANCH)
		memcpy(poke->new, value ? branch_on : branch_off, sizeof(branch_on));
	else if (site->flags & IMV_FLIP)
		flip(poke->new, value);
	else
		memcpy(poke->new + site->len - size, &value, size);
	return ours;
}

static int compare_changes(const void *a, const void *b)
{
	const struct imv_change *x = a, *y = b;

	return x->var < y->var ? -1 : x->var > y->var;
}

/* The first of the sites of a table that reads @var or one behind it. */
static unsigned int first_reader(const struct imv_table *table, unsigned long var)
{
	unsigned int low = 0, high = table->sites.nr;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (patcher_site_key(table->by_var[middle]) < var)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Collect the sites of a table that a change concerns; with @pokes NULL only
 * count them.  Clear @ours if one of them holds what is not ours.  -EINVAL if a
 * site reads the variable at another size.
 */
static int collect_readers(const struct imv_table *table, const struct imv_change *change,
			   struct patcher_poke *pokes, bool *ours)
{
	unsigned long var = (unsigned long)change->var;
	unsigned int i, first = first_reader(table, var);

	for (i = first; i < table->sites.nr; i++) {
		const struct patcher_site *site = table->by_var[i];

		if (patcher_site_key(site) != var)
			break;
		if (change->size != site->size)
			return -EINVAL;
		if (pokes && !fill_poke(&pokes[i - first], site, change->value))
			*ours = false;
	}
	return i - first;
}

/* The same for all tables and changes. */
static int collect(const struct imv_change *changes, unsigned int nr, struct patcher_poke *pokes,
		   bool *ours)
{
	struct imv_table *table;
	unsigned int i;
	int count = 0, found;

	list_for_each_entry(table, &imv.tables, node) {
		for (i = 0; i < nr; i++) {
			found = collect_readers(table, &changes[i], pokes ? pokes + count : NULL,
						ours);
			if (found < 0)
				return found;
			count += found;
		}
	}
	return count;
}

static int patch_sites(struct imv_change *changes, unsigned int nr)
{
	struct patcher_poke *pokes;
	bool ours = true;
	unsigned int i;
	int count, err;

	lockdep_assert_held(&imv.lock);
	sort(changes, nr, sizeof(*changes), compare_changes, NULL);
	for (i = 1; i < nr; i++)
		if (changes[i - 1].var == changes[i].var)
			return -EINVAL;
	count = collect(changes, nr, NULL, NULL);
	if (count <= 0)
		return count;
	pokes = kvcalloc(count, sizeof(*pokes), GFP_KERNEL);
	if (!pokes)
		return -ENOMEM;
	collect(changes, nr, pokes, &ours);
	err = patcher_apply(owner, pokes, count);
	/* What is made of somebody else's bytes need not be an instruction. */
	if (err == -EINVAL && !ours)
		err = -EILSEQ;
	if (!err)
		imv_updates_count(changes, nr);
	kvfree(pokes);
	return err;
}

/**
 * imv_set_many() - change several immediate values in one batch
 * @changes: variables, each at most once, and their new values; sorted in place
 * @nr: how many
 *
 * Context: may sleep.
 * Return: 0; or an error with every value and site as it was: -EINVAL for a
 * size that a reader disagrees with or a variable named twice, -ENOMEM, or what patcher_apply() returns.
 */
int imv_set_many(struct imv_change *changes, unsigned int nr)
{
	unsigned int i;
	int err;

	mutex_lock(&imv.lock);
	err = patch_sites(changes, nr);
	for (i = 0; !err && i < nr; i++)
		store_value(changes[i].var, changes[i].value, changes[i].size);
	mutex_unlock(&imv.lock);
	return err;
}
EXPORT_SYMBOL_GPL(imv_set_many);

/* Can the record be of a site?  What it points at is looked at once it is known to be text. */
static bool valid_site(const struct patcher_site *site)
{
	if (site->flags & ~(IMV_BRANCH | IMV_FLIP))
		return false;
	if (site->flags & IMV_BRANCH)
		return site->size == 1 && site->len == BRANCH_LEN;
	if (site->flags & IMV_FLIP)
		return site->size == 1 && (site->len == 2 || site->len == 6);
	if (site->size != 1 && site->size != 2 && site->size != 4 && site->size != 8)
		return false;
	return site->len > operand_size(site);
}

/* Bring a new table, compiled with 0 in every site and branches open, up to date. */
static int patch_table(const struct patcher_table *table)
{
	struct patcher_poke *pokes;
	unsigned int i, count = 0;
	int err = 0;

	pokes = kvcalloc(table->nr, sizeof(*pokes), GFP_KERNEL);
	if (!pokes)
		return -ENOMEM;
	for (i = 0; i < table->nr; i++) {
		const struct patcher_site *site = &table->sites[i];
		struct patcher_poke *poke = &pokes[count];

		if (!fill_poke(poke, site,
			       load_value((void *)patcher_site_key(site), site->size))) {
			err = -EINVAL;
			break;
		}
		count += !!memcmp(poke->old, poke->new, poke->len);
	}
	if (count && !err)
		err = patcher_apply_new(table, pokes, count);
	kvfree(pokes);
	return err;
}

static int compare_vars(const void *a, const void *b)
{
	unsigned long x = patcher_site_key(*(const struct patcher_site **)a);
	unsigned long y = patcher_site_key(*(const struct patcher_site **)b);

	return x < y ? -1 : x > y;
}

/* The patcher has sorted the sites: they stay where they are from now on. */
static int sort_by_var(struct imv_table *table)
{
	unsigned int i, nr = table->sites.nr;

	table->by_var = kvcalloc(nr, sizeof(*table->by_var), GFP_KERNEL);
	if (!table->by_var)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		table->by_var[i] = &table->sites.sites[i];
	sort(table->by_var, nr, sizeof(*table->by_var), compare_vars, NULL);
	return imv_updates_reserve(table->by_var, nr);
}

static int add_table(struct imv_table *table)
{
	int err;

	lockdep_assert_held(&imv.lock);
	err = patcher_register(&table->sites);
	if (err)
		return err;
	err = sort_by_var(table) ?: patch_table(&table->sites);
	if (err) {
		patcher_unregister(&table->sites);
		return err;
	}
	list_add_tail(&table->node, &imv.tables);
	return 0;
}

/**
 * imv_add_table() - take over the sites of a module
 * @module: the module being loaded; NULL in user space
 * @span: its records
 *
 * On return every site reads the present value of its variable.
 *
 * Context: may sleep; no code of @module runs yet.
 * Return: 0; -EINVAL for a malformed table; -EPERM for a site in text that does
 * not stay; -ENOMEM, or what patcher_apply() returns.
 */
int imv_add_table(struct module *module, const struct kmarkers_span *span)
{
	struct patcher_site *sites = span->first;
	int i, err, nr = kmarkers_span_records(span, sizeof(*sites));
	struct imv_table *table;

	if (nr <= 0)
		return nr;
	for (i = 0; i < nr; i++)
		if (!valid_site(&sites[i]))
			return -EINVAL;
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->sites.sites = sites;
	table->sites.nr = nr;
	table->sites.module = module;
	table->sites.owner = owner;

	mutex_lock(&imv.lock);
	err = add_table(table);
	mutex_unlock(&imv.lock);
	if (err) {
		kvfree(table->by_var);
		kfree(table);
	}
	return err;
}

/**
 * imv_drop_module() - forget every site of a module
 * @module: a module whose code no longer runs, and whose memory stays for another
 *	grace period: free_module() waits for one, and so does a load that fails
 *
 * Context: may sleep.
 */
void imv_drop_module(struct module *module)
{
	struct imv_table *table, *next;

	mutex_lock(&imv.lock);
	list_for_each_entry_safe(table, next, &imv.tables, node) {
		if (table->sites.module != module)
			continue;
		list_del(&table->node);
		patcher_drop(&table->sites);
		kvfree(table->by_var);
		kfree_rcu(table, rcu);
	}
	imv_updates_drop(module);
	mutex_unlock(&imv.lock);
}

/* A variable and where it is read. */
struct usage {
	unsigned long var;
	struct module *module;
	unsigned int sites;
	u8 size;
};

static int compare_usage(const void *a, const void *b)
{
	const struct usage *x = a, *y = b;

	if (x->var != y->var)
		return x->var < y->var ? -1 : 1;
	return x->module < y->module ? -1 : x->module > y->module;
}

static unsigned int count_sites(void)
{
	const struct imv_table *table;
	unsigned int nr = 0;

	list_for_each_entry(table, &imv.tables, node)
		nr += table->sites.nr;
	return nr;
}

/* One element per site, then those of the same variable and module joined. */
static unsigned int collect_usage(struct usage *usage)
{
	const struct imv_table *table;
	unsigned int i, nr = 0, joined = 0;

	list_for_each_entry(table, &imv.tables, node) {
		for (i = 0; i < table->sites.nr; i++) {
			const struct patcher_site *site = &table->sites.sites[i];

			usage[nr++] = (struct usage){ patcher_site_key(site), table->sites.module,
						      1, site->size };
		}
	}
	sort(usage, nr, sizeof(*usage), compare_usage, NULL);
	for (i = 1; i < nr; i++) {
		if (!compare_usage(&usage[joined], &usage[i]))
			usage[joined].sites++;
		else
			usage[++joined] = usage[i];
	}
	return nr ? joined + 1 : 0;
}

/* One line per variable and module that reads it; holds the lock, so values are of one time. */
int imv_show(struct seq_file *m, void *unused)
{
	struct usage *usage;
	unsigned int i, nr;

	mutex_lock(&imv.lock);
	usage = kvcalloc(count_sites() + 1, sizeof(*usage), GFP_KERNEL);
	if (!usage) {
		mutex_unlock(&imv.lock);
		return -ENOMEM;
	}
	nr = collect_usage(usage);
	seq_puts(m, "variable size value updates module sites\n");
	for (i = 0; i < nr; i++) {
		const void *var = (void *)usage[i].var;

		imv_show_symbol(m, usage[i].var);
		seq_printf(m, " %u 0x%llx %lu %s %u\n", usage[i].size,
			   (unsigned long long)load_value(var, usage[i].size), imv_updates_of(var),
			   module_name(usage[i].module), usage[i].sites);
	}
	mutex_unlock(&imv.lock);
	kvfree(usage);
	return 0;
}
