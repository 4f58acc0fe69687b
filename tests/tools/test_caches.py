# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the buffer that cold-data benchmarks read: its size, the memory that test kernels get
for it, and the caveat on rows whose buffer was too small."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import rawdata
from kmtools.base.errors import FailedError
from kmtools.cli import main
from kmtools.lab.result import Result
from kmtools.measure import caches, guest
from nativeprograms import KMBENCH, read_env_of_raw_folder
from verdictrows import make_tier

MIB = 1 << 20
# A library that replaces fopen(): a program that opens /proc/meminfo opens $MEMINFO instead.
FOPEN = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
FILE *fopen(const char *path, const char *mode)
{
	FILE *(*next)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen");
	return next(strcmp(path, "/proc/meminfo") ? path : getenv("MEMINFO"), mode);
}
"""


@pytest.mark.usefixtures("native_programs")
def test_env_file_of_kmbench_has_buffer_and_cache_sizes(tmp_path: Path) -> None:
    """The buffer takes at most a quarter of the available memory. The env file has the size of the
    buffer only if a benchmark used the buffer."""
    (tmp_path / "fopen.c").write_text(FOPEN)
    (tmp_path / "meminfo").write_text("MemAvailable:   140000 kB\n")
    library = tmp_path / "fopen.so"
    words: list[str | Path] = ["gcc", "-shared", "-fPIC", "-o", library]
    subprocess.run([*words, tmp_path / "fopen.c", "-ldl"], check=True)
    env = {**os.environ, "LD_PRELOAD": str(library), "MEMINFO": str(tmp_path / "meminfo")}
    found = []
    for name in ("cold-branch", "empty-loop"):
        words = [KMBENCH, "run", name, "--blocks", "1", "--out", tmp_path / name]
        subprocess.run(words, env=env, capture_output=True, check=True)
        found.append(read_env_of_raw_folder(tmp_path / name))
    if found[0]["emulated"] == "1":
        pytest.skip("an emulated CPU has no caches")
    assert found[0]["cold_buffer_bytes"] == str(32 * MIB)
    assert int(found[0]["last_cache_bytes"]) >= MIB // 4
    assert "cold_buffer_bytes" not in found[1]


@pytest.mark.parametrize(
    ("cache", "available", "memory"),
    [
        ("32768K", 64 << 10, 1024 + 4 * 256),
        ("98304K", 64 << 10, 1024 + 4 * 512),
        ("266240K", 64 << 10, 1024 + 4 * 512),
        ("266240K", 4 << 10, 2 << 10),
        # QEMU accepts only whole MiB.
        ("266240K", (4 << 10) - 1, (2 << 10) - 1),
        ("266240K", 1 << 10, 1024),
        ("2048K", 64 << 10, 1024 + 4 * 16),
        (None, 64 << 10, 1024 + 4 * 256),
    ],
)
def test_guest_memory_depends_on_the_size_of_the_llc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str | None, available: int, memory: int
) -> None:
    for number, (level, size) in enumerate((("1", "32K"), ("2", "1024K"), ("3", cache))):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        (folder / "level").write_text(f"{level}\n")
        if size is not None and cache is not None:
            (folder / "size").write_text(f"{size}\n")
    (tmp_path / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {available << 10} kB\n")
    monkeypatch.setattr(caches, "CACHES", tmp_path)
    monkeypatch.setattr(caches, "MEMINFO", tmp_path / "meminfo")
    assert caches.choose_guest_memory() == memory


def test_unknown_last_level_cache_is_assumed_to_have_32_mib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A level-1 cache is ignored, and a level-2 cache may be the last level. The buffer is rounded
    up to a power of two. If the available memory is unknown, the guest has the default memory."""
    monkeypatch.setattr(caches, "CACHES", tmp_path)
    monkeypatch.setattr(caches, "MEMINFO", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemAvailable: 99999999 kB\n")
    folder = tmp_path / "index0"
    folder.mkdir()
    cases = (("1", "64K", 32), ("2", "64K", 1 / 16), ("2", "20480K", 20), ("x", "9K", 32))
    for level, size, mib in cases:
        (folder / "level").write_text(level)
        (folder / "size").write_text(size)
        assert caches.read_last_level_cache_bytes() == mib * MIB
        buffer = {32: 256, 1 / 16: 1 / 2, 20: 256}[mib]
        assert caches.choose_guest_memory() == 1024 + 4 * buffer
    (tmp_path / "meminfo").write_text("MemTotal: 99999999 kB\n")
    assert caches.choose_guest_memory() == 1024


@pytest.mark.parametrize(
    ("benchmark", "variant", "buffer", "cache", "expected"),
    [
        ("cold-branch", "memory", "100663296", "33554432", "96 MiB, 3.0 times the last-level"),
        ("cold-branch-4k", "memory-4k", "8388607", "1048576", "7 MiB, 8.0 times the last-level"),
        ("cold-branch", "variable-compare", "8388608", "1048576", ""),
        ("cold-branch", "memory-2m", "1048576", "0", ""),
        ("cold-branch", "memory-2m", "7", "0", "0 MiB, 7.0 times the last-level cache of 0 MiB"),
        ("cold-branch", "immediate", "1048576", "1048576", ""),
        ("empty-loop", "memory", "1048576", "1048576", ""),
        ("cold-branch", "memory", "", "1048576", ""),
        ("cold-branch", "memory", "1048576", "unknown", ""),
    ],
)
def test_buffer_is_too_small_up_to_eight_times_the_cache_size(
    benchmark: str, variant: str, buffer: str, cache: str, expected: str
) -> None:
    tier = make_tier(cold_buffer_bytes=buffer, last_cache_bytes=cache)
    found = caches.describe_too_small_buffer(tier, benchmark, variant)
    assert found.startswith(f"its buffer has {expected}" if expected else "") and bool(
        found
    ) == bool(expected)


def test_guest_has_the_requested_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def record_memory(request: Any, *_: object) -> Result:
        asked.append(request.memory)
        (request.out / "vm.json").write_text("{}")
        (tmp_path / "results").mkdir(exist_ok=True)
        return Result(ok=True, results=tmp_path / "results")

    monkeypatch.setattr(guest, "ROOT", tmp_path)
    monkeypatch.setattr(guest, "boot_guest", record_memory)
    where = ("vm", "6.1", tmp_path, tmp_path / "raw")
    guest.measure_in_test_kernel(*where, blocks=1, seed=1)
    assert not (tmp_path / "raw" / "env").exists()
    (tmp_path / "results" / "env").write_text("kernel=k\n")
    guest.measure_in_test_kernel(*where, blocks=1, seed=1, memory=3072, more_env_lines="a=1\n")
    assert asked == [1024, 3072]
    assert (tmp_path / "raw" / "env").read_text() == "kernel=k\na=1\n"


def test_each_process_has_its_own_folder_for_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes that measure at the same time write logs to different folders. Logs are kept
    only after a failure, until another process measures."""
    pids = [os.getpid(), os.getppid()]
    folders: list[Path] = []

    def record_output_folder(request: Any, *_: object) -> Result:
        folders.append(request.out)
        (request.out / "vm.json").write_text(str(len(folders)))
        if len(folders) == 1:
            monkeypatch.setattr(os, "getpid", lambda: pids[1])
            measure_instruction_counts("second")
        (request.out / "results").mkdir()
        return Result(ok=len(folders) != 3, out=request.out, results=request.out / "results")

    def measure_instruction_counts(name: str) -> None:
        guest.measure_in_test_kernel("icount", "6.1", tmp_path, tmp_path / name, blocks=1, seed=1)

    ended = tmp_path / "build/vm/bench-icount-4194304"
    ended.mkdir(parents=True)
    monkeypatch.setattr(guest, "ROOT", tmp_path)
    monkeypatch.setattr(guest, "boot_guest", record_output_folder)
    measure_instruction_counts("first")
    assert (tmp_path / "first/vm.json").read_text() == "1"
    assert (tmp_path / "second/vm.json").read_text() == "2"
    assert folders[0] != folders[1] and not ended.exists()
    with pytest.raises(FailedError):
        measure_instruction_counts("third")
    assert [folder.exists() for folder in folders] == [False, True, True]


@pytest.mark.parametrize(("buffer", "cache"), [(128, 96), (512, 64)])
def test_a_row_with_a_small_buffer_has_a_caveat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], buffer: int, cache: int
) -> None:
    """In a run whose buffer is too small for the last-level cache, rows of variants that read the
    buffer have a caveat in table, page and summary. Other rows, and rows of a run with a larger
    buffer, have no caveat."""
    raw = rawdata.write_raw_folder(
        tmp_path / "raw",
        benches=[bench for bench in rawdata.BENCHES if bench.name == "cold-branch"],
        cold_buffer_bytes=str(buffer * MIB),
        last_cache_bytes=str(cache * MIB),
    )
    run = tmp_path / "run"
    assert main(["collect", str(run), "--raw", f"native={raw}"]) == 0
    assert main(["report", str(run)]) == 0
    capsys.readouterr()
    assert main(["table", str(run)]) == 0
    table = capsys.readouterr().out
    caveat = "its buffer has 128 MiB, 1.3 times the last-level cache of 96 MiB: part of the"
    texts = table, (run / "report.html").read_text(), (run / "summary.json").read_text()
    assert [text.count(caveat) for text in texts] == ([1, 1, 1] if buffer == 128 else [0, 0, 0])
    noted = [line.split()[0] for line in table.splitlines() if line.endswith("[1]")]
    assert noted == (["memory"] if buffer == 128 else [])
