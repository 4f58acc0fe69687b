// SPDX-License-Identifier: GPL-2.0-only
/* Sites of ours, side by side: nops of five bytes, switched to jumps to the next instruction. */
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
 * A pointer to the first site.  It is in a section that objtool skips, since it points
 * to code that is no target of an indirect branch.
 */
extern u8 *const bench_sites_text;

asm(".pushsection " KMARKERS_SECTION(bench) ", \"aw\", @progbits\n"
	"bench_sites_text:	.quad bench_first_site\n"
	".popsection");

static const u8 nop[INSN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const u8 jump[INSN] = { 0xe9, 0x00, 0x00, 0x00, 0x00 };

static const char owner[] = "bench";
/* The records hold distances of 32 bits, so they are in the module, near its text. */
static struct patcher_site records[SITES_MOST];
static struct patcher_table table = { .sites = records, .owner = owner };
static struct patcher_poke *pokes;
static u8 *buffer;

/* The sites. This function is never called; the patcher treats it like any other text. */
static noinline __used notrace void sites_text(void)
{
	asm volatile("bench_first_site:\n\t"
		     ".fill " __stringify(SITES_MOST) ", 5, 0x00441f0f");
}

static void fill_records(void)
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

static int setup(void)
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
	fill_records();
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

static void fill_poke(struct patcher_poke *poke, u32 site, bool on)
{
	poke->addr = bench_sites_text + site * INSN;
	poke->len = INSN;
	memcpy(poke->old, on ? nop : jump, INSN);
	memcpy(poke->new, on ? jump : nop, INSN);
}

/* Switch off sites that a run left on because it ended between a switch and its reverse. */
static int put_back_sites(void)
{
	u32 i, nr = 0;

	for (i = 0; i < SITES_MOST; i++)
		if (!memcmp(bench_sites_text + i * INSN, jump, INSN))
			fill_poke(&pokes[nr++], i, false);
	bench_peers_put_back();
	return nr ? patcher_apply(owner, pokes, nr) : 0;
}

static void teardown(void)
{
	int err = put_back_sites();

	if (err)
		pr_err("cannot switch sites back: error %d\n", err);
	patcher_unregister(&table);
	kvfree(buffer);
	kvfree(pokes);
}

static int set_batched(u32 nr, u32 chunk, bool on)
{
	u32 i;

	for (i = 0; i < nr; i++)
		fill_poke(&pokes[i], i, on);
	return patcher_apply_chunked(owner, pokes, nr, chunk);
}

static int set_one_by_one(u32 nr, bool on)
{
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++) {
		fill_poke(&pokes[0], i, on);
		err = patcher_apply(owner, pokes, 1);
	}
	return err;
}

static int set_stopped(u32 nr, bool on)
{
	struct sites_stores stores = { .pokes = pokes, .nr = nr };
	u32 i;

	for (i = 0; i < nr; i++) {
		fill_poke(&pokes[i], i, on);
		pokes[i].alias = buffer + i * INSN;
	}
	return bench_peers_stop_and_write(&stores);
}

/* Repeat the stores of the last batch, which was of all sites. */
static int set_stored(u32 nr)
{
	struct sites_stores stores = { .pokes = pokes, .nr = nr };

	return bench_peers_store(&stores);
}

static int set(enum sites_way way, u32 nr, bool on)
{
	switch (way) {
	case SITES_BATCHED:
		return set_batched(nr, nr, on);
	case SITES_CHUNKED:
		return set_batched(nr, CHUNK, on);
	case SITES_ONE_BY_ONE:
		return set_one_by_one(nr, on);
	case SITES_STOP_MACHINE:
		return set_stopped(nr, on);
	case SITES_STORES:
		return set_stored(nr);
	default:
		return bench_peers_set(way, nr, on);
	}
}

const struct bench_sites bench_sites = {
	.setup = setup,
	.teardown = teardown,
	.set = set,
};
EXPORT_SYMBOL_GPL(bench_sites);
