// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target: tables of stubs, hostile ones included, of typed markers whose
 * probes come and go.  The stubs lie in the arena; what each would call is read
 * from its bytes and from the iterator's array, and a model says what it must be.
 */
#include <linux/errno.h>

#include <kmarkers/patcher.h>
#include <kmarkers/typed.h>

#include "../../markers/stubs.h"
#include "../../markers/tables.h"
#include "../../patcher/insn.h"
#include "arena.h"

#define CHUNKS		2
#define MARKERS		(CHUNKS * 2)
#define STUBS		3	/* of a chunk at most */
#define SITES		(STUBS * 3)
#define PROBES		4
#define STUB_BYTES	20
#define STUB_ROOM	32
#define MODULE(number)	((struct module *)(unsigned long)((number) + 1))
#define FAR		((marker_typed_func *)0x7f0000000000UL)

static const u8 stub_bytes[STUB_BYTES] = {
	0x0f, 0x1f, 0x44, 0, 0, 0x48, 0xbf, 0, 0, 0, 0, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0,
};

static const u8 stub_at[] = { 0, 5, 15 }, stub_len[] = { 5, 10, 5 };
static const char *const names[MARKERS] = { "alpha", "beta", "gamma", "delta" };

static struct marker_typed markers[MARKERS];

static struct {
	struct kmarkers_chunk head;
	struct patcher_site sites[SITES];
} __aligned(8) stubs[CHUNKS];

static struct {
	struct kmarkers_chunk head;
	s32 records[2];
} __aligned(8) tables[CHUNKS];

/* The model: which chunks are taken, with the stubs of each by address; probes by marker. */
static bool taken[CHUNKS];

static struct stub {
	u8 *at;
	int marker;
} model_stubs[CHUNKS][STUBS];

static int nr_stubs[CHUNKS];

static struct {
	int probe[PROBES], nr;
	bool by_name;
} model[MARKERS];

static u8 before[ARENA_BYTES];

static void iterate_even(void)
{
}

static void iterate_odd(void)
{
}

static void nothing(void)
{
}

static void probe_near(void)
{
}

static void probe_by_name(void *private, void *call_private, const char *fmt, va_list *args)
{
}

/* Probe p is near or out of reach of a jump, with private data p. */
static marker_typed_func *probe_of(int probe)
{
	return probe & 1 ? FAR : probe_near;
}

static void *private_of(int probe)
{
	return (void *)(0x1234567800000000L + probe);
}

static void fill_markers(struct input *in, int chunk)
{
	int i;

	for (i = 0; i < 2; i++) {
		int number = chunk * 2 + i;

		markers[number] = (struct marker_typed) {
			.marker = { .name = names[number], .format = "%d", .func = __func__,
				    .file = __FILE__, .flavour = MARKER_TYPED },
			.iterator = i ? iterate_odd : iterate_even,
			.nothing = nothing,
		};
		if (take_below(in, 32) == 0)
			markers[number].iterator = FAR;
		tables[chunk].records[i] = (long)&markers[number] - (long)&tables[chunk].records[i];
	}
	tables[chunk].head = (struct kmarkers_chunk) {
		.bytes = sizeof(tables[0].records), .record = sizeof(s32),
		.version = KMARKERS_TABLE_VERSION,
		.first = (long)tables[chunk].records - (long)&tables[chunk].head.first,
	};
}

static void fill_site(struct patcher_site *site, u8 *at, const struct marker_typed *key,
		      unsigned int len)
{
	site->addr = (long)at - (long)&site->addr;
	site->key = (long)key - (long)&site->key;
	site->len = len;
	site->size = 0;
	site->flags = 0;
}

/* One thing about a stub is not as it should be. */
static void spoil(struct input *in, int chunk, struct patcher_site *site)
{
	struct patcher_site *one = &site[take_below(in, 3)], tmp;
	u8 *at = (u8 *)patcher_site_addr(one);
	s32 distance = (long)&site[1] - (long)&site[0];

	switch (take_below(in, 6)) {
	case 0:
		one->len = take(in, 1);
		break;
	case 1:
		one->flags = take(in, 2);
		break;
	case 2:
		one->addr += (int)take_below(in, 11) - 5;
		break;
	case 3:
		fill_site(one, at, &markers[chunk * 2 + take_below(in, 2)], one->len);
		break;
	case 4:
		one->addr = take(in, 4);
		break;
	default:
		/* The order of records is the linker's: these are sorted. */
		tmp = site[0];
		site[0] = site[1];
		site[1] = tmp;
		site[0].addr += distance;
		site[0].key += distance;
		site[1].addr -= distance;
		site[1].key -= distance;
	}
}

static void fill_stubs(struct input *in, int chunk)
{
	struct kmarkers_chunk *head = &stubs[chunk].head;
	unsigned int i, j, kind = take_below(in, 32);

	head->bytes = take_below(in, STUBS + 1) * 3 * sizeof(struct patcher_site);
	head->first = (long)stubs[chunk].sites - (long)&head->first;
	head->record = sizeof(struct patcher_site);
	head->version = KMARKERS_TABLE_VERSION;
	if (kind == 0)
		head->bytes = take(in, 4) % (sizeof(stubs[0].sites) + 1);
	else if (kind == 1)
		head->record = take(in, 2);
	else if (kind == 2)
		head->version = take(in, 2);
	else if (kind == 3)
		head->bytes = take_below(in, SITES + 1) * sizeof(struct patcher_site);
	for (i = 0; i < STUBS; i++) {
		struct patcher_site *site = &stubs[chunk].sites[i * 3];
		u8 *at = arena + take_below(in, ARENA_BYTES / STUB_ROOM) * STUB_ROOM;
		int marker = chunk * 2 + take_below(in, 2);

		for (j = 0; j < 3; j++)
			fill_site(&site[j], at + stub_at[j], &markers[marker],
				  take_below(in, 4) ? stub_len[j] : arena_len(at + stub_at[j]));
		if (take_below(in, 16) == 0)
			spoil(in, chunk, site);
	}
}

static bool good_head(const struct kmarkers_chunk *head)
{
	const unsigned int three = 3 * sizeof(struct patcher_site);

	return head->version == KMARKERS_TABLE_VERSION && head->record * 3 == three &&
	       head->bytes % three == 0;
}

/* The site of a chunk at an address; NULL if there is none or more than one. */
static const struct patcher_site *site_at(int chunk, unsigned int nr, const u8 *at)
{
	const struct patcher_site *found = NULL;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if ((u8 *)patcher_site_addr(&stubs[chunk].sites[i]) != at)
			continue;
		if (found)
			return NULL;
		found = &stubs[chunk].sites[i];
	}
	return found;
}

static bool good_part(const struct patcher_site *site, unsigned int part, unsigned long key)
{
	struct patcher_insn insn;
	const u8 *at;

	if (!site || site->flags || site->len != stub_len[part] || patcher_site_key(site) != key)
		return false;
	at = (u8 *)patcher_site_addr(site);
	return !patcher_insn_decode(at, site->len, &insn) && insn.len == site->len;
}

static bool clashes(const u8 *at)
{
	int i, j;

	for (i = 0; i < CHUNKS; i++)
		for (j = 0; j < nr_stubs[i]; j++)
			if (at < model_stubs[i][j].at + STUB_BYTES &&
			    model_stubs[i][j].at < at + STUB_BYTES)
				return true;
	return false;
}

/* Is there a stub that begins here?  Then the model has it, unless it clashes. */
static bool find_stub(int chunk, unsigned int nr, u8 *at)
{
	const struct patcher_site *site = site_at(chunk, nr, at);
	unsigned long key;
	unsigned int i;

	if (!site || site->len != stub_len[0])
		return false;
	key = patcher_site_key(site);
	for (i = 0; i < 3; i++)
		if (!good_part(site_at(chunk, nr, at + stub_at[i]), i, key))
			return false;
	if (clashes(at) || ((struct marker_typed *)key)->iterator == FAR)
		return false;
	model_stubs[chunk][nr_stubs[chunk]++] = (struct stub) {
		at, (struct marker_typed *)key - markers
	};
	return true;
}

/* Every site must belong to a stub: then there are a third as many stubs as sites. */
static bool model_add(int chunk)
{
	const struct kmarkers_chunk *head = &stubs[chunk].head;
	unsigned int nr, at, found = 0;

	if (!good_head(head))
		return false;
	nr = head->bytes / sizeof(struct patcher_site);
	for (at = 0; at + STUB_BYTES <= ARENA_BYTES; at++)
		found += find_stub(chunk, nr, arena + at);
	if (found * 3 == nr)
		return true;
	nr_stubs[chunk] = 0;
	return false;
}

static int add_stubs(int chunk)
{
	struct kmarkers_span span = { NULL };

	return kmarkers_join(&span, &stubs[chunk].head, sizeof(struct patcher_site)) ?:
	       marker_stubs_add(MODULE(chunk), &span);
}

static int add_markers(int chunk)
{
	struct kmarkers_span span = { NULL };

	return kmarkers_join(&span, &tables[chunk].head, sizeof(s32)) ?:
	       marker_tables_add(MODULE(chunk), &span);
}

static void do_add(struct input *in)
{
	int chunk = take_below(in, CHUNKS), i;
	bool good;

	if (taken[chunk])
		return;
	fill_markers(in, chunk);
	fill_stubs(in, chunk);
	good = model_add(chunk);
	MUST(!add_stubs(chunk) == good);
	taken[chunk] = good;
	if (good)
		MUST(!add_markers(chunk));
	else
		for (i = 0; i < 2; i++)
			MUST(!markers[chunk * 2 + i].stub);
}

static void drop(int chunk)
{
	int i;

	marker_tables_drop(MODULE(chunk));
	taken[chunk] = false;
	nr_stubs[chunk] = 0;
	for (i = 0; i < 2; i++)
		model[chunk * 2 + i].nr = 0;
}

static int find_probe(int marker, int probe)
{
	int i;

	for (i = 0; i < model[marker].nr; i++)
		if (model[marker].probe[i] == probe)
			return i;
	return -1;
}

static void do_register(struct input *in)
{
	int marker = take_below(in, MARKERS), probe = take_below(in, PROBES), want = 0;

	if (!taken[marker / 2])
		return;
	if (find_probe(marker, probe) >= 0)
		want = -EBUSY;
	else
		model[marker].probe[model[marker].nr++] = probe;
	MUST(marker_typed_register(&markers[marker], probe_of(probe), private_of(probe)) == want);
}

static void do_unregister(struct input *in)
{
	int marker = take_below(in, MARKERS), probe = take_below(in, PROBES), want = -ENOENT;
	int at = find_probe(marker, probe);

	if (!taken[marker / 2])
		return;
	if (at >= 0) {
		want = 0;
		model[marker].nr--;
		memmove(&model[marker].probe[at], &model[marker].probe[at + 1],
			(model[marker].nr - at) * sizeof(int));
	}
	MUST(marker_typed_unregister(&markers[marker], probe_of(probe), private_of(probe)) == want);
}

static void toggle_by_name(int marker)
{
	int err;

	if (model[marker].by_name)
		err = marker_probe_unregister(names[marker], probe_by_name, NULL);
	else
		err = marker_probe_register(names[marker], "%d", probe_by_name, NULL);
	MUST(!err);
	model[marker].by_name = !model[marker].by_name;
}

static bool jumps_to(const u8 *at, marker_typed_func *target)
{
	s32 displacement;

	memcpy(&displacement, at + 1, sizeof(displacement));
	return *at == 0xe9 && (long)at + 5 + displacement == (long)target;
}

/* The last stub of a marker calls its only probe; others, or others' probes, by the iterator. */
static void check_stub(const struct stub *stub, bool last)
{
	int probe = model[stub->marker].probe[0];
	u64 private;

	if (!last || model[stub->marker].nr != 1 || model[stub->marker].by_name ||
	    probe_of(probe) == FAR) {
		MUST(jumps_to(stub->at, markers[stub->marker].iterator));
		return;
	}
	memcpy(&private, stub->at + 7, sizeof(private));
	MUST(!memcmp(stub->at, stub_bytes, 7));
	MUST(private == (u64)private_of(probe));
	MUST(jumps_to(stub->at + 15, probe_of(probe)));
}

static void check_stubs(int chunk)
{
	int i, last[MARKERS];

	for (i = 0; i < nr_stubs[chunk]; i++)
		last[model_stubs[chunk][i].marker] = i;
	for (i = 0; i < nr_stubs[chunk]; i++) {
		const struct stub *stub = &model_stubs[chunk][i];

		check_stub(stub, last[stub->marker] == i);
		memcpy(before + (stub->at - arena), stub->at, STUB_BYTES);
	}
}

static void check_marker(int number)
{
	const struct marker_probe *probe = markers[number].probes;
	int i;

	MUST(markers[number].marker.state__imv == (model[number].nr || model[number].by_name));
	MUST(!markers[number].marker.probes == !model[number].by_name);
	for (i = 0; i < model[number].nr; i++, probe++) {
		while (probe->func == (marker_probe_func *)(void *)nothing)
			probe++;
		MUST(probe->func == (marker_probe_func *)(void *)probe_of(model[number].probe[i]));
		MUST(probe->private == private_of(model[number].probe[i]));
	}
	while (probe && probe->func == (marker_probe_func *)(void *)nothing)
		probe++;
	MUST(!probe || !probe->func);
}

/* No byte outside of stubs has changed. */
static void check(void)
{
	int i;

	for (i = 0; i < CHUNKS; i++)
		check_stubs(i);
	MUST(!memcmp(before, arena, ARENA_BYTES));
	for (i = 0; i < MARKERS; i++)
		if (taken[i / 2])
			check_marker(i);
}

static void do_something(struct input *in)
{
	unsigned int what = take_below(in, 16);

	if (what < 4)
		do_add(in);
	else if (what == 4)
		drop(take_below(in, CHUNKS));
	else if (what < 10)
		do_register(in);
	else if (what < 14)
		do_unregister(in);
	else
		toggle_by_name(take_below(in, MARKERS));
}

/*
 * Instructions of any kind, and most places have the bytes of a stub, or of one
 * whose first instruction is too short.
 */
static void fill_arena(struct input *in)
{
	static const u8 two_nops[] = { 0x0f, 0x1f, 0x40, 0, 0x90 };
	unsigned int at, kind;

	arena_fill(in);
	for (at = 0; at < ARENA_BYTES; at += STUB_ROOM) {
		kind = take_below(in, 8);
		if (kind)
			memcpy(arena + at, stub_bytes, STUB_BYTES);
		if (kind == 1)
			memcpy(arena + at, two_nops, sizeof(two_nops));
	}
	memcpy(before, arena, ARENA_BYTES);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	int i;

	fill_arena(&in);
	while (in.left) {
		do_something(&in);
		check();
	}
	for (i = 0; i < CHUNKS; i++)
		drop(i);
	for (i = 0; i < MARKERS; i++)
		if (model[i].by_name)
			toggle_by_name(i);
	return 0;
}
