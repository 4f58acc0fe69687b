# SPDX-License-Identifier: GPL-2.0-only
"""Adds markers to the DKMS packages of Debian's main archive, and loads them in the kernels of
their suites.

In a bare root, tests/dkms/build.sh builds each package unchanged and with markers. If both build,
tests/vm/jobs/dkms.sh loads the modules in the suite's kernel, traces them and switches their
markers. A package that does not build or load unchanged is a SKIP with its reason.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT, cache_dir
from kmtools.lab import catalogue, stock
from kmtools.lab.build import object_dir
from kmtools.lab.machine import Request
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import fresh, kernelsuite
from kmtools.suites.fresh import LISTS, SOURCE, Step, Visit

KERNELS = ("6.1", "6.12", "7.2")
TOOLS = (
    "apt-get install --no-install-recommends"
    " git dkms make gcc libc6-dev python3 kmod libelf1 pahole"
)
USUAL_SECONDS = 1200.0
BOOT_SECONDS = 2400.0
MEMORY = 1536
# Modules that are not loaded, with the reason.
LEFT_OUT = {
    "xt_CHAOS": "it dereferences an error pointer when it is unloaded, with or without markers"
}
# The line that build.sh prints for a package.
SAID = re.compile(r"^\s*[\d.]+  (SKIP|FAILED|ok) (.*)$", re.MULTILINE)


def compiler(kernel: catalogue.Kernel) -> str:
    """Return the package of the compiler that a kernel was built with."""
    for path in kernel.tree.glob("usr/src/linux-headers-*/.kernelvariables"):
        if found := re.search(r"gcc-\d+", path.read_text()):
            return found[0]
    raise UnableError(f"{kernel.name}: its headers name no compiler")


def in_root(path: Path) -> str:
    """Return the path of a file of the cache in a bare root."""
    return f"/srv/cache/{path.relative_to(cache_dir())}"


def build(kernel: catalogue.Kernel, visit: Visit, out: Path) -> Tally:
    """Build all packages in a root, and copy their modules to `out`."""
    tools = f"{TOOLS} {compiler(kernel)} && git clone {SOURCE} kmarkers"
    build_all = (
        f"kmarkers/tests/dkms/build.sh {in_root(kernel.tree)}"
        f" {in_root(object_dir(kernel.name, ROOT))} out"
    )
    for step in (LISTS, Step("tools", tools), Step("packages", build_all)):
        if not fresh.take(visit, step) and step.name != "packages":
            return visit.tally
    text = (fresh.WORK / f"{visit.name}-packages.log").read_text(errors="replace")
    tally = Tally()
    for word, what in SAID.findall(text):
        if word == "ok":
            tally.passed += 1
        else:
            (tally.skipped if word == "SKIP" else tally.failed).append(what)
    tally.judge(tally.passed > 0, "no package builds marked")
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(visit.root.path / "root" / "out", out)
    return tally


def in_order(modules: Sequence[Path]) -> list[Path]:
    """Return modules in an order in which each follows those that it needs."""
    files = {stock.plain_name(path): path for path in modules}
    order: list[Path] = []

    def take(name: str) -> None:
        if files[name] in order:
            return
        for needed in stock.depends(files[name].read_bytes()):
            if needed in files:
                take(needed)
        order.append(files[name])

    for name in sorted(files):
        take(name)
    return order


def arrange(kernel: catalogue.Kernel, out: Path, place: Path) -> list[tuple[Path, str]]:
    """Lay out the modules as the job wants them; returns them as files for the test kernel."""
    files: dict[str, Path] = {}
    for marked in sorted((out / "marked").iterdir()):
        package = place / marked.name
        for kind in ("unmarked", "marked"):
            (package / kind).mkdir(parents=True)
            for path in (out / kind / marked.name).iterdir():
                if stock.plain_name(path) in LEFT_OUT:
                    continue
                target = package / kind / f"{path.name.partition('.ko')[0]}.ko"
                target.write_bytes(stock.unpacked(path))
        modules = in_order(sorted((package / "unmarked").iterdir()))
        (package / "order").write_text("".join(f"{path.name}\n" for path in modules))
        needed = stock.needed(kernel, modules, place.parent / "stock")
        (package / "stock").write_text("".join(f"{path.name}\n" for path in needed))
        files |= {f"/stock/{path.name}": path for path in needed}
    return [(place, "/dkms"), *((path, name) for name, path in files.items())]


def run(name: str, log: Path) -> Tally:
    """Build the packages for a kernel, and load them there."""
    kernel = catalogue.require(name)
    out = log.with_suffix("")
    tally = kernelsuite.build(
        name, kernelsuite.MODULES / name, log.with_name(f"{out.name}-build.log")
    )
    if tally.failed:
        return tally
    with fresh.visiting(kernel.suite, False, True, {}) as visit:
        tally = build(kernel, visit, out)
    if not tally.passed:
        return tally
    for left, why in LEFT_OUT.items():
        if any((out / "marked").rglob(f"{left}.ko*")):
            tally.skipped.append(f"{left}: {why}")
    with tempfile.TemporaryDirectory(prefix="kmarkers-dkms-") as scratch:
        request = Request(
            kernel=name,
            job=kernelsuite.JOBS / "dkms.sh",
            out=out / "boot",
            modules=kernelsuite.MODULES / name,
            additions=[
                (kernelsuite.TESTS, "/tests"),
                *arrange(kernel, out, Path(scratch, "dkms")),
            ],
            settings={"KMARKERS_BENCH": 0},
            timeout=BOOT_SECONDS,
            memory=MEMORY,
        )
        tally.add(kernelsuite.run_alone(request, log))
    return tally


def suites_of(ask: Ask, _: Sequence[str]) -> list[Suite]:
    """Return a suite for each kernel, or for the one that is named."""

    def why(kernel: str) -> str:
        return fresh.obstacle() or kernelsuite.obstacle(kernel)()

    what = "the DKMS packages of its Debian, marked"
    return [
        Suite(
            f"dkms-{kernel}",
            partial(run, kernel),
            f"{what}, inside kernel {kernel}",
            partial(why, kernel),
            USUAL_SECONDS,
        )
        for kernel in ([ask.named] if ask.named else KERNELS)
    ]
