# SPDX-License-Identifier: GPL-2.0-only
"""Samples of other machines: kmarkers collect from debugfs, over ssh and from archives, and the
script that measures on a machine of a fleet."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import loopback
import pytest
import rawdata
from kmtools.base.paths import ROOT
from kmtools.cli import main

TARGET = ROOT / "scripts" / "target"
WAIT_SECONDS = 60.0
BENCH = rawdata.BENCHES[:1]


def debugfs(path: Path, status: str = "done: 2 of 2") -> Path:
    """A folder like that of the benchmarks in debugfs."""
    raw = rawdata.write_tier(path / "raw", 8, 1, BENCH, emulated="0", cpu_model="A CPU")
    bench = path / "bench"
    for name in ("empty-loop", "never-ran"):
        (bench / name).mkdir(parents=True)
        (bench / name / "samples").write_text("# schema=2\n")
    shutil.copy(raw / "empty-loop.csv", bench / "empty-loop" / "samples")
    shutil.copy(raw / "env", bench / "env")
    (bench / "status").write_text(f"{status}\n")
    return bench


def test_what_debugfs_holds_is_collected(tmp_path: Path) -> None:
    bench = debugfs(tmp_path)
    run = tmp_path / "run"
    assert main(["collect", str(run), f"--from=metal={bench}"]) == 0
    env = json.loads((run / "env.json").read_text())
    assert env["kernel"]["release"] == os.uname().release
    assert [tier["tier"] for tier in env["tiers"]] == ["metal"]
    assert {path.name for path in (run / "raw" / "metal").iterdir()} == {
        "env", "machine", "empty-loop.csv",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "spoil", "said"),
    [
        ("running x 1/2", "", "status says 'running x 1/2': the benchmarks have not ended"),
        ("idle", "", "the benchmarks have not ended"),
        ("done", "env", "load the modules, measure, and be root"),
        ("done", "empty-loop/samples", "no CSV files"),
    ],
)
def test_what_cannot_be_collected_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], status: str, spoil: str, said: str
) -> None:
    bench = debugfs(tmp_path, status)
    if spoil:
        (bench / spoil).unlink()
    run = tmp_path / "run"
    assert main(["collect", str(run), f"--from=metal={bench}"]) == 1
    assert said in capsys.readouterr().err and not run.exists()


def test_a_wrong_line_of_debugfs_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = debugfs(tmp_path)
    samples = bench / "empty-loop" / "samples"
    lines = samples.read_text().splitlines(keepends=True)
    lines[6] = lines[6].replace(",ticks,", ",ns,")
    samples.write_text("".join(lines))
    assert main(["collect", str(tmp_path / "run"), f"--from=metal={bench}"]) == 1
    assert "empty-loop.csv:7: unit is 'ns', not ticks or rounds" in capsys.readouterr().err
    samples.write_text("".join(lines)[:-3])
    assert main(["collect", str(tmp_path / "run"), f"--from=metal={bench}"]) == 1
    assert "empty-loop.csv:7: unit" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "place",
    [
        "ssh://", "ssh://-oProxyCommand=x", "ssh://-x@host", "ssh://a b", "ssh://a:99999",
        "ssh://a:b", "ssh://[::1",
    ],
)  # fmt: skip
def test_a_place_that_is_no_host_is_refused(
    tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", str(tmp_path), f"--from=vm={place}"]) == 2
    assert "names no host" in capsys.readouterr().err


def test_a_machine_that_sends_without_end_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kmtools.measure.fetch.SSH", ("sh", "-c", "exec cat /dev/zero"))
    monkeypatch.setattr("kmtools.measure.fetch.MOST_BYTES", 100_000)
    assert main(["collect", str(tmp_path / "run"), "--from=metal=ssh://liar"]) == 1
    assert "ssh://liar: it sends more than 100000 bytes" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def packed(path: Path, change: Callable[[tarfile.TarInfo], None]) -> Path:
    """An archive of samples, one member of which is changed."""
    raw = rawdata.write_tier(path / "raw", 8, 1, BENCH, emulated="0")
    with tarfile.open(path / "raw.tar", "w") as archive:
        for file in sorted(raw.iterdir()):
            info = tarfile.TarInfo(file.name)
            info.size = file.stat().st_size
            if file.name == "env":
                change(info)
            archive.addfile(info, io.BytesIO(file.read_bytes()))
    return path / "raw.tar"


@pytest.mark.parametrize("name", ["../env", "/etc/env", "process-0/env", "x/env", "env\n", "a.sh"])
def test_an_archive_with_other_names_is_refused(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = packed(tmp_path, lambda info: setattr(info, "name", name))
    assert main(["collect", str(tmp_path / "run"), f"--archive=native={archive}"]) == 1
    assert "is no file of samples" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_link_in_an_archive_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def link(info: tarfile.TarInfo) -> None:
        info.type, info.linkname, info.size = tarfile.SYMTYPE, "/etc/passwd", 0

    archive = packed(tmp_path, link)
    assert main(["collect", str(tmp_path / "run"), f"--archive=native={archive}"]) == 1
    assert "'env' is no file of samples" in capsys.readouterr().err


def test_a_cut_archive_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = packed(tmp_path, lambda info: None)
    archive.write_bytes(archive.read_bytes()[:1000])
    assert main(["collect", str(tmp_path / "run"), f"--archive=native={archive}"]) == 1
    assert "(truncated?)" in capsys.readouterr().err
    assert main(["collect", str(tmp_path / "run"), f"--archive=native={tmp_path}/none"]) == 2


def test_over_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = debugfs(tmp_path)
    with loopback.server(tmp_path / "ssh") as server:
        monkeypatch.setattr("kmtools.measure.fetch.SSH", ("ssh", *server.options))
        place = f"ssh://root@127.0.0.1:{server.port}{bench}"
        assert main(["collect", str(tmp_path / "run"), f"--from=metal={place}"]) == 0
        assert main(["collect", str(tmp_path / "none"), f"--from=metal={place}/none"]) == 1
    assert main(["collect", str(tmp_path / "none"), f"--from=metal={place}"]) == 1
    assert (tmp_path / "run" / "samples.csv").exists() and not (tmp_path / "none").exists()


def folder_of(tmp_path: Path, program: str) -> Path:
    """A folder of measure.sh with a program in the place of kmbench."""
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(TARGET / "machine.sh", folder)
    (folder / "kmbench").write_text(f"#!/bin/sh\n{program}\n")
    (folder / "kmbench").chmod(0o755)
    return folder


def words(folder: Path, kind: str = "native") -> list[str]:
    """A call of measure.sh, with no signal ignored: this process may ignore some."""
    return [
        "env",
        "--default-signal",
        "sh",
        str(TARGET / "measure.sh"),
        kind,
        str(folder),
        "4",
        "2",
        "1",
        "empty-loop",
    ]


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    until = time.monotonic() + WAIT_SECONDS
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not appear"
        time.sleep(0.05)


def lives(process: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def gone(path: Path) -> None:
    """Wait until a file is no longer there."""
    until = time.monotonic() + WAIT_SECONDS
    while path.exists():
        assert time.monotonic() < until, f"{path} stays"
        time.sleep(0.05)


def endless(tmp_path: Path) -> Path:
    """A folder of measure.sh with a program that does not end, and tells its process ids."""
    return folder_of(
        tmp_path,
        f"sleep 1000 &\necho $$ $! >{tmp_path}/began.part\n"
        f"mv {tmp_path}/began.part {tmp_path}/began\nexec sleep 1000",
    )


def began(tmp_path: Path, folder: Path) -> list[int]:
    """Wait for the program; returns its processes."""
    wait_for(tmp_path / "began")
    wait_for(folder / "alive")
    children = [int(word) for word in (tmp_path / "began").read_text().split()]
    assert all(map(lives, children))
    return children


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("whole_group", [False, True])
def test_an_interrupted_measurement_leaves_no_process(
    tmp_path: Path, number: int, whole_group: bool
) -> None:
    folder = endless(tmp_path)
    with subprocess.Popen(words(folder), start_new_session=True) as running:
        children = began(tmp_path, folder)
        (os.killpg if whole_group else os.kill)(running.pid, number)
        assert running.wait(WAIT_SECONDS) != 0
    gone(folder / "alive")
    assert not any(map(lives, children)) and not (folder / "raw.tar").exists()


def clean(folder: Path) -> int:
    """Call measure.sh to end what is left; returns its exit code."""
    return subprocess.run([*words(folder)[:4], "clean", str(folder)], check=False).returncode


@pytest.mark.parametrize("guard_lives", [False, True])
def test_clean_ends_what_a_guard_left(tmp_path: Path, guard_lives: bool) -> None:
    """The guard is killed, too; or it lives, and clean ends the measurement."""
    folder = endless(tmp_path)
    with subprocess.Popen(words(folder), start_new_session=True) as running:
        children = began(tmp_path, folder)
        if not guard_lives:
            guard = int((folder / "alive").read_text().split()[0])
            os.kill(guard, signal.SIGKILL)
            running.kill()
            running.wait(WAIT_SECONDS)
            assert all(map(lives, children))
        assert clean(folder) == 0
        assert running.wait(WAIT_SECONDS) != 0
    assert not any(map(lives, children)) and not (folder / "raw.tar").exists()


def test_clean_leaves_a_stranger_alone(tmp_path: Path) -> None:
    """Another process has the number of the job since."""
    folder = folder_of(tmp_path, "exit 0")
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as stranger:
        (folder / "job").write_text(f"{stranger.pid} 1\n")
        (folder / "alive").write_text(f"{stranger.pid} 1\n")
        assert clean(folder) == 0
        assert lives(stranger.pid)
        stranger.kill()


def test_a_program_that_fails_leaves_no_archive(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "echo broken >&2; exit 3")
    done = subprocess.run(words(folder), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "broken\nmeasure: measuring failed\n")
    assert not (folder / "alive").exists() and not (folder / "raw.tar").exists()


@pytest.mark.parametrize(
    ("kind", "said"),
    [("metal", "'metal' is none of native, modules and clean"), ("native", "kmbench is not there")],
)
def test_a_wrong_call_starts_nothing(tmp_path: Path, kind: str, said: str) -> None:
    done = subprocess.run(words(tmp_path, kind), capture_output=True, text=True, check=False)
    assert done.returncode == 2 and said in done.stderr and not list(tmp_path.iterdir())
