// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target: patcher tables and batches, including invalid ones.  The input selects operations:
 * registering tables, applying batches and executing breakpoints.  A model computes the expected
 * results and the expected bytes of the text.
 */
#include <linux/errno.h>
#include <linux/ptrace.h>

#include <kmarkers/patcher.h>

#include "../../patcher/insn.h"
#include "arena.h"

#define TABLES		4
#define SITES		6
#define POKES		6

static const char *const owners[] = { "first", "second" };

static struct table {
	struct patcher_table table;
	struct patcher_site sites[SITES];
	bool registered;
} tables[TABLES];

static struct patcher_poke pokes[POKES];
static u8 model[ARENA_BYTES];

static bool is_inside_arena(const u8 *addr, unsigned int len)
{
	return addr >= arena && len <= ARENA_BYTES && addr <= arena + ARENA_BYTES - len;
}

static bool is_one_instruction(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;

	return !patcher_insn_decode(bytes, len, &insn) && insn.len == len;
}

static bool ranges_overlap(unsigned long a, unsigned int a_len, unsigned long b, unsigned int b_len)
{
	return a < b + b_len && b < a + a_len;
}

static bool is_lock_or_ds_prefix(u8 byte)
{
	return byte == 0xf0 || byte == 0x3e;
}

/* Return true if a site may be registered while no other site is registered. */
static bool is_site_valid(const struct patcher_site *site)
{
	const u8 *addr = (u8 *)patcher_site_addr(site);

	if (!site->len || site->len > PATCHER_INSN_MAX || !is_inside_arena(addr, site->len))
		return false;
	if (site->flags & PATCHER_SITE_ABSOLUTE)
		return false;
	if (site->flags & PATCHER_SITE_RUN)
		return arena_can_wait && !(site->flags & PATCHER_SITE_PREFIX);
	if (site->flags & PATCHER_SITE_PREFIX)
		return site->len == 1 && is_lock_or_ds_prefix(*addr);
	return is_one_instruction(addr, site->len);
}

static bool overlaps_registered_site(const struct patcher_site *site)
{
	unsigned int i, j;

	for (i = 0; i < TABLES; i++)
		for (j = 0; tables[i].registered && j < tables[i].table.nr; j++)
			if (ranges_overlap(patcher_site_addr(site), site->len,
					   patcher_site_addr(&tables[i].sites[j]),
					   tables[i].sites[j].len))
				return true;
	return false;
}

static bool is_table_valid(const struct table *t)
{
	unsigned int i, j;

	for (i = 0; i < t->table.nr; i++) {
		if (!is_site_valid(&t->sites[i]) || overlaps_registered_site(&t->sites[i]))
			return false;
		for (j = 0; j < i; j++)
			if (ranges_overlap(patcher_site_addr(&t->sites[i]), t->sites[i].len,
					   patcher_site_addr(&t->sites[j]), t->sites[j].len))
				return false;
	}
	return t->table.nr;
}

static void fill_site_record(struct input *in, struct patcher_site *site)
{
	u8 *place = arena_take_address(in);
	unsigned int kind = take_number_below(in, 16);

	memset(site, 0, sizeof(*site));
	site->addr = kind ? (long)place - (long)&site->addr : (long)take_number(in, 4);
	site->len = kind > 1 ? arena_get_insn_len(place) : take_number(in, 1);
	if (kind == 2)
		site->flags = take_number(in, 2);
	else if (kind == 3)
		site->flags = PATCHER_SITE_RUN;
	else if (is_lock_or_ds_prefix(*place) && site->len == 1)
		site->flags = PATCHER_SITE_PREFIX;
}

static void register_table_from_input(struct input *in)
{
	struct table *t = &tables[take_number_below(in, TABLES)];
	unsigned int i;
	bool good;

	if (t->registered)
		return;
	memset(&t->table, 0, sizeof(t->table));
	t->table.sites = t->sites;
	t->table.nr = take_number_below(in, SITES + 1);
	t->table.owner = owners[take_number_below(in, 2)];
	for (i = 0; i < t->table.nr; i++)
		fill_site_record(in, &t->sites[i]);
	good = is_table_valid(t);
	t->registered = !patcher_register(&t->table);
	MUST(t->registered == good);
}

static void unregister_table_from_input(struct input *in)
{
	struct table *t = &tables[take_number_below(in, TABLES)];

	if (t->registered)
		patcher_unregister(&t->table);
	t->registered = false;
}

static const struct patcher_site *find_registered_site(const u8 *addr, const char **owner)
{
	unsigned int i, j;

	for (i = 0; i < TABLES; i++) {
		for (j = 0; tables[i].registered && j < tables[i].table.nr; j++) {
			if ((u8 *)patcher_site_addr(&tables[i].sites[j]) != addr)
				continue;
			*owner = tables[i].table.owner;
			return &tables[i].sites[j];
		}
	}
	return NULL;
}

/* Return a registered site selected by the input, or NULL. */
static const struct patcher_site *choose_registered_site(struct input *in)
{
	const struct table *t = &tables[take_number_below(in, TABLES)];
	unsigned int number = take_number(in, 1);

	return t->registered ? &t->sites[number % t->table.nr] : NULL;
}

static void fill_poke(struct input *in, struct patcher_poke *poke, bool prefix)
{
	const struct patcher_site *site = choose_registered_site(in);
	unsigned int kind = take_number_below(in, 16);

	memset(poke, 0, sizeof(*poke));
	poke->addr = site && kind ? (u8 *)patcher_site_addr(site) : arena_take_address(in);
	poke->len = site && kind > 1 ? site->len : take_number(in, 1);
	if (poke->len > PATCHER_INSN_MAX || !is_inside_arena(poke->addr, poke->len))
		return;
	memcpy(poke->old, poke->addr, poke->len);
	if (kind == 2)
		poke->old[take_number_below(in, PATCHER_INSN_MAX)] ^= 1;
	if (prefix && kind > 3)
		poke->new[0] = take_number(in, 1) & 1 ? 0xf0 : 0x3e;
	else
		arena_take_instruction(in, poke->new, poke->len);
}

static bool bytes_are_only_nops(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;

	while (len) {
		if (patcher_insn_decode(bytes, len, &insn) || insn.kind != PATCHER_INSN_NOP)
			return false;
		bytes += insn.len;
		len -= insn.len;
	}
	return true;
}

/* Return true if the bytes are only nops, or begin with a jump to their end. */
static bool bytes_have_no_effect(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;

	return bytes_are_only_nops(bytes, len) ||
	       (!patcher_insn_decode(bytes, len, &insn) && insn.kind == PATCHER_INSN_JMP &&
		insn.imm == (long)len - insn.len);
}

static bool is_poke_valid(const struct patcher_poke *poke, const char *owner, bool prefix)
{
	const struct patcher_site *site;
	const char *whose;

	if (!poke->len || poke->len > PATCHER_INSN_MAX)
		return false;
	site = find_registered_site(poke->addr, &whose);
	if (!site || whose != owner || site->len != poke->len ||
	    !(site->flags & PATCHER_SITE_PREFIX) != !prefix ||
	    memcmp(poke->old, poke->addr, poke->len))
		return false;
	/* A LOCK prefix may be removed only while one CPU is online. */
	if (prefix)
		return poke->len == 1 && is_lock_or_ds_prefix(poke->new[0]) &&
		       (poke->new[0] == 0xf0 || arena_alone);
	return is_one_instruction(poke->new, poke->len) ||
	       (site->flags & PATCHER_SITE_RUN && (bytes_have_no_effect(poke->new, poke->len) ||
						   bytes_have_no_effect(poke->old, poke->len)));
}

static bool is_batch_valid(unsigned int nr, const char *owner, bool prefix)
{
	unsigned int i, j;

	for (i = 0; i < nr; i++) {
		if (!is_poke_valid(&pokes[i], owner, prefix))
			return false;
		for (j = 0; j < i; j++)
			if (pokes[j].addr == pokes[i].addr)
				return false;
	}
	return nr;
}

static void apply_batch_from_input(struct input *in, bool prefix)
{
	unsigned int i, nr = take_number_below(in, POKES + 1);
	unsigned int chunk = take_number_below(in, POKES + 1);
	const char *owner = owners[take_number_below(in, 2)];
	bool good;
	int err;

	for (i = 0; i < nr; i++)
		fill_poke(in, &pokes[i], prefix);
	good = is_batch_valid(nr, owner, prefix) && (prefix || chunk);
	err = prefix ? patcher_store_prefixes(owner, pokes, nr)
		     : patcher_apply_chunked(owner, pokes, nr, chunk);
	MUST(!err == good);
	for (i = 0; i < nr && !err; i++)
		memcpy(model + (pokes[i].addr - arena), pokes[i].new, pokes[i].len);
}

static void hit_breakpoint_from_input(struct input *in)
{
	u8 *place = arena_take_address(in);
	struct pt_regs regs, expected;
	const char *owner;
	bool ours = find_registered_site(place, &owner);

	memset(&regs, 0x3c, sizeof(regs));
	regs.ip = (unsigned long)place + 1;
	expected = regs;
	expected.ip -= ours;
	MUST(patcher_handle_int3(&regs) == ours);
	MUST(!memcmp(&regs, &expected, sizeof(regs)));
}

static void run_operation_from_input(struct input *in)
{
	unsigned int operation = take_number(in, 1);

	switch (operation % 8) {
	case 0:
	case 1:
		register_table_from_input(in);
		break;
	case 2:
		unregister_table_from_input(in);
		break;
	case 3:
		hit_breakpoint_from_input(in);
		break;
	case 4:
		arena_alone = operation & 8;
		arena_can_wait = operation & 16;
		apply_batch_from_input(in, true);
		break;
	default:
		apply_batch_from_input(in, false);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	unsigned int i;

	arena_fill(&in);
	memcpy(model, arena, ARENA_BYTES);
	arena_alone = false;
	arena_can_wait = true;
	while (in.left) {
		run_operation_from_input(&in);
		MUST(!memcmp(model, arena, ARENA_BYTES));
	}
	for (i = 0; i < TABLES; i++) {
		if (tables[i].registered)
			patcher_unregister(&tables[i].table);
		tables[i].registered = false;
	}
	return 0;
}
