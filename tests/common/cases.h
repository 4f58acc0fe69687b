/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_COMMON_CASES_H
#define TESTS_COMMON_CASES_H

#include "test.h"

const char *patcher_replaces_and_restores(void);
const char *patcher_refuses_bad_batches(void);
const char *patcher_refuses_bad_tables(void);
const char *patcher_refuses_overlaps(void);
void overlaps_cleanup(void);
const char *patcher_three_rounds_per_batch(void);
const char *patcher_histogram(void);
const char *patcher_storm_of_jumps(void);
void patcher_cleanup(void);

const char *patcher_checks_neighbours(void);
const char *patcher_compact_neighbours(void);
const char *patcher_compact_owners(void);
const char *patcher_neighbour_lengths(void);
const char *patcher_neighbour_owners(void);
const char *patcher_neighbour_runs(void);
const char *patcher_applies_most(void);
void neighbours_cleanup(void);

const char *patcher_rounds_per_chunk(void);
const char *patcher_storm_of_kinds(void);
const char *patcher_storm_of_thousands(void);
const char *patcher_storm_of_runs(void);
const char *patcher_prefixes(void);
void kinds_cleanup(void);

const char *patcher_ignores_foreign_int3(void);
const char *patcher_refuses_a_wrong_page(void);
void intruder_cleanup(void);

const char *patcher_sets_permanent_breakpoints(void);
const char *patcher_refuses_bad_traps(void);
const char *patcher_storm_of_traps(void);
void traps_cleanup(void);

const char *imv_initial_values(void);
const char *imv_every_size(void);
const char *imv_refuses_bad_changes(void);
const char *imv_storm(void);
const char *imv_many_sites(void);
const char *imv_branches(void);
const char *imv_comparisons(void);
const char *imv_every_alignment(void);
const char *imv_branch_storm(void);

const char *imv_plain_fallback(void);
void plain_cleanup(void);

const char *imv_unchanged_without_memory(void);
const char *markers_unchanged_without_memory(void);
const char *unregistering_without_memory(void);
const char *typed_unchanged_without_memory(void);
void nomem_cleanup(void);

const char *markers_call_probes(void);
const char *markers_evaluate_only_while_on(void);
const char *markers_errors(void);
const char *markers_formats(void);
const char *markers_storm(void);
const char *markers_storm_of_pairs(void);
const char *markers_of_every_flavour(void);
void markers_cleanup(void);

const char *typed_call_probes(void);
const char *typed_arguments(void);
const char *typed_errors(void);
const char *typed_probes_by_name(void);
const char *typed_storm(void);
const char *typed_storm_exactly_once(void);
const char *typed_storm_waits(void);
void typed_cleanup(void);

const char *legacy_2006(void);
const char *legacy_2006_arguments(void);
const char *legacy_2006_errors(void);
const char *legacy_2628(void);
const char *legacy_private_data(void);
const char *legacy_iteration(void);
const char *legacy_hostile_formats(void);
const char *legacy_exactly_once(void);
void legacy_cleanup(void);

const char *markers_scale_on_one_name(void);
const char *markers_scale_on_many_names(void);
void scale_cleanup(void);

const char *sdt_calls_handlers(void);
const char *sdt_calls_single_handler_directly(void);
const char *sdt_errors(void);
const char *sdt_functions_of_inlined_copies(void);
const char *sdt_of_every_flavour(void);
const char *sdt_fewer_arguments(void);
const char *sdt_rounds(void);
const char *sdt_promotes_breakpoints(void);
const char *sdt_switches_others_off(void);
const char *sdt_storm_exactly_once(void);
void sdt_cleanup(void);

#ifdef __KERNEL__
const char *patcher_waits_for_held_task(void);
const char *patcher_exchanges_held_prefix(void);
void held_cleanup(void);
const char *core_text_storm(void);
void core_storm_cleanup(void);
const char *raw_calls_programs(void);
const char *raw_arguments(void);
const char *raw_exactly_once(void);
const char *raw_attach_after_failure(void);
void raw_refusal_cleanup(void);
const char *raw_storm_of_locks(void);
void raw_cleanup(void);
#endif

#endif /* TESTS_COMMON_CASES_H */
