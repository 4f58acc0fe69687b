# SPDX-License-Identifier: GPL-2.0-only
"""Tests of native/, which contains only shims, and compiles the shared sources of the modules
unchanged."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from kmtools.base.files import hold_lock
from kmtools.base.paths import ROOT
from kmtools.lab.userspace import build_make_command
from kmtools.suites import native

SHARED_DIRS = ("base", "patcher", "events", "immediate", "markers", "sdt", "bench_modules")

# The maximum number of lines of code of each file in native/: lines that are neither blank nor
# comments. A new file must be added here.
BUDGETS = {
    "native/Makefile": 102,
    # Replacements for files of the modules.
    "native/text.c": 210,
    "native/shadow.c": 30,
    "native/sync.c": 45,
    "native/trap.c": 75,
    "native/fork.c": 45,
    "native/start.c": 125,
    "native/failure.c": 10,
    "native/harness.c": 75,
    "native/counters.c": 150,
    "native/observer.c": 65,
    "native/chunks.c": 70,
    "native/sites_module.c": 10,
    "native/sites_peers.c": 65,
    # Functions of the kernel that the C library lacks.
    "native/lock.c": 65,
    "native/rcu.c": 185,
    "native/sort.c": 40,
    # Replacements for kallsyms.
    "native/symbol.c": 60,
    "native/program.c": 95,
    "native/foreign.c": 70,
    # A stub for SDT notes of modules.
    "native/notes.c": 10,
    # Programs.
    "native/main.c": 420,
    "native/step.c": 175,
    "native/own_groups.c": 25,
    "native/planted.c": 45,
    "native/registered.c": 55,
    "native/number.c": 20,
    "native/output.c": 90,
    "native/machine.c": 64,
    "native/place.c": 25,
    "native/idle.c": 130,
    "native/progress.c": 70,
    "native/live.c": 150,
    "native/live_select.c": 20,
    "native/macro.c": 200,
    "native/attach.c": 205,
    "native/peers.c": 190,
    "native/peers/peers.mk": 20,
    "native/peers/lttng_ust.c": 125,
    "native/peers/lttng_events.h": 25,
    "native/peers/sdt.c": 80,
    "native/peers/uprobe.c": 60,
    "native/peers/uprobes.h": 70,
}
OWN_HEADER_LINES = 20
SHIM_HEADER_LINES = 65
# The maximum number of lines of code of all headers in native/include/.
SHIM_LINES = 475
COPIED_LINES = 10

# Sources that are not compiled for user space; Documentation/native.md has the reason for each.
NOT_SHARED = {
    "base/control.c",
    "base/debugfs.c",
    "base/symbols.c",
    "patcher/main.c",
    "patcher/text.c",
    "patcher/core.c",
    "patcher/core_text.c",
    "patcher/functions.c",
    "patcher/kprobes.c",
    "patcher/claim_check.c",
    "patcher/redirect.c",
    "patcher/tables.c",
    "immediate/main.c",
    "immediate/settable.c",
    "immediate/symbol.c",
    "markers/main.c",
    "markers/control_file.c",
    "markers/controls.c",
    "markers/rules.c",
    "events/call.c",
    "events/enable.c",
    "events/main.c",
    "events/names.c",
    "events/orphans.c",
    "events/registers.c",
    "events/sources.c",
    "events/users.c",
    "events/work.c",
    "events/write.c",
    "markers/events.c",
    "markers/files.c",
    "markers/ftrace.c",
    "markers/functions.c",
    "markers/raw.c",
    "markers/tracepoint.c",
    "sdt/main.c",
    "sdt/definitions.c",
    "sdt/files.c",
    "sdt/events.c",
    "sdt/note_kprobes.c",
    "sdt/notes.c",
    "sdt/symbol.c",
    "bench_modules/main.c",
    "bench_modules/register.c",
    "bench_modules/observer_thread.c",
    "bench_modules/chunks.c",
    "bench_modules/files.c",
    "bench_modules/platform.c",
    "bench_modules/sites_module.c",
    "bench_modules/thread.c",
    "bench_modules/live.c",
    "bench_modules/live_getppid.c",
    "bench_modules/live_packets.c",
    "bench_modules/dormant.c",
    "bench_modules/sites_peers.c",
    "bench_modules/ops_peers.c",
    "bench_modules/ops_callers.c",
}

# Names of static functions that may occur in several files.
COMMON_NAMES = {"setup", "teardown", "probe", "run", "compare", "main"}

FUNCTION = re.compile(
    r"^[a-z](?:[\w \t*]|__printf\(.*?\))*?\b(?!__printf\b)(\w+)\([^;{}]*?\)\n\{", re.MULTILINE
)
MACRO = re.compile(r"^#define\s+(\w+)\(", re.MULTILINE)


def read_source(name: str) -> str:
    """Return the text of a source file."""
    return (ROOT / name).read_text(encoding="utf-8")


def count_code_lines(name: str) -> int:
    """Return the number of lines of a source file that are neither blank nor comments."""
    comment = r"(?m)^\s*#.*$" if name.endswith(("Makefile", ".mk")) else r"(?s)/\*.*?\*/|//[^\n]*"
    return sum(bool(line.strip()) for line in re.sub(comment, "", read_source(name)).splitlines())


def list_native_c_files() -> Iterator[str]:
    """Yield the paths of all files below native/."""
    for path in sorted((ROOT / "native").rglob("*")):
        if path.is_file():
            yield str(path.relative_to(ROOT))


def read_names_printed_by_make(target: str) -> set[str]:
    """Return the names that a target of native/Makefile prints."""
    words = ["make", "-s", "-C", str(ROOT / "native"), target]
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


def test_second_build_in_a_folder_waits_for_the_first(tmp_path: Path) -> None:
    """A build waits while another process builds in the same folder."""
    words = [str(word) for word in build_make_command("list-shared", out=tmp_path / "new")]
    with hold_lock(tmp_path / "new" / ".lock", "unused"):
        second = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(1.0)
    assert second.wait(60.0) == 0


def test_every_build_of_native_takes_the_build_lock() -> None:
    """Only build_make_command(), which takes a lock, makes a command that builds in native/."""
    builds = [
        path.name
        for folder in ("scripts/kmtools", "tests/tools")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in path.read_text().splitlines()
        if re.search(r'"make",.*"native"', line) and not re.search(r'"-n"|"list-|, target]', line)
    ]
    assert builds == ["userspace.py"]


def find_code_line_limit(name: str) -> int | None:
    """Return the maximum number of lines of code of a file; None if the file is not listed."""
    if name.startswith("native/include/linux/") and name.endswith(".h"):
        return SHIM_HEADER_LINES
    if name.endswith(".h") and name not in BUDGETS and f"{name[:-2]}.c" in BUDGETS:
        return OWN_HEADER_LINES
    return OWN_HEADER_LINES if name == "native/peers/peer.h" else BUDGETS.get(name)


@pytest.mark.parametrize("name", list(list_native_c_files()))
def test_every_file_is_listed_and_within_its_line_limit(name: str) -> None:
    """Each file is in BUDGETS, and does not exceed the number of lines of code listed there."""
    allowed = find_code_line_limit(name)
    assert allowed is not None, f"{name} has no line limit: add it to BUDGETS"
    assert count_code_lines(name) <= allowed


def test_message_prefix_is_the_name_of_the_module() -> None:
    """The prefix of messages is the name of the module, in user space as in the kernel log."""
    for name in ("markers", "sdt"):
        module = re.search(r"^obj-m := (\w+)\.o$", read_source(f"{name}/Kbuild"), re.MULTILINE)
        assert module is not None
        assert f"-DKBUILD_MODNAME='\"{module[1]}\"'" in read_source("native/Makefile")


def test_total_lines_of_shim_headers_are_limited() -> None:
    """All headers in native/include/ together have at most SHIM_LINES lines of code."""
    names = [name for name in list_native_c_files() if name.startswith("native/include/")]
    assert len(names) > 20
    assert sum(count_code_lines(name) for name in names) <= SHIM_LINES


def test_every_source_is_compiled_or_listed_as_not_shared() -> None:
    """All sources of the modules are compiled for user space, except the files in NOT_SHARED."""
    sources = {str(p.relative_to(ROOT)) for d in SHARED_DIRS for p in (ROOT / d).glob("*.c")}
    sources = {name for name in sources if not name.endswith(".mod.c")}
    shared = read_names_printed_by_make("list-shared")
    assert shared <= sources
    assert sources - shared == NOT_SHARED


def test_every_not_shared_source_is_documented() -> None:
    """Documentation/native.md names each file that is not shared."""
    page = read_source("Documentation/native.md")
    assert [name for name in sorted(NOT_SHARED) if name not in page] == []


def test_internals_names_the_shared_sources() -> None:
    """Documentation/internals.md lists the shared files of each directory, or, after "all but",
    those that are not shared."""
    page = " ".join(read_source("Documentation/internals.md").split())
    text = page.split("both for the kernel and for user space: ")[1].split("`make -C native")[0]
    listed: set[str] = set()
    for folder, others, names in re.findall(
        r"in `(\w+)/` (all but )?((?:`\w+\.c`(?:,| and)? ?)+)", text
    ):
        own = {f"{folder}/{name}" for name in re.findall(r"\w+\.c", names)}
        every = {str(path.relative_to(ROOT)) for path in (ROOT / folder).glob("*.c")}
        listed |= {path for path in every - own if not path.endswith(".mod.c")} if others else own
    assert listed == read_names_printed_by_make("list-shared")


def test_every_c_file_in_native_is_compiled() -> None:
    """Each .c file in native/ is compiled, and each compiled file exists."""
    present = {
        name for name in list_native_c_files() if name.endswith(".c") and "peers/" not in name
    }
    assert read_names_printed_by_make("list-shims") == present


def parse_definitions(name: str) -> set[str]:
    """Return the names of functions, inline functions and macros that a file defines."""
    return set(FUNCTION.findall(read_source(name))) | set(MACRO.findall(read_source(name)))


def list_shared_sources() -> Iterator[str]:
    """Yield the sources that modules and programs share, and all headers that they may include."""
    yield from read_names_printed_by_make("list-shared")
    for directory in (*SHARED_DIRS, "include/kmarkers", "include/linux"):
        for path in sorted((ROOT / directory).rglob("*.h")):
            yield str(path.relative_to(ROOT))


def test_inline_functions_and_macros_are_parsed() -> None:
    """parse_definitions() finds inline functions and macros in headers."""
    assert {"kstrtou64", "ARRAY_SIZE"} <= parse_definitions("native/include/linux/kernel.h")
    assert "__marker_check_format" in parse_definitions("include/kmarkers/marker.h")


def test_no_function_has_a_second_definition() -> None:
    """No file in native/ defines a function or macro of a shared source."""
    shared = {function for name in list_shared_sources() for function in parse_definitions(name)}
    assert len(shared) > 200
    for name in list_native_c_files():
        if name.endswith((".c", ".h")):
            assert parse_definitions(name) & shared <= COMMON_NAMES, name


def list_sequences_of_code_lines(name: str) -> set[tuple[str, ...]]:
    """Return all sequences of COPIED_LINES lines of code in a file. Comments, initialisers and lone
    brackets are not counted."""
    lines = [line.strip() for line in read_source(name).splitlines()]
    code = [line for line in lines if len(line) > 2 and not line.startswith(("/*", "*", "#", "."))]
    return {tuple(code[i : i + COPIED_LINES]) for i in range(len(code) - COPIED_LINES + 1)}


def test_no_shared_code_is_copied() -> None:
    """No sequence of COPIED_LINES lines of shared code occurs in native/."""
    shared = {
        passage for name in list_shared_sources() for passage in list_sequences_of_code_lines(name)
    }
    for name in list_native_c_files():
        if name.endswith((".c", ".h")):
            assert not list_sequences_of_code_lines(name) & shared, name


def test_no_c_file_is_included() -> None:
    """No file in native/ includes a .c file."""
    for name in list_native_c_files():
        if name.endswith((".c", ".h")):
            assert not re.search(r'#include\s+"[^"]+\.c"', read_source(name)), name


def test_every_shim_header_is_included() -> None:
    """Each header in native/include/linux is included by a compiled source."""
    sources = [
        ROOT / name
        for name in read_names_printed_by_make("list-shared")
        | set(read_names_printed_by_make("list-shims"))
    ]
    sources += (ROOT / "include").rglob("*.h")
    sources += (ROOT / "native" / "include").rglob("*.h")
    sources += [path for d in SHARED_DIRS for path in (ROOT / d).glob("*.h")]
    sources += (ROOT / "tests" / "common").glob("*.[ch]")
    named = set()
    for source in sources:
        named |= set(re.findall(r"#include <linux/([\w/]+\.h)>", source.read_text("utf-8")))
    shims = {path.name for path in (ROOT / "native" / "include" / "linux").glob("*.h")}
    assert shims <= named


PEERS = {"peer-lttng-ust.so": "lttng/tracepoint.h", "peer-sdt.so": "sys/sdt.h"}


@pytest.mark.parametrize("present", [[], ["peer-lttng-ust.so"], ["peer-sdt.so"], list(PEERS)])
def test_peer_is_built_only_with_its_header(present: list[str], tmp_path: Path) -> None:
    """A peer (another tracer) is built only if the compiler finds its header. Only the peers in
    `present` have headers."""
    for peer in present:
        header = tmp_path / "include" / PEERS[peer]
        header.parent.mkdir(parents=True)
        header.touch()
    out = tmp_path / "out"
    compiler = f"CC=gcc -nostdinc -I{tmp_path / 'include'}"
    words = ["make", "-n", "-C", str(ROOT / "native"), f"OUT={out}", compiler, "PEER_LIBS="]
    words.append("peers")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [peer for peer in PEERS if f"-o {out / peer} " in done.stdout] == present


@pytest.mark.parametrize(
    ("line", "short"),
    [
        ("# patcher_storm_of_kinds: the stress test took 10.003 s", False),
        ("# patcher_storm_of_kinds: the stress test took 9.999 s", True),
        ("# patcher_storm_of_thousands: the stress test took 99.0 s", True),
        ("ok 7 patcher_storm_of_kinds # SKIP one CPU", False),
    ],
)
def test_stress_test_that_ends_early_is_detected(line: str, short: bool) -> None:
    output = f"{line}\nok 7 patcher_storm_of_kinds\n"
    assert native.has_storm_ended_early(output, 10) is short
