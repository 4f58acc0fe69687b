# SPDX-License-Identifier: GPL-2.0-only
"""Installs the Debian packages in bare systems, and boots the kernels of these systems with the
modules.

In a bare root tests/packages/root.sh installs, upgrades and removes the packages as users do; a
later version is built from the same sources. The modules that DKMS built there are booted in the
kernel of the same Debian three times: without Secure Boot, with firmware that has DKMS's key, and
with a kernel that demands signatures and lacks that key. Modules that DKMS built for a kernel
installed later are booted in that kernel.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import UnableError
from kmtools.base.files import alone
from kmtools.base.paths import ROOT, sources, version
from kmtools.lab import bareroot, cache, catalogue, unpack
from kmtools.lab.bareroot import Root
from kmtools.lab.catalogue import Entry
from kmtools.lab.kernels import ensure
from kmtools.lab.machine import Request
from kmtools.lab.tracers import TRACERS_MEMORY
from kmtools.runner import ktap
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import fresh, kernelsuite, secureboot

WORK = ROOT / "build" / "packages"
SCRIPT = ROOT / "tests" / "packages" / "root.sh"
SUITES = {"bookworm": "Debian 12", "trixie": "Debian 13"}
MODPROBE, BASH = "/usr/sbin/modprobe", "/usr/bin/bash"
USUAL_SECONDS = 600
# The names of the boots.
PLAIN, ENROLLED, REFUSED, LATER = "plain", "enrolled", "refused", "later"
ENFORCE = "module.sig_enforce=1"


def later(text: str) -> str:
    """Return the version that follows `text` in the test of upgrades."""
    return f"{text}.1"


def change_version(tree: Path, new: str) -> None:
    """Give a tree another version, in the two places that name it."""
    for name in ("include/kmarkers/version.h", "debian/changelog"):
        path = tree / name
        text = path.read_text(encoding="utf-8")
        old = f'"{version()}"' if path.suffix == ".h" else f"({version()})"
        if text.count(old) != 1 and path.suffix == ".h":
            raise UnableError(f"{name} does not have the version {version()}")
        path.write_text(text.replace(old, old.replace(version(), new), 1), encoding="utf-8")


def make(tree: Path, log: Path) -> list[Path]:
    """Build the packages of a tree; return them."""
    if processes.run([tree / "scripts" / "package", "deb"], log):
        raise UnableError(f"the packages cannot be built, see {log}")
    return sorted((tree / "build" / "deb").glob("*.deb"))


def make_later(log: Path) -> list[Path]:
    """Build packages of the same sources with a later version; return them."""
    tree = WORK / "next"
    shutil.rmtree(tree, ignore_errors=True)
    for path in sources(ROOT):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tree / path)
    # The results are copied separately: sources() leaves them out, because other builds do not read
    # them.
    shutil.copytree(ROOT / "results", tree / "results", ignore=shutil.ignore_patterns("local"))
    change_version(tree, later(version()))
    return make(tree, log)


@contextmanager
def installed(suite: str) -> Iterator[Root]:
    """Unpack a root for a block."""
    WORK.mkdir(parents=True, exist_ok=True)
    with alone(WORK / f"{suite}.lock", f"another run works in the root {suite} of this checkout"):
        root = bareroot.unpack(suite, WORK / suite, True)
        try:
            yield root
        finally:
            root.remove()


def clean(packages: Iterable[Path], log: Path) -> Tally:
    """Judge packages by the rules of Debian."""
    words = ("--allow-root", "--display-info", "--fail-on", "error,warning,info")
    tally = Tally()
    code = processes.run(["lintian", *words, *packages], log)
    tally.judge(code == 0, f"lintian finds faults in the packages, see {log}")
    return tally


def provide(root: Root, log: Path) -> list[Path]:
    """Put packages, examples and the script into a root; return the packages there."""
    # The suites of two Debians run at the same time, and build the packages in the same folder.
    with cache.locked(f"build-packages-{cache.flat_name(ROOT)}"):
        places = {"packages": make(ROOT, log), "next": make_later(log)}
        for name, packages in places.items():
            (root.path / "srv" / name).mkdir()
            for package in packages:
                shutil.copy(package, root.path / "srv" / name)
    shutil.copytree(ROOT / "examples", root.path / "srv" / "examples")
    shutil.copy(SCRIPT, root.path / "srv" / "root.sh")
    return sorted((root.path / "srv" / "packages").glob("*.deb"))


def run_root(root: Root, suite: str, log: Path) -> Tally:
    """Run the script in a root."""
    command = f"sh /srv/root.sh {version()} {later(version())}"
    with bareroot.run(root, command, {}) as process:
        try:
            said = fresh.follow(process, log.with_suffix(".root.log"), suite)
            code = process.wait()
        finally:
            process.kill()
    tally = ktap.parse(said.splitlines())
    if code:
        tally.failed.append(f"{suite}: the script ends with {code}")
    return tally


def entry_of(suite: str, part: str = PLAIN) -> Entry:
    """Return the kernel that matches the headers of a Debian suite, or the kernel installed
    later."""
    entry = next(e for e in catalogue.load() if e.suite == suite and e.role == "gates")
    return catalogue.find(f"{entry.name}-rt") if part == LATER else entry


def host_files(root: Root) -> list[tuple[Path, str]]:
    """Return scripts/host and the files that it uses, as additions to an initramfs."""
    kbuilds = [ROOT / "Kbuild", *ROOT.glob("*/Kbuild")]
    files = [ROOT / "scripts" / "host", *kbuilds]
    own = [(path, f"/host/{path.relative_to(ROOT)}") for path in files]
    return [*own, *unpack.with_libraries(root.path, BASH)]


def run_boot(root: Root, suite: str, part: str, log: Path) -> Tally:
    """Boot a kernel with the modules that were installed for it in a root."""
    modules = root.path / "srv" / ("modules-later" if part == LATER else "modules")
    entry, record = entry_of(suite, part), modules / "release"
    if not record.is_file():
        return Tally(failed=[f"{part}: no modules were built for it"])
    kernel, release = ensure(entry), record.read_text().strip()
    if kernel.release != release:
        why = f"the test kernel is {kernel.release}, the headers are for {release}: "
        advice = f"run scripts/kmarkers lab fetch --update {entry.name}"
        return Tally(skipped=[f"boot {part}: {why}{advice}"])
    request = Request(
        kernel=entry.name,
        job=kernelsuite.JOBS / "packages.sh",
        out=log.with_suffix("") / part,
        additions=[
            (kernelsuite.TESTS, "/tests"),
            (modules, f"/lib/modules/{release}"),
            (modules / "kmarkers-dkms.prerm", "/prerm"),
            *unpack.with_libraries(root.path, MODPROBE),
            *(host_files(root) if part == PLAIN else []),
        ],
        settings={"KMARKERS_PART": part},
        append=ENFORCE if part in (ENROLLED, REFUSED) else "",
        timeout=kernelsuite.TIMEOUT_SECONDS,
        memory=TRACERS_MEMORY,
        secure_boot=part == ENROLLED,
        key=modules,
    )
    return kernelsuite.run_alone(request, log.with_suffix(f".{part}.log"))


def run(suite: str, log: Path) -> Tally:
    """Test the packages in a Debian, and in its kernel."""
    log.write_text("")
    with installed(suite) as root:
        tally = clean(provide(root, log), log.with_suffix(".lintian.log"))
        tally.add(run_root(root, suite, log))
        for part in (PLAIN, ENROLLED, REFUSED, LATER):
            tally.add(run_boot(root, suite, part, log))
    return tally


def obstacle(suite: str) -> str:
    """Return why the packages cannot be tested here, with the remedy."""
    if why := fresh.obstacle():
        return why
    if shutil.which("dh_dkms") is None:
        return "packages cannot be built: run scripts/setup --packages"
    return secureboot.obstacle(entry_of(suite).name)()


def suites(wanted: Iterable[str]) -> list[Suite]:
    """Return the suite of each Debian."""
    return [
        Suite(
            f"packages-{name}",
            partial(run, name),
            f"the packages in a bare {SUITES[name]}, and in its kernel",
            partial(obstacle, name),
            USUAL_SECONDS,
        )
        for name in wanted
    ]


def suites_of(ask: Ask, _: Sequence[str]) -> list[Suite]:
    """Return the suites of the requested systems."""
    return suites(ask.choice("root", SUITES) or SUITES)
