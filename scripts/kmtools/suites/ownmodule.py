# SPDX-License-Identifier: GPL-2.0-only
"""Tests `bench --module`: counts instructions of the benchmark in a module outside this tree."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.lab.build import build_modules
from kmtools.measure import guest
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import counts, kernelsuite, testkernel

EXAMPLES = ROOT / "examples"
# The benchmark of examples/benchmark, the number of blocks to measure, and the time of the suite.
BENCHMARK, BLOCKS, SECONDS = "example-hash", 2, 40
# The number of instructions that each variant adds to the variant plain: a dormant marker is one
# nop.
ADDED = {"plain-clone": 0, "marked": 1}


def count_module_instructions(kernel: str, modules: Path, source: Path, out: Path) -> counts.Counts:
    """Build the module in the directory `source`, load it after the kmarkers modules in a test
    kernel, and return the instruction counts of its benchmark. Files and logs are written to
    `out`."""
    own, log = out / "modules", out / "build.log"
    if build_modules(kernel, source, own, [], log, kmarkers_source=ROOT):
        raise FailedError(f"the module in {source} cannot be built, see {log}")
    guest.measure_in_test_kernel(
        "icount", kernel, modules, out / "raw", blocks=BLOCKS, seed=1, external_modules=own
    )
    return counts.compute_instruction_counts(out / "raw")


def judge_example_counts(kernel: str, modules: Path, log: Path) -> Tally:
    """Check the instruction counts of the benchmark in examples/benchmark, and the error message
    for a module without a benchmark."""
    tally = Tally()
    out = log.with_suffix("")
    out.mkdir(parents=True, exist_ok=True)
    try:
        found = count_module_instructions(kernel, modules, EXAMPLES / "benchmark", out)
    except FailedError as error:
        return Tally(failed=[str(error)])
    names = sorted({benchmark for benchmark, _ in found})
    tally.add_result(names == [BENCHMARK], f"the benchmarks measured are {', '.join(names)}")
    base = found.get((BENCHMARK, "plain"), set())
    tally.add_result(len(base) == 1, f"variant plain has {len(base)} instruction counts, not one")
    for variant, added in ADDED.items():
        adds = found.get((BENCHMARK, variant)) == {count + added for count in base}
        tally.add_result(adds, f"variant {variant} does not add {added} instructions")
    said = ""
    # This boot must fail, because the module has no benchmark. The messages go to a log.
    with (
        (out / "refused.log").open("w", encoding="utf-8") as refused,
        contextlib.redirect_stderr(refused),
    ):
        try:
            count_module_instructions(kernel, modules, EXAMPLES / "client", out)
        except FailedError as error:
            said = str(error)
    tally.add_result(
        said.endswith("example_client adds no benchmark"),
        f"unexpected message about a module without a benchmark: {said!r}",
    )
    log.write_text(f"{tally.format_summary()}\n", encoding="utf-8")
    return tally


def make_module_suites(kernel: str, modules: Path) -> list[Suite]:
    """Return a list of one suite, which counts the instructions of the benchmark in
    examples/benchmark in a kernel."""
    what = "instruction counts of a benchmark in a module outside this tree"
    why = kernelsuite.make_boot_obstacle_finder(kernel)
    return [
        Suite(
            f"module-{kernel}", partial(judge_example_counts, kernel, modules), what, why, SECONDS
        )
    ]


def make_requested_own_module_suites(
    suite_request: SuiteRequest, names: Sequence[str]
) -> list[Suite]:
    """Return a list of the suite of this file, for the requested kernel; empty if `names` does not
    have the name of this suite."""
    return testkernel.make_named_suites_for_kernel(suite_request, names, make_module_suites)
