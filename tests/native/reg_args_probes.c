// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of probes that are registered by name and have a register-argument probe: a second
 * function, which gets the arguments in CPU registers.  While a typed marker has a single probe,
 * the marker calls the register-argument probe instead of the probe.  A marker with several probes
 * calls no register-argument probe.
 */
#include <stdatomic.h>
#include <stdio.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/typed.h>

#include "../../markers/stubs.h"
#include "../../markers/tables.h"
#include "reg_args_probes.h"

#define NAME	"regs_marker"
#define FORMAT	"%lu %u"

DECLARE_MARKER(regs_marker, MARKER_PROTO(unsigned long number, u32 word),
	       MARKER_ARGS(number, word), FORMAT);
DEFINE_MARKER(regs_marker);

/*
 * Numbers of calls of a probe and of its register-argument probe, and of calls with wrong
 * arguments.
 */
struct seen {
	atomic_ulong by_name;
	atomic_ulong by_registers;
	atomic_ulong wrong;
};

static struct seen seen[2];
static atomic_ulong other_calls;

static void count_wrong_arguments(struct seen *where, unsigned long number, u32 word)
{
	if (number != 1UL << 40 || word != 7)
		atomic_fetch_add(&where->wrong, 1);
}

static void count_call_by_name(void *private, void *call_private, const char *fmt, va_list *args)
{
	struct seen *where = private;
	unsigned long number = va_arg(*args, unsigned long);

	count_wrong_arguments(where, number, va_arg(*args, u32));
	atomic_fetch_add(&where->by_name, 1);
}

static void count_call_by_registers(void *private, unsigned long number, u32 word)
{
	struct seen *where = private;

	count_wrong_arguments(where, number, word);
	atomic_fetch_add(&where->by_registers, 1);
}

static void count_typed_call(void *private, unsigned long number, u32 word)
{
	atomic_fetch_add(&other_calls, 1);
}

/* A probe that is registered by name and has no register-argument probe. */
static void count_other_call(void *private, void *call_private, const char *fmt, va_list *args)
{
	atomic_fetch_add(&other_calls, 1);
}

static marker_typed_func *find_reg_args_probe(const struct marker_probe *probe)
{
	return probe->func != count_call_by_name ? NULL :
	       (marker_typed_func *)(void *)count_call_by_registers;
}

static void reset_counts(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(seen); i++) {
		atomic_store(&seen[i].by_name, 0);
		atomic_store(&seen[i].by_registers, 0);
		atomic_store(&seen[i].wrong, 0);
	}
	atomic_store(&other_calls, 0);
}

static void hit_marker(void)
{
	mark_typed(regs_marker, 1UL << 40, 7);
}

/*
 * Hit the marker once.  Return true if each probe and each register-argument probe was called the
 * given number of times.
 */
static bool hit_and_check_every_call(unsigned int first, unsigned int first_registers,
				unsigned int second, unsigned int second_registers,
				unsigned int others)
{
	reset_counts();
	hit_marker();
	return seen[0].by_name == first && seen[0].by_registers == first_registers &&
	       seen[1].by_name == second && seen[1].by_registers == second_registers &&
	       other_calls == others && !seen[0].wrong && !seen[1].wrong;
}

static int register_probe_by_name(unsigned int i)
{
	return marker_probe_register(NAME, FORMAT, count_call_by_name, &seen[i]);
}

static int unregister_probe_by_name(unsigned int i)
{
	return marker_probe_unregister(NAME, count_call_by_name, &seen[i]);
}

static const char *reg_args_probes_are_called_only_alone(void)
{
	marker_stub_find_reg_args_probe = find_reg_args_probe;
	EXPECT(hit_and_check_every_call(0, 0, 0, 0, 0));
	EXPECT(!register_probe_by_name(0));
	EXPECT(hit_and_check_every_call(0, 1, 0, 0, 0));
	EXPECT(!register_probe_by_name(1));
	EXPECT(hit_and_check_every_call(1, 0, 1, 0, 0));
	EXPECT(!marker_probe_register(NAME, FORMAT, count_other_call, NULL));
	EXPECT(hit_and_check_every_call(1, 0, 1, 0, 1));
	EXPECT(!marker_probe_unregister(NAME, count_other_call, NULL));
	EXPECT(hit_and_check_every_call(1, 0, 1, 0, 0));
	EXPECT(!unregister_probe_by_name(0));
	EXPECT(hit_and_check_every_call(0, 0, 0, 1, 0));
	EXPECT(!marker_register_regs_marker(count_typed_call, NULL));
	EXPECT(hit_and_check_every_call(0, 0, 1, 0, 1));
	EXPECT(!register_probe_by_name(0));
	EXPECT(hit_and_check_every_call(1, 0, 1, 0, 1));
	EXPECT(!unregister_probe_by_name(1));
	EXPECT(!marker_unregister_regs_marker(count_typed_call, NULL));
	EXPECT(hit_and_check_every_call(0, 1, 0, 0, 0));
	EXPECT(!unregister_probe_by_name(0));
	EXPECT(hit_and_check_every_call(0, 0, 0, 0, 0));
	return NULL;
}

static const char *register_probe_repeatedly(void)
{
	unsigned int i;

	for (i = 0; i < test_batches; i++) {
		EXPECT(!register_probe_by_name(1));
		EXPECT(!unregister_probe_by_name(1));
	}
	return NULL;
}

/*
 * Check that each hit calls the first probe once while the second probe is registered and
 * unregistered.
 */
static const char *reg_args_probes_storm(void)
{
	const char *failed;
	unsigned long hits;

	marker_stub_find_reg_args_probe = find_reg_args_probe;
	reset_counts();
	EXPECT(!register_probe_by_name(0));
	EXPECT(!test_start_threads(hit_marker));
	failed = register_probe_repeatedly();
	hits = test_stop_threads();
	if (failed)
		return failed;
	EXPECT(hits && seen[0].by_name + seen[0].by_registers == hits);
	EXPECT(!seen[0].wrong && !seen[1].wrong);
	return NULL;
}

/* Check that registering a probe by name with another format does not patch the marker's stub. */
static const char *reg_args_probes_need_the_markers_format(void)
{
	struct marker_typed *marker = &__typed_marker_regs_marker;

	EXPECT(!marker_register_regs_marker(count_typed_call, NULL));
	EXPECT(marker->direct);
	EXPECT(!test_map_wrong_page(marker->stub));
	EXPECT(!marker_probe_register(NAME, "%s", count_other_call, NULL));
	EXPECT(!marker_probe_unregister(NAME, count_other_call, NULL));
	EXPECT(!test_wrong_page_was_mapped() && marker->direct);
	EXPECT(hit_and_check_every_call(0, 0, 0, 0, 1));
	return NULL;
}

static bool is_name_of_tested_marker(void *data, const char *name, unsigned long code)
{
	return !strcmp(name, NAME);
}

/* Check that a probe stays connected if its stub cannot be patched, until the next attempt. */
static const char *reg_args_probes_stay_if_patching_fails(void)
{
	marker_stub_find_reg_args_probe = find_reg_args_probe;
	EXPECT(!register_probe_by_name(0));
	EXPECT(!test_map_wrong_page(__typed_marker_regs_marker.stub));
	EXPECT(!marker_tables_disconnect_if(is_name_of_tested_marker, NULL));
	EXPECT(test_wrong_page_was_mapped());
	EXPECT(hit_and_check_every_call(0, 1, 0, 0, 0));
	test_map_wrong_page(NULL);
	EXPECT(marker_tables_disconnect_if(is_name_of_tested_marker, NULL) == 1);
	EXPECT(hit_and_check_every_call(0, 0, 0, 0, 0));
	return NULL;
}

#define WAITING	"regs_waiting"
#define OTHERS	64

/*
 * Call @change for OTHERS further names.  There are so many that probably some of them precede
 * WAITING in the unordered registry, and some follow WAITING.
 */
static int change_probes_of_other_names(int (*change)(const char *name))
{
	unsigned int i;
	char name[32];
	int err = 0;

	for (i = 0; i < OTHERS; i++) {
		snprintf(name, sizeof(name), WAITING "_%u", i);
		err |= change(name);
	}
	return err;
}

static int connect_plain_probe(const char *name)
{
	return marker_probe_register(name, FORMAT, count_other_call, NULL);
}

static int disconnect_plain_probe(const char *name)
{
	return marker_probe_unregister(name, count_other_call, NULL);
}

/*
 * Unregister a probe from several names while the stub of one name cannot be patched.  The probe
 * stays connected to this name only, and the next attempt returns -EILSEQ, not -ENOENT.
 */
static const char *reg_args_probes_stay_connected_to_one_name(void)
{
	marker_stub_find_reg_args_probe = find_reg_args_probe;
	EXPECT(!register_probe_by_name(0));
	EXPECT(!change_probes_of_other_names(connect_plain_probe));
	EXPECT(!marker_probe_register(WAITING, FORMAT, count_call_by_name, &seen[0]));
	EXPECT(!test_map_wrong_page(__typed_marker_regs_marker.stub));
	EXPECT(!marker_probe_unregister_private_data(count_call_by_name, &seen[0]));
	EXPECT(marker_probe_unregister(WAITING, count_call_by_name, &seen[0]) == -ENOENT);
	EXPECT(marker_probe_unregister_private_data(count_call_by_name, &seen[0]) == -EILSEQ);
	EXPECT(hit_and_check_every_call(0, 1, 0, 0, 0));
	test_map_wrong_page(NULL);
	EXPECT(!marker_probe_unregister_private_data(count_call_by_name, &seen[0]));
	EXPECT(hit_and_check_every_call(0, 0, 0, 0, 0));
	EXPECT(marker_probe_unregister_private_data(count_call_by_name, &seen[0]) == -ENOENT);
	return NULL;
}

static void unregister_reg_args_probes(void)
{
	test_map_wrong_page(NULL);
	marker_probe_unregister(WAITING, count_call_by_name, &seen[0]);
	change_probes_of_other_names(disconnect_plain_probe);
	unregister_probe_by_name(0);
	unregister_probe_by_name(1);
	marker_probe_unregister(NAME, count_other_call, NULL);
	marker_unregister_regs_marker(count_typed_call, NULL);
	marker_synchronize_unregister();
	marker_stub_find_reg_args_probe = NULL;
}

const struct test_case reg_args_probe_cases[] = {
	{ "reg_args_probes_are_called_only_alone", reg_args_probes_are_called_only_alone,
	  unregister_reg_args_probes },
	{ "reg_args_probes_storm", reg_args_probes_storm, unregister_reg_args_probes },
	{ "reg_args_probes_need_the_markers_format", reg_args_probes_need_the_markers_format,
	  unregister_reg_args_probes },
	{ "reg_args_probes_stay_if_patching_fails", reg_args_probes_stay_if_patching_fails,
	  unregister_reg_args_probes },
	{ "reg_args_probes_stay_connected_to_one_name", reg_args_probes_stay_connected_to_one_name,
	  unregister_reg_args_probes },
};

const unsigned int reg_args_probe_nr_cases = ARRAY_SIZE(reg_args_probe_cases);
