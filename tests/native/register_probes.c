// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes that are registered by name and have a register probe, which a typed marker calls with the
 * arguments in registers: the register probe is called while it is the only one, and never beside its
 * probe.
 */
#include <stdatomic.h>
#include <stdio.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/typed.h>

#include "../../markers/stubs.h"
#include "../../markers/tables.h"
#include "register_probes.h"

#define NAME	"regs_marker"
#define FORMAT	"%lu %u"

DECLARE_MARKER(regs_marker, MARKER_PROTO(unsigned long number, u32 word),
	       MARKER_ARGS(number, word), FORMAT);
DEFINE_MARKER(regs_marker);

/* Numbers of calls of a probe; in a storm several threads count. */
struct seen {
	atomic_ulong by_name;
	atomic_ulong by_registers;
	atomic_ulong wrong;
};

static struct seen seen[2];
static atomic_ulong other_calls;

static void judge(struct seen *where, unsigned long number, u32 word)
{
	if (number != 1UL << 40 || word != 7)
		atomic_fetch_add(&where->wrong, 1);
}

static void by_name(void *private, void *call_private, const char *fmt, va_list *args)
{
	struct seen *where = private;
	unsigned long number = va_arg(*args, unsigned long);

	judge(where, number, va_arg(*args, u32));
	atomic_fetch_add(&where->by_name, 1);
}

static void by_registers(void *private, unsigned long number, u32 word)
{
	struct seen *where = private;

	judge(where, number, word);
	atomic_fetch_add(&where->by_registers, 1);
}

static void typed(void *private, unsigned long number, u32 word)
{
	atomic_fetch_add(&other_calls, 1);
}

/* A probe by name that has no register probe. */
static void plain(void *private, void *call_private, const char *fmt, va_list *args)
{
	atomic_fetch_add(&other_calls, 1);
}

static marker_typed_func *register_probe_of(const struct marker_probe *probe)
{
	return probe->func == by_name ? (marker_typed_func *)(void *)by_registers : NULL;
}

static void reset(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(seen); i++) {
		atomic_store(&seen[i].by_name, 0);
		atomic_store(&seen[i].by_registers, 0);
		atomic_store(&seen[i].wrong, 0);
	}
	atomic_store(&other_calls, 0);
}

static void hit(void)
{
	mark_typed(regs_marker, 1UL << 40, 7);
}

/* Does one hit call each probe, and each register probe, this often? */
static bool calls(unsigned int first, unsigned int first_registers, unsigned int second,
		  unsigned int second_registers, unsigned int others)
{
	reset();
	hit();
	return seen[0].by_name == first && seen[0].by_registers == first_registers &&
	       seen[1].by_name == second && seen[1].by_registers == second_registers &&
	       other_calls == others && !seen[0].wrong && !seen[1].wrong;
}

static int come(unsigned int i)
{
	return marker_probe_register(NAME, FORMAT, by_name, &seen[i]);
}

static int go(unsigned int i)
{
	return marker_probe_unregister(NAME, by_name, &seen[i]);
}

static const char *alone_or_in_company(void)
{
	marker_stub_register_probe = register_probe_of;
	EXPECT(calls(0, 0, 0, 0, 0));
	EXPECT(!come(0));
	EXPECT(calls(0, 1, 0, 0, 0));
	EXPECT(!come(1));
	EXPECT(calls(1, 0, 1, 0, 0));
	EXPECT(!marker_probe_register(NAME, FORMAT, plain, NULL));
	EXPECT(calls(1, 0, 1, 0, 1));
	EXPECT(!marker_probe_unregister(NAME, plain, NULL));
	EXPECT(calls(1, 0, 1, 0, 0));
	EXPECT(!go(0));
	EXPECT(calls(0, 0, 0, 1, 0));
	EXPECT(!marker_register_regs_marker(typed, NULL));
	EXPECT(calls(0, 0, 1, 0, 1));
	EXPECT(!come(0));
	EXPECT(calls(1, 0, 1, 0, 1));
	EXPECT(!go(1));
	EXPECT(!marker_unregister_regs_marker(typed, NULL));
	EXPECT(calls(0, 1, 0, 0, 0));
	EXPECT(!go(0));
	EXPECT(calls(0, 0, 0, 0, 0));
	return NULL;
}

static const char *come_and_go(void)
{
	unsigned int i;

	for (i = 0; i < test_batches; i++) {
		EXPECT(!come(1));
		EXPECT(!go(1));
	}
	return NULL;
}

/* Each hit calls the first probe once, while the second is registered and unregistered. */
static const char *storm(void)
{
	const char *failed;
	unsigned long hits;

	marker_stub_register_probe = register_probe_of;
	reset();
	EXPECT(!come(0));
	EXPECT(!test_start_threads(hit));
	failed = come_and_go();
	hits = test_stop_threads();
	if (failed)
		return failed;
	EXPECT(hits && seen[0].by_name + seen[0].by_registers == hits);
	EXPECT(!seen[0].wrong && !seen[1].wrong);
	return NULL;
}

/* A probe by name with another format is registered and unregistered; nothing is patched. */
static const char *beside_another_format(void)
{
	struct marker_typed *marker = &__typed_marker_regs_marker;

	EXPECT(!marker_register_regs_marker(typed, NULL));
	EXPECT(marker->direct);
	EXPECT(!test_show_wrong_page(marker->stub));
	EXPECT(!marker_probe_register(NAME, "%s", plain, NULL));
	EXPECT(!marker_probe_unregister(NAME, plain, NULL));
	EXPECT(!test_wrong_page_shown() && marker->direct);
	EXPECT(calls(0, 0, 0, 0, 1));
	return NULL;
}

static bool all(void *data, const char *name, unsigned long code)
{
	return !strcmp(name, NAME);
}

/* Disconnecting a probe whose code is unloaded, and whose stub cannot be patched, is tried once. */
static const char *cannot_leave(void)
{
	marker_stub_register_probe = register_probe_of;
	EXPECT(!come(0));
	EXPECT(!test_show_wrong_page(__typed_marker_regs_marker.stub));
	EXPECT(!marker_tables_disconnect(all, NULL));
	EXPECT(test_wrong_page_shown());
	EXPECT(calls(0, 1, 0, 0, 0));
	test_show_wrong_page(NULL);
	EXPECT(marker_tables_disconnect(all, NULL) == 1);
	EXPECT(calls(0, 0, 0, 0, 0));
	return NULL;
}

#define WAITING	"regs_waiting"
#define OTHERS	64

/* Connect or disconnect a probe of many other names, whose order in the registry is not known. */
static int others(int (*change)(const char *name))
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

static int connect_other(const char *name)
{
	return marker_probe_register(name, FORMAT, plain, NULL);
}

static int disconnect_other(const char *name)
{
	return marker_probe_unregister(name, plain, NULL);
}

/*
 * A pair of probe and data that stays connected under one name, because the stub cannot be patched,
 * is disconnected from its other names, and is not reported as unknown.
 */
static const char *cannot_leave_one_name(void)
{
	marker_stub_register_probe = register_probe_of;
	EXPECT(!come(0));
	EXPECT(!others(connect_other));
	EXPECT(!marker_probe_register(WAITING, FORMAT, by_name, &seen[0]));
	EXPECT(!test_show_wrong_page(__typed_marker_regs_marker.stub));
	EXPECT(!marker_probe_unregister_private_data(by_name, &seen[0]));
	EXPECT(marker_probe_unregister(WAITING, by_name, &seen[0]) == -ENOENT);
	EXPECT(marker_probe_unregister_private_data(by_name, &seen[0]) == -EILSEQ);
	EXPECT(calls(0, 1, 0, 0, 0));
	test_show_wrong_page(NULL);
	EXPECT(!marker_probe_unregister_private_data(by_name, &seen[0]));
	EXPECT(calls(0, 0, 0, 0, 0));
	EXPECT(marker_probe_unregister_private_data(by_name, &seen[0]) == -ENOENT);
	return NULL;
}

static void cleanup(void)
{
	test_show_wrong_page(NULL);
	marker_probe_unregister(WAITING, by_name, &seen[0]);
	others(disconnect_other);
	go(0);
	go(1);
	marker_probe_unregister(NAME, plain, NULL);
	marker_unregister_regs_marker(typed, NULL);
	marker_synchronize_unregister();
	marker_stub_register_probe = NULL;
}

const struct test_case register_probe_cases[] = {
	{ "register_probes_alone_or_in_company", alone_or_in_company, cleanup },
	{ "register_probes_storm", storm, cleanup },
	{ "register_probes_beside_another_format", beside_another_format, cleanup },
	{ "register_probes_cannot_leave", cannot_leave, cleanup },
	{ "register_probes_cannot_leave_one_name", cannot_leave_one_name, cleanup },
};

const unsigned int register_probe_nr_cases = ARRAY_SIZE(register_probe_cases);
