// SPDX-License-Identifier: GPL-2.0-only
/* The list of all common cases. */
#include <linux/kernel.h>

#include "cases.h"

unsigned int test_batches = 1000;
unsigned int test_seconds;
unsigned long test_stormed_ms;

const struct test_case test_cases[] = {
	{ "patcher_replaces_and_restores", patcher_replaces, patcher_forget },
	{ "patcher_refuses_bad_batches", patcher_refuses, patcher_forget },
	{ "patcher_refuses_bad_tables", patcher_refuses_tables, NULL },
	{ "patcher_refuses_overlaps", patcher_refuses_overlaps, overlaps_forget },
	{ "patcher_three_rounds_per_batch", patcher_rounds, patcher_forget },
	{ "patcher_histogram", patcher_histogram, patcher_forget },
	{ "patcher_rounds_per_chunk", patcher_chunks, kinds_forget },
	{ "patcher_storm_of_jumps", patcher_storm, patcher_forget },
	{ "patcher_storm_of_kinds", patcher_storm_kinds, kinds_forget },
	{ "patcher_storm_of_thousands", patcher_storm_thousands, kinds_forget },
	{ "patcher_storm_of_runs", patcher_storm_runs, kinds_forget },
	{ "patcher_prefixes", patcher_prefixes, kinds_forget },
	{ "patcher_passes_on_foreign_breakpoints", patcher_foreign_breakpoints, intruder_forget },
	{ "patcher_refuses_a_wrong_page", patcher_wrong_page, intruder_forget },
	{ "patcher_traps_stay", patcher_traps, traps_forget },
	{ "patcher_refuses_bad_traps", patcher_refuses_traps, traps_forget },
	{ "patcher_storm_of_traps", patcher_storm_traps, traps_forget },
	{ "imv_initial_values", imv_initial, NULL },
	{ "imv_every_size", imv_sizes, NULL },
	{ "imv_refuses_bad_changes", imv_refuses, NULL },
	{ "imv_storm", imv_storm, NULL },
	{ "imv_many_sites", imv_many_sites, NULL },
	{ "imv_branches", imv_branches, NULL },
	{ "imv_every_alignment", imv_alignments, NULL },
	{ "imv_branch_storm", imv_branch_storm, NULL },
	{ "markers_call_probes", markers_call, markers_forget },
	{ "markers_evaluate_nothing_while_off", markers_lazy, markers_forget },
	{ "markers_errors", markers_errors, markers_forget },
	{ "markers_formats", markers_formats, markers_forget },
	{ "markers_of_every_flavour", markers_flavours, markers_forget },
	{ "markers_storm", markers_storm, markers_forget },
	{ "markers_storm_of_pairs", markers_storm_pairs, markers_forget },
	{ "imv_plain_fallback", imv_plain, plain_forget },
	{ "imv_unchanged_without_memory", imv_without_memory, nomem_forget },
	{ "markers_unchanged_without_memory", markers_without_memory, nomem_forget },
	{ "typed_call_probes", typed_call, typed_forget },
	{ "typed_arguments", typed_args, typed_forget },
	{ "typed_errors", typed_errors, typed_forget },
	{ "typed_probes_by_name", typed_by_name, typed_forget },
	{ "typed_storm", typed_storm, typed_forget },
	{ "typed_storm_waits", typed_waits, typed_forget },
	{ "typed_storm_exactly_once", typed_exactly_once, typed_forget },
	{ "markers_2006", legacy_2006, legacy_forget },
	{ "markers_2006_arguments", legacy_2006_arguments, legacy_forget },
	{ "markers_2006_errors", legacy_2006_errors, legacy_forget },
	{ "markers_2628", legacy_2628, legacy_forget },
	{ "markers_private_data", legacy_private_data, legacy_forget },
	{ "markers_iteration", legacy_iteration, legacy_forget },
	{ "markers_hostile_formats", legacy_hostile_formats, legacy_forget },
	{ "markers_storm_exactly_once", legacy_exactly_once, legacy_forget },
	{ "unregistering_without_memory", unregistering_without_memory, nomem_forget },
	{ "typed_unchanged_without_memory", typed_without_memory, nomem_forget },
	{ "markers_scale_on_one_name", markers_scale_one_name, scale_forget },
	{ "markers_scale_on_many_names", markers_scale_names, scale_forget },
	{ "sdt_call_handlers", sdt_calls, sdt_forget },
	{ "sdt_errors", sdt_errors, sdt_forget },
	{ "sdt_functions_of_inlined_copies", sdt_functions, sdt_forget },
	{ "sdt_of_every_flavour", sdt_flavours, sdt_forget },
	{ "sdt_rounds", sdt_rounds, sdt_forget },
	{ "sdt_promote_breakpoints", sdt_promotes, sdt_forget },
	{ "sdt_switches_others_off", sdt_others, sdt_forget },
	{ "sdt_storm_exactly_once", sdt_storm, sdt_forget },
#ifdef __KERNEL__
	{ "patcher_waits_for_a_held_task", patcher_waits_for_held, held_forget },
	{ "core_text_storm", core_storm, core_storm_forget },
	{ "raw_tracepoint_calls_programs", raw_calls, raw_forget },
	{ "raw_tracepoint_arguments", raw_arguments, raw_forget },
	{ "raw_tracepoint_exactly_once", raw_exactly_once, raw_forget },
	{ "raw_tracepoint_storm_of_locks", raw_storm_of_locks, raw_forget },
#endif
};

const unsigned int test_nr_cases = ARRAY_SIZE(test_cases);
