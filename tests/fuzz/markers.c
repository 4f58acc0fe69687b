// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target: tables of markers, some with wrong headers, and probes that are registered and
 * unregistered.  A model computes which markers must be on, and which probes each marker must call.
 */
#include <linux/errno.h>
#include <linux/printk.h>

#include <kmarkers/marker.h>

#include "../../markers/names.h"
#include "../../markers/tables.h"
#include "fuzz.h"

#define CHUNKS		3
#define RECORDS		4
#define MARKERS		(CHUNKS * 2)
#define NAMES		3
#define FORMATS		2
#define PROBES		6
#define NONE		-1
#define MODULE(number)	((struct module *)(unsigned long)((number) + 1))

static const char *const names[] = { "alpha", "beta", "gamma" };
static const char *const formats[] = { "%d", "%d %s" };

static struct marker markers[MARKERS];
static int marker_name[MARKERS], marker_format[MARKERS];

static struct {
	struct kmarkers_chunk head;
	s32 records[RECORDS];
} __aligned(8) chunks[CHUNKS];

static bool taken[CHUNKS];

/* The model: the format, the probes and the markers of each name, in order of registration. */
static struct name {
	int format;
	int probe[PROBES], nr_probes;
	int marker[MARKERS], nr_markers;
} model[NAMES];

static int called[PROBES * 2], nr_called;

/*
 * Probe number p is record_even_probe() if p is even, else record_odd_probe().  The private data
 * of the probe is p / 2.
 */
static void record_even_probe(void *private, void *call_private, const char *fmt, va_list *args)
{
	MUST(call_private == called && va_arg(*args, int) == 7);
	called[nr_called++] = (long)private * 2;
}

static void record_odd_probe(void *private, void *call_private, const char *fmt, va_list *args)
{
	MUST(call_private == called && va_arg(*args, int) == 7);
	called[nr_called++] = (long)private * 2 + 1;
}

static marker_probe_func *get_probe_function(int probe)
{
	return probe & 1 ? record_odd_probe : record_even_probe;
}

static void *get_probe_private(int probe)
{
	return (void *)(long)(probe / 2);
}

static void fill_marker_from_input(struct input *in, int number)
{
	marker_name[number] = take_number_below(in, NAMES);
	marker_format[number] = take_number_below(in, FORMATS);
	markers[number] = (struct marker) {
		.name = names[marker_name[number]],
		.format = formats[marker_format[number]],
		.func = __func__,
		.file = __FILE__,
		.flavour = take_number_below(in, MARKER_XOR_FLIP + 1),
	};
}

/* Fill a chunk.  Each record in the chunk refers to one of the chunk's two markers. */
static void fill_chunk_from_input(struct input *in, int number)
{
	struct kmarkers_chunk *head = &chunks[number].head;
	unsigned int i, kind = take_number_below(in, 16);

	head->bytes = take_number_below(in, RECORDS + 1) * sizeof(s32);
	head->first = (long)chunks[number].records - (long)&head->first;
	head->record = sizeof(s32);
	head->version = KMARKERS_TABLE_VERSION;
	if (kind == 0)
		head->bytes = take_number(in, 4) % (sizeof(chunks[0].records) + 1);
	else if (kind == 1)
		head->record = take_number(in, 2);
	else if (kind == 2)
		head->version = take_number(in, 2);
	fill_marker_from_input(in, number * 2);
	fill_marker_from_input(in, number * 2 + 1);
	for (i = 0; i < RECORDS; i++)
		chunks[number].records[i] = (long)&markers[number * 2 + take_number_below(in, 2)] -
					    (long)&chunks[number].records[i];
}

static int get_marker_index(int number, unsigned int record)
{
	return (struct marker *)((long)&chunks[number].records[record] +
				 chunks[number].records[record]) - markers;
}

static unsigned int count_chunk_records(int number)
{
	return chunks[number].head.bytes / sizeof(s32);
}

static bool is_chunk_head_valid(int number)
{
	const struct kmarkers_chunk *head = &chunks[number].head;

	return head->version == KMARKERS_TABLE_VERSION && head->record == sizeof(s32) &&
	       head->bytes % sizeof(s32) == 0;
}

static bool array_contains(const int *numbers, int nr, int number)
{
	while (nr--)
		if (numbers[nr] == number)
			return true;
	return false;
}

static void remove_element(int *numbers, int *nr, int at)
{
	memmove(&numbers[at], &numbers[at + 1], (--*nr - at) * sizeof(*numbers));
}

static void add_records_to_model(int number)
{
	unsigned int i;

	for (i = 0; i < count_chunk_records(number); i++) {
		int marker = get_marker_index(number, i);
		struct name *name = &model[marker_name[marker]];

		if (!array_contains(name->marker, name->nr_markers, marker))
			name->marker[name->nr_markers++] = marker;
	}
	for (i = 0; i < count_chunk_records(number); i++) {
		struct name *name = &model[marker_name[get_marker_index(number, i)]];

		if (name->nr_probes && name->format == NONE)
			name->format = marker_format[get_marker_index(number, i)];
	}
}

static void add_table_from_input(struct input *in)
{
	struct kmarkers_span span = { NULL };
	int number = take_number_below(in, CHUNKS);

	if (taken[number])
		return;
	fill_chunk_from_input(in, number);
	taken[number] = !kmarkers_join_chunk(&span, &chunks[number].head, sizeof(s32)) &&
			!marker_tables_register_module(MODULE(number), &span);
	MUST(taken[number] == is_chunk_head_valid(number));
	if (taken[number])
		add_records_to_model(number);
}

static void drop_table(int number)
{
	int i, j;

	marker_tables_unregister_module(MODULE(number));
	taken[number] = false;
	for (i = 0; i < NAMES; i++)
		for (j = model[i].nr_markers; j-- > 0;)
			if (model[i].marker[j] / 2 == number)
				remove_element(model[i].marker, &model[i].nr_markers, j);
}

static int register_probe_in_model(struct name *name, int format, int probe)
{
	if (format != NONE && name->format != NONE && format != name->format)
		return -EPERM;
	if (array_contains(name->probe, name->nr_probes, probe))
		return -EBUSY;
	if (format == NONE && name->nr_markers)
		format = marker_format[name->marker[0]];
	if (name->format == NONE)
		name->format = format;
	name->probe[name->nr_probes++] = probe;
	return 0;
}

static void register_probe_from_input(struct input *in)
{
	int name = take_number_below(in, NAMES), probe = take_number_below(in, PROBES);
	int format = (int)take_number_below(in, FORMATS + 1) - 1;
	int want = register_probe_in_model(&model[name], format, probe);

	MUST(marker_probe_register(names[name], format == NONE ? NULL : formats[format],
				   get_probe_function(probe), get_probe_private(probe)) == want);
}

static void unregister_probe(int number, int probe)
{
	struct name *name = &model[number];
	int i, want = -ENOENT;

	for (i = 0; i < name->nr_probes && want; i++) {
		if (name->probe[i] != probe)
			continue;
		remove_element(name->probe, &name->nr_probes, i);
		if (!name->nr_probes)
			name->format = NONE;
		want = 0;
	}
	MUST(marker_probe_unregister(names[number], get_probe_function(probe),
				     get_probe_private(probe)) == want);
}

static void check_marker_with_model(const struct name *name, int number)
{
	const struct marker *marker = &markers[number];
	bool on = name->nr_probes && marker_format[number] == name->format;
	int i;

	MUST(marker->state__imv == on);
	nr_called = 0;
	marker_probe_call(marker, called, marker->format, 7, "");
	MUST(nr_called == (on ? name->nr_probes : 0));
	for (i = 0; i < nr_called; i++)
		MUST(called[i] == name->probe[i]);
}

static void check_markers_with_model(void)
{
	int i, j;

	for (i = 0; i < NAMES; i++)
		for (j = 0; j < model[i].nr_markers; j++)
			check_marker_with_model(&model[i], model[i].marker[j]);
}

/* Drop all tables.  Then free all names if @free_all is set, else unregister all probes. */
static void drop_tables_and_probes(bool free_all)
{
	int i, j;

	for (i = 0; i < CHUNKS; i++)
		drop_table(i);
	if (free_all) {
		marker_names_free();
		return;
	}
	for (i = 0; i < NAMES; i++)
		for (j = 0; j < PROBES; j++)
			unregister_probe(i, j);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	int i;

	for (i = 0; i < NAMES; i++)
		model[i] = (struct name) { .format = NONE };
	while (in.left) {
		unsigned int operation = take_number_below(&in, 8);

		if (operation < 2)
			add_table_from_input(&in);
		else if (operation == 2)
			drop_table(take_number_below(&in, CHUNKS));
		else if (operation < 6)
			register_probe_from_input(&in);
		else
			unregister_probe(take_number_below(&in, NAMES),
					 take_number_below(&in, PROBES));
		check_markers_with_model();
	}
	drop_tables_and_probes(size & 1);
	return 0;
}
