// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target: tables of immediate values with wrong fields, and wrong changes of values.  After
 * each operation, no byte outside of sites must have changed, and each site of an accepted table
 * must read the value of its variable.
 */
#include <linux/errno.h>

#include <kmarkers/immediate.h>
#include <kmarkers/patcher.h>

#include "../../base/operand.h"
#include "../../immediate/load.h"
#include "../../patcher/insn.h"
#include "arena.h"

#define CHUNKS		3
#define RECORDS		5
#define VARIABLES	4
#define MODULE(number)	((struct module *)(unsigned long)((number) + 1))

static struct {
	struct kmarkers_chunk head;
	struct patcher_site sites[RECORDS];
} __aligned(8) chunks[CHUNKS];

static bool taken[CHUNKS];
static u64 variables[VARIABLES];
static u8 before[ARENA_BYTES];

static unsigned int count_site_records(unsigned int i)
{
	return chunks[i].head.bytes / sizeof(struct patcher_site);
}

static void fill_site_record(struct input *in, struct patcher_site *site)
{
	u8 *place = arena_take_address(in);
	unsigned int kind = take_number_below(in, 16);

	memset(site, 0, sizeof(*site));
	site->addr = kind ? (long)place - (long)&site->addr : (long)take_number(in, 4);
	site->len = kind > 1 ? arena_get_insn_len(place) : take_number(in, 1);
	site->size = kind > 2 ? 1 << take_number_below(in, 4) : take_number(in, 1);
	site->flags = kind == 3 ? take_number(in, 2) :
		      kind & 1 ? take_number_below(in, 16) << 8 : 0;
	/* Use valid addresses of variables only, as the linker does. */
	site->key = (long)&variables[take_number_below(in, VARIABLES)] - (long)&site->key;
}

static void fill_chunk_from_input(struct input *in, unsigned int number)
{
	struct kmarkers_chunk *head = &chunks[number].head;
	unsigned int i, nr = take_number_below(in, RECORDS + 1), kind = take_number_below(in, 16);

	head->bytes = nr * sizeof(struct patcher_site);
	head->first = (long)chunks[number].sites - (long)&head->first;
	head->record = sizeof(struct patcher_site);
	head->version = KMARKERS_TABLE_VERSION;
	/* Never exceed the chunk: in the kernel, add_chunk_to_span() refuses longer lengths. */
	if (kind == 0)
		head->bytes = take_number(in, 4) % (sizeof(chunks[0].sites) + 1);
	else if (kind == 1)
		head->record = take_number(in, 2);
	else if (kind == 2)
		head->version = take_number(in, 2);
	for (i = 0; i < RECORDS; i++)
		fill_site_record(in, &chunks[number].sites[i]);
}

static void clear_site_bytes(u8 *bytes, unsigned int number)
{
	unsigned int i;

	for (i = 0; i < count_site_records(number); i++) {
		const struct patcher_site *site = &chunks[number].sites[i];

		memset(bytes + (patcher_site_addr(site) - (unsigned long)arena), 0, site->len);
	}
}

/* Check that no byte outside of all sites has changed. */
static void check_bytes_outside_sites(void)
{
	u8 now[ARENA_BYTES], then[ARENA_BYTES];
	unsigned int i;

	memcpy(now, arena, ARENA_BYTES);
	memcpy(then, before, ARENA_BYTES);
	for (i = 0; i < CHUNKS; i++) {
		if (!taken[i])
			continue;
		clear_site_bytes(now, i);
		clear_site_bytes(then, i);
	}
	MUST(!memcmp(now, then, ARENA_BYTES));
}

static unsigned int pick_larger(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

static void check_value_in_site(const struct patcher_site *site)
{
	const u8 *bytes = (u8 *)patcher_site_addr(site);
	struct patcher_insn insn;
	u64 value = 0;

	memcpy(&value, (void *)patcher_site_key(site), site->size);
	MUST(!patcher_insn_decode(bytes, site->len, &insn) && insn.len == site->len);
	if (site->flags & IMV_BRANCH) {
		MUST(insn.kind == (value ? PATCHER_INSN_JMP : PATCHER_INSN_NOP));
	} else if (site->flags & IMV_FLIP) {
		MUST(insn.kind == PATCHER_INSN_JCC && insn.cond == (value ? 4 : 5));
	} else if (site->flags & IMV_COMPARE) {
		s64 extended = kmarkers_read_signed_number((u8 *)&value, site->size);

		MUST(insn.kind == PATCHER_INSN_CMP);
		MUST(insn.size == (site->size == 1 && site->len < 5 ? 1 : 4));
		value = site->flags & IMV_SIGNED ? extended : value;
		MUST(!memcmp(&insn.imm, &value, insn.size));
	} else {
		MUST(insn.kind == PATCHER_INSN_MOV);
		MUST(insn.size == pick_larger(site->size, site->len < 4 ? 1 : 4));
		MUST(!memcmp(&insn.imm, &value, site->size));
	}
}

static void check_bytes_and_site_values(void)
{
	unsigned int i, j;

	check_bytes_outside_sites();
	for (i = 0; i < CHUNKS; i++)
		for (j = 0; taken[i] && j < count_site_records(i); j++)
			check_value_in_site(&chunks[i].sites[j]);
}

static void add_table_from_input(struct input *in)
{
	unsigned int number = take_number_below(in, CHUNKS);
	struct kmarkers_span span = { NULL };

	if (taken[number])
		return;
	fill_chunk_from_input(in, number);
	taken[number] = !kmarkers_join_chunk(&span, &chunks[number].head,
					     sizeof(struct patcher_site)) &&
			!imv_register_module_sites(MODULE(number), &span) &&
			chunks[number].head.record == sizeof(struct patcher_site);
}

static void drop_table_from_input(struct input *in)
{
	unsigned int number = take_number_below(in, CHUNKS);

	imv_unregister_module_sites(MODULE(number));
	taken[number] = false;
	memcpy(before, arena, ARENA_BYTES);
}

static void set_values_from_input(struct input *in)
{
	struct imv_change changes[VARIABLES + 1];
	unsigned int i, nr = take_number_below(in, VARIABLES + 2);
	u64 old[VARIABLES];
	int err;

	for (i = 0; i < nr; i++) {
		changes[i].var = &variables[take_number_below(in, VARIABLES)];
		changes[i].size = 1 << take_number_below(in, 4);
		changes[i].value = take_number(in, 1) ? take_number(in, 8) : 0;
	}
	memcpy(old, variables, sizeof(old));
	err = imv_set_many(changes, nr);
	if (err)
		MUST(!memcmp(old, variables, sizeof(old)));
	for (i = 0; i < nr && !err; i++)
		MUST(!memcmp(changes[i].var, &changes[i].value, changes[i].size));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	unsigned int i;

	arena_fill(&in);
	memcpy(before, arena, ARENA_BYTES);
	for (i = 0; i < VARIABLES; i++)
		variables[i] = take_number(&in, 1);
	while (in.left) {
		unsigned int operation = take_number_below(&in, 8);

		if (operation < 3)
			add_table_from_input(&in);
		else if (operation == 3)
			drop_table_from_input(&in);
		else
			set_values_from_input(&in);
		check_bytes_and_site_values();
	}
	for (i = 0; i < CHUNKS; i++) {
		imv_unregister_module_sites(MODULE(i));
		taken[i] = false;
	}
	return 0;
}
