// SPDX-License-Identifier: GPL-2.0-only
/* Makes markers and stubs, including invalid ones, for the fuzz target of typed markers. */
#include <kmarkers/patcher.h>
#include <kmarkers/typed.h>

#include "arena.h"
#include "typed.h"

#define STUB_ROOM	32

const u8 typed_stub_bytes[STUB_BYTES] = {
	0x0f, 0x1f, 0x44, 0, 0, 0x48, 0xbf, 0, 0, 0, 0, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0,
};

const u8 typed_stub_at[3] = { 0, 5, 15 }, typed_stub_len[3] = { 5, 10, 5 };
const char *const typed_names[MARKERS] = { "alpha", "beta", "gamma", "delta" };

struct marker_typed typed_markers[MARKERS];

struct typed_stubs typed_stubs[CHUNKS];

struct typed_table typed_tables[CHUNKS];

static void empty_even_iterator(void)
{
}

static void empty_odd_iterator(void)
{
}

void typed_empty_probe(void)
{
}

void typed_fill_markers(struct input *in, int chunk)
{
	int i;

	for (i = 0; i < 2; i++) {
		int number = chunk * 2 + i;

		typed_markers[number] = (struct marker_typed) {
			.marker = { .name = typed_names[number], .format = "%d", .func = __func__,
				    .file = __FILE__, .flavour = MARKER_TYPED },
			.iterator = i ? empty_odd_iterator : empty_even_iterator,
			.nothing = typed_empty_probe,
		};
		if (take_number_below(in, 32) == 0)
			typed_markers[number].iterator = FAR;
		typed_tables[chunk].records[i] = (long)&typed_markers[number] -
						 (long)&typed_tables[chunk].records[i];
	}
	typed_tables[chunk].head = (struct kmarkers_chunk) {
		.bytes = sizeof(typed_tables[0].records), .record = sizeof(s32),
		.version = KMARKERS_TABLE_VERSION,
		.first = (long)typed_tables[chunk].records - (long)&typed_tables[chunk].head.first,
	};
}

static void fill_site_record(struct patcher_site *site, u8 *at, const struct marker_typed *key,
			     unsigned int len)
{
	site->addr = (long)at - (long)&site->addr;
	site->key = (long)key - (long)&site->key;
	site->len = len;
	site->size = 0;
	site->flags = 0;
}

/* Change a field of one of a stub's sites, or swap two sites of the stub, as the input selects. */
static void corrupt_site_of_stub(struct input *in, int chunk, struct patcher_site *site)
{
	struct patcher_site *one = &site[take_number_below(in, 3)], tmp;
	u8 *at = (u8 *)patcher_site_addr(one);
	s32 distance = (long)&site[1] - (long)&site[0];

	switch (take_number_below(in, 6)) {
	case 0:
		one->len = take_number(in, 1);
		break;
	case 1:
		one->flags = take_number(in, 2);
		break;
	case 2:
		one->addr += (int)take_number_below(in, 11) - 5;
		break;
	case 3:
		fill_site_record(one, at, &typed_markers[chunk * 2 + take_number_below(in, 2)],
				 one->len);
		break;
	case 4:
		one->addr = take_number(in, 4);
		break;
	default:
		/* Swap two sites, which must have no effect: the sites may be in any order. */
		tmp = site[0];
		site[0] = site[1];
		site[1] = tmp;
		site[0].addr += distance;
		site[0].key += distance;
		site[1].addr -= distance;
		site[1].key -= distance;
	}
}

void typed_fill_stubs(struct input *in, int chunk)
{
	struct kmarkers_chunk *head = &typed_stubs[chunk].head;
	unsigned int i, j, kind = take_number_below(in, 32);

	head->bytes = take_number_below(in, STUBS + 1) * 3 * sizeof(struct patcher_site);
	head->first = (long)typed_stubs[chunk].sites - (long)&head->first;
	head->record = sizeof(struct patcher_site);
	head->version = KMARKERS_TABLE_VERSION;
	if (kind == 0)
		head->bytes = take_number(in, 4) % (sizeof(typed_stubs[0].sites) + 1);
	else if (kind == 1)
		head->record = take_number(in, 2);
	else if (kind == 2)
		head->version = take_number(in, 2);
	else if (kind == 3)
		head->bytes = take_number_below(in, SITES + 1) * sizeof(struct patcher_site);
	for (i = 0; i < STUBS; i++) {
		struct patcher_site *site = &typed_stubs[chunk].sites[i * 3];
		u8 *at = arena + take_number_below(in, ARENA_BYTES / STUB_ROOM) * STUB_ROOM;
		int marker = chunk * 2 + take_number_below(in, 2);

		for (j = 0; j < 3; j++)
			fill_site_record(&site[j], at + typed_stub_at[j], &typed_markers[marker],
					 take_number_below(in, 4) ? typed_stub_len[j] :
						      arena_get_insn_len(at + typed_stub_at[j]));
		if (take_number_below(in, 16) == 0)
			corrupt_site_of_stub(in, chunk, site);
	}
}

/*
 * Fill the arena with instructions of any kind.  Then overwrite most of its blocks of STUB_ROOM
 * bytes with a valid stub, or with a stub whose first instruction is too short.
 */
void typed_fill_arena(struct input *in)
{
	static const u8 two_nops[] = { 0x0f, 0x1f, 0x40, 0, 0x90 };
	unsigned int at, kind;

	arena_fill(in);
	for (at = 0; at < ARENA_BYTES; at += STUB_ROOM) {
		kind = take_number_below(in, 8);
		if (kind)
			memcpy(arena + at, typed_stub_bytes, STUB_BYTES);
		if (kind == 1)
			memcpy(arena + at, two_nops, sizeof(two_nops));
	}
}
