# SPDX-License-Identifier: GPL-2.0-only
"""More breakages, as in mutations.py: promises that tests in user space guard."""

from __future__ import annotations

from kmtools.check.mutations import BATCH, PROTOCOL, REFUSES, Mutant

READS, CHANGE = "immediate/reads.c", "immediate/change.c"
REGISTER = "patcher/register.c"
SITES = "patcher/sites.c"

USER_MUTANTS = (
    # What a table may hold.
    Mutant(
        "overlaps-others",
        "a site may overlap one of another table",
        SITES,
        [("if (overlaps_other_table(table))", "if (overlaps_other_table(table) && !table->nr)")],
        ("patcher_refuses_overlaps",),
    ),
    Mutant(
        "overlaps-last-byte",
        "the last byte of a site may be another's",
        SITES,
        [("table->sites[i - 1].len > addr;", "table->sites[i - 1].len > addr + 1;")],
        ("patcher_refuses_overlaps",),
    ),
    Mutant(
        "search-passes-by",
        "the search of a sorted table goes past the element that it looks for",
        "include/kmarkers/search.h",
        [("if (key_at(array, middle) < key)", "if (key_at(array, middle) <= key)")],
        ("patcher_refuses_overlaps", "protocol_steps"),
    ),
    Mutant(
        "overlaps-itself",
        "two sites of a table may overlap",
        SITES,
        [
            (
                "\t\t    patcher_site_addr(&sites[i]))\n\t\t\treturn -EINVAL;\n",
                "\t\t    patcher_site_addr(&sites[i]))\n\t\t\tcontinue;\n",
            )
        ],
        ("patcher_refuses_bad_tables",),
    ),
    Mutant(
        "run-and-prefix",
        "a site may be a run and a prefix",
        REGISTER,
        [
            (
                "site->flags & PATCHER_SITE_RUN && site->flags & PATCHER_SITE_PREFIX)",
                "site->flags & PATCHER_SITE_RUN && !site->flags)",
            )
        ],
        ("engine_no_run_is_a_prefix",),
    ),
    Mutant(
        "runs-of-core-text",
        "core text may have runs, although the kernel jumps there",
        REGISTER,
        [("patcher_text_can_wait() && !table->core ? 0", "patcher_text_can_wait() ? 0")],
        ("engine_no_runs_in_core_text",),
    ),
    Mutant(
        "core-text-for-all",
        "a table may say by itself that it is of core text",
        REGISTER,
        [("register_table(table, !table->core)", "register_table(table, true)")],
        ("patcher_refuses_bad_tables",),
    ),
    Mutant(
        "any-flags",
        "a table of values may have runs",
        READS,
        [("if (site->flags & ~(IMV_BRANCH | IMV_FLIP))", "if (site->flags & ~0xffff)")],
        ("tables_of_others_are_refused",),
    ),
    Mutant(
        "any-version",
        "a table of another version is taken",
        "include/kmarkers/table.h",
        [("chunk->version != KMARKERS_TABLE_VERSION || ", "")],
        ("tables_with_wrong_heads_are_refused",),
    ),
    # Who leaves is waited for.
    Mutant(
        "core-not-drained",
        "sites of core text are forgotten while CPUs are on the way to the handler",
        REGISTER,
        [("\tif (table->core)\n\t\tsynchronize_rcu();\n", "")],
        ("engine_drains_core_tables",),
    ),
    Mutant(
        "unregisters-at-once",
        "a table may be freed while a handler looks at it",
        REGISTER,
        [
            (
                "(table);\n\tpatcher_unlock();\n\tsynchronize_rcu();\n",
                "(table);\n\tpatcher_unlock();\n",
            )
        ],
        ("engine_unregistering_waits",),
    ),
    # How a batch is applied.
    Mutant(
        "no-order",
        "a batch that is not in the order of addresses is not sorted",
        BATCH,
        [("if (pokes[i - 1].addr > pokes[i].addr) {", "if (!pokes[i].addr) {")],
        ("patcher_storm_of_kinds",),
    ),
    Mutant(
        "chunks-ignored",
        "all sites of a batch trap at the same time, whatever its caller asked for",
        PROTOCOL,
        [
            (
                "i += chunk)\n\t\tapply_chunk(pokes + i, nr - i < chunk ? nr - i : chunk);",
                "i += nr)\n\t\tapply_chunk(pokes, chunk ? nr : 0);",
            )
        ],
        ("patcher_rounds_per_chunk",),
    ),
    Mutant(
        "any-length",
        "a replacement may be shorter than its site",
        BATCH,
        [("if (site->len != poke->len || site->flags", "if (site->len < poke->len || site->flags")],
        REFUSES,
    ),
    Mutant(
        "lock-dropped-among-cpus",
        "an instruction loses its LOCK while other CPUs are online",
        BATCH,
        [
            (
                "drops_lock(pokes, nr) && !patcher_text_alone()",
                "drops_lock(pokes, nr) && patcher_text_alone()",
            )
        ],
        ("patcher_prefixes",),
    ),
    Mutant(
        "any-prefix",
        "a prefix is replaced by any byte",
        BATCH,
        [("\t\t    !patcher_is_prefix(pokes[i].new[0]) ||", "\t\t    !pokes[i].new[0] ||")],
        ("patcher_prefixes",),
    ),
    Mutant(
        "upper-half-kept",
        "a constant of 32 bits leaves the upper half of its register",
        "patcher/insn.c",
        [("*reg = (u32)insn->imm;", "*reg = (*reg & ~0xffffffffUL) | (u32)insn->imm;")],
        ("insn_emulates_mov",),
    ),
    # Values.
    Mutant(
        "any-size",
        "a value is changed with another size than its sites have",
        CHANGE,
        [("if (change->size != site->size)", "if (!change->size)")],
        ("imv_refuses_bad_changes",),
    ),
    Mutant(
        "named-twice",
        "a value may be in a change twice",
        CHANGE,
        [("if (changes[i - 1].var == changes[i].var)", "if (!changes[i].var)")],
        ("imv_refuses_bad_changes",),
    ),
    Mutant(
        "value-not-truncated",
        "a branch follows bits that its variable does not hold",
        READS,
        [("\tvalue = imv_load_value(&value, site->size);\n", "")],
        ("imv_branches",),
    ),
    Mutant(
        "new-sites-stale",
        "sites of a new table read 0 whatever their variable holds",
        "immediate/load.c",
        [
            (
                "\tif (count && !err)\n\t\terr = patcher_apply_new(table, pokes, count);\n"
                "\tkvfree(pokes);\n",
                "\tkvfree(pokes);\n",
            )
        ],
        ("imv_initial_values", "tables_of_reads_are_taken"),
    ),
    # Probes.
    Mutant(
        "probe-twice",
        "a probe is connected twice with the same data",
        "markers/connect.c",
        [
            (
                "\tif (marker_array_find(entry->probes, link->func, link->private) >= 0)\n"
                "\t\treturn -EBUSY;\n",
                "",
            )
        ],
        ("markers_errors",),
    ),
    Mutant(
        "any-pair",
        "a probe is disconnected with another's data",
        "markers/array.c",
        [("if (probe->func == func && probe->private == private)", "if (probe->func == func)")],
        ("markers_private_data", "typed_errors"),
    ),
    Mutant(
        "left-2006",
        "a probe of 2006 stays connected when its code goes away",
        "markers/forward.c",
        [("bool forwards = probe->func == marker_forward_2006;", "bool forwards = !probe->func;")],
        ("markers_probes_leave",),
    ),
    Mutant(
        "few-arguments",
        "a probe of 2006 gets the first eight of its arguments",
        "markers/forward.c",
        [("#define FEW_ARGS\t8\n", "#define FEW_ARGS\t16\n")],
        ("markers_2006_arguments",),
    ),
    Mutant(
        "direct-past-others",
        "a typed probe is called directly although one was registered by name",
        "markers/stubs.c",
        [("live_probes(typed->array) != 1 || marker->probes)", "live_probes(typed->array) != 1)")],
        ("typed_probes_by_name",),
    ),
    Mutant(
        "half-connected",
        "some names stay connected although another one was refused",
        "markers/connect.c",
        [("\tif (link->joined)\n", "\tif (link->joined && !link->name)\n")],
        ("many_names_refused", "many_names_without_memory"),
    ),
)
