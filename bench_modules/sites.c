// SPDX-License-Identifier: GPL-2.0-only
/* Adjacent patch sites: nops of five bytes, which are patched to jumps to the next instruction. */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/stringify.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>

#include "sites.h"
#include "sites_peers.h"

#define INSN	5
#define CHUNK	1000

/*
 * Address of the first site.  This pointer is in a section that objtool skips.  In another section,
 * objtool would report the pointer, because it points to code that is not the target of an indirect
 * branch.
 */
extern u8 *const bench_sites_text;

asm(".pushsection " KMARKERS_SECTION(bench) ", \"aw\", @progbits\n"
	"bench_sites_text:	.quad bench_first_site\n"
	".popsection");

static const u8 nop[INSN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const u8 jump[INSN] = { 0xe9, 0x00, 0x00, 0x00, 0x00 };

static const char owner[] = "bench";
/* Records hold 32-bit offsets to sites, so the array must be within 2 GiB of the module's text. */
static struct patcher_site records[SITES_MOST];
static struct patcher_table table = { .sites = records, .owner = owner };
static struct patcher_poke *pokes;
static u8 *buffer;

/* The code of the sites.  This function is never called, but patched like any other code. */
static noinline __used notrace void contain_patch_sites(void)
{
	asm volatile("bench_first_site:\n\t"
		     ".fill " __stringify(SITES_MOST) ", 5, 0x00441f0f");
}

static void fill_site_records(void)
{
	u32 i;

	for (i = 0; i < SITES_MOST; i++) {
		struct patcher_site *site = &records[i];

		site->addr = (long)(bench_sites_text + i * INSN) - (long)&site->addr;
		site->len = INSN;
	}
	table.nr = SITES_MOST;
#ifdef __KERNEL__
	table.module = THIS_MODULE;
#endif
}

static int setup_sites(void)
{
	int err = -ENOMEM;
	u32 i;

	pokes = kvcalloc(SITES_MOST, sizeof(*pokes), GFP_KERNEL);
	if (!pokes)
		return err;
	buffer = kvcalloc(SITES_MOST, INSN, GFP_KERNEL);
	if (!buffer)
		goto err_pokes;
	for (i = 0; i < SITES_MOST; i++)
		memcpy(buffer + i * INSN, nop, INSN);
	fill_site_records();
	err = patcher_register(&table);
	if (err)
		goto err_buffer;
	return 0;

err_buffer:
	kvfree(buffer);
err_pokes:
	kvfree(pokes);
	return err;
}

static void fill_site_poke(struct patcher_poke *poke, u32 site, bool on)
{
	poke->addr = bench_sites_text + site * INSN;
	poke->len = INSN;
	memcpy(poke->old, on ? nop : jump, INSN);
	memcpy(poke->new, on ? jump : nop, INSN);
}

/* Switch off all sites and static keys that are on: a run may end while sites are on. */
static int switch_off_sites(void)
{
	u32 i, nr = 0;

	for (i = 0; i < SITES_MOST; i++)
		if (!memcmp(bench_sites_text + i * INSN, jump, INSN))
			fill_site_poke(&pokes[nr++], i, false);
	bench_switch_off_static_keys();
	return nr ? patcher_apply(owner, pokes, nr) : 0;
}

static void teardown_sites(void)
{
	int err = switch_off_sites();

	if (err)
		pr_err("benchmarks arm-*: sites cannot be patched back to nops: error %d: later runs of these benchmarks may fail\n",
		       err);
	patcher_unregister(&table);
	kvfree(buffer);
	kvfree(pokes);
}

static int switch_sites_batched(u32 nr, u32 chunk, bool on)
{
	u32 i;

	for (i = 0; i < nr; i++)
		fill_site_poke(&pokes[i], i, on);
	return patcher_apply_chunked(owner, pokes, nr, chunk);
}

static int switch_sites_one_by_one(u32 nr, bool on)
{
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++) {
		fill_site_poke(&pokes[0], i, on);
		err = patcher_apply(owner, pokes, 1);
	}
	return err;
}

static int switch_sites_under_stop_machine(u32 nr, bool on)
{
	struct sites_stores stores = { .pokes = pokes, .nr = nr };
	u32 i;

	for (i = 0; i < nr; i++) {
		fill_site_poke(&pokes[i], i, on);
		pokes[i].alias = buffer + i * INSN;
	}
	return bench_store_under_stop_machine(&stores);
}

/*
 * Store the bytes of the first @nr pokes (instruction changes) of earlier batches once more,
 * without the checks and the synchronisation of a batch.
 */
static int repeat_batch_stores(u32 nr)
{
	struct sites_stores stores = { .pokes = pokes, .nr = nr };

	return bench_store_batch_to_mapping(&stores);
}

static int switch_sites(enum sites_method method, u32 nr, bool on)
{
	switch (method) {
	case SITES_BATCHED:
		return switch_sites_batched(nr, nr, on);
	case SITES_CHUNKED:
		return switch_sites_batched(nr, CHUNK, on);
	case SITES_ONE_BY_ONE:
		return switch_sites_one_by_one(nr, on);
	case SITES_STOP_MACHINE:
		return switch_sites_under_stop_machine(nr, on);
	case SITES_STORES:
		return repeat_batch_stores(nr);
	default:
		return bench_switch_sites_without_patcher(method, nr, on);
	}
}

const struct bench_sites bench_sites = {
	.setup = setup_sites,
	.teardown = teardown_sites,
	.set = switch_sites,
};
EXPORT_SYMBOL_GPL(bench_sites);
