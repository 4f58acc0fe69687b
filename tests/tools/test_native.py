# SPDX-License-Identifier: GPL-2.0-only
"""native/ holds shims only: shared files are compiled in their place, and nothing is copied."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT
from kmtools.suites import native

SHARED_DIRS = ("base", "patcher", "immediate", "markers", "sdt", "bench_modules")

# Lines that each file may have. A shim that outgrows its budget is looked at, and so is a new one.
BUDGETS = {
    "native/Makefile": 165,
    # Replacements for files of the modules.
    "native/text.c": 275,
    "native/shadow.c": 50,
    "native/sync.c": 70,
    "native/trap.c": 100,
    "native/fork.c": 75,
    "native/start.c": 155,
    "native/failure.c": 20,
    "native/harness.c": 90,
    "native/counters.c": 190,
    "native/observer.c": 80,
    "native/chunks.c": 85,
    "native/sites_module.c": 20,
    "native/sites_peers.c": 100,
    # Functions of the kernel that the C library lacks.
    "native/lock.c": 90,
    "native/rcu.c": 265,
    "native/sort.c": 60,
    # A program has no kallsyms.
    "native/symbol.c": 90,
    "native/program.c": 120,
    "native/foreign.c": 100,
    # Notes of modules, which a program has none of.
    "native/notes.c": 15,
    # Programs, which exist in user space only.
    "native/main.c": 372,
    "native/own_groups.c": 10,
    "native/registered.c": 125,
    "native/output.c": 80,
    "native/machine.c": 110,
    "native/place.c": 60,
    "native/progress.c": 100,
    "native/live.c": 165,
    "native/live_select.c": 35,
    "native/macro.c": 260,
    "native/attach.c": 235,
    "native/peers.c": 210,
    "native/peers/peers.mk": 40,
    "native/peers/lttng_ust.c": 140,
    "native/peers/lttng_events.h": 40,
    "native/peers/sdt.c": 110,
    "native/peers/uprobe.c": 90,
    "native/peers/uprobes.h": 90,
}
OWN_HEADER_LINES = 40
SHIM_HEADER_LINES = 90
# All of native/include/ together.
SHIM_LINES = 600
COPIED_LINES = 10

# Files that need data of the kernel; Documentation/native.md says why for each.
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
    "markers/event_probe.c",
    "markers/event_registers.c",
    "markers/event_write.c",
    "markers/event_users.c",
    "markers/event_call.c",
    "markers/event_names.c",
    "markers/event_orphans.c",
    "markers/event_markers.c",
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

# Names of static functions that many files may share.
COMMON_NAMES = {"setup", "teardown", "probe", "run", "compare", "main"}

FUNCTION = re.compile(
    r"^[a-z](?:[\w \t*]|__printf\(.*?\))*?\b(?!__printf\b)(\w+)\([^;{}]*?\)\n\{", re.MULTILINE
)
MACRO = re.compile(r"^#define\s+(\w+)\(", re.MULTILINE)


def text(name: str) -> str:
    """Return the text of a source file."""
    return (ROOT / name).read_text(encoding="utf-8")


def native_files() -> Iterator[str]:
    """Return every file below native/."""
    for path in sorted((ROOT / "native").rglob("*")):
        if path.is_file():
            yield str(path.relative_to(ROOT))


def made(target: str) -> set[str]:
    """Return a list that native/Makefile prints."""
    words = ["make", "-s", "-C", str(ROOT / "native"), target]
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


def budget(name: str) -> int | None:
    """Return the lines that a file may have; None for a file that is not listed."""
    if name.startswith("native/include/linux/") and name.endswith(".h"):
        return SHIM_HEADER_LINES
    if name.endswith(".h") and name not in BUDGETS and f"{name[:-2]}.c" in BUDGETS:
        return OWN_HEADER_LINES
    return OWN_HEADER_LINES if name == "native/peers/peer.h" else BUDGETS.get(name)


@pytest.mark.parametrize("name", list(native_files()))
def test_every_file_is_expected_and_small(name: str) -> None:
    """Every file is listed here, and none is larger than its budget."""
    allowed = budget(name)
    assert allowed is not None, f"{name}: not expected in native/"
    assert len(text(name).splitlines()) <= allowed


def test_messages_begin_as_those_of_the_module() -> None:
    """Messages of shared sources begin in a program as they do in the kernel's log."""
    for name in ("markers", "sdt"):
        module = re.search(r"^obj-m := (\w+)\.o$", text(f"{name}/Kbuild"), re.MULTILINE)
        assert module is not None
        assert f"-DKBUILD_MODNAME='\"{module[1]}\"'" in text("native/Makefile")


def test_all_shims_together_are_small() -> None:
    """The headers declare what is missing, without logic; their sum is limited, too."""
    names = [name for name in native_files() if name.startswith("native/include/")]
    assert len(names) > 20
    assert sum(len(text(name).splitlines()) for name in names) <= SHIM_LINES


def test_every_shared_file_is_compiled_or_excused() -> None:
    """All sources of the modules are in the user-space build, except those listed here."""
    sources = {str(p.relative_to(ROOT)) for d in SHARED_DIRS for p in (ROOT / d).glob("*.c")}
    sources = {name for name in sources if not name.endswith(".mod.c")}
    shared = made("list-shared")
    assert shared <= sources
    assert sources - shared == NOT_SHARED


def test_every_excuse_is_written_down() -> None:
    """Documentation/native.md names each file that is not shared."""
    page = text("Documentation/native.md")
    assert [name for name in sorted(NOT_SHARED) if name not in page] == []


def test_what_is_compiled_is_what_there_is() -> None:
    """Every .c file of native/ is built, and every file that is built exists."""
    present = {name for name in native_files() if name.endswith(".c") and "peers/" not in name}
    assert made("list-shims") == present


def functions(name: str) -> set[str]:
    """Return the names that a file defines: functions, inline functions and macros."""
    return set(FUNCTION.findall(text(name))) | set(MACRO.findall(text(name)))


def shared_sources() -> Iterator[str]:
    """Return the sources of both builds: the listed files, and all headers they may include."""
    yield from made("list-shared")
    for directory in (*SHARED_DIRS, "include/kmarkers", "include/linux"):
        for path in sorted((ROOT / directory).rglob("*.h")):
            yield str(path.relative_to(ROOT))


def test_inline_functions_and_macros_are_seen() -> None:
    """Otherwise the tests below would skip most of the headers."""
    assert {"kstrtou64", "ARRAY_SIZE"} <= functions("native/include/linux/kernel.h")
    assert "__marker_check_format" in functions("include/kmarkers/marker.h")


def test_no_function_has_a_second_definition() -> None:
    """Nothing in native/ is named like a function or macro of what is shared."""
    shared = {function for name in shared_sources() for function in functions(name)}
    assert len(shared) > 200
    for name in native_files():
        if name.endswith((".c", ".h")):
            assert functions(name) & shared <= COMMON_NAMES, name


def passages(name: str) -> set[tuple[str, ...]]:
    """Return every sequence of some lines of code, without comments, data and lone brackets."""
    lines = [line.strip() for line in text(name).splitlines()]
    code = [line for line in lines if len(line) > 2 and not line.startswith(("/*", "*", "#", "."))]
    return {tuple(code[i : i + COPIED_LINES]) for i in range(len(code) - COPIED_LINES + 1)}


def test_no_passage_is_copied() -> None:
    """No shared code is repeated in native/."""
    shared = {passage for name in shared_sources() for passage in passages(name)}
    for name in native_files():
        if name.endswith((".c", ".h")):
            assert not passages(name) & shared, name


def test_no_source_is_included() -> None:
    """A .c file is compiled, not included."""
    for name in native_files():
        if name.endswith((".c", ".h")):
            assert not re.search(r'#include\s+"[^"]+\.c"', text(name)), name


def test_every_shim_is_used() -> None:
    """Each header under native/include/linux is named by a source that is compiled."""
    sources = [ROOT / name for name in made("list-shared") | set(made("list-shims"))]
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
def test_a_peer_is_built_where_its_header_is(present: list[str], tmp_path: Path) -> None:
    """The compiler sees only these headers, whatever this machine has."""
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
    ("said", "short"),
    [
        ("# patcher_storm_of_kinds: 10.003 s\nok 7 patcher_storm_of_kinds\n", False),
        ("# patcher_storm_of_kinds: 9.999 s\nok 7 patcher_storm_of_kinds\n", True),
        ("# patcher_storm_of_thousands: 99.0 s\nok 7 patcher_storm_of_kinds\n", True),
        ("ok 7 patcher_storm_of_kinds # SKIP one CPU\n", False),
    ],
)
def test_a_storm_that_ends_early_is_noticed(said: str, short: bool) -> None:
    assert native.too_short(said, 10) is short
