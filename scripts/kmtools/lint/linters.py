# SPDX-License-Identifier: GPL-2.0-only
"""Runs all linters. A missing tool is a SKIP with the reason."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kmtools.base.errors import UnableError, require_root
from kmtools.base.paths import ROOT, sources
from kmtools.base.processes import captured
from kmtools.lab import catalogue, kernels, unpack
from kmtools.lab.apt import PrivateApt
from kmtools.lab.build import mirror, object_dir, run_make
from kmtools.lab.unpack import BUILD_TOOLS, ensure_suite, fetching
from kmtools.lint import checkpatch, layers, names
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, printed
from kmtools.suites import kernelsuite

# scripts/setup --lint lets pip install here the linters that Debian lacks.
LINTERS = ROOT / "build" / "lint" / "bin"
RUFF, MYPY = [LINTERS / "ruff"], [LINTERS / "mypy", "--no-error-summary"]
CONCISE = "--output-format=concise"
COMPAT = Path("include/compat")
COMMAND = Path("scripts/kmarkers")
VERSIONS = re.compile(r"\b(LINUX_VERSION_CODE|KERNEL_VERSION|LINUX_VERSION_MAJOR|UTS_RELEASE)\b")
# The title of a commit, and a kernel version that contains it.
CITATION = re.compile(r'\("\w.*?\bv\d+\.\d+', re.S)
# REUSE-IgnoreStart
LICENCE = "SPDX-License-Identifier: GPL-2.0-only"
# REUSE-IgnoreEnd
# Files that cannot hold a comment, or that are not ours to license.
UNLICENSED_SUFFIXES = {".csv", ".json", ".png", ".svg", ".html", ""}

# shellcheck reads a sourced file together with the file that sources it. SC2317 reports functions
# that are called only through other functions as never called.
SHELLCHECK = ["shellcheck", "-x", "-a", "-f", "gcc", "-e", "SC2317"]
# W=1 runs kernel-doc, which needs perl.
USUAL_SECONDS = 100.0
LINT_TOOLS = ("sparse", "perl")


@dataclass
class Sources:
    """The files of this tree by kind, relative to it."""

    files: list[Path] = field(default_factory=lambda: sorted(sources(ROOT)))

    def with_suffix(self, *suffixes: str) -> list[Path]:
        """Return the files with one of these endings."""
        return [path for path in self.files if path.suffix in suffixes]

    def shell(self) -> list[Path]:
        """Return scripts for a shell, without those that others source."""
        found = [path for path in self.files if path.suffix == ".sh" or _is_shell(path)]
        text = "".join((ROOT / path).read_text() for path in found)
        sourced = {Path(name).name for name in re.findall(r"shellcheck .*\bsource=(\S+)", text)}
        return [path for path in found if path.name not in sourced]


def _is_shell(path: Path) -> bool:
    if path.suffix:
        return False
    with (ROOT / path).open("rb") as file:
        first = file.readline(80)
    return re.match(rb"#!.*\b(ba|da)?sh\b", first) is not None


def output(words: Sequence[object], tool: str) -> list[str]:
    """Run a tool over the tree; return its output if it found something."""
    program = str(words[0])
    if shutil.which(program) is None:
        raise UnableError(f"{program} is not installed")
    done = captured(words, ROOT)
    said = (done.stdout + done.stderr).splitlines()
    return (said or [f"{tool}: exit code {done.returncode}"]) if done.returncode else []


def lint_checkpatch(tree: Sources) -> list[str]:
    """Run the kernel's own style checker."""
    script = checkpatch.ensure()
    found = []
    with tempfile.NamedTemporaryFile() as typedefs:
        for path in tree.with_suffix(".c", ".h"):
            words = checkpatch.command(script, path, Path(typedefs.name))
            found += [line for line in output(words, "checkpatch") if line.strip()]
    return found


def lint_kernel() -> catalogue.Kernel:
    """Return the default kernel, in a tree that contains sparse and perl."""
    entry = catalogue.find(catalogue.default_name())
    kernel = kernels.ensure(entry)
    suite = f"{entry.suite}-lint"
    if not unpack.suite_dir(suite).is_dir():
        require_root("unpacking sparse")
        with fetching(unpack.NEEDED_BYTES):
            apt = PrivateApt(entry.suite)
            apt.update()
            headers = f"linux-headers-{kernel.release}"
            closure = apt.closure([headers, *BUILD_TOOLS, *LINT_TOOLS])
            own = [name for name in closure if name.startswith(unpack.KERNEL_PREFIXES)]
            ensure_suite(apt, suite, [name for name in closure if name not in own])
    return replace(kernel, suite=suite)


def build_output(make_args: list[str], anew: bool = False) -> list[str]:
    """Compile everything for the default kernel and return the warnings."""
    if anew:
        shutil.rmtree(object_dir(catalogue.default_name(), ROOT, "lint"), ignore_errors=True)
    kernel = lint_kernel()
    objects = object_dir(kernel.name, ROOT, "lint")
    mirror(ROOT, objects)
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch, "log")
        code = run_make(kernel, objects, ["-s", "KMARKERS_TESTS=m", *make_args], log)
        text = log.read_text(errors="replace")
    found = kernelsuite.findings(text)
    return found or (text.splitlines()[-10:] if code else [])


def lint_names() -> list[str]:
    """Check the names that objects of the w1 build define and use."""
    found = build_output(["W=1"])
    return found or names.breaches(object_dir(catalogue.default_name(), ROOT, "lint"))


def obstacle() -> str:
    """Return why linters cannot run here, with the remedy."""
    if (LINTERS / "mypy").exists():
        return ""
    return "the linters are missing: run scripts/setup --lint"


def lint_compat(tree: Sources) -> list[str]:
    """Find kernel versions outside of include/compat, and version checks that cite no commit."""
    found = []
    for path in tree.with_suffix(".c", ".h", ".S"):
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            if VERSIONS.search(line) and COMPAT not in path.parents:
                found.append(f"{path}:{number}: {line.strip()}")
    for path in sorted((ROOT / COMPAT).glob("*.h")):
        found += uncited(path.relative_to(ROOT))
    return found


def uncited(path: Path) -> Iterator[str]:
    """Yield the version checks of a file whose comment above cites no commit."""
    comment = ""
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        if line.startswith("/*"):
            comment = ""
        if line.startswith(("/*", " *")):
            comment += line
        elif VERSIONS.search(line) and CITATION.search(comment) is None:
            yield f"{path}:{number}: no commit is cited: {line.strip()}"


def lint_licence(tree: Sources) -> list[str]:
    """Find files that do not name the licence at the top."""
    found = []
    for path in tree.files:
        if path.suffix in UNLICENSED_SUFFIXES and not _is_shell(path):
            continue
        if path.parts[0] == "LICENSES":
            continue
        head = (ROOT / path).read_text(errors="replace").splitlines()[:3]
        if not any(LICENCE in line for line in head):
            found.append(f"{path}: no {LICENCE}")
    return found


TOOLS: dict[str, Callable[[Sources], list[str]]] = {
    "compat": lint_compat,
    "licence": lint_licence,
    "layers": lambda _: [*layers.breaches()],
    "ruff": lambda _: output([*RUFF, "check", "--quiet", CONCISE, "."], "ruff"),
    "format": lambda _: output([*RUFF, "format", "--check", CONCISE, "."], "ruff format"),
    "mypy": lambda tree: output([*MYPY, *tree.with_suffix(".py"), COMMAND], "mypy"),
    "shellcheck": lambda tree: output([*SHELLCHECK, *tree.shell()], "shellcheck"),
    "checkpatch": lint_checkpatch,
    # Warnings for kernel developers, and static checks of address spaces, locks and types.
    "w1": lambda _: build_output(["W=1"], anew=True),
    "names": lambda _: lint_names(),
    "sparse": lambda _: build_output(["W=1", "C=2"]),
}


def run(name: str, tree: Sources) -> Tally:
    """Run one tool and print its result."""
    try:
        found = TOOLS[name](tree)
    except UnableError as error:
        print(f"{name:<11} SKIP: {error}", flush=True)
        return Tally(skipped=[f"{name}: {error}"])
    print(f"{name:<11} {f'{len(found)} lines of findings' if found else 'clean'}", flush=True)
    for line in found:
        print(f"    {line}")
    return Tally(failed=[f"{name}: {line}" for line in found]) if found else Tally(passed=1)


def run_all(names: Iterable[str] = ()) -> Tally:
    """Run the tools named, or every one."""
    total = Tally()
    tree = Sources()
    for name in names or TOOLS:
        total.add(run(name, tree))
    return total


def suites_of(ask: Ask, _: Sequence[str]) -> list[Suite]:
    """Return the suite of the requested linters; their output is shown if no other suite runs."""
    tools = ask.choice("tools", tuple(TOOLS))
    what, alone = ", ".join(tools) or "every linter", ask.form == "named"
    run = partial(run_all, tools)
    if alone:
        return [Suite("lint", lambda _: run(), what, obstacle, USUAL_SECONDS, loud=True)]
    return [Suite("lint", printed(run), what, obstacle, USUAL_SECONDS)]
