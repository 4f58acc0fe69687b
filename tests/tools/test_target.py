# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers collect` from debugfs, over ssh and from archives, and of target/measure.sh,
which measures on a machine of a fleet."""

from __future__ import annotations

import gzip
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
from kmtools.measure import fetch

TARGET = ROOT / "scripts" / "target"
WAIT_SECONDS = 60.0
BENCH = rawdata.BENCHES[:1]


def make_bench_debugfs(path: Path, status: str = "done: 2 of 2") -> Path:
    """Make a directory like the directory of the benchmarks in debugfs."""
    raw = rawdata.write_raw_folder(path / "raw", 8, 1, BENCH, emulated="0", cpu_model="A CPU")
    bench = path / "bench"
    for name in ("empty-loop", "never-ran"):
        (bench / name).mkdir(parents=True)
        (bench / name / "samples").write_text("# schema=2\n")
    shutil.copy(raw / "empty-loop.csv", bench / "empty-loop" / "samples")
    shutil.copy(raw / "env", bench / "env")
    (bench / "status").write_text(f"{status}\n")
    return bench


def test_debugfs_files_are_collected(tmp_path: Path) -> None:
    bench = make_bench_debugfs(tmp_path)
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
        ("done", "env", "load the modules and run the benchmarks, then run this"),
        ("done", "empty-loop/samples", "the folder holds no CSV files"),
    ],
)
def test_incomplete_debugfs_run_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], status: str, spoil: str, said: str
) -> None:
    bench = make_bench_debugfs(tmp_path, status)
    if spoil:
        (bench / spoil).unlink()
    run = tmp_path / "run"
    assert main(["collect", str(run), f"--from=metal={bench}"]) == 1
    assert said in capsys.readouterr().err and not run.exists()


def test_invalid_line_in_debugfs_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = make_bench_debugfs(tmp_path)
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
def test_invalid_ssh_host_is_refused(
    tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", str(tmp_path), f"--from=vm={place}"]) == 2
    assert "names no host" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "words", "folder"),
    [
        ("debugfs", ["sh", "-s"], fetch.DEBUGFS),
        ("/a b", ["sh", "-s"], "/a b"),
        ("ssh://host", [*fetch.SSH, "host", "sh -s"], fetch.DEBUGFS),
        ("ssh://host/", [*fetch.SSH, "host", "sh -s"], fetch.DEBUGFS),
        ("ssh://me@host:23/x", [*fetch.SSH, "-p", "23", "-l", "me", "host", "sh -s"], "/x"),
    ],
)
def test_samples_come_from_debugfs_or_a_folder(source: str, words: list[str], folder: str) -> None:
    assert fetch.parse_sample_source(source) == (words, folder)


def test_endless_data_from_a_machine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kmtools.measure.fetch.SSH", ("sh", "-c", "exec cat /dev/zero"))
    monkeypatch.setattr("kmtools.measure.fetch.MOST_BYTES", 100_000)
    assert main(["collect", str(tmp_path / "run"), "--from=metal=ssh://liar"]) == 1
    assert "ssh://liar: the machine sent more than 100000 bytes" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_error_names_the_missing_ssh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fetch, "SSH", ("/none/ssh", "-T"))
    assert main(["collect", str(tmp_path / "run"), "--from=metal=ssh://host"]) == 2
    assert capsys.readouterr().err == "collect: /none/ssh is not installed\n"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("size", [999, 1000])
def test_machine_may_send_up_to_the_size_limit(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(fetch, "MOST_BYTES", 1000)
    script = f"head -c {size} /dev/zero; echo it fails >&2; exec >&-; sleep 0.05; exit 3\n"
    found = fetch.run_shell_script(["sh"], script.encode())
    assert found == (3, bytes(size), ["it fails"])


def make_sample_archive(path: Path, change: Callable[[tarfile.TarInfo], None]) -> Path:
    """Make a tar archive of samples; change() modifies its members."""
    raw = rawdata.write_raw_folder(path / "raw", 8, 1, BENCH, emulated="0")
    with tarfile.open(path / "raw.tar", "w") as archive:
        for file in sorted(raw.iterdir()):
            info = tarfile.TarInfo(file.name)
            info.size = file.stat().st_size
            if file.name == "env":
                change(info)
            archive.addfile(info, io.BytesIO(file.read_bytes()))
    return path / "raw.tar"


def test_samples_of_one_tier_in_two_kernels_are_kept_apart(tmp_path: Path) -> None:
    """The second archive of a tier has a folder of its own. A later collection leaves nothing of an
    earlier one in these folders."""
    archives = []
    for kernel in ("6.1", "6.2"):
        raw = rawdata.write_raw_folder(tmp_path / kernel, 8, 1, BENCH, emulated="0", kernel=kernel)
        archives.append(f"--archive=vm={tmp_path / kernel}.tar")
        with tarfile.open(f"{tmp_path / kernel}.tar", "w") as archive:
            for file in sorted(raw.iterdir()):
                archive.add(file, file.name)
    run = tmp_path / "run"
    for _ in range(2):
        assert main(["collect", str(run), *archives]) == 0
        for name, kernel in (("vm", "6.1"), ("vm-2", "6.2")):
            assert f"kernel={kernel}\n" in (run / "raw" / name / "env").read_text()
            assert sorted(os.listdir(run / "raw" / name)) == sorted(os.listdir(tmp_path / kernel))
            (run / "raw" / name / "stale.csv").touch()


@pytest.mark.parametrize("name", ["../env", "/etc/env", "process-0/env", "x/env", "env\n", "a.sh"])
def test_archive_with_unexpected_names_is_refused(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = make_sample_archive(tmp_path, lambda info: setattr(info, "name", name))
    assert main(["collect", str(tmp_path / "run"), f"--archive=native={archive}"]) == 1
    assert "is not a file of samples" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_link_in_an_archive_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change_to_symlink(info: tarfile.TarInfo) -> None:
        info.type, info.linkname, info.size = tarfile.SYMTYPE, "/etc/passwd", 0

    archive = make_sample_archive(tmp_path, change_to_symlink)
    assert main(["collect", str(tmp_path / "run"), f"--archive=native={archive}"]) == 1
    assert "'env' is not a file of samples" in capsys.readouterr().err


def test_truncated_archive_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = make_sample_archive(tmp_path, lambda info: None)
    archive.write_bytes(archive.read_bytes()[:1000])
    assert main(["collect", str(tmp_path / "run"), f"--archive=native={archive}"]) == 1
    assert "(truncated or damaged?)" in capsys.readouterr().err
    assert main(["collect", str(tmp_path / "run"), f"--archive=native={tmp_path}/none"]) == 2


@pytest.mark.parametrize("place", [-20, -6])
def test_archive_with_a_changed_byte_is_refused(
    tmp_path: Path, place: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A compressed archive ends with a checksum of 4 bytes and a size. Here, a byte of the checksum
    has changed, or a byte of the compressed data before the checksum."""
    archive = tmp_path / "raw.tar.gz"
    data = bytearray(gzip.compress(make_sample_archive(tmp_path, lambda info: None).read_bytes()))
    data[place] ^= 0x10
    archive.write_bytes(data)
    assert main(["collect", str(tmp_path / "run"), f"--archive=native={archive}"]) == 1
    assert "(truncated or damaged?)" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_archive_with_much_data_after_its_members_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The data after the last member count towards the size limit of an archive."""
    archive = make_sample_archive(tmp_path, lambda info: None)
    archive.write_bytes(gzip.compress(archive.read_bytes() + bytes(1 << 22)))
    monkeypatch.setattr(fetch, "MOST_BYTES", 1 << 21)
    assert main(["collect", str(tmp_path / "run"), f"--archive=native={archive}"]) == 1
    assert "too much data after the last member" in capsys.readouterr().err
    monkeypatch.setattr(fetch, "MOST_BYTES", 1 << 23)
    assert main(["collect", str(tmp_path / "run"), f"--archive=native={archive}"]) == 0


def test_samples_are_collected_over_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make_bench_debugfs(tmp_path)
    with loopback.run_ssh_server(tmp_path / "ssh") as server:
        monkeypatch.setattr("kmtools.measure.fetch.SSH", ("ssh", *server.options))
        place = f"ssh://root@127.0.0.1:{server.port}{bench}"
        assert main(["collect", str(tmp_path / "run"), f"--from=metal={place}"]) == 0
        assert main(["collect", str(tmp_path / "none"), f"--from=metal={place}/none"]) == 1
    assert main(["collect", str(tmp_path / "none"), f"--from=metal={place}"]) == 1
    assert (tmp_path / "run" / "samples.csv").exists() and not (tmp_path / "none").exists()


def make_work_directory(tmp_path: Path, program: str) -> Path:
    """Make a working directory of measure.sh with a shell script in place of kmbench."""
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(TARGET / "machine.sh", folder)
    (folder / "kmbench").write_text(f"#!/bin/sh\n{program}\n")
    (folder / "kmbench").chmod(0o755)
    return folder


def make_measure_command(folder: Path, action: str = "native", seed: str = "1") -> list[str]:
    """Return a command that calls measure.sh with an action and a seed. The command resets
    signals to their default handlers, because pytest may ignore signals, and child processes
    inherit ignored signals."""
    return [
        "env",
        "--default-signal",
        "sh",
        str(TARGET / "measure.sh"),
        action,
        str(folder),
        "4",
        "2",
        seed,
        "empty-loop",
    ]


def wait_for_file(path: Path) -> None:
    """Wait until a file exists."""
    until = time.monotonic() + WAIT_SECONDS
    while not path.exists():
        assert time.monotonic() < until, f"{path} does not exist after {WAIT_SECONDS:g} s"
        time.sleep(0.05)


def is_process_running(process: int) -> bool:
    """Return True if a process runs and is not a zombie."""
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def wait_until_removed(path: Path) -> None:
    """Wait until a file does not exist."""
    until = time.monotonic() + WAIT_SECONDS
    while path.exists():
        assert time.monotonic() < until, f"{path} still exists after {WAIT_SECONDS:g} s"
        time.sleep(0.05)


def make_directory_of_endless_program(tmp_path: Path) -> Path:
    """Make a working directory of measure.sh with a program that does not end. The program writes
    the process IDs of itself and of a child process to the file `began`."""
    return make_work_directory(
        tmp_path,
        f"sleep 1000 &\necho $$ $! >{tmp_path}/began.part\n"
        f"mv {tmp_path}/began.part {tmp_path}/began\nexec sleep 1000",
    )


def wait_for_program_start(tmp_path: Path, folder: Path) -> list[int]:
    """Wait until the program has started; return the process IDs of the program and its child."""
    wait_for_file(tmp_path / "began")
    wait_for_file(folder / "alive")
    children = [int(word) for word in (tmp_path / "began").read_text().split()]
    assert all(map(is_process_running, children))
    return children


@pytest.mark.many
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("whole_group", [False, True])
def test_an_interrupted_measurement_leaves_no_process(
    tmp_path: Path, number: int, whole_group: bool
) -> None:
    folder = make_directory_of_endless_program(tmp_path)
    with subprocess.Popen(make_measure_command(folder), start_new_session=True) as running:
        children = wait_for_program_start(tmp_path, folder)
        (os.killpg if whole_group else os.kill)(running.pid, number)
        assert running.wait(WAIT_SECONDS) != 0
    wait_until_removed(folder / "alive")
    assert not any(map(is_process_running, children)) and not (folder / "raw.tar").exists()


def run_measure_script_clean(folder: Path) -> int:
    """Call `measure.sh clean`, which ends remaining processes; return its exit code."""
    return subprocess.run(
        [*make_measure_command(folder)[:4], "clean", str(folder)], check=False
    ).returncode


@pytest.mark.parametrize("guard_lives", [False, True])
def test_clean_ends_processes_without_the_guard_process(tmp_path: Path, guard_lives: bool) -> None:
    """`clean` ends the processes also if the guard process of the measurement was killed."""
    folder = make_directory_of_endless_program(tmp_path)
    with subprocess.Popen(make_measure_command(folder), start_new_session=True) as running:
        children = wait_for_program_start(tmp_path, folder)
        if not guard_lives:
            guard = int((folder / "alive").read_text().split()[0])
            os.kill(guard, signal.SIGKILL)
            running.kill()
            running.wait(WAIT_SECONDS)
            assert all(map(is_process_running, children))
        assert run_measure_script_clean(folder) == 0
        assert running.wait(WAIT_SECONDS) != 0
    assert not any(map(is_process_running, children)) and not (folder / "raw.tar").exists()


def test_clean_does_not_kill_an_unrelated_process(tmp_path: Path) -> None:
    """`clean` does not kill another process that has got the process ID of the job."""
    folder = make_work_directory(tmp_path, "exit 0")
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as stranger:
        (folder / "job").write_text(f"{stranger.pid} 1\n")
        (folder / "alive").write_text(f"{stranger.pid} 1\n")
        assert run_measure_script_clean(folder) == 0
        assert is_process_running(stranger.pid)
        stranger.kill()


def test_a_program_that_fails_leaves_no_archive(tmp_path: Path) -> None:
    folder = make_work_directory(tmp_path, "echo broken >&2; exit 3")
    done = subprocess.run(make_measure_command(folder), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        f"broken\nmeasure: the measurement in {folder} failed\n",
    )
    assert not (folder / "alive").exists() and not (folder / "raw.tar").exists()


def test_samples_that_cannot_be_packed_leave_no_archive(tmp_path: Path) -> None:
    """The exit code 2 of measure.sh means that no measurement was started, so measure.sh does not
    pass on the exit code 2 of tar."""
    folder = make_work_directory(tmp_path, "exit 0")
    (tmp_path / "tar").write_text(f"#!/bin/sh\necho part >{folder}/raw.tar\nexit 2\n")
    (tmp_path / "tar").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = make_measure_command(folder)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    said = f"measure: the samples in {folder}/raw cannot be packed\n"
    assert (done.returncode, done.stderr) == (1, said)
    assert not (folder / "raw.tar").exists()


@pytest.mark.parametrize("seed", ["010", "0x10", "one", ""])
def test_measure_script_refuses_a_seed_that_is_not_decimal(seed: str, tmp_path: Path) -> None:
    """The shell would compute with 010 as 8, and kmbench takes it for 10."""
    folder = make_work_directory(tmp_path, f"touch {tmp_path}/started")
    command = make_measure_command(folder, seed=seed)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = f"measure: bad number '{seed}': give a decimal number without zeros in front\n"
    assert (done.returncode, done.stderr) == (2, said)
    assert not (tmp_path / "started").exists()


def test_reason_of_an_interrupted_measurement_is_printed(tmp_path: Path) -> None:
    """The Ansible role stores this reason if a measurement exceeds its time limit."""
    folder = make_directory_of_endless_program(tmp_path)
    command = ["timeout", "2", *make_measure_command(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = f"measure: the measurement in {folder} was interrupted, perhaps at its time limit\n"
    assert (done.returncode, done.stderr) == (124, said)
    assert run_measure_script_clean(folder) == 0


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("metal", "unknown command 'metal'; the commands are native, modules and clean"),
        ("native", "kmbench does not exist"),
    ],
)
def test_wrong_arguments_start_no_measurement(tmp_path: Path, kind: str, said: str) -> None:
    done = subprocess.run(
        make_measure_command(tmp_path, kind), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and said in done.stderr and not list(tmp_path.iterdir())
