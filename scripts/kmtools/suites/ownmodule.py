# SPDX-License-Identifier: GPL-2.0-only
"""Checks the benchmark of a module outside this tree, built and counted as by `bench --module`."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.lab.build import build_modules
from kmtools.measure import guest
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import counts, kernelsuite, testkernel

EXAMPLES = ROOT / "examples"
BENCHMARK, BLOCKS, SECONDS = "example-hash", 2, 40
# A dormant marker is one nop.
ADDED = {"plain-clone": 0, "marked": 1}


def counted(kernel: str, modules: Path, source: Path, out: Path) -> counts.Counts:
    """Build a module from outside this tree, load it after ours in a test kernel, and count the
    instructions that its variants add."""
    own, log = out / "modules", out / "build.log"
    if build_modules(kernel, source, own, [], log, uses=ROOT):
        raise FailedError(f"{source.name} does not build, see {log}")
    guest.measure("icount", kernel, modules, out / "raw", blocks=BLOCKS, seed=1, own=own)
    return counts.count(out / "raw")


def run(kernel: str, modules: Path, log: Path) -> Tally:
    """Count the instructions of the example's benchmark, and check that an error names a module
    without a benchmark."""
    tally = Tally()
    out = log.with_suffix("")
    out.mkdir(parents=True, exist_ok=True)
    try:
        found = counted(kernel, modules, EXAMPLES / "benchmark", out)
    except FailedError as error:
        return Tally(failed=[str(error)])
    names = sorted({benchmark for benchmark, _ in found})
    tally.judge(names == [BENCHMARK], f"the benchmarks measured are {', '.join(names)}")
    base = found.get((BENCHMARK, "plain"), set())
    tally.judge(len(base) == 1, f"plain has {len(base)} counts")
    for variant, added in ADDED.items():
        adds = found.get((BENCHMARK, variant)) == {count + added for count in base}
        tally.judge(adds, f"{variant} does not add {added} instructions")
    said = ""
    # The output about the boot that must fail goes to a log.
    with (out / "refused.log").open("w") as refused, contextlib.redirect_stderr(refused):
        try:
            counted(kernel, modules, EXAMPLES / "client", out)
        except FailedError as error:
            said = str(error)
    tally.judge(said.endswith("example_client adds no benchmark"), f"without one it says {said!r}")
    log.write_text(f"{tally.closing_line()}\n")
    return tally


def suites(kernel: str, modules: Path) -> list[Suite]:
    """Return the suite, as a list of one."""
    what = "the benchmark of a module outside this tree, counted"
    why = kernelsuite.obstacle(kernel)
    return [Suite(f"module-{kernel}", partial(run, kernel, modules), what, why, SECONDS)]


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suites of these names."""
    return testkernel.of_kernel(ask, names, suites)
