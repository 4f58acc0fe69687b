# SPDX-License-Identifier: GPL-2.0-only
"""The deliberate breakages that mutants.py makes, and the tests that must notice.

Each is a few exact replacements in one file. Text that is not there exactly once is an error: then
the code has changed, and the breakage must be written anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

BATCH = "patcher/batch.c"
PROTOCOL = "patcher/protocol.c"
INT3_STORE = "\t\tWRITE_ONCE(*pokes[i].alias, KMARKERS_INT3);\n"
TAIL_STORE = "\t\tmemcpy(pokes[i].alias + 1, pokes[i].new + 1, pokes[i].len - 1);\n"
FIRST_STORES = (
    "\twrite_first_bytes(pokes, nr);\n\tsync_round();\n\n\tpatcher_text_rewrite(pokes, nr);"
)


class Ground(Enum):
    """Where the tests of a mutant run."""

    USER = "user space"
    SANITIZED = "user space, with the address sanitizer"
    KERNEL = "test kernel"


@dataclass(frozen=True)
class Mutant:
    """One breakage: what to replace by what, and the tests of which one must fail.

    `model` names the variant of tests/model/variants.py that is broken in the same way, `suites`
    those of tests/vm/check.sh that the tests are in, if they are no cases.
    """

    name: str
    what: str
    file: str
    edits: Sequence[tuple[str, str]]
    tests: Sequence[str]
    ground: Ground = Ground.USER
    model: str = ""
    suites: Sequence[str] = ()


OWN_TEXT = "\tif (!text.owner || (text.copy && !move_text(text.copy)))\n\t\treturn;\n"
STEPS = ("protocol_steps",)
ORDER = ("protocol_steps", "imv_storm")
REFUSES = ("patcher_refuses_bad_batches",)
RUNS = ("patcher_storm_of_runs",)
CORE = ("core",)
TABLES = ("tables",)
HANDLERS = ("protocol_waits_for_handlers",)

MUTANTS = (
    Mutant(
        "no-int3",
        "first bytes stay while the tails are written",
        PROTOCOL,
        [(INT3_STORE, "\t\tcontinue;\n")],
        ORDER,
        model="no-int3",
    ),
    Mutant(
        "tails-first",
        "tails are written before the breakpoints",
        PROTOCOL,
        [(INT3_STORE, "@@@"), (TAIL_STORE, INT3_STORE), ("@@@", TAIL_STORE)],
        ORDER,
        model="tail-first",
    ),
    Mutant(
        "first-bytes-before-tails",
        "breakpoints are taken away before the tails are written",
        PROTOCOL,
        [
            (TAIL_STORE, "\t\tWRITE_ONCE(*pokes[i].alias, pokes[i].new[0]);\n"),
            (
                FIRST_STORES,
                f"\tfor (i = 0; i < nr; i++)\n{TAIL_STORE}"
                "\tsync_round();\n\n\tpatcher_text_rewrite(pokes, nr);",
            ),
        ],
        ORDER,
        model="first-before-tail",
    ),
    Mutant(
        "no-rounds", "no CPU is synchronised", PROTOCOL, [("\tpatcher_text_sync();\n", "")], ORDER
    ),
    Mutant(
        "no-round-1",
        "the first round is left out",
        PROTOCOL,
        [("\tsync_round();\n\tif (replaces_run", "\tif (replaces_run")],
        ORDER,
        model="no-round-1",
    ),
    Mutant(
        "no-round-2",
        "the second round is left out",
        PROTOCOL,
        [("\tsync_round();\n\n\twrite_first_bytes", "\n\twrite_first_bytes")],
        ORDER,
        model="no-round-2",
    ),
    Mutant(
        "no-round-3",
        "the third round is left out",
        PROTOCOL,
        [
            (
                "\tsync_round();\n\n\tpatcher_text_rewrite(pokes, nr);",
                "\n\tpatcher_text_rewrite(pokes, nr);",
            )
        ],
        ORDER,
        model="no-round-3",
    ),
    Mutant(
        "published-late",
        "the batch is shown to the handler after the first round",
        PROTOCOL,
        [
            ("\tatomic_set_release(&batch->refs, 1);\n", ""),
            (
                "\tif (replaces_run",
                "\tatomic_set_release(&batch->refs, 1);\n\tif (replaces_run",
            ),
        ],
        STEPS,
        model="publish-late",
    ),
    Mutant(
        "emulates-old",
        "the handler does what the old instruction did",
        PROTOCOL,
        [
            (
                "if (!patcher_insn_decode(poke->new, poke->len, insn) && insn->len == poke->len)",
                "if (!patcher_insn_decode(poke->old, poke->len, insn) && insn->len == poke->len)",
            )
        ],
        STEPS,
        model="emulate-old-at-once",
    ),
    Mutant(
        "wrong-length",
        "the handler goes on one byte too far",
        "patcher/insn.c",
        [("unsigned long next = addr + insn->len;", "unsigned long next = addr + insn->len + 1;")],
        ("insn_emulates_mov", "insn_emulates_jumps"),
    ),
    Mutant(
        "branch-negated",
        "the handler negates the conditions of branches",
        "patcher/insn.c",
        [
            (
                "condition_holds(insn->cond, regs->flags))",
                "!condition_holds(insn->cond, regs->flags))",
            )
        ],
        ("core_text_storm",),
        Ground.KERNEL,
    ),
    Mutant(
        "constant-off-by-one",
        "the handler loads another constant",
        "patcher/insn.c",
        [("*reg = (u32)insn->imm;", "*reg = (u32)insn->imm + 1;")],
        ("core_text_storm",),
        Ground.KERNEL,
    ),
    Mutant(
        "no-comparison",
        "old bytes are not compared",
        BATCH,
        [("\t\t\treturn -EILSEQ;\n", "\t\t\tcontinue;\n")],
        REFUSES,
    ),
    Mutant(
        "no-owner",
        "anybody may change a site",
        BATCH,
        [("if (cursor->table->owner != owner)", "if (!owner)")],
        REFUSES,
    ),
    Mutant(
        "no-overlap",
        "a site may be in a batch twice",
        BATCH,
        [("pokes[i - 1].addr + pokes[i - 1].len > pokes[i].addr", "!pokes[i].addr")],
        REFUSES,
    ),
    Mutant(
        "no-retry",
        "a stale breakpoint is nobody's",
        PROTOCOL,
        [("\tif (!patcher_sites_find(addr, NULL) || is_foreign(", "\tif (addr || is_foreign(")],
        ("protocol_retries_stale_breakpoints",),
        model="no-retry",
    ),
    Mutant(
        "foreign-retried",
        "a breakpoint that somebody else has set is retried for ever",
        PROTOCOL,
        [
            (
                "\treturn byte == KMARKERS_INT3 && READ_ONCE(",
                "\treturn !number && byte == KMARKERS_INT3 && READ_ONCE(",
            )
        ],
        ("patcher_passes_on_foreign_breakpoints",),
        model="always-retry",
    ),
    Mutant(
        "byte-alone",
        "the int3 of a batch that has just begun is taken for somebody else's",
        PROTOCOL,
        [("READ_ONCE(current_batch.number) == number;", "number;")],
        ("protocol_retries_new_breakpoints",),
        model="retry-by-byte",
    ),
    Mutant(
        "any-page",
        "what is going to be written is not looked at beforehand",
        BATCH,
        [
            (
                " ||\n\t\t    memcmp(pokes[i].alias, pokes[i].old, pokes[i].len))",
                ")",
            )
        ],
        ("patcher_refuses_a_wrong_page",),
        Ground.KERNEL,
    ),
    Mutant(
        "no-count",
        "handlers look at a batch without holding it",
        PROTOCOL,
        [
            (
                "\treturn atomic_inc_not_zero(&batch->refs);\n",
                "\treturn atomic_read_acquire(&batch->refs);\n",
            ),
            ("\tatomic_dec_return_release(&batch->refs);\n", ""),
        ],
        HANDLERS,
        model="no-count",
    ),
    Mutant(
        "no-wait",
        "a batch does not wait for handlers",
        PROTOCOL,
        [("while (atomic_read_acquire(&batch->refs))", "while (0)")],
        HANDLERS,
        model="no-wait",
    ),
    Mutant(
        "alias-left-user",
        "the writable view of a program's text stays",
        "native/text.c",
        [("\tmunmap(alias->base, alias->nr_pages * PAGE_BYTES);\n", "")],
        ("protocol_leaves_no_alias",),
    ),
    Mutant(
        "any-instruction",
        "a table of values may point at any instruction",
        "immediate/load.c",
        [("site->size))) {\n\t\t\terr =", "site->size)) && !site) {\n\t\t\terr =")],
        ("tables_of_others_are_refused",),
    ),
    Mutant(
        "fork-shares-text",
        "a child goes on with its parent's text, and may write it",
        "native/text.c",
        [(OWN_TEXT, "\ttext.owner = getpid();\n\tif (text.owner)\n\t\treturn;\n")],
        ("fork_separates",),
    ),
    Mutant(
        "fork-copies-late",
        "the child copies the text itself, when its parent may write it again",
        "native/text.c",
        [(OWN_TEXT, "\tif (!text.owner || !move_text(copy_text()))\n\t\treturn;\n")],
        ("process_fork_storm",),
    ),
    Mutant(
        "fork-goes-on",
        "a child that there is no copy for goes on with its parent's text",
        "native/text.c",
        [("\t_exit(127);\n", "")],
        ("fork_without_memory",),
    ),
    Mutant(
        "fork-signals-first",
        "a child takes signals before it has its own text",
        "native/fork.c",
        [
            ("\tnative_text_after_fork_child();\n", ""),
            (
                "\turcu_bp_after_fork_child();\n",
                "\turcu_bp_after_fork_child();\n\tnative_text_after_fork_child();\n",
            ),
        ],
        ("fork_signal_finds_own_text",),
    ),
    Mutant(
        "fork-keeps-copy",
        "the copy for the child stays mapped in its parent",
        "native/text.c",
        [("\tif (text.copy)\n\t\tmunmap(text.copy,", "\tif (!text.owner)\n\t\tmunmap(text.copy,")],
        ("fork_leaves_no_copy",),
    ),
    Mutant(
        "no-fork-gate",
        "a program forks in the middle of a batch",
        "native/fork.c",
        [("\tnative_gate_close();\n", ""), ("\tnative_gate_open();\n", "")],
        ("process_fork_storm",),
    ),
    Mutant(
        "gate-unfair",
        "whoever changes something overtakes a fork that waits",
        "native/lock.c",
        [
            (
                "\twait_turn();\n\tgate.inside++;\n\tend_turn();\n",
                "\tpthread_mutex_lock(&gate.lock);\n\tgate.inside++;\n"
                "\tpthread_mutex_unlock(&gate.lock);\n",
            )
        ],
        ("fork_gets_through_changes",),
    ),
    Mutant(
        "no-signal-stack",
        "breakpoints are handled on whatever stack the program is on",
        "native/trap.c",
        [(" | SA_ONSTACK", "")],
        ("protocol_handles_apart",),
    ),
    Mutant(
        "signals-in-handler",
        "signals interrupt the handler of breakpoints",
        "native/trap.c",
        [("\tsigfillset(&action.sa_mask);\n", "\tsigemptyset(&action.sa_mask);\n")],
        ("protocol_handles_apart",),
    ),
    Mutant(
        "trap-not-asked",
        "a batch begins although SIGTRAP has another handler",
        "native/text.c",
        [("\tif (!native_trap_is_ours())\n\t\treturn -ENOLINK;\n", "")],
        ("batch_without_sigtrap",),
    ),
    Mutant(
        "membarrier-not-asked",
        "a batch begins although membarrier(2) was taken away",
        "native/text.c",
        [("\treturn native_sync_threads() ? -EOPNOTSUPP : 0;\n", "\treturn 0;\n")],
        ("batch_without_membarrier",),
    ),
    Mutant(
        "handler-of-itself",
        "the second kmarkers_start() takes our own handler for the program's",
        "native/trap.c",
        [("\tif (native_trap_is_ours())\n\t\treturn 0;\n", "")],
        ("start_is_tried_again",),
    ),
    Mutant(
        "tables-twice",
        "the second kmarkers_start() takes tables that were taken",
        "native/start.c",
        [("\t*taken = !err;\n", "")],
        ("start_is_tried_again",),
    ),
    Mutant(
        "nop-of-rip",
        "a nop with an address relative to itself is taken for a shorter one",
        "patcher/insn.c",
        [("} else if (mod == 0 && rm == 5) {", "} else if (mod == 1 && rm == 5) {")],
        ("insn_decodes_known_and_refuses_others",),
    ),
    Mutant(
        "nop-without-base",
        "a nop with an index and no base is taken for a shorter one",
        "patcher/insn.c",
        [("if (mod == 0 && (bytes[1] & 7) == 5)", "if (mod == 1 && (bytes[1] & 7) == 5)")],
        ("insn_decodes_known_and_refuses_others",),
    ),
    Mutant(
        "migration-unseen",
        "a window that ends on another CPU is not flagged",
        "bench_modules/run.c",
        [("\tif (raw_smp_processor_id() != cpu)\n", "\tif (sample->cpu != cpu)\n")],
        ("run_flags_disturbed_windows",),
    ),
    Mutant(
        "preemption-unseen",
        "a window that was preempted is not flagged",
        "bench_modules/run.c",
        [
            (
                "\tif (bench_count_switches() != switches)\n",
                "\tif (bench_count_switches() < switches)\n",
            )
        ],
        ("run_flags_disturbed_windows",),
    ),
    Mutant(
        "number-with-newline",
        "a number may have a newline behind it",
        "base/words.c",
        [("\tif (strchr(text, '\\n'))\n\t\treturn -EINVAL;\n", "")],
        ("words_numbers",),
    ),
    Mutant(
        "clone-writes",
        "a child without fork()'s handlers may write its parent's text",
        "native/text.c",
        [("\tif (getpid() != text.owner)\n", "\tif (!text.owner)\n")],
        ("process_clone_is_refused",),
    ),
    Mutant(
        "traps-swallowed",
        "breakpoints of others are not passed on",
        "native/trap.c",
        [("\t\tprevious.sa_handler(sig);\n", "\t\treturn;\n")],
        ("process_passes_on_foreign_traps",),
    ),
    Mutant(
        "red-zone-used",
        "the handler writes below the interrupted stack pointer",
        "native/trap.c",
        [
            (
                "\tFOR_EACH_REGISTER(STORE)\n",
                "\tFOR_EACH_REGISTER(STORE)\n\t((unsigned long *)regs.sp)[-1] = 0;\n",
            )
        ],
        ("protocol_keeps_red_zone",),
    ),
    Mutant(
        "no-tasks",
        "tasks preempted inside a run are not waited for",
        PROTOCOL,
        [("\t\tpatcher_text_wait_tasks();\n", "\t\tcpu_relax();\n")],
        RUNS,
        Ground.KERNEL,
        model="no-tasks",
    ),
    Mutant(
        "runs-tails-first",
        "tails of runs are written before the breakpoints",
        PROTOCOL,
        [(INT3_STORE, "@@@"), (TAIL_STORE, INT3_STORE), ("@@@", TAIL_STORE)],
        RUNS,
        Ground.KERNEL,
    ),
    Mutant(
        "alias-left",
        "the writable view of module text stays",
        "patcher/text.c",
        [("\tvunmap(alias->base);\n", "")],
        ("no area of ours is mapped",),
        Ground.KERNEL,
    ),
    Mutant(
        "any-memory",
        "sites need not be in text",
        "patcher/text.c",
        [
            (
                "\t       compat_module_text(module, addr) && compat_module_text(module, last);\n",
                "\t       true;\n",
            )
        ],
        ("patcher_refuses_bad_tables",),
        Ground.KERNEL,
    ),
    Mutant(
        "no-text-mutex",
        "core text is written although others may write it",
        "patcher/core_text.c",
        [
            ("\tmutex_lock(text.mutex);\n", "\tmight_sleep();\n"),
            ("\tmutex_unlock(text.mutex);\n", "\tmight_sleep();\n"),
        ],
        ("no byte changes while text_mutex is held",),
        Ground.KERNEL,
        suites=CORE,
    ),
    Mutant(
        "oracles-unlocked",
        "kprobes are planted to ask by them while a batch looks for kprobes",
        "patcher/core.c",
        [
            (
                "\tpatcher_lock();\n\terr = register_site(core);\n\tpatcher_unlock();\n",
                "\terr = register_site(core);\n",
            ),
        ],
        ("a change beside what is being asked for",),
        Ground.KERNEL,
        suites=CORE,
    ),
    Mutant(
        "site-left-changed",
        "a site is forgotten with other bytes than were found there",
        "patcher/core.c",
        [("\tif (!memcmp(core->addr, core->original, core->len))\n", "\tif (core->len)\n")],
        ("a changed site cannot be forgotten",),
        Ground.KERNEL,
        suites=CORE,
    ),
    Mutant(
        "site-forgotten-twice",
        "two may forget one site: it is let go between the look at it and its end",
        "patcher/core.c",
        [
            (
                "\tif (!err)\n\t\tpatcher_forget_table(&core->table);\n\tpatcher_unlock();\n"
                "\tif (!err)\n\t\tsynchronize_rcu();\n",
                "\tpatcher_unlock();\n"
                "\tif (!err) {\n\t\tsynchronize_rcu();\n"
                "\t\tpatcher_unregister(&core->table);\n\t}\n",
            ),
        ],
        ("two at a time forget a site",),
        Ground.KERNEL,
        suites=CORE,
    ),
    Mutant(
        "detour-unlocked",
        "two may redirect a function with one detour at the same time",
        "patcher/redirect.c",
        [
            (
                "\tmutex_lock(&lock);\n\terr = in_use(detour) ? -EBUSY : take_function(detour);\n"
                "\tmutex_unlock(&lock);\n",
                "\terr = in_use(detour) ? -EBUSY : take_function(detour);\n",
            ),
        ],
        ("two at a time with one detour",),
        Ground.KERNEL,
        suites=CORE,
    ),
    Mutant(
        "detour-anywhere",
        "a function of a module may be redirected",
        "patcher/redirect.c",
        [("\tif (!patcher_is_core_text(addr))\n", "\tif (!addr)\n")],
        ("detour of a module's function",),
        Ground.KERNEL,
        suites=CORE,
    ),
    Mutant(
        "site-anywhere",
        "an instruction in a module's text passes for one of the kernel",
        "patcher/functions.c",
        [
            (
                "if (!addr || !patcher_is_core_text(addr) || kmarkers_find",
                "if (!addr || kmarkers_find",
            )
        ],
        ("module function",),
        Ground.KERNEL,
        suites=CORE,
    ),
    Mutant(
        "any-name",
        "what runs where a breakpoint is handled may be changed",
        "patcher/functions.c",
        [("\t\tif (strstarts(function, handler_path[i]))\n", "\t\tif (!function)\n")],
        (
            "on the handler's path: __rcu_read_lock",
            "on the handler's path: hw_breakpoint_exceptions_notify",
        ),
        Ground.KERNEL,
        suites=CORE,
    ),
    Mutant(
        "any-function",
        "a function need not be one that ftrace traces",
        "patcher/functions.c",
        [("\treturn err && err != -ENOMEM ? -EPERM : err;\n", "\treturn 0;\n")],
        ("denied: memset", "denied: clear_page_erms", "denied: trace_clock_local"),
        Ground.KERNEL,
        suites=CORE,
    ),
    Mutant(
        "any-address",
        "nobody is asked whose an instruction of the kernel is",
        "patcher/oracle.c",
        [("\terr = judge(oracle, len, &owner);\n", "\terr = judge ? 0 : -EPERM;\n")],
        ("static calls", "jump labels", "disabled kprobe"),
        Ground.KERNEL,
        suites=CORE,
    ),
    Mutant(
        "no-company",
        "an oracle does not see that another kprobe was there first",
        "patcher/oracle.c",
        [("list->next != list->prev;", "list->next == NULL;")],
        ("disabled kprobe",),
        Ground.KERNEL,
        suites=CORE,
    ),
    Mutant(
        "kprobes-overlooked",
        "a kprobe on what is changed is no reason to refuse",
        "patcher/kprobes.c",
        [("\tif (overlaps_poke((unsigned long)kp->addr, pokes, nr))\n", "\tif (!kp)\n")],
        ("disabled kprobe: the marker stays off",),
        Ground.KERNEL,
        suites=("kprobes",),
    ),
    Mutant(
        "landing-overlooked",
        "a jump may lead into a kprobe that is optimised",
        "patcher/kprobes.c",
        [("\tif (may_be_optimised(kp) && !has_companion(kp))\n", "\tif (!kp)\n")],
        ("branch: the kprobe gave it up",),
        Ground.KERNEL,
        suites=("landing",),
    ),
    Mutant(
        "landing-in-run-overlooked",
        "of a run that is written, only the first instruction is looked at",
        "patcher/kprobes.c",
        [("i < len && (run || !i)", "i < len && !i")],
        ("run: the kprobe gave it up",),
        Ground.KERNEL,
        suites=("landing",),
    ),
    Mutant(
        "landing-forgotten",
        "a kprobe that a jump leads into is optimised again after the batch",
        "patcher/kprobes.c",
        [("\t\t\tcompanion->needed = true;\n", "\t\t\tcompanion->needed = false;\n")],
        ("branch: the kprobe is not",),
        Ground.KERNEL,
        suites=("landing",),
    ),
    Mutant(
        "replacement-not-drained",
        "tasks in a replacement are not waited for when its call is restored",
        "patcher/redirect.c",
        [
            (
                "\t\tpatcher_unregister(&redirect->core.table);\n\t}\n\tmutex_unlock(&lock);\n"
                "\tif (err)\n\t\treturn err;\n\tsynchronize_rcu_tasks();\n",
                "\t\tpatcher_unregister(&redirect->core.table);\n\t}\n\tmutex_unlock(&lock);\n"
                "\tif (err)\n\t\treturn err;\n",
            )
        ],
        ("restore: nobody was left inside",),
        Ground.KERNEL,
        suites=CORE,
    ),
    Mutant(
        "value-without-sites",
        "a variable is stored although its sites were refused",
        "immediate/change.c",
        [
            (
                "\tfor (i = 0; !err && i < nr; i++)\n\t\tstore_value",
                "\tfor (i = 0; i < nr; i++)\n\t\tstore_value",
            )
        ],
        ("imv_refuses_bad_changes",),
    ),
    Mutant(
        "probe-without-data",
        "a probe is published before its private data",
        "markers/array.c",
        [
            ("\tprobe->private = private;\n", ""),
            (
                "\tsmp_store_release(&probe->func, func);\n",
                "\tsmp_store_release(&probe->func, func);\n"
                "\tfor (slot = 0; slot < 100000; slot++)\n\t\tbarrier();\n"
                "\tWRITE_ONCE(probe->private, private);\n",
            ),
        ],
        ("markers_storm_of_pairs",),
    ),
    Mutant(
        "probes-freed-at-once",
        "the list of probes is freed while markers may read it",
        "markers/connect.c",
        [
            (
                "\tif (old)\n\t\tkfree_rcu(old, rcu);\n\tlink->switches = !array;\n",
                "\tkfree(old);\n\tlink->switches = !array;\n",
            )
        ],
        ("markers_storm_of_pairs",),
        Ground.SANITIZED,
    ),
    Mutant(
        "slot-rewritten-at-once",
        "private data and probe of a typed marker change while a CPU is between them",
        "markers/stubs.c",
        [("\tcond_synchronize_rcu(typed->idle);\n", "")],
        ("typed_storm_waits",),
        Ground.KERNEL,
    ),
    Mutant(
        "slot-kept",
        "a typed probe that was unregistered is still called directly",
        "markers/typed.c",
        [
            (
                "\terr = marker_stub_leave(marker);\n\tif (err)\n\t\treturn err;\n"
                "\tmarker_array_del",
                "\terr = 0;\n\tif (err)\n\t\treturn err;\n\tmarker_array_del",
            )
        ],
        ("typed_call_probes",),
    ),
    Mutant(
        "arguments-used-up",
        "all probes of a marker share one list of arguments",
        "markers/call.c",
        [
            ("\t\tva_start(call.args, fmt);\n", ""),
            ("\t\tva_end(call.args);\n", ""),
            (
                "\tpreempt_disable_notrace();\n",
                "\tva_start(call.args, fmt);\n\tpreempt_disable_notrace();\n",
            ),
            (
                "\tpreempt_enable_notrace();\n",
                "\tpreempt_enable_notrace();\n\tva_end(call.args);\n",
            ),
        ],
        ("markers_call_probes",),
    ),
    Mutant(
        "any-format",
        "formats are not compared",
        "markers/names.h",
        [("return !entry->format || !strcmp(entry->format, format);", "return true;")],
        ("markers_errors", "markers_formats"),
    ),
    Mutant(
        "set-again-fails",
        "a probe of 2006 that is set again is told that it failed",
        "markers/legacy.c",
        [("\tif (err && err != -EBUSY) {\n", "\tif (err) {\n")],
        ("markers_2006_errors",),
    ),
    Mutant(
        "list-of-nothing",
        "without a probe no marker is listed",
        "markers/legacy.c",
        [("return !probe || (marker_array_find", "return (marker_array_find")],
        ("markers_iteration",),
    ),
    Mutant(
        "comes-unconnected",
        "what leads to a marker that is on when its module comes is not told",
        "markers/tracepoint.c",
        [("return marker->probes ? marker_tracepoint_switch(marker, true) : 0;", "return 0;")],
        ("the tracepoint calls it",),
        Ground.KERNEL,
        suites=("history",),
    ),
    Mutant(
        "callback-connected-twice",
        "a callback is connected once for each marker in it",
        "markers/tracepoint.c",
        [("other->callback == tp->callback)\n\t\t\treturn true;", "!other)\n\t\t\treturn true;")],
        ("one of several markers in a callback is counted",),
        Ground.KERNEL,
        suites=("history",),
    ),
    Mutant(
        "callback-of-others",
        "a callback that somebody else has connected is connected again",
        "markers/tracepoint.c",
        [("tracepoint_probe_register_may_exist(", "tracepoint_probe_register(")],
        ("a marker in a connected callback is not counted",),
        Ground.KERNEL,
        suites=("history",),
    ),
    Mutant(
        "callback-gone-with-the-first",
        "a callback is disconnected when the first marker in it goes off",
        "markers/tracepoint.c",
        [
            (
                "\tif (!has_company(tp))\n\t\ttracepoint_probe_un",
                "\tif (tp->callback)\n\t\ttracepoint_probe_un",
            ),
        ],
        ("the second marker is still called",),
        Ground.KERNEL,
        suites=("history",),
    ),
    Mutant(
        "format-reads-strings-itself",
        "a string is read as if its address were good",
        "markers/format.c",
        [
            ("copy_from_kernel_nofault(&c, string + nr, 1) || !c", "!(c = string[nr])"),
            ("most && copy_from_kernel_nofault(&c, string, 1)", "!string"),
        ],
        ("format_prints_bad_strings",),
    ),
    Mutant(
        "format-fills-its-buffer",
        "no room is kept for the end of a text",
        "markers/format.c",
        [("return out->at + 1 >= out->size;", "return out->at >= out->size;")],
        ("format_stays_inside",),
    ),
    Mutant(
        "format-takes-percent-n",
        "%n is taken for a number",
        "markers/format.c",
        [('"diuxXocsp%"', '"diuxXocsp%n"')],
        ("format_refuses",),
    ),
    Mutant(
        "hole-between-chunks",
        "records that do not lie side by side are taken for a table",
        "include/kmarkers/table.h",
        [("(unsigned long)span->first != span->bytes", "(unsigned long)span->first < span->bytes")],
        ("tables_of_units_are_joined",),
    ),
    Mutant(
        "value-by-value",
        "a change looks at every site of a table",
        "include/kmarkers/search.h",
        [("unsigned int middle = low + (high - low) / 2;", "unsigned int middle = low;")],
        ("imv_set_looks_at_its_sites_only",),
    ),
    Mutant(
        "histogram-bound",
        "a batch that takes as long as a bucket's bound is in that bucket",
        "include/kmarkers/patcher.h",
        [("ns >= 1000ULL << bucket", "ns > 1000ULL << bucket")],
        ("patcher_histogram",),
    ),
    Mutant(
        "tables-not-missed",
        "a module whose tables cannot be found is loaded",
        "patcher/tables.c",
        [("\tif (!refers_to(module, needs))\n", "")],
        ("tables of version 1", "sites without tables"),
        Ground.KERNEL,
        suites=TABLES,
    ),
    Mutant(
        "table-as-parameter",
        "a parameter that stands for a table can be set",
        "patcher/tables.c",
        [
            (
                'cannot be set\\n", param->name);\n\treturn -EINVAL;',
                'cannot be set\\n", param->name);\n\treturn 0;',
            )
        ],
        ("a table as a parameter",),
        Ground.KERNEL,
        suites=TABLES,
    ),
    Mutant(
        "breakpoints-in-new-code",
        "the sites of a module that is being loaded are changed with breakpoints",
        BATCH,
        [
            (
                "is_new(table, pokes, nr) ? patcher_write_new : patcher_write_chunks",
                "patcher_write_chunks",
            )
        ],
        ("one file: a round each",),
        Ground.KERNEL,
        suites=TABLES,
    ),
    Mutant(
        "values-before-markers",
        "the sites of a module are written before the states of its markers are known",
        "markers/main.c",
        [(".priority = 4,", ".priority = 1,")],
        ("one file: batches",),
        Ground.KERNEL,
        suites=TABLES,
    ),
    Mutant(
        "kprobes-before-values",
        "kprobes that wait for a module come to its sites before these are written",
        "immediate/main.c",
        [(".priority = 3,", ".priority = 0,")],
        ("marked module comes",),
        Ground.KERNEL,
        suites=("kprobes",),
    ),
    Mutant(
        "unload-waits",
        "a module that leaves waits for a grace period of ours",
        "immediate/load.c",
        [("\t\tpatcher_drop(&table->sites);", "\t\tpatcher_unregister(&table->sites);")],
        ("many files leave: no grace period was waited for",),
        Ground.KERNEL,
        suites=TABLES,
    ),
)
