/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_COMMON_CASES_H
#define TESTS_COMMON_CASES_H

#include "test.h"

const char *patcher_replaces_and_restores(void);
const char *patcher_refuses_bad_batches(void);
const char *patcher_refuses_bad_tables(void);
const char *patcher_refuses_overlaps(void);
void overlaps_cleanup(void);
const char *patcher_takes_three_rounds_per_batch(void);
const char *patcher_counts_batches_by_duration(void);
const char *patcher_storm_of_jumps(void);
void patcher_cleanup(void);

const char *patcher_checks_neighbours(void);
const char *patcher_checks_neighbours_in_compact_table(void);
const char *patcher_checks_owners_of_compact_tables(void);
const char *patcher_checks_lengths_of_neighbours(void);
const char *patcher_checks_owners_of_neighbours(void);
const char *patcher_checks_runs_among_neighbours(void);
const char *patcher_apply_most_skips_wrong_pokes(void);
void neighbours_cleanup(void);

const char *patcher_takes_three_rounds_per_chunk(void);
const char *patcher_storm_of_kinds(void);
const char *patcher_storm_of_thousands(void);
const char *patcher_storm_of_runs(void);
const char *patcher_prefixes(void);
void kinds_cleanup(void);

const char *patcher_passes_on_foreign_breakpoints(void);
const char *patcher_refuses_a_wrong_page(void);
void intruder_cleanup(void);

const char *patcher_sets_permanent_breakpoints(void);
const char *patcher_refuses_bad_traps(void);
const char *patcher_storm_of_traps(void);
void traps_cleanup(void);

const char *imv_reads_initial_values(void);
const char *imv_sets_values_of_every_size(void);
const char *imv_refuses_bad_changes(void);
const char *imv_storm(void);
const char *imv_changes_many_sites_in_one_batch(void);
const char *imv_changes_many_values_in_one_batch(void);
const char *imv_branches_follow_the_value(void);
const char *imv_compares_like_variables(void);
const char *imv_sets_values_at_every_alignment(void);
const char *imv_storm_of_branches(void);

const char *imv_plain_loads_values_from_memory(void);
void plain_cleanup(void);

const char *imv_unchanged_without_memory(void);
const char *markers_unchanged_without_memory(void);
const char *markers_unregister_without_memory(void);
const char *typed_unchanged_without_memory(void);
void nomem_cleanup(void);

const char *markers_call_probes(void);
const char *markers_evaluate_nothing_while_off(void);
const char *markers_report_errors(void);
const char *markers_formats(void);
const char *markers_storm(void);
const char *markers_storm_of_pairs(void);
const char *markers_of_every_flavour_call_probes(void);
void markers_cleanup(void);

const char *typed_markers_call_probes(void);
const char *typed_markers_pass_arguments(void);
const char *typed_markers_report_errors(void);
const char *typed_markers_call_probes_by_name(void);
const char *typed_storm(void);
const char *typed_storm_exactly_once(void);
const char *typed_storm_waits_for_preemption(void);
void typed_cleanup(void);

const char *markers_2006_call_probes(void);
const char *markers_2006_pass_arguments(void);
const char *markers_2006_report_errors(void);
const char *markers_of_2_6_28_call_probes(void);
const char *markers_find_probes_by_private_data(void);
const char *markers_iteration_finds_every_marker(void);
const char *markers_survive_hostile_formats(void);
const char *markers_storm_exactly_once(void);
void legacy_cleanup(void);

const char *markers_scale_on_one_name(void);
const char *markers_scale_on_many_names(void);
void scale_cleanup(void);

const char *sdt_calls_handlers(void);
const char *sdt_calls_single_handler_directly(void);
const char *sdt_reports_errors(void);
const char *sdt_finds_functions_of_inlined_copies(void);
const char *sdt_sites_of_every_flavour_call_handlers(void);
const char *sdt_passes_fewer_arguments(void);
const char *sdt_rounds_do_not_depend_on_sites(void);
const char *sdt_promotes_breakpoints(void);
const char *sdt_disables_sites_beside_foreign_int3(void);
const char *sdt_storm_exactly_once(void);
void sdt_cleanup(void);

#ifdef __KERNEL__
const char *patcher_waits_for_a_held_task(void);
const char *patcher_exchanges_prefix_of_a_held_task(void);
void held_cleanup(void);
const char *core_text_storm(void);
void core_storm_cleanup(void);
const char *raw_tracepoint_calls_programs(void);
const char *raw_tracepoint_arguments(void);
const char *raw_tracepoint_exactly_once(void);
const char *raw_tracepoint_after_a_refusal(void);
void raw_refusal_cleanup(void);
const char *raw_tracepoint_storm_of_locks(void);
void raw_cleanup(void);
#endif

#endif /* TESTS_COMMON_CASES_H */
