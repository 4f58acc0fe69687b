// SPDX-License-Identifier: GPL-2.0-only
/* Tests of lists of values, markers, sites and samples, and of setup and teardown of a run. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/seq_file.h>

#include <kmarkers/immediate.h>
#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>
#include <kmarkers/user.h>

#include "../../bench_modules/ops.h"
#include "../../bench_modules/output.h"
#include "../../bench_modules/run.h"
#include "../../immediate/list.h"
#include "../../immediate/tables.h"
#include "../../immediate/updates.h"
#include "../../patcher/register.h"
#include "../../sdt/attach.h"
#include "../../sdt/command.h"
#include "../../sdt/count.h"
#include "../../sdt/list.h"
#include "listings.h"
#include "nomem.h"
#include "process.h"

static char *text;
static size_t text_size;

/* Return the text that @show prints, or "" on error.  The text is valid until the next call. */
static const char *print_to_text(int (*show)(struct seq_file *m, void *unused))
{
	struct seq_file m;
	int err;

	free(text);
	m.file = open_memstream(&text, &text_size);
	err = show(&m, NULL);
	fclose(m.file);
	return err ? "" : text;
}

static bool has_line(const char *listing, const char *line)
{
	const char *at = strstr(listing, line);

	return at && (at == listing || at[-1] == '\n');
}

static DEFINE_IMV(int, listed) = 1234;

static noinline int read_listed_value_twice(void)
{
	return imv_read(listed) + imv_read(listed);
}

/*
 * Return the sum of the numbers of sites in the list of values.  Return 0 if the addresses of the
 * values do not ascend, so that a value may be listed twice.
 */
static unsigned int sum_listed_sites(void)
{
	const char *line = strchr(print_to_text(imv_list_show), '\n');
	unsigned long last = 0, var;
	unsigned int nr, sum = 0;

	for (; line && line[1]; line = strchr(line + 1, '\n')) {
		if (sscanf(line + 1, "0x%lx %*s %*s %*s %*s %u", &var, &nr) != 2 || var <= last)
			return 0;
		last = var;
		sum += nr;
	}
	return sum;
}

static void count_value_site(void *data, const struct patcher_table *table,
			     const struct patcher_site *site, u8 *addr)
{
	*(unsigned int *)data += table->owner == imv_owner;
}

static const char *imv_lists_values(void)
{
	unsigned int nr = 0;
	char line[80];

	EXPECT(read_listed_value_twice() == 2468);
	snprintf(line, sizeof(line), "0x%lx 4 0x4d2 0 program 2\n", (unsigned long)&listed__imv);
	EXPECT(has_line(print_to_text(imv_list_show), line));
	EXPECT(!imv_set(listed, 1));
	snprintf(line, sizeof(line), "0x%lx 4 0x1 1 program 2\n", (unsigned long)&listed__imv);
	EXPECT(has_line(print_to_text(imv_list_show), line));
	patcher_for_each_site(count_value_site, &nr);
	EXPECT(nr > 2 && sum_listed_sites() == nr);
	return NULL;
}

SDT_PROVIDER_DEFINE(list);
SDT_PROBE_DEFINE2(list, , , io__start, "struct request *", "int");

static noinline int hit_io(int number)
{
	SDT_PROBE_FLAVOUR(breakpoint, list, , , io__start, NULL, number);
	return number;
}

static int run_sdt_command(const char *text)
{
	char line[80];

	snprintf(line, sizeof(line), "%s", text);
	return sdt_run_command(line);
}

static const char *sdt_lists_sites(void)
{
	static const char *const wrong[] = {
		"io-start", "io-start  count", "io-start count ", "io-start counts", "a:b:c:d:e count",
		"io-start count now", "io-start -none", "io-start --count", "io-start -",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		EXPECT(run_sdt_command(wrong[i]) == -EINVAL);
	EXPECT(has_line(print_to_text(sdt_list_show),
			"list:program:hit_io:io-start off breakpoint 0 0 hit_io@+0x"));
	EXPECT(!run_sdt_command("hit_io:io-start count"));
	hit_io(1);
	EXPECT(!run_sdt_command("io-start promote"));
	hit_io(2);
	EXPECT(has_line(print_to_text(sdt_list_show),
			"list:program:hit_io:io-start on breakpoint 1 2 hit_io@+0x"));
	EXPECT(!run_sdt_command("io-start -promote"));
	EXPECT(has_line(print_to_text(sdt_list_show),
			"list:program:hit_io:io-start trapped breakpoint 1 2 hit_io@+0x"));
	EXPECT(strstr(text, " \"struct request *,int\"\n"));
	EXPECT(!run_sdt_command("hit_io:io-start -count"));
	EXPECT(run_sdt_command("hit_io:io-start -count") == -ENOENT);
	EXPECT(run_sdt_command("hit_io:io-start none") == -ENOENT);
	EXPECT(!run_sdt_command("hit_io:io-start count"));
	EXPECT(!run_sdt_command("hit_io:io-start none"));
	EXPECT(run_sdt_command("hit_io:io-start -count") == -ENOENT);
	return NULL;
}

SDT_PROBE_DEFINE0(list, , , nomem__first);
SDT_PROBE_DEFINE0(list, , , nomem__second);

static noinline void hit_nomem_sites(void)
{
	SDT_PROBE0(list, , , nomem__first);
	SDT_PROBE_FLAVOUR(breakpoint, list, , , nomem__second);
}

/* Number of hits of a handler, and address of the last hit. */
static struct seen_hits {
	unsigned int nr;
	unsigned long ip;
} seen[2];

static void record_hit(void *private, const struct sdt_hit *hit)
{
	struct seen_hits *hits = private;

	hits->nr++;
	hits->ip = sdt_hit_ip(hit);
}

/*
 * Hit both sites.  Return true if the hits call the first handler @first times and the second
 * handler @second times.
 */
static bool do_hits_call_handlers(unsigned int first, unsigned int second)
{
	seen[0].nr = seen[1].nr = 0;
	hit_nomem_sites();
	return seen[0].nr == first && seen[1].nr == second;
}

static bool has_one_handler_at_first_site(void)
{
	print_to_text(sdt_list_show);
	return do_hits_call_handlers(1, 0) &&
	       has_line(text, "list:program:hit_nomem_sites:nomem-first on jump 1 ") &&
	       has_line(text, "list:program:hit_nomem_sites:nomem-second off breakpoint 0 ");
}

/*
 * Check that a handler that cannot be attached to all sites of its pattern is attached to none, and
 * that other handlers stay attached.  The first site has a handler already.
 */
static const char *sdt_attaches_to_all_sites_or_none(void)
{
	unsigned int nth;
	bool failed;
	int err;

	EXPECT(!sdt_attach("nomem-first", record_hit, &seen[0]));
	EXPECT(has_one_handler_at_first_site());
	for (nth = 1; ; nth++) {
		test_fail_nth_allocation(nth);
		err = sdt_attach("nomem-*", record_hit, &seen[1]);
		failed = test_has_allocation_failed();
		test_fail_nth_allocation(0);
		if (!failed)
			break;
		EXPECT(err == -ENOMEM && do_hits_call_handlers(1, 0));
	}
	EXPECT(!err && nth > 4 && do_hits_call_handlers(1, 2));
	EXPECT(!sdt_detach("nomem-*", record_hit, &seen[1]));
	EXPECT(has_one_handler_at_first_site());
	/* A site that cannot be patched. */
	EXPECT(!test_map_wrong_page((void *)seen[1].ip));
	EXPECT(sdt_attach("nomem-*", record_hit, &seen[1]) == -EILSEQ);
	EXPECT(test_wrong_page_was_mapped());
	test_map_wrong_page(NULL);
	EXPECT(has_one_handler_at_first_site());
	EXPECT(!sdt_attach("nomem-*", record_hit, &seen[1]) && do_hits_call_handlers(1, 2));
	return NULL;
}

/* Check that a detached handler is not called, even if the sites cannot be switched off. */
static const char *sdt_detaches_from_sites_that_stay_on(void)
{
	unsigned int nth;
	bool failed;
	int err;

	EXPECT(!sdt_attach("nomem-first", record_hit, &seen[0]));
	for (nth = 1; ; nth++) {
		EXPECT(!sdt_attach("nomem-*", record_hit, &seen[1]) && do_hits_call_handlers(1, 2));
		test_fail_nth_allocation(nth);
		err = sdt_detach("nomem-*", record_hit, &seen[1]);
		failed = test_has_allocation_failed();
		test_fail_nth_allocation(0);
		EXPECT(do_hits_call_handlers(1, 0));
		EXPECT(sdt_detach("nomem-*", record_hit, &seen[1]) == -ENOENT);
		if (!failed)
			break;
		EXPECT(err == -ENOMEM);
	}
	EXPECT(!err && nth > 1 && has_one_handler_at_first_site());
	return NULL;
}

static void clean_up_attachments(void)
{
	test_fail_nth_allocation(0);
	test_map_wrong_page(NULL);
	sdt_detach("nomem-*", record_hit, &seen[1]);
	sdt_detach("nomem-first", record_hit, &seen[0]);
	sdt_synchronize();
	free(text);
	text = NULL;
}

SDT_PROBE_DEFINE0(list, , , twice);

static noinline void hit_twice(void)
{
	SDT_PROBE0(list, , , twice);
}

static int show_attachments(struct seq_file *m, void *unused)
{
	return sdt_show_attachments(m, sdt_is_count_handler);
}

/*
 * Check that a hit is counted once, although two counting patterns match its site.  Also check the
 * list of attached handlers, which must not contain handlers of trace events.
 */
static const char *sdt_lists_attached_handlers(void)
{
	static const char lines[] =
		"twice count 1\nnomem-* count 2\nlist:::twice count 1\nnomem-first 0x";

	EXPECT(!strcmp(print_to_text(show_attachments), ""));
	EXPECT(!run_sdt_command("twice count") && !run_sdt_command("nomem-* count"));
	EXPECT(!run_sdt_command("list:::twice count"));
	EXPECT(!sdt_attach("nomem-first", record_hit, &seen[0]));
	EXPECT(!sdt_attach_event_handler("hit_twice:twice", "twice", "site %pS", record_hit,
					 &seen[1]));
	seen[1].nr = 0;
	hit_twice();
	EXPECT(seen[1].nr == 1);
	EXPECT(has_line(print_to_text(sdt_list_show), "list:program:hit_twice:twice on jump 3 1 "));
	EXPECT(!strncmp(print_to_text(show_attachments), lines, strlen(lines)));
	/* The line that begins with nomem-first is the last line of the list. */
	EXPECT(strchr(text + strlen(lines), '\n') == text + strlen(text) - 1);
	EXPECT(!strcmp(text + strlen(text) - 3, " 1\n"));
	return NULL;
}

/* Return how many lines in the list of sites begin with @start. */
static unsigned int count_listed_sites(const char *start)
{
	const char *line = print_to_text(sdt_list_show);
	unsigned int nr = 0;

	for (; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		nr += !strncmp(line, start, strlen(start));
	}
	return nr;
}

/*
 * Check that a site of which the compiler made copies is counted only once in the number of sites
 * that match a pattern, as it is shown only once in the list of sites.
 */
static const char *sdt_counts_copies_of_matching_sites_once(void)
{
	char line[64];

	snprintf(line, sizeof(line), "copies::: count %u\n", count_listed_sites("copies:"));
	EXPECT(!run_sdt_command("copies::: count"));
	EXPECT(!strcmp(print_to_text(show_attachments), line));
	return NULL;
}

static void clean_up_lists_of_attachments(void)
{
	run_sdt_command("copies::: none");
	run_sdt_command("twice none");
	run_sdt_command("nomem-* none");
	run_sdt_command("list:::twice none");
	sdt_detach("nomem-first", record_hit, &seen[0]);
	sdt_detach("hit_twice:twice", record_hit, &seen[1]);
	sdt_synchronize();
	free(text);
	text = NULL;
}

/* Attach and detach a handler; copy the messages on stderr to @said.  Return false on error. */
static bool attach_and_read_messages(const char *pattern, char *said, size_t size)
{
	struct capture capture;
	bool done;

	begin_stderr_capture(&capture);
	done = !sdt_attach(pattern, record_hit, &seen[0]);
	end_stderr_capture(&capture, said, size);
	return done && !sdt_detach(pattern, record_hit, &seen[0]);
}

/* Check that a message is printed for a pattern that matches no site, and for no other pattern. */
static const char *sdt_reports_patterns_without_sites(void)
{
	static const char waiting[] =
		"kmarkers_sdt: pattern waits: matches no site yet; applies to modules loaded later\n";
	char said[256];

	EXPECT(attach_and_read_messages("nomem-first", said, sizeof(said)) && !*said);
	EXPECT(attach_and_read_messages("waits", said, sizeof(said)) && !strcmp(said, waiting));
	return NULL;
}

/* Values that are changed one by one, then all at once.  Each value has a count of changes. */
static DEFINE_IMV(u8, counted)[5];

static const char *check_update_counts_locked(void)
{
	static const u8 order[] = { 3, 1, 4, 1, 0, 2, 3, 1, 4 };
	static const u8 times[] = { 1, 3, 1, 2, 2 };
	const struct patcher_site *by_var[2 * ARRAY_SIZE(times)];
	static struct patcher_site sites[ARRAY_SIZE(times)];
	struct imv_change changes[ARRAY_SIZE(times)];
	unsigned int i;

	/* Each value has two sites. */
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		sites[i].key = (long)&counted__imv[i] - (long)&sites[i].key;
		by_var[2 * i] = by_var[2 * i + 1] = &sites[i];
	}
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		changes[0] = (struct imv_change){ .var = &counted__imv[order[i]], .size = 1 };
		EXPECT(!imv_add_update_counters(&by_var[2 * order[i]], 2));
		imv_count_updates(changes, 1);
	}
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		EXPECT(imv_get_update_count(&counted__imv[i]) == times[i]);
		changes[i] = (struct imv_change){ .var = &counted__imv[i], .size = 1 };
	}
	EXPECT(!imv_add_update_counters(by_var, ARRAY_SIZE(by_var)));
	imv_count_updates(changes, i);
	for (i = 0; i < ARRAY_SIZE(times); i++)
		EXPECT(imv_get_update_count(&counted__imv[i]) == times[i] + 1);
	imv_remove_update_counters(NULL);
	EXPECT(!imv_get_update_count(&counted__imv[1]));
	/* Two of the five values have counters already, which keep their counts. */
	EXPECT(!imv_add_update_counters(&by_var[2], 2) && !imv_add_update_counters(&by_var[6], 2));
	imv_count_updates(changes, ARRAY_SIZE(changes));
	test_first_allocation = NULL;
	EXPECT(!imv_add_update_counters(by_var, ARRAY_SIZE(by_var)));
	/* A counter has an address and a number. */
	EXPECT(malloc_usable_size(test_first_allocation) >= 2 * sizeof(long) * ARRAY_SIZE(times));
	imv_count_updates(changes, ARRAY_SIZE(changes));
	for (i = 0; i < ARRAY_SIZE(times); i++)
		EXPECT(imv_get_update_count(&counted__imv[i]) == 1 + (i & 1));
	imv_remove_update_counters(NULL);
	/* Five counters are added at once, although each value has two sites. */
	EXPECT(!imv_add_update_counters(by_var, ARRAY_SIZE(by_var)));
	imv_count_updates(changes, ARRAY_SIZE(changes));
	for (i = 0; i < ARRAY_SIZE(times); i++)
		EXPECT(imv_get_update_count(&counted__imv[i]) == 1);
	imv_remove_update_counters(NULL);
	return NULL;
}

static const char *imv_counts_updates(void)
{
	const char *failed;

	mutex_lock(&imv_tables.lock);
	failed = check_update_counts_locked();
	mutex_unlock(&imv_tables.lock);
	return failed;
}

static void empty_probe(void *probe_private, void *call_private, const char *fmt, va_list *args)
{
}

static noinline void hit_listed(void)
{
	trace_mark_flavour(immediate, listed_mark, NULL, "%d", 1);
}

static int show_markers(struct seq_file *m, void *unused)
{
	kmarkers_list(m->file);
	return 0;
}

static const char *markers_are_listed_with_state(void)
{
	hit_listed();
	EXPECT(has_line(print_to_text(show_markers),
			"listed_mark off immediate 0 program hit_listed listings.c:"));
	EXPECT(!marker_probe_register("listed_mark", NULL, empty_probe, NULL));
	EXPECT(!marker_probe_register("listed_later", "%s", empty_probe, NULL));
	EXPECT(has_line(print_to_text(show_markers),
			"listed_mark on immediate 1 program hit_listed listings.c:"));
	EXPECT(has_line(text, "listed_later waiting - 1 - - - \"%s\"\n"));
	return NULL;
}

static void probe_of_2006(const char *format, ...)
{
}

/*
 * Check that a message gives the reason if a probe is not set because its name has probes but no
 * marker.
 */
static const char *markers_2006_report_names_without_markers(void)
{
	static const char reason[] =
		"kmarkers_markers: marker listed_later: probe not set: no such marker\n";
	struct capture capture;
	char said[256];
	int count;

	EXPECT(!marker_probe_register("listed_later", "%s", empty_probe, NULL));
	begin_stderr_capture(&capture);
	count = marker_set_probe("listed_later", NULL, probe_of_2006);
	end_stderr_capture(&capture, said, sizeof(said));
	EXPECT(!count && !strcmp(said, reason));
	return NULL;
}

static void clean_up_markers(void)
{
	marker_probe_unregister("listed_mark", empty_probe, NULL);
	marker_probe_unregister("listed_later", empty_probe, NULL);
	marker_synchronize_unregister();
}

/*
 * Return true if the list has markers bench_@flavour_@number, and each of these markers has
 * @nr_probes probes.
 */
static bool do_markers_have_probes(const char *flavour, unsigned int number, unsigned int nr_probes)
{
	unsigned int found, lines = 0;
	char name[32], state[8];
	const char *line;

	snprintf(name, sizeof(name), "bench_%s_%u ", flavour, number);
	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, strlen(name)))
			continue;
		if (sscanf(line, "%*s %7s %*s %u", state, &found) != 2 || found != nr_probes ||
		    strcmp(state, nr_probes ? "on" : "off"))
			return false;
		lines++;
	}
	return lines;
}

/*
 * Return true if all markers of the benchmark marker-enabled have 1, 2 or 8 probes (@on is true),
 * or no probes (@on is false).
 */
static bool do_enabled_markers_have_probes(bool on)
{
	static const unsigned int numbers[] = { 1, 2, 8 };
	unsigned int i;

	print_to_text(show_markers);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!do_markers_have_probes("classic", numbers[i], on ? numbers[i] : 0) ||
		    !do_markers_have_probes("typed", numbers[i], on ? numbers[i] : 0))
			return false;
	return true;
}

/*
 * Check that the setup of the benchmark marker-enabled registers 1, 2 or 8 probes with each marker,
 * as the last digit of the marker's name says.  If an allocation fails, the setup must register all
 * probes or none.
 */
static const char *run_registers_all_probes_or_none(void)
{
	unsigned int nth;
	bool failed;
	int err;

	for (nth = 1; ; nth++) {
		test_fail_nth_allocation(nth);
		err = bench_marker_enabled.setup();
		failed = test_has_allocation_failed();
		test_fail_nth_allocation(0);
		EXPECT(!err || (failed && err == -ENOMEM));
		EXPECT(do_enabled_markers_have_probes(!err));
		if (!err)
			bench_marker_enabled.teardown();
		if (!failed)
			break;
	}
	EXPECT(nth > 22 && do_enabled_markers_have_probes(false));
	return NULL;
}

static unsigned int nr_sites;

static void count_site(void *data, const struct patcher_table *table,
		       const struct patcher_site *site, u8 *addr)
{
	nr_sites += patcher_site_key(site) == (unsigned long)data;
}

static const char *patcher_visits_each_site(void)
{
	nr_sites = 0;
	patcher_for_each_site(count_site, &listed__imv);
	EXPECT(nr_sites == 2);
	return NULL;
}

static bool never_stop(void)
{
	return false;
}

static bool always_stop(void)
{
	return true;
}

static int set_up, torn_down;

static int succeed_setup(void)
{
	set_up++;
	return 0;
}

static int fail_setup(void)
{
	return -ENODEV;
}

static void count_teardown(void)
{
	torn_down++;
}

/*
 * Number of calls of simulate_window(): in a block, and before the first block.  Before the first
 * block, bench_find_loop_counts() and the warm-up each call simulate_window() once at each layout
 * of both variants.
 */
#define BLOCK_CALLS	(2 * BENCH_LOOP_COUNTS)
#define CALLS_BEFORE	(2 * (BENCH_LAYOUTS + BENCH_LAYOUTS))
static unsigned int calls;

/*
 * Simulate a window in which a loop takes a sixth of a TSC cycle; in the last of five blocks, one
 * cycle more.
 */
static u64 simulate_window(u32 loops)
{
	return loops / 6 + 40 + (calls++ < CALLS_BEFORE + 4 * BLOCK_CALLS ? 0 : loops);
}

static bench_op *const simulate_window_layouts[] = { [0 ... BENCH_LAYOUTS - 1] = simulate_window };

/* The group has only the first two variants: nothing may read the third. */
static const struct bench_variant variants[] = {
	BENCH_ROW("first", simulate_window),
	BENCH_ROW("second", simulate_window),
	BENCH_ROW("behind", simulate_window),
};

static struct bench_group group = {
	.name = "listed",
	.variants = variants,
	.nr_variants = 2,
	.loops = { 6, 12, 18 },
	.setup = succeed_setup,
	.teardown = count_teardown,
};

static struct bench_result result;

static int show_summary(struct seq_file *m, void *unused)
{
	return bench_show_summary(m, &group, &result);
}

static int show_samples(struct seq_file *m, void *unused)
{
	bench_show_samples(m, &group, &result);
	return 0;
}

static const char *run_calls_setup_and_teardown(void)
{
	struct bench_config config = { .blocks = 3, .seed = 7 };

	EXPECT(!bench_alloc_result(&group, &config, &result));
	EXPECT(bench_run_group(&group, &result, always_stop) == -EINTR && !result.nr);
	EXPECT(set_up == 1 && torn_down == 1);
	EXPECT(has_line(print_to_text(show_summary), "first 0 0 0.000 0.000 0.000\n"));
	group.setup = fail_setup;
	EXPECT(bench_run_group(&group, &result, never_stop) == -ENODEV && torn_down == 1);
	group.setup = succeed_setup;
	config.blocks = 0;
	EXPECT(bench_check_config(&config, 8) == -EINVAL);
	config.blocks = BENCH_MAX_BLOCKS + 1;
	EXPECT(bench_check_config(&config, 8) == -EINVAL);
	config.blocks = 1;
	config.cpu = 8;
	EXPECT(bench_check_config(&config, 8) == -EINVAL);
	return NULL;
}

static const char *output_prints_samples(void)
{
	struct bench_config config = { .blocks = 5, .seed = 7 };

	EXPECT(!bench_alloc_result(&group, &config, &result));
	calls = 0;
	EXPECT(!bench_run_group(&group, &result, never_stop) && result.nr == 30);
	EXPECT(calls == CALLS_BEFORE + 5 * BLOCK_CALLS);
	result.samples[0].flags = BENCH_PREEMPTED;
	result.samples[3].flags = BENCH_PREEMPTED | BENCH_MIGRATED;
	EXPECT(!strncmp(print_to_text(show_samples), "# schema=2\nbenchmark,variant,measured,",
			38));
	EXPECT(strstr(text, ",preempted\n") && strstr(text, ",preempted|migrated\n"));
	EXPECT(strstr(print_to_text(show_summary), " 4 1 0.166 "));
	return NULL;
}

static int fill_block(u32 block, struct bench_sample *samples)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		samples[i] = (struct bench_sample) {
			.value = 100 * (i + 1) + block, .block = block, .size = i & 1 ? 10 : 1,
			.variant = i / 2,
		};
	return block < 3 ? 0 : -EIO;
}

static unsigned int return_four(void)
{
	return 4;
}

/* Check that medians are printed for each number of sites if the group has a block function. */
static const char *output_prints_medians_by_size(void)
{
	static const char medians[] =
		"variant sites samples median (TSC ticks)\n"
		"first 1 3 101\nfirst 10 3 201\nsecond 1 3 301\nsecond 10 3 401\n";
	struct bench_config config = { .blocks = 5 };
	struct bench_group own = group;

	own.block = fill_block;
	own.block_samples = return_four;
	own.most_blocks = 4;
	EXPECT(!bench_alloc_result(&own, &config, &result) && result.planned == 16);
	EXPECT(bench_run_group(&own, &result, never_stop) == -EIO && result.nr == 12);
	group.block = fill_block;
	EXPECT(!strcmp(print_to_text(show_summary), medians));
	return NULL;
}

/*
 * Check that compute_slope() is exact for windows of half a second, for which 64 bits do not
 * suffice, and clamps the slope if windows take days.
 */
static const char *output_clamps_slopes_of_long_windows(void)
{
	static const char summary[] =
		"variant blocks disturbed min median max (TSC ticks per loop)\n"
		"first 1 0 100.000 100.000 100.000\n"
		"second 1 0 9223372036854775.807 9223372036854775.807 9223372036854775.807\n";
	static struct bench_sample samples[2 * BENCH_LOOP_COUNTS];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(samples); i++) {
		samples[i].variant = i / BENCH_LOOP_COUNTS;
		samples[i].size = 2500000U << (i % BENCH_LOOP_COUNTS);
		samples[i].value = 100ULL * samples[i].size + 12345;
	}
	for (i = BENCH_LOOP_COUNTS; i < ARRAY_SIZE(samples); i++) {
		samples[i].size = 1000000000U + i;
		samples[i].value = (u64)i << 55;
	}
	bench_free_result(&result);
	result = (struct bench_result) { .samples = samples, .nr = 6, .planned = 6 };
	print_to_text(show_summary);
	result.samples = NULL;
	EXPECT(!strcmp(text, summary));
	return NULL;
}

static void clean_up_results(void)
{
	bench_free_result(&result);
	group.setup = succeed_setup;
	group.block = NULL;
	free(text);
	text = NULL;
}

const struct test_case listing_cases[] = {
	{ "imv_lists_values", imv_lists_values, clean_up_results },
	{ "imv_counts_updates", imv_counts_updates, clean_up_results },
	{ "markers_are_listed_with_state", markers_are_listed_with_state, clean_up_markers },
	{ "markers_2006_report_names_without_markers", markers_2006_report_names_without_markers,
	  clean_up_markers },
	{ "sdt_lists_sites", sdt_lists_sites, clean_up_results },
	{ "sdt_attaches_to_all_sites_or_none", sdt_attaches_to_all_sites_or_none,
	  clean_up_attachments },
	{ "sdt_detaches_from_sites_that_stay_on", sdt_detaches_from_sites_that_stay_on,
	  clean_up_attachments },
	{ "sdt_lists_attached_handlers", sdt_lists_attached_handlers,
	  clean_up_lists_of_attachments },
	{ "sdt_counts_copies_of_matching_sites_once", sdt_counts_copies_of_matching_sites_once,
	  clean_up_lists_of_attachments },
	{ "sdt_reports_patterns_without_sites", sdt_reports_patterns_without_sites,
	  clean_up_attachments },
	{ "run_registers_all_probes_or_none", run_registers_all_probes_or_none, clean_up_results },
	{ "patcher_visits_each_site", patcher_visits_each_site, clean_up_results },
	{ "run_calls_setup_and_teardown", run_calls_setup_and_teardown, clean_up_results },
	{ "output_prints_samples", output_prints_samples, clean_up_results },
	{ "output_prints_medians_by_size", output_prints_medians_by_size, clean_up_results },
	{ "output_clamps_slopes_of_long_windows", output_clamps_slopes_of_long_windows,
	  clean_up_results },
};

const unsigned int listing_nr_cases = ARRAY_SIZE(listing_cases);
