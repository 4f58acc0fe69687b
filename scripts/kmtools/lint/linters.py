# SPDX-License-Identifier: GPL-2.0-only
"""Runs all linters. A linter whose tool is missing is skipped, with the reason."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kmtools.base.errors import UnableError, require_root
from kmtools.base.paths import ROOT, list_sources
from kmtools.base.processes import capture_output
from kmtools.lab import catalogue, kernels, unpack
from kmtools.lab.apt import PrivateApt
from kmtools.lab.build import (
    get_object_dir,
    hold_object_dir_lock,
    run_kbuild,
    update_source_copy,
)
from kmtools.lab.unpack import BUILD_TOOLS, ensure_suite_tree_is_unpacked, hold_fetch_lock
from kmtools.lint import checkpatch, layers, names
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, make_run_with_output_in_log
from kmtools.suites import kernelsuite

# scripts/setup --lint installs linters here with pip.
LINTERS = ROOT / "build" / "lint" / "bin"
RUFF, MYPY = [LINTERS / "ruff"], [LINTERS / "mypy", "--no-error-summary"]
CONCISE = "--output-format=concise"
COMPAT = Path("include/compat")
COMMAND = Path("scripts/kmarkers")
# Matches a check of the kernel version.
VERSIONS = re.compile(r"\b(LINUX_VERSION_CODE|KERNEL_VERSION|LINUX_VERSION_MAJOR|UTS_RELEASE)\b")
# Matches a citation: the title of a commit, and the first kernel version that contains it.
CITATION = re.compile(r'\("\w.*?\bv\d+\.\d+', re.S)
# REUSE-IgnoreStart
LICENCE = "SPDX-License-Identifier: GPL-2.0-only"
# REUSE-IgnoreEnd
# Suffixes of files that cannot contain a comment, or that are under another licence.
UNLICENSED_SUFFIXES = {".csv", ".json", ".png", ".svg", ".html", ".doc-base", ""}

# shellcheck reads a sourced file together with the file that sources it. SC2317 is disabled,
# because it reports a function as never called if only other functions call it.
SHELLCHECK = ["shellcheck", "-x", "-a", "-f", "gcc", "-e", "SC2317"]
USUAL_SECONDS = 200.0
# W=1 runs kernel-doc, which needs perl.
LINT_TOOLS = ("sparse", "perl")


@dataclass
class Sources:
    """The source files of this tree, as paths relative to the root of the tree."""

    files: list[Path] = field(default_factory=lambda: sorted(list_sources(ROOT)))

    def list_files_with_suffix(self, *suffixes: str) -> list[Path]:
        """Return the files whose suffix is one of `suffixes`."""
        return [path for path in self.files if path.suffix in suffixes]

    def list_shell_scripts(self) -> list[Path]:
        """Return the shell scripts, except scripts that other scripts source."""
        found = [path for path in self.files if path.suffix == ".sh" or _is_shell_script(path)]
        text = "".join((ROOT / path).read_text(encoding="utf-8") for path in found)
        sourced = {Path(name).name for name in re.findall(r"shellcheck .*\bsource=(\S+)", text)}
        return [path for path in found if path.name not in sourced]


def _is_shell_script(path: Path) -> bool:
    if path.suffix:
        return False
    with (ROOT / path).open("rb") as file:
        first = file.readline(80)
    return re.match(rb"#!.*\b(ba|da)?sh\b", first) is not None


def run_linter_program(command: Sequence[object], tool: str) -> list[str]:
    """Run the command line of a linter in the root of the tree. Return the lines of the linter's
    output if its exit code is not 0, else an empty list. `tool` is the linter's name."""
    program = str(command[0])
    if shutil.which(program) is None:
        raise UnableError(f"{program} is not installed: run scripts/setup --lint")
    done = capture_output(command, ROOT)
    said = (done.stdout + done.stderr).splitlines()
    return (said or [f"{tool}: exit code {done.returncode}"]) if done.returncode else []


def run_checkpatch(tree: Sources) -> list[str]:
    """Run the kernel's checkpatch.pl on every C file; return a line for each fault."""
    script = checkpatch.ensure_checkpatch_is_extracted()
    found = []
    with tempfile.NamedTemporaryFile() as typedefs:
        paths = tree.list_files_with_suffix(".c", ".h")
        for words in checkpatch.make_checkpatch_commands(script, paths, Path(typedefs.name)):
            found += [line for line in run_linter_program(words, "checkpatch") if line.strip()]
    return found


def unpack_lint_kernel() -> catalogue.Kernel:
    """Return the default test kernel with a build environment that contains sparse and perl. If the
    environment is missing, unpack it first."""
    entry = catalogue.find_kernel_entry(catalogue.get_default_kernel_name())
    kernel = kernels.ensure_kernel_is_unpacked(entry)
    suite = f"{entry.suite}-lint"
    if not unpack.get_distro_suite_dir(suite).is_dir():
        require_root("unpacking sparse")
        with hold_fetch_lock(unpack.NEEDED_BYTES):
            apt = PrivateApt(entry.suite)
            apt.update_package_lists()
            headers = f"linux-headers-{kernel.release}"
            closure = apt.list_packages_with_dependencies([headers, *BUILD_TOOLS, *LINT_TOOLS])
            own = [name for name in closure if name.startswith(unpack.KERNEL_PREFIXES)]
            ensure_suite_tree_is_unpacked(apt, suite, [name for name in closure if name not in own])
    return replace(kernel, suite=suite)


def collect_build_warnings(make_args: list[str], from_scratch: bool = False) -> list[str]:
    """Compile all modules for the default kernel with `make_args`, and return the compiler's
    warnings. With `from_scratch`, delete the objects of an earlier build first."""
    kernel = unpack_lint_kernel()
    objects = get_object_dir(kernel.name, ROOT, "lint")
    with tempfile.TemporaryDirectory() as scratch, hold_object_dir_lock(kernel.name, objects):
        if from_scratch:
            shutil.rmtree(objects, ignore_errors=True)
        update_source_copy(ROOT, objects)
        log = Path(scratch, "log")
        words = ["-s", "KMARKERS_TESTS=m", "KCFLAGS=-DBENCH_UNTIMED", *make_args]
        code = run_kbuild(kernel, objects, words, log)
        text = log.read_text(encoding="utf-8", errors="replace")
    found = kernelsuite.find_build_warnings(text)
    return found or (text.splitlines()[-10:] if code else [])


def compile_and_find_symbol_faults() -> list[str]:
    """Compile all modules with W=1, and return the compiler's warnings. If the compiler does not
    warn, return a line for each fault in the symbols of the modules (see names.py)."""
    found = collect_build_warnings(["W=1"])
    return found or names.find_all_symbol_faults(
        get_object_dir(catalogue.get_default_kernel_name(), ROOT, "lint")
    )


def find_lint_obstacle() -> str:
    """Return the reason why linters cannot run on this machine, with the remedy; else ""."""
    if (LINTERS / "mypy").exists():
        return ""
    return "the linters are missing: run scripts/setup --lint"


def find_forbidden_version_checks(tree: Sources) -> list[str]:
    """Return a line for each kernel version check outside of include/compat, and for each check in
    include/compat whose comment cites no commit."""
    found = []
    for path in tree.list_files_with_suffix(".c", ".h", ".S"):
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
            if VERSIONS.search(line) and COMPAT not in path.parents:
                found.append(f"{path}:{number}: {line.strip()}")
    for path in sorted((ROOT / COMPAT).glob("*.h")):
        found += find_uncited_version_checks(path.relative_to(ROOT))
    return found


def find_uncited_version_checks(path: Path) -> Iterator[str]:
    """Yield a line for each kernel version check in the file `path` if the comment above the check
    cites no commit."""
    comment = ""
    for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("/*"):
            comment = ""
        if line.startswith(("/*", " *")):
            comment += line
        elif VERSIONS.search(line) and CITATION.search(comment) is None:
            yield f"{path}:{number}: the comment cites no commit: {line.strip()}"


def find_unlicensed_files(tree: Sources) -> list[str]:
    """Return a line for each file that does not name the licence in its first three lines."""
    found = []
    for path in tree.files:
        if path.suffix in UNLICENSED_SUFFIXES and not _is_shell_script(path):
            continue
        if path.parts[0] == "LICENSES":
            continue
        head = (ROOT / path).read_text(encoding="utf-8", errors="replace").splitlines()[:3]
        if not any(LICENCE in line for line in head):
            found.append(f"{path}: the first 3 lines lack {LICENCE}")
    return found


# The linters by name. Each linter takes the source files, and returns a line for each fault.
TOOLS: dict[str, Callable[[Sources], list[str]]] = {
    "compat": find_forbidden_version_checks,
    "licence": find_unlicensed_files,
    "layers": lambda _: [*layers.find_layer_violations()],
    "ruff": lambda _: run_linter_program([*RUFF, "check", "--quiet", CONCISE, "."], "ruff"),
    "format": lambda _: run_linter_program(
        [*RUFF, "format", "--check", CONCISE, "."], "ruff format"
    ),
    "mypy": lambda tree: run_linter_program(
        [*MYPY, *tree.list_files_with_suffix(".py"), COMMAND], "mypy"
    ),
    "shellcheck": lambda tree: run_linter_program(
        [*SHELLCHECK, *tree.list_shell_scripts()], "shellcheck"
    ),
    "checkpatch": run_checkpatch,
    # w1: the kernel's extra compiler warnings. sparse: static checks of address spaces, locks,
    # types.
    "w1": lambda _: collect_build_warnings(["W=1"], from_scratch=True),
    "names": lambda _: compile_and_find_symbol_faults(),
    "sparse": lambda _: collect_build_warnings(["W=1", "C=2"]),
}


def run_linter(name: str, tree: Sources) -> Tally:
    """Run the linter `name` and print its findings; return a Tally with a failure per finding."""
    try:
        found = TOOLS[name](tree)
    except UnableError as error:
        print(f"{name:<11} SKIP: {error}", flush=True)
        return Tally(skipped=[f"{name}: {error}"])
    print(f"{name:<11} {f'{len(found)} lines of findings' if found else 'clean'}", flush=True)
    for line in found:
        print(f"    {line}")
    return Tally(failed=[f"{name}: {line}" for line in found]) if found else Tally(passed=1)


def run_linters(linters: Iterable[str] = ()) -> Tally:
    """Run the named linters, or all linters; return the sum of their Tallies."""
    total = Tally()
    tree = Sources()
    for name in linters or TOOLS:
        total.add_tally(run_linter(name, tree))
    return total


def make_requested_lint_suites(suite_request: SuiteRequest, _: Sequence[str]) -> list[Suite]:
    """Return a list of one suite, which runs the requested linters. If the user named the tests to
    run, the linters print to the terminal, otherwise to the log."""
    tools = suite_request.get_option_choices("tools", tuple(TOOLS))
    what, alone = ", ".join(tools) or "every linter", suite_request.form == "named"
    run = partial(run_linters, tools)
    if alone:
        return [Suite("lint", lambda _: run(), what, find_lint_obstacle, USUAL_SECONDS, loud=True)]
    return [
        Suite("lint", make_run_with_output_in_log(run), what, find_lint_obstacle, USUAL_SECONDS)
    ]
