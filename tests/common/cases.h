/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_COMMON_CASES_H
#define TESTS_COMMON_CASES_H

#include "test.h"

const char *patcher_replaces(void);
const char *patcher_refuses(void);
const char *patcher_refuses_tables(void);
const char *patcher_refuses_overlaps(void);
void overlaps_forget(void);
const char *patcher_rounds(void);
const char *patcher_histogram(void);
const char *patcher_storm(void);
void patcher_forget(void);

const char *patcher_checks_neighbours(void);
const char *patcher_checks_lengths(void);
const char *patcher_checks_owners(void);
const char *patcher_checks_runs(void);
void neighbours_forget(void);

const char *patcher_chunks(void);
const char *patcher_storm_kinds(void);
const char *patcher_storm_thousands(void);
const char *patcher_storm_runs(void);
const char *patcher_prefixes(void);
void kinds_forget(void);

const char *patcher_foreign_breakpoints(void);
const char *patcher_wrong_page(void);
void intruder_forget(void);

const char *patcher_traps(void);
const char *patcher_refuses_traps(void);
const char *patcher_storm_traps(void);
void traps_forget(void);

const char *imv_initial(void);
const char *imv_sizes(void);
const char *imv_refuses(void);
const char *imv_storm(void);
const char *imv_many_sites(void);
const char *imv_branches(void);
const char *imv_alignments(void);
const char *imv_branch_storm(void);

const char *imv_plain(void);
void plain_forget(void);

const char *imv_without_memory(void);
const char *markers_without_memory(void);
const char *unregistering_without_memory(void);
const char *typed_without_memory(void);
void nomem_forget(void);

const char *markers_call(void);
const char *markers_lazy(void);
const char *markers_errors(void);
const char *markers_formats(void);
const char *markers_storm(void);
const char *markers_storm_pairs(void);
const char *markers_flavours(void);
void markers_forget(void);

const char *typed_call(void);
const char *typed_args(void);
const char *typed_errors(void);
const char *typed_by_name(void);
const char *typed_storm(void);
const char *typed_exactly_once(void);
const char *typed_waits(void);
void typed_forget(void);

const char *legacy_2006(void);
const char *legacy_2006_arguments(void);
const char *legacy_2006_errors(void);
const char *legacy_2628(void);
const char *legacy_private_data(void);
const char *legacy_iteration(void);
const char *legacy_hostile_formats(void);
const char *legacy_exactly_once(void);
void legacy_forget(void);

const char *markers_scale_one_name(void);
const char *markers_scale_names(void);
void scale_forget(void);

const char *sdt_calls(void);
const char *sdt_errors(void);
const char *sdt_functions(void);
const char *sdt_flavours(void);
const char *sdt_fewer_arguments(void);
const char *sdt_rounds(void);
const char *sdt_promotes(void);
const char *sdt_others(void);
const char *sdt_storm(void);
void sdt_forget(void);

#ifdef __KERNEL__
const char *patcher_waits_for_held(void);
const char *patcher_prefix_of_held(void);
void held_forget(void);
const char *core_storm(void);
void core_storm_forget(void);
const char *raw_calls(void);
const char *raw_arguments(void);
const char *raw_exactly_once(void);
const char *raw_after_refusal(void);
void raw_refusal_forget(void);
const char *raw_storm_of_locks(void);
void raw_forget(void);
#endif

#endif /* TESTS_COMMON_CASES_H */
