# SPDX-License-Identifier: GPL-2.0-only
"""Variants that tests/model/run.py checks: the protocol as it is, and with steps done wrong.

Each variant is tests/model/protocol.pml with some switches, and the results that the searches must
have. The run fails if a search finds a fault that is not expected, or misses an expected fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ground(StrEnum):
    """The environment in which the protocol runs; see Documentation/model.md."""

    KERNEL = "kernel"
    EMULATOR = "emulator"
    USER = "user"


class SearchResult(StrEnum):
    """The result of a search: no fault, the kind of the fault, or a failed search."""

    HOLDS = "holds"
    TORN = "torn"  # an execution that is partly old, partly new
    WRONG = "wrong"  # an execution of a version that is replaced, or whose batch has not begun
    UNCLAIMED = "unclaimed"  # a breakpoint that no handler claims: a panic
    FREED = "freed"  # a read of memory that has been freed
    ENDLESS = "endless"  # a CPU never gets past the site, or the writer never returns
    BROKEN = "broken"  # the search itself failed


HOLDS, TORN, WRONG = SearchResult.HOLDS, SearchResult.TORN, SearchResult.WRONG
UNCLAIMED, FREED, ENDLESS = SearchResult.UNCLAIMED, SearchResult.FREED, SearchResult.ENDLESS
KERNEL, EMULATOR, USER = Ground.KERNEL, Ground.EMULATOR, Ground.USER


@dataclass(frozen=True)
class Variant:
    """Switches of the model, and the expected result in each environment.

    `kept` is the reason to keep a step that some environment does not need.
    """

    name: str
    what: str
    switches: str
    expected: dict[Ground, SearchResult]
    kept: str = ""


def expect_results(
    kernel: SearchResult, emulator: SearchResult, user: SearchResult
) -> dict[Ground, SearchResult]:
    """Return the expected results of the three environments as a dictionary."""
    return {KERNEL: kernel, EMULATOR: emulator, USER: user}


ALL_HOLD = expect_results(HOLDS, HOLDS, HOLDS)

PROTOCOL = [
    Variant("protocol", "2 CPUs, 2 batches, 1 site, NMIs", "", ALL_HOLD),
    Variant("back", "old, new, old again", "RETURN", {KERNEL: HOLDS}),
    Variant("three-batches", "3 batches", "BATCHES=3", {KERNEL: HOLDS}),
    Variant("three-parts", "3 parts, fetched one by one", "PARTS=3", {KERNEL: HOLDS}),
    Variant("two-sites", "2 sites, the second batch changes one", "SITES=2", {KERNEL: HOLDS}),
    Variant("two-sites-no-nmi", "2 sites, no NMIs", "SITES=2 NO_NMI", ALL_HOLD),
    Variant("three-cpus", "3 CPUs, no NMIs", "CPUS=3 NO_NMI", ALL_HOLD),
    Variant("run", "runs of 3 instructions", "RUN PARTS=3", {KERNEL: HOLDS}),
    Variant(
        "at-once",
        "stronger: only new from the end of round 1 on",
        "AT_ONCE",
        expect_results(HOLDS, WRONG, HOLDS),
    ),
    Variant(
        "foreign",
        "a debugger's int3 after the last batch",
        "FOREIGN",
        ALL_HOLD,
    ),
    Variant(
        "unregister",
        "unregistered while the code still runs",
        "UNREGISTER BATCHES=1",
        expect_results(HOLDS, UNCLAIMED, UNCLAIMED),
    ),
    Variant(
        "drain-unregister",
        "unregistered after one more grace period",
        "UNREGISTER DRAIN_FIRST BATCHES=1",
        expect_results(HOLDS, HOLDS, UNCLAIMED),
    ),
]

# Reasons to keep a step that is not needed in some environment.
DRAINED = (
    "on a real CPU handlers end before round 3 does; emulators and signal handlers need this step"
)
IN_ORDER = (
    "this emulator reads both parts in order from memory; CPUs that fetch ahead need this step"
)

MUTANTS = [
    Variant("no-int3", "no breakpoint", "NO_INT3", expect_results(TORN, TORN, TORN)),
    Variant("no-round-1", "round 1 left out", "NO_ROUND=1", expect_results(TORN, TORN, TORN)),
    Variant(
        "no-round-2",
        "round 2 left out",
        "NO_ROUND=2",
        expect_results(TORN, HOLDS, TORN),
        kept=IN_ORDER,
    ),
    Variant(
        "no-round-3",
        "round 3 left out",
        "NO_ROUND=3 BATCHES=1",
        expect_results(ENDLESS, ENDLESS, ENDLESS),
    ),
    Variant(
        "no-answer-1", "round 1 not waited for", "NO_ANSWER=1", expect_results(TORN, TORN, TORN)
    ),
    Variant(
        "no-answer-2",
        "round 2 not waited for",
        "NO_ANSWER=2",
        expect_results(TORN, HOLDS, TORN),
        kept=IN_ORDER,
    ),
    Variant(
        "no-answer-3",
        "round 3 not waited for",
        "NO_ANSWER=3",
        expect_results(ENDLESS, ENDLESS, HOLDS),
        kept="a thread can be interrupted anywhere, an NMI cannot: kernels need this step",
    ),
    Variant(
        "not-self",
        "rounds leave out the writer's own CPU",
        "NOT_SELF",
        expect_results(TORN, HOLDS, TORN),
        kept="while it runs the writer, only a real CPU may have fetched bytes ahead",
    ),
    Variant(
        "tail-first",
        "tails and round 2 before the breakpoint",
        "TAIL_FIRST",
        expect_results(TORN, TORN, TORN),
    ),
    Variant(
        "first-before-tail",
        "first bytes and round 3 before the tails",
        "FIRST_BEFORE_TAIL",
        expect_results(TORN, TORN, TORN),
    ),
    Variant(
        "no-emulation",
        "the handler waits instead of emulating",
        "NO_EMULATION BATCHES=1",
        expect_results(UNCLAIMED, UNCLAIMED, UNCLAIMED),
    ),
    Variant(
        "emulate-old",
        "the handler emulates the old instruction",
        "EMULATE_OLD",
        expect_results(HOLDS, HOLDS, HOLDS),
        kept=(
            "the contract allows old or new until the return; "
            "emulating the new instruction ensures at-once"
        ),
    ),
    Variant(
        "emulate-old-at-once",
        "old instruction emulated; stronger property",
        "EMULATE_OLD AT_ONCE",
        {KERNEL: WRONG, USER: WRONG},
    ),
    Variant(
        "no-retry",
        "the handler claims no stale breakpoint",
        "NO_RETRY",
        expect_results(HOLDS, UNCLAIMED, UNCLAIMED),
        kept=DRAINED,
    ),
    Variant(
        "retry-by-byte",
        "stale int3 claimed only if the byte has changed",
        "RETRY_BY_BYTE",
        expect_results(HOLDS, UNCLAIMED, UNCLAIMED),
        kept=DRAINED,
    ),
    Variant(
        "byte-first",
        "retry-by-byte, byte read before the batch",
        "BYTE_FIRST",
        expect_results(HOLDS, HOLDS, UNCLAIMED),
        kept="a handler that is not waited for may mistake the end of a batch for its beginning",
    ),
    Variant(
        "number-early",
        "batch counted before it is published",
        "NUMBER_EARLY",
        expect_results(HOLDS, UNCLAIMED, UNCLAIMED),
        kept=DRAINED,
    ),
    Variant(
        "number-late",
        "batch counted after the breakpoint",
        "NUMBER_LATE",
        expect_results(HOLDS, UNCLAIMED, UNCLAIMED),
        kept=DRAINED,
    ),
    Variant(
        "always-retry",
        "a debugger's int3 is retried",
        "FOREIGN ALWAYS_RETRY BATCHES=1",
        expect_results(ENDLESS, ENDLESS, ENDLESS),
    ),
    Variant(
        "publish-late",
        "batch published after the breakpoint",
        "PUBLISH_LATE BATCHES=1",
        expect_results(UNCLAIMED, UNCLAIMED, UNCLAIMED),
    ),
    Variant(
        "count-first",
        "reference count set before the array",
        "COUNT_FIRST",
        expect_results(HOLDS, FREED, FREED),
        kept=DRAINED,
    ),
    Variant(
        "withdraw-early",
        "batch withdrawn before round 3",
        "WITHDRAW_EARLY BATCHES=1",
        expect_results(UNCLAIMED, UNCLAIMED, UNCLAIMED),
    ),
    Variant(
        "no-count",
        "handlers do not count themselves",
        "NO_COUNT",
        expect_results(HOLDS, FREED, FREED),
        kept=DRAINED,
    ),
    Variant(
        "no-wait",
        "the writer does not wait for handlers",
        "NO_WAIT",
        expect_results(HOLDS, FREED, FREED),
        kept=DRAINED,
    ),
    Variant(
        "interrupts-on",
        "handlers with interrupts on",
        "INTERRUPTS_ON",
        {KERNEL: HOLDS},
        kept="count and retry suffice; handlers that end before round 3 are a second safeguard",
    ),
    Variant(
        "interrupts-on-no-wait",
        "interrupts on, and handlers not waited for",
        "INTERRUPTS_ON NO_WAIT",
        {KERNEL: FREED},
    ),
    Variant(
        "interrupts-on-no-retry",
        "interrupts on, and no retry",
        "INTERRUPTS_ON NO_RETRY",
        {KERNEL: UNCLAIMED},
    ),
    Variant(
        "no-publish",
        "batch not published at all",
        "NO_PUBLISH BATCHES=1",
        expect_results(UNCLAIMED, UNCLAIMED, UNCLAIMED),
    ),
    Variant("no-tails", "tails left out", "NO_TAILS BATCHES=1", expect_results(TORN, TORN, TORN)),
    Variant(
        "no-first",
        "first bytes left out: int3 stays",
        "NO_FIRST BATCHES=1",
        expect_results(UNCLAIMED, UNCLAIMED, UNCLAIMED),
    ),
    Variant(
        "no-withdraw",
        "batch not withdrawn: writer waits for itself",
        "NO_WITHDRAW BATCHES=1",
        expect_results(ENDLESS, ENDLESS, ENDLESS),
    ),
    Variant(
        "no-withdraw-no-wait",
        "batch not withdrawn, handlers not waited for",
        "NO_WITHDRAW NO_WAIT",
        expect_results(HOLDS, FREED, FREED),
        kept=DRAINED,
    ),
    Variant("no-tasks", "runs: tasks not waited for", "RUN NO_TASKS", {KERNEL: TORN}),
    Variant("no-rewrite", "no second store", "NO_REWRITE BATCHES=1", {EMULATOR: ENDLESS}),
    Variant(
        "rewrite-early",
        "the second store before round 3",
        "REWRITE_EARLY BATCHES=1",
        {EMULATOR: ENDLESS},
    ),
    Variant(
        "withdraw-before-rewrite",
        "batch withdrawn before the second store",
        "WITHDRAW_BEFORE_REWRITE BATCHES=1",
        {EMULATOR: ENDLESS},
    ),
    Variant(
        "unregister-no-round-3",
        "unregistered, round 3 left out",
        "UNREGISTER NO_ROUND=3 BATCHES=1",
        {KERNEL: UNCLAIMED},
    ),
    Variant(
        "unregister-no-grace",
        "no grace period after the table left the list",
        "UNREGISTER DRAIN_FIRST NO_GRACE BATCHES=1",
        {KERNEL: HOLDS, EMULATOR: HOLDS},
        kept="handlers of other code's breakpoints, which are not modelled, walk the list, too",
    ),
]

# Large variants, for run.py --long: their searches take minutes and gigabytes of memory.
LONG = [
    Variant("back-elsewhere", "old, new, old again", "RETURN", {EMULATOR: HOLDS, USER: HOLDS}),
    Variant("three-batches-user", "3 batches", "BATCHES=3", {USER: HOLDS}),
    Variant("three-parts-user", "3 parts, fetched one by one", "PARTS=3", {USER: HOLDS}),
    Variant("three-cpus-nmi", "3 CPUs, NMIs, 1 batch", "CPUS=3 BATCHES=1", {KERNEL: HOLDS}),
]
