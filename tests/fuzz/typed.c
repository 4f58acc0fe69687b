// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target: tables of stubs of typed markers, including invalid ones, and probes that are
 * registered and unregistered.  The stubs are in the arena.  A model computes which probes each
 * marker must call.  The probes in the model are compared with the bytes of the marker's stubs and
 * with the probe array of its iterator.
 */
#include <linux/errno.h>

#include <kmarkers/patcher.h>
#include <kmarkers/typed.h>

#include "../../markers/stubs.h"
#include "../../markers/tables.h"
#include "../../patcher/insn.h"
#include "arena.h"
#include "typed.h"

#define PROBES		4

/* The model: the accepted chunks, their stubs by address, and the probes of each marker. */
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

static void empty_probe_in_jump_range(void)
{
}

static void empty_probe_by_name(void *private, void *call_private, const char *fmt, va_list *args)
{
}

/* Return the function of a probe.  A direct jump cannot reach the functions of odd probes. */
static marker_typed_func *get_probe_function(int probe)
{
	return probe & 1 ? FAR : empty_probe_in_jump_range;
}

static void *get_probe_private(int probe)
{
	return (void *)(0x1234567800000000L + probe);
}

static bool is_chunk_head_valid(const struct kmarkers_chunk *head)
{
	const unsigned int three = 3 * sizeof(struct patcher_site);

	return head->version == KMARKERS_TABLE_VERSION && head->record * 3 == three &&
	       head->bytes % three == 0;
}

/* Return the only site of a chunk at address @at, or NULL if no site or several are at @at. */
static const struct patcher_site *find_only_site_at(int chunk, unsigned int nr, const u8 *at)
{
	const struct patcher_site *found = NULL;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if ((u8 *)patcher_site_addr(&typed_stubs[chunk].sites[i]) != at)
			continue;
		if (found)
			return NULL;
		found = &typed_stubs[chunk].sites[i];
	}
	return found;
}

static bool is_stub_site_ok(const struct patcher_site *site, unsigned int part, unsigned long key)
{
	struct patcher_insn insn;
	const u8 *at;

	if (!site || site->flags || site->len != typed_stub_len[part] || patcher_site_key(site) != key)
		return false;
	at = (u8 *)patcher_site_addr(site);
	return !patcher_insn_decode(at, site->len, &insn) && insn.len == site->len;
}

static bool overlaps_stub(const u8 *at)
{
	int i, j;

	for (i = 0; i < CHUNKS; i++)
		for (j = 0; j < nr_stubs[i]; j++)
			if (at < model_stubs[i][j].at + STUB_BYTES &&
			    model_stubs[i][j].at < at + STUB_BYTES)
				return true;
	return false;
}

/*
 * Add the stub at @at to the model.  Return false if no valid stub is at @at, or if the stub
 * overlaps another stub.
 */
static bool add_stub_to_model(int chunk, unsigned int nr, u8 *at)
{
	const struct patcher_site *site = find_only_site_at(chunk, nr, at);
	unsigned long key;
	unsigned int i;

	if (!site || site->len != typed_stub_len[0])
		return false;
	key = patcher_site_key(site);
	for (i = 0; i < 3; i++)
		if (!is_stub_site_ok(find_only_site_at(chunk, nr, at + typed_stub_at[i]), i, key))
			return false;
	if (overlaps_stub(at) || ((struct marker_typed *)key)->iterator == FAR)
		return false;
	model_stubs[chunk][nr_stubs[chunk]++] = (struct stub) {
		at, (struct marker_typed *)key - typed_markers
	};
	return true;
}

/* Add the stubs of a chunk to the model.  If a site is in no stub, add nothing and return false. */
static bool add_stubs_to_model(int chunk)
{
	const struct kmarkers_chunk *head = &typed_stubs[chunk].head;
	unsigned int nr, at, found = 0;

	if (!is_chunk_head_valid(head))
		return false;
	nr = head->bytes / sizeof(struct patcher_site);
	for (at = 0; at + STUB_BYTES <= ARENA_BYTES; at++)
		found += add_stub_to_model(chunk, nr, arena + at);
	if (found * 3 == nr)
		return true;
	nr_stubs[chunk] = 0;
	return false;
}

static int register_stub_table(int chunk)
{
	struct kmarkers_span span = { NULL };

	return kmarkers_join_chunk(&span, &typed_stubs[chunk].head, sizeof(struct patcher_site)) ?:
	       marker_stubs_register_module(MODULE(chunk), &span);
}

static int register_marker_table(int chunk)
{
	struct kmarkers_span span = { NULL };

	return kmarkers_join_chunk(&span, &typed_tables[chunk].head, sizeof(s32)) ?:
	       marker_tables_register_module(MODULE(chunk), &span);
}

static void add_table_from_input(struct input *in)
{
	int chunk = take_number_below(in, CHUNKS), i;
	bool good;

	if (taken[chunk])
		return;
	typed_fill_markers(in, chunk);
	typed_fill_stubs(in, chunk);
	good = add_stubs_to_model(chunk);
	MUST(!register_stub_table(chunk) == good);
	taken[chunk] = good;
	if (good)
		MUST(!register_marker_table(chunk));
	else
		for (i = 0; i < 2; i++)
			MUST(!typed_markers[chunk * 2 + i].stub);
}

static bool is_jump_to(const u8 *at, marker_typed_func *target)
{
	s32 displacement;

	memcpy(&displacement, at + 1, sizeof(displacement));
	return *at == 0xe9 && (long)at + 5 + displacement == (long)target;
}

/* Drop the tables of a chunk, and check that the stubs of the chunk jump to the iterator. */
static void drop_tables(int chunk)
{
	int i;

	marker_tables_unregister_module(MODULE(chunk));
	for (i = 0; i < nr_stubs[chunk]; i++) {
		const struct stub *stub = &model_stubs[chunk][i];

		MUST(is_jump_to(stub->at, typed_markers[stub->marker].iterator));
		memcpy(before + (stub->at - arena), stub->at, STUB_BYTES);
	}
	taken[chunk] = false;
	nr_stubs[chunk] = 0;
	for (i = 0; i < 2; i++)
		model[chunk * 2 + i].nr = 0;
}

static int find_probe_in_model(int marker, int probe)
{
	int i;

	for (i = 0; i < model[marker].nr; i++)
		if (model[marker].probe[i] == probe)
			return i;
	return -1;
}

static void register_probe_from_input(struct input *in)
{
	int marker = take_number_below(in, MARKERS), probe = take_number_below(in, PROBES);
	int want = 0;

	if (!taken[marker / 2])
		return;
	if (find_probe_in_model(marker, probe) >= 0)
		want = -EBUSY;
	else
		model[marker].probe[model[marker].nr++] = probe;
	MUST(marker_typed_register(&typed_markers[marker], get_probe_function(probe),
				   get_probe_private(probe)) == want);
}

static void unregister_probe_from_input(struct input *in)
{
	int marker = take_number_below(in, MARKERS), probe = take_number_below(in, PROBES);
	int want = -ENOENT;
	int at = find_probe_in_model(marker, probe);

	if (!taken[marker / 2])
		return;
	if (at >= 0) {
		want = 0;
		model[marker].nr--;
		memmove(&model[marker].probe[at], &model[marker].probe[at + 1],
			(model[marker].nr - at) * sizeof(int));
	}
	MUST(marker_typed_unregister(&typed_markers[marker], get_probe_function(probe),
				     get_probe_private(probe)) == want);
}

static void toggle_probe_by_name(int marker)
{
	int err;

	if (model[marker].by_name)
		err = marker_probe_unregister(typed_names[marker], empty_probe_by_name, NULL);
	else
		err = marker_probe_register(typed_names[marker], "%d", empty_probe_by_name, NULL);
	MUST(!err);
	model[marker].by_name = !model[marker].by_name;
}

/*
 * Check the jump of a stub.  The last stub of a marker (@last) jumps directly to the marker's only
 * probe if a direct jump can reach the probe.  All other stubs jump to the iterator.
 */
static void check_stub_target(const struct stub *stub, bool last)
{
	int probe = model[stub->marker].probe[0];
	u64 private;

	if (!last || model[stub->marker].nr != 1 || model[stub->marker].by_name ||
	    get_probe_function(probe) == FAR) {
		MUST(is_jump_to(stub->at, typed_markers[stub->marker].iterator));
		return;
	}
	memcpy(&private, stub->at + 7, sizeof(private));
	MUST(!memcmp(stub->at, typed_stub_bytes, 7));
	MUST(private == (u64)get_probe_private(probe));
	MUST(is_jump_to(stub->at + 15, get_probe_function(probe)));
}

static void check_stub_targets(int chunk)
{
	int i, last[MARKERS];

	for (i = 0; i < nr_stubs[chunk]; i++)
		last[model_stubs[chunk][i].marker] = i;
	for (i = 0; i < nr_stubs[chunk]; i++) {
		const struct stub *stub = &model_stubs[chunk][i];

		check_stub_target(stub, last[stub->marker] == i);
		memcpy(before + (stub->at - arena), stub->at, STUB_BYTES);
	}
}

static void check_marker_with_model(int number)
{
	const struct marker_probe *probe = typed_markers[number].probes;
	int i;

	MUST(typed_markers[number].marker.state__imv == (model[number].nr || model[number].by_name));
	MUST(!typed_markers[number].marker.probes == !model[number].by_name);
	for (i = 0; i < model[number].nr; i++, probe++) {
		while (probe->func == (marker_probe_func *)(void *)typed_empty_probe)
			probe++;
		MUST(probe->func ==
		     (marker_probe_func *)(void *)get_probe_function(model[number].probe[i]));
		MUST(probe->private == get_probe_private(model[number].probe[i]));
	}
	while (probe && probe->func == (marker_probe_func *)(void *)typed_empty_probe)
		probe++;
	MUST(!probe || !probe->func);
}

/* Check all markers and stubs, and that no byte outside of stubs has changed. */
static void check_markers_and_stubs(void)
{
	int i;

	for (i = 0; i < CHUNKS; i++)
		check_stub_targets(i);
	MUST(!memcmp(before, arena, ARENA_BYTES));
	for (i = 0; i < MARKERS; i++)
		if (taken[i / 2])
			check_marker_with_model(i);
}

static void run_operation_from_input(struct input *in)
{
	unsigned int operation = take_number_below(in, 16);

	if (operation < 4)
		add_table_from_input(in);
	else if (operation == 4)
		drop_tables(take_number_below(in, CHUNKS));
	else if (operation < 10)
		register_probe_from_input(in);
	else if (operation < 14)
		unregister_probe_from_input(in);
	else
		toggle_probe_by_name(take_number_below(in, MARKERS));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	int i;

	typed_fill_arena(&in);
	memcpy(before, arena, ARENA_BYTES);
	while (in.left) {
		run_operation_from_input(&in);
		check_markers_and_stubs();
	}
	for (i = 0; i < CHUNKS; i++)
		drop_tables(i);
	for (i = 0; i < MARKERS; i++)
		if (model[i].by_name)
			toggle_probe_by_name(i);
	return 0;
}
