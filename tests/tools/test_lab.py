# SPDX-License-Identifier: GPL-2.0-only
"""Tests of kmtools.lab: the log scanner, kernels.txt, builds, the initramfs, and verdicts of
boots."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tarfile
import termios
import tty
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakelab import boot_with_fake_qemu, use_fake_qemu
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.files import hold_lock
from kmtools.lab import (
    build,
    catalogue,
    channel,
    emulator,
    initramfs,
    logscan,
    machine,
    shell,
    userspace,
)
from kmtools.lab.emulator import Share
from kmtools.lab.logscan import find_fault_lines, select_fault_context
from kmtools.lab.machine import Request
from kmtools.lab.result import Result, judge_boot_result, print_boot_failure, read_serial_log
from kmtools.lab.secureboot import BootFiles

ROOT = Path(__file__).resolve().parents[2]

CLEAN_LOG = """\
[    0.000000] Linux version 6.1.0-56-amd64 (gcc-12) #1 SMP PREEMPT_DYNAMIC
[    0.000000] Command line: console=ttyS0 oops=panic note="BUG: is only a word here"
[    0.104000] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on
[    0.035322] Speculative Return Stack Overflow: WARNING: See https://example.org for options.
[    0.100000] rcu: Preemptible hierarchical RCU implementation.
[    0.200000] NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.
[    1.700000] hello: loading out-of-tree module taints kernel.
[    1.800000] hello: module verification failed: signature missing - tainting kernel
[    1.900000] kmemleak: Kernel memory leak detector initialized
"""

DIRTY_LINES = [
    "WARNING: CPU: 0 PID: 102 at /src/hello.c:11 hello_init+0x42/0x1000 [hello]",
    "WARNING: possible circular locking dependency detected",
    "WARNING: suspicious RCU usage",
    "BUG: kernel NULL pointer dereference, address: 0000000000000010",
    "BUG: sleeping function called from invalid context at mm/slab.h:494",
    "BUG: scheduling while atomic: insmod/102/0x00000002",
    "BUG: KASAN: use-after-free in f+0x1/0x2",
    "BUG: KCSAN: data-race in f / g",
    "Oops: 0002 [#1] PREEMPT SMP NOPTI",
    "general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP",
    "int3: 0000 [#1] PREEMPT SMP NOPTI",
    "invalid opcode: 0000 [#1] PREEMPT SMP NOPTI",
    "kernel BUG at mm/slub.c:4000!",
    "Call Trace:",
    "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [insmod:102]",
    "INFO: task insmod:102 blocked for more than 120 seconds.",
    "rcu: INFO: rcu_preempt self-detected stall on CPU",
    "UBSAN: array-index-out-of-bounds in f.c:1:2",
    "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    "objtool: f()+0x1: unreachable instruction",
    "Kernel panic - not syncing: Fatal exception",
    "** 4321 printk messages dropped **",
]


def test_kernel_log_without_fault_lines_has_no_faults() -> None:
    assert find_fault_lines(CLEAN_LOG) == []


@pytest.mark.parametrize("line", DIRTY_LINES)
def test_each_fault_line_in_a_kernel_log_is_found(line: str) -> None:
    stamped = f"[    2.000000] {line}"
    assert find_fault_lines(f"{CLEAN_LOG}{stamped}\n") == [stamped]


def test_faults_of_foreign_code_are_not_reported() -> None:
    """Faults between the lines FOREIGN_BEGIN and FOREIGN_END, which a job writes to the log, are
    ignored; other faults are reported."""
    fault = "BUG: unable to handle page fault"
    lines = [fault + " 1", logscan.FOREIGN_BEGIN, fault + " 2", logscan.FOREIGN_END, fault + " 3"]
    assert find_fault_lines("\n".join(f"[    1.000000] {line}" for line in lines)) == [
        f"[    1.000000] {fault} {number}" for number in (1, 3)
    ]
    assert find_fault_lines(f"{logscan.FOREIGN_BEGIN}\n{fault}\n") == []


def test_grep_in_the_guest_finds_the_same_faults(tmp_path: Path) -> None:
    for name, patterns in (("dirt", logscan.FAULT_PATTERNS), ("clean", logscan.HARMLESS_PATTERNS)):
        (tmp_path / name).write_text("".join(f"{pattern}\n" for pattern in patterns))
    log = tmp_path / "log"
    log.write_text(CLEAN_LOG + "".join(f"{line}\n" for line in DIRTY_LINES))
    found = subprocess.run(
        f"grep -E -f dirt {log} | grep -v -E -f clean",
        cwd=tmp_path,
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.splitlines() == DIRTY_LINES


def test_log_lines_around_a_fault_are_selected() -> None:
    shown = select_fault_context("a\nb\nc\nWARNING: x\nd\n" + "e\n" * 30, before=1, after=1)
    assert shown == ["c", "WARNING: x", "d"]


def test_number_of_log_lines_around_faults_is_limited() -> None:
    """The default context is 2 lines before a fault and 12 lines after it, within the log, and each
    line is selected once. At most 80 lines are selected, the first ones."""
    lines = [f"line {number}" for number in range(100)]
    for fault, first, last in ((0, 0, 12), (1, 0, 13), (50, 48, 62), (95, 93, 99), (99, 97, 99)):
        text = "\n".join([*lines[:fault], "BUG: x", *lines[fault + 1 :]])
        shown = select_fault_context(text)
        assert len(shown) == last - first + 1
        assert shown.index("BUG: x") == fault - first
    assert select_fault_context("BUG: 1\na\nb\nc\nd\nBUG: 2", after=1) == [
        *("BUG: 1", "a", "c", "d", "BUG: 2")
    ]
    faults = [f"BUG: {number}" for number in range(100)]
    assert select_fault_context("\n".join(faults)) == faults[:80]


def write_results_archive(path: Path, *names: str) -> None:
    """Write an archive of results: `a` is a file, `b/` a folder, `c->a` a link to a."""
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            member = tarfile.TarInfo(name.partition("->")[0].rstrip("/"))
            member.size = 0 if name.endswith("/") or "->" in name else 3
            if name.endswith("/"):
                member.type = tarfile.DIRTYPE
            if "->" in name:
                member.type, member.linkname = tarfile.SYMTYPE, name.partition("->")[2]
            tar.addfile(member, io.BytesIO(b"42\n"))


@pytest.mark.parametrize(
    ("result", "console", "archive", "reason"),
    [
        (Result(exit_code=0), "", ["results/a"], ""),
        (Result(exit_code=0, reason="why"), "BUG: x", [], "why"),
        (Result(), "BUG: x", ["results/a"], "the guest ended without an exit status"),
        (Result(shutdown="guest-reset"), "", [], " exit status (QEMU: guest-reset)"),
        (Result(exit_code=7), "BUG: x", [], "the job failed with exit code 7"),
        (Result(exit_code=-1), "", ["a"], "the job failed with exit code -1"),
        (Result(exit_code=0), "BUG: x\nBUG: y", [], " log has 2 lines that report faults"),
        (Result(exit_code=0), "", [], "the guest is incomplete: nothing was sent"),
        (Result(exit_code=0), "", ["r/../b"], "the guest is incomplete: unexpected name r/../b"),
    ],
)
def test_first_reason_of_a_boot_failure_is_reported(
    tmp_path: Path, result: Result, console: str, archive: list[str], reason: str
) -> None:
    (tmp_path / "console.log").write_text(console)
    if archive:
        write_results_archive(tmp_path / "results.tar.gz", *archive)
    result = replace(result, out=tmp_path)
    judge_boot_result(result, tmp_path)
    assert result.reason.endswith(reason) and result.ok is (not reason) is (not result.reason)
    assert result.results == (None if reason else tmp_path / "results")
    assert (tmp_path / "results").exists() is result.ok
    assert (tmp_path / "results.failed").exists() is (bool(archive) and not result.ok)


def test_results_are_unpacked_without_their_first_folder(tmp_path: Path) -> None:
    """Empty folders are made, a link to a file becomes a copy, and the archive is removed. An empty
    archive and a link to a missing file are errors."""
    archive = tmp_path / "results.tar.gz"
    write_results_archive(
        archive, "results/", "results/a", "results/b/", "results/c/d", "results/e->c/d"
    )
    result = Result(exit_code=0)
    judge_boot_result(result, tmp_path)
    assert result.ok and not archive.exists()
    found = sorted((tmp_path / "results").rglob("*"))
    assert [str(path.relative_to(tmp_path / "results")) for path in found] == [
        *("a", "b", "c", "c/d", "e")
    ]
    assert [path.read_text() for path in found if path.is_file()] == ["42\n"] * 3
    for folder, why in (("empty", "nothing was sent"), ("link", "'results/none' not found")):
        (tmp_path / folder).mkdir()
        archive = tmp_path / folder / "results.tar.gz"
        archive.touch()
        if folder == "link":
            write_results_archive(archive, "results/e->none")
        judge_boot_result(result := Result(exit_code=0), tmp_path / folder)
        assert "is incomplete: " in result.reason and why in result.reason


@pytest.mark.parametrize("part", range(1, 10))
def test_results_with_a_changed_byte_are_incomplete(tmp_path: Path, part: int) -> None:
    """A changed byte in any part of the archive is an error, whether it damages the compression,
    the names or the content of a file."""
    archive = tmp_path / "results.tar.gz"
    text = "".join(f"{number * number}\n" for number in range(20000)).encode()
    member = tarfile.TarInfo("results/a")
    member.size = len(text)
    with tarfile.open(archive, "w:gz") as tar:
        tar.addfile(member, io.BytesIO(text))
    content = bytearray(archive.read_bytes())
    content[len(content) * part // 10] ^= 0xFF
    archive.write_bytes(content)
    judge_boot_result(result := Result(exit_code=0), tmp_path)
    assert not result.ok and "is incomplete: " in result.reason


def test_serial_log_is_decoded_to_text_lines(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"a\r\n\xffb\r")
    assert read_serial_log(tmp_path / "log") == "a\n\ufffdb"
    assert read_serial_log(tmp_path / "none") == read_serial_log(tmp_path) == ""


def test_boot_failure_is_printed_with_relevant_log_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The end of the kernel's log is printed if the guest did not send its exit code or did not
    power off. The first 60 lines of the inspections are printed."""
    kernel = [f"kernel {number}" for number in range(50)]
    looked = [f"CPU {number}" for number in range(70)]
    (tmp_path / "console.log").write_text("\n".join(kernel))
    end = f"vm: logs are in {tmp_path}"
    last = ["vm: the kernel's last 40 lines:", *kernel[10:]]
    faults = ["vm: faults in the kernel log:", "BUG: x"]
    hung = "the guest sent its exit code but did not power off"

    def print_and_read_boot_failure(**fields: Any) -> list[str]:
        print_boot_failure(Result(out=tmp_path, **fields))
        out, err = capsys.readouterr()
        assert out == ""
        return err.splitlines()

    assert print_and_read_boot_failure(reason="why", exit_code=1) == ["vm: why", end]
    assert print_and_read_boot_failure(reason="why") == ["vm: why", *last, end]
    assert print_and_read_boot_failure(reason=hung, exit_code=0) == [f"vm: {hung}", *last, end]
    (tmp_path / "console.log").write_text("BUG: x")
    (tmp_path / "qemu.log").write_text("\nqemu: error\n")
    (tmp_path / "look.log").write_text("\n".join(looked))
    assert print_and_read_boot_failure(reason="why", exit_code=0, fault_lines=["BUG: x"]) == [
        *("vm: why", *faults, "vm: output of the emulator:", "qemu: error"),
        *("vm: inspections of the guest's CPUs:", *looked[:60], end),
    ]


def test_make_command_has_output_folder_flags_and_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default, programs are built in build/native of the tree. The folder is made. A folder that
    cannot be made is an error."""
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    flock = ("flock", "--no-fork")
    folder = tmp_path / "native"
    make = ("make", "-s", "-j7", "-C", folder)
    folder = tmp_path / "build/native"
    assert userspace.build_make_command("a", "b", tree=tmp_path) == [
        *(*flock, folder / ".lock", *make, "a", "b")
    ]
    assert folder.is_dir()
    out = tmp_path / "x/y"
    for _ in range(2):
        assert userspace.build_make_command("a", out=out, extra="-O1 -g", tree=tmp_path) == [
            *(*flock, out / ".lock", *make, f"OUT={out}", "EXTRA=-O1 -g", "a")
        ]
    assert out.is_dir()
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert "-j1" in userspace.build_make_command(tree=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(FailedError, match=r"file/a cannot be made: .*(?i:not a directory)"):
        userspace.build_make_command(out=tmp_path / "file/a", tree=tmp_path)


@pytest.mark.parametrize(
    ("missing", "code", "obstacle"),
    [
        ("", 0, ""),
        ("gcc", 0, "gcc is missing: apt-get install gcc make libc6-dev"),
        ("make", 0, "make is missing: apt-get install gcc make libc6-dev"),
        ("flock", 0, "flock is missing: apt-get install util-linux"),
        ("", 1, "stdio.h is missing: apt-get install gcc make libc6-dev"),
    ],
)
def test_missing_part_of_the_compiler_is_named(
    monkeypatch: pytest.MonkeyPatch, missing: str, code: int, obstacle: str
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == missing else f"/bin/{name}")
    done = subprocess.CompletedProcess([], code, "", "")
    monkeypatch.setattr(userspace, "capture_output", lambda words: done)
    assert userspace.find_compiler_obstacle() == obstacle


@pytest.mark.parametrize("override", ["", "/own/qemu"])
def test_unpacked_qemu_is_started_with_its_own_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, override: str
) -> None:
    """A QEMU that KMARKERS_QEMU names uses the libraries of this machine."""
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path))
    monkeypatch.setenv("KMARKERS_QEMU", override)
    tree, asked = tmp_path / "qemu/sid/usr", []
    done = subprocess.CompletedProcess([], 0, "QEMU emulator version 10\nCopyright\n", "")

    def record_qemu_version_request(
        words: list[str], env: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        asked.append((words, env))
        return done

    monkeypatch.setattr(emulator, "capture_output", record_qemu_version_request)
    if not override:
        with pytest.raises(UnableError, match=r"^the QEMU of sid is not unpacked; run"):
            emulator.choose_qemu_of_suite("sid")
        tree.mkdir(parents=True)
    libraries = f"{tree}/lib/x86_64-linux-gnu"
    command = (
        *(f"{tree}/lib64/ld-linux-x86-64.so.2", "--library-path", libraries),
        *(f"{tree}/bin/qemu-system-x86_64", "-L", f"{tree}/share/qemu", "-L"),
        f"{tree}/share/seabios",
    )
    environment = {"QEMU_MODULE_DIR": f"{libraries}/qemu"}
    wanted = ((override,), {}) if override else (command, environment)
    found = emulator.choose_qemu_of_suite("sid")
    assert (found.command, found.environment) == wanted
    assert asked == [([*found.command, "--version"], found.environment)]
    assert found.version == "QEMU emulator version 10"
    done.stdout = ""
    assert emulator.choose_qemu_of_suite("sid").version == "unknown"
    done.returncode = 127
    with pytest.raises(UnableError, match=f"^{found.command[0]} cannot be run: .* status 127"):
        emulator.choose_qemu_of_suite("sid")


def make_qemu_command(monkeypatch: pytest.MonkeyPatch, scratch: Path, **fields: Any) -> str:
    """Return QEMU's command line for a boot with the kernel `image`."""
    kernel = catalogue.get_default_kernel_name()
    request = Request(kernel, scratch / "job", scratch / "out", accel="tcg", **fields)
    qemu = emulator.Emulator(("qemu",), {}, "QEMU 10")
    monkeypatch.setattr(emulator, "choose_qemu_of_suite", lambda suite: qemu)
    files = BootFiles(Path("/image"), [], ["-firmware"])
    words = (request, files, Path("/archive"), "quiet nonce", scratch)
    return " ".join(machine._prepare_qemu_command(*words).command)


def test_options_of_a_boot_request_reach_qemu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guest without options has 2 processors, 1024 MiB, three serial ports in files and one
    monitor, and neither network nor terminal."""
    plain = make_qemu_command(monkeypatch, tmp_path)
    assert plain.startswith("qemu ") and " -smp 2" in plain
    assert " -m 1024 -no-reboot -display none -nodefaults -firmware -kernel /image" in plain
    assert " -initrd /archive -append quiet nonce " in plain
    for number, name in enumerate(("console.log", "status.log", "results.tar.gz")):
        port = f"-chardev file,id=port{number},path={tmp_path}/out/{name}"
        assert f" {port} -serial chardev:port{number} " in plain
    assert plain.endswith(f" -qmp unix:{tmp_path}/watch,server=on,wait=off")
    nmi = f"-qmp unix:{tmp_path}/nmi,server=on,wait=off"
    shares = [Share("root", Path("/"))]
    options: list[tuple[dict[str, Any], str]] = [
        ({"nmi": 5.0}, nmi),
        ({"control": tmp_path / "own"}, f"-qmp unix:{tmp_path}/own,server=on,wait=off"),
        (
            {"ssh_port": 2222},
            "-nic user,model=e1000,restrict=on,hostfwd=tcp:127.0.0.1:2222-:22",
        ),
        ({"terminal": True}, "-chardev stdio,id=terminal,signal=off -serial chardev:terminal"),
        ({"shares": shares}, " ".join(shares[0].make_virtfs_options())),
    ]
    for fields, added in options:
        command = make_qemu_command(monkeypatch, tmp_path, **fields)
        assert command == f"{plain} {added}"
    assert " -m 77 " in make_qemu_command(monkeypatch, tmp_path, memory=77)


@pytest.mark.parametrize("name", ["results", "results.failed", "console.log", "vm.json"])
def test_output_folder_with_unknown_files_is_refused(laboratory: Path, name: str) -> None:
    """Without the lock file of an earlier boot, nothing is removed from the folder, and no lock
    file is made."""
    kernel = catalogue.get_default_kernel_name()
    out = laboratory / "out"
    path = out / name
    path.mkdir(parents=True)
    (path / "kept").touch()
    with pytest.raises(UnableError, match=f"^{path} was not made by a boot, and would be removed"):
        machine.boot_guest(Request(kernel, laboratory / "job", out))
    assert [one.relative_to(out) for one in out.rglob("*")] == [Path(name), Path(name) / "kept"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tier": "metal"}, "^unknown tier 'metal'; choose from: vm, icount$"),
        ({"bochs": "x", "nmi": 1.0}, "Bochs supports neither NMIs nor"),
        ({"bochs": "x", "tier": "icount"}, "Bochs supports neither NMIs nor"),
        ({"bochs": "x", "secure_boot": True}, "nor Secure Boot$"),
    ],
)
def test_boot_request_that_no_emulator_supports_is_refused(
    laboratory: Path, fields: dict[str, Any], message: str
) -> None:
    kernel = catalogue.get_default_kernel_name()
    with pytest.raises(UnableError, match=message):
        machine.boot_guest(Request(kernel, laboratory / "job", laboratory / "out", **fields))
    assert not (laboratory / "out").exists()


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("tcg", "vm", 3), "-accel tcg,thread=multi -cpu max -smp 3"),
        (("tcg", "vm", 3, True, "EPYC"), "-accel tcg,thread=single -cpu EPYC -smp 3"),
        (("kvm", "vm", 3, True, "EPYC"), "-accel kvm -cpu host,host-cache-info=on -smp 3"),
        (
            ("kvm", "icount", 3, False, "EPYC"),
            "-accel tcg,thread=single -smp 1 -cpu max -icount shift=0,sleep=off"
            " -rtc base=2020-01-01,clock=vm -seed 1",
        ),
    ],
)
def test_each_accelerator_has_its_qemu_options(words: tuple[Any, ...], options: str) -> None:
    """A guest whose instructions are counted has one CPU, and its clock begins at a fixed date."""
    assert " ".join(emulator.make_accelerator_options(*words)) == options


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"ELF static", ""),
        (b"x" * 4096 + b"ld-linux", ""),
        (b"x" * 4088 + b"ld-linux", "busybox is not static; run scripts/setup"),
        (None, "busybox is missing; run scripts/setup"),
    ],
)
def test_busybox_must_be_static(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, message: str
) -> None:
    """A program whose first bytes contain the name of a dynamic linker is not static."""
    found = tmp_path / "busybox"
    if content is not None:
        found.write_bytes(content)
    answer = str(found) if content is not None else None
    monkeypatch.setattr("shutil.which", lambda name, path: answer)
    if not message:
        assert initramfs.find_static_busybox() == found
        return
    with pytest.raises(UnableError, match=message):
        initramfs.find_static_busybox()


def test_status_channel_lines_are_read_when_complete(tmp_path: Path) -> None:
    """A line that is written in parts is shown once. At the end, an incomplete line is read as
    well. Only a whole line with the nonce sets the exit code."""
    path = tmp_path / "status.log"
    said: list[str] = []
    status = channel.StatusChannel(path, "abc", said.append)
    assert not status.read_new_lines()
    for written, shown in (
        (b"one\r\ntw", ["one"]),
        (b"o\n", ["two"]),
        (b"", []),
        (b"\xff\n\nkmarkers-exit abc 3x\n", ["\ufffd", "", "kmarkers-exit abc 3x"]),
        (
            b" kmarkers-exit abc 3\nkmarkers-exit abd 3\n",
            [" kmarkers-exit abc 3", "kmarkers-exit abd 3"],
        ),
        (b"kmarkers-exit abc 12", []),
    ):
        with path.open("ab") as file:
            file.write(written)
        assert not status.read_new_lines()
        assert said == shown
        said.clear()
    assert status.read_new_lines(final=True) and status.read_new_lines(final=True)
    assert status.exit_code == 12 and said == []
    silent = channel.StatusChannel(path, "abc", None)
    assert not silent.read_new_lines()
    assert silent.read_new_lines(final=True)
    path.write_text("last words")
    unended = channel.StatusChannel(path, "abc", said.append)
    assert not unended.read_new_lines(final=True) and not unended.read_new_lines(final=True)
    assert said == ["last words"]


@pytest.mark.parametrize(
    ("role", "kinds", "fragments"),
    [
        ("gates", (), ()),
        ("upstream", (), ("upstream",)),
        ("debug:kasan", ("kasan",), ("base", "kasan")),
        ("debug:kasan+kcsan", ("kasan", "kcsan"), ("base", "kasan", "kcsan")),
        ("matrix:kasan", (), ()),
        ("build:kasan", (), ()),
        ("debug:+", (), ()),
    ],
)
def test_role_of_a_kernel_selects_configuration_fragments(
    role: str, kinds: tuple[str, ...], fragments: tuple[str, ...]
) -> None:
    entry = catalogue.Entry("k", "s", "i", "q", role)
    assert (entry.debug_kinds, entry.fragments) == (kinds, fragments)


def test_configuration_of_built_headers_is_preferred(laboratory: Path) -> None:
    kernel = catalogue.require_unpacked_kernel(catalogue.get_default_kernel_name())
    assert kernel.config == kernel.tree / "boot/config-6.1.0-fake"
    headers = kernel.tree / "usr/src/linux-headers-6.1.0-fake"
    headers.mkdir(parents=True)
    (headers / ".config").touch()
    assert kernel.config == headers / ".config"


def test_added_kernels_are_listed_after_kernels_txt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel of kernels.txt hides an added kernel with the same name."""
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path))
    listed = catalogue.load_kernel_entries()
    for name in ("zz", "aa", "yy", "bb", listed[0].name):
        tree = tmp_path / "kernels" / name
        tree.mkdir(parents=True)
        record = {"name": name, "suite": "s", "image": "i", "qemu": "q", "role": "added"}
        (tree / "entry.json").write_text(json.dumps(record))
    assert catalogue.load_kernel_entries()[: len(listed)] == listed
    assert [entry.name for entry in catalogue.load_kernel_entries()[len(listed) :]] == [
        *("aa", "bb", "yy", "zz")
    ]
    with pytest.raises(UnableError, match=r"kernel aa is not unpacked; run: .* lab fetch aa$"):
        catalogue.require_unpacked_kernel("aa")


@pytest.mark.parametrize("text", ["", '{"name": "x"', "[]", '{"name": "x", "new": 1}'])
def test_kernel_with_a_damaged_record_counts_as_not_unpacked(laboratory: Path, text: str) -> None:
    """Other kernels can be used, and the kernel can be fetched again. A tree that is not complete
    is ignored."""
    listed = catalogue.load_kernel_entries()
    for name in ("x", ".new-y"):
        (laboratory / "cache/kernels" / name).mkdir()
    (laboratory / "cache/kernels/x/entry.json").write_text(text)
    record = {"name": "y", "suite": "s", "image": "i", "qemu": "q", "role": "added"}
    (laboratory / "cache/kernels/.new-y/entry.json").write_text(json.dumps(record))
    assert catalogue.load_kernel_entries() == listed
    assert catalogue.find_unpacked_kernel(listed[0].name)
    (laboratory / "cache/kernels" / listed[0].name / "kernel.json").write_text(text)
    with pytest.raises(UnableError, match=rf"is not unpacked; run: .* lab fetch {listed[0].name}$"):
        catalogue.require_unpacked_kernel(listed[0].name)


def test_folder_of_modules_has_only_the_modules_of_the_last_build(tmp_path: Path) -> None:
    """Files that are no modules stay. Two modules with one name are an error, and nothing is
    copied."""
    out = tmp_path / "out/modules"
    for folder, name in (("a", "x.ko"), ("a", "y.ko"), ("b", "x.ko")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text(folder)
    build.copy_modules([tmp_path / "a/x.ko", tmp_path / "a/y.ko"], out)
    (out / "log").touch()
    build.copy_modules([tmp_path / "b/x.ko"], out)
    assert sorted(os.listdir(out)) == [build.COPIED, "log", "x.ko"]
    assert (out / "x.ko").read_text() == "b"
    with pytest.raises(UnableError, match="two modules of a source tree have the same name"):
        build.copy_modules([tmp_path / "a/x.ko", tmp_path / "b/x.ko"], out)
    assert (out / "x.ko").read_text() == "b"
    build.copy_modules([], out)
    assert os.listdir(out) == ["log"]
    assert build.list_built_modules(tmp_path) == []


def test_module_folder_with_foreign_modules_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder outside build/ with a module that no build has copied is refused, and not changed.
    In build/, which may be a link to another disk, all modules are removed."""
    monkeypatch.setattr(build, "ROOT", tmp_path)
    module = tmp_path / "x.ko"
    module.touch()
    out = tmp_path / "mine"
    build.copy_modules([module], out)
    (out / "other.ko").touch()
    for modules in ([], [module]):
        with pytest.raises(UnableError) as refused:
            build.copy_modules(modules, out)
        assert str(refused.value) == (
            f"{out}/other.ko is of another build, and would be removed: choose another folder"
        )
        assert {path.name for path in out.glob("*.ko")} == {"x.ko", "other.ko"}
    (tmp_path / "disk").mkdir()
    (tmp_path / "build").symlink_to("disk")
    own = tmp_path / "build" / "modules"
    own.mkdir()
    (own / "stale.ko").touch()
    build.copy_modules([module], own)
    assert [path.name for path in own.glob("*.ko")] == ["x.ko"]


def test_module_folder_without_a_kbuild_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnableError, match="none is not a folder"):
        build.require_module_folder(tmp_path / "none")
    (tmp_path / "Kbuild").mkdir()
    with pytest.raises(UnableError, match="has neither a Kbuild file nor a Makefile"):
        build.require_module_folder(tmp_path)
    (tmp_path / "Makefile").touch()
    assert build.require_module_folder(tmp_path) == tmp_path


def test_modules_of_a_user_are_built_with_the_symbols_of_earlier_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of the user's folders gets no symbols. Two modules with the same name are an error,
    and so is a failed build."""
    calls: list[tuple[Any, ...]] = []
    code = 0

    def build_modules(name: str, src: Path, out: Path, words: list[str], **more: Any) -> int:
        calls.append((name, src, out, words, more["kmarkers_source"], more["more_binds"]))
        return code

    monkeypatch.setattr(build, "build_modules", build_modules)
    monkeypatch.setattr(build, "get_object_dir", lambda name, src: tmp_path / src.name)
    for name, modules in (("a", "z.o\ny.o\n"), ("b", "x.o\n"), ("c", "y.o\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "modules.order").write_text(modules)
    out = tmp_path / "out"
    a, b, c = (Path("/src") / name for name in "abc")
    found = build.build_modules_using_kmarkers("k", [a, b], out, ["-s"])
    assert found == [out / "0/z.ko", out / "0/y.ko", out / "1/x.ko"]
    symbols = "KBUILD_EXTRA_SYMBOLS=/client0/Module.symvers"
    assert calls == [
        ("k", a, out / "0", ["-s"], ROOT, []),
        ("k", b, out / "1", [symbols, "-s"], ROOT, [(tmp_path / "a", "client0")]),
    ]
    with pytest.raises(UnableError, match=r"two modules have the same name, .*: y\.ko$"):
        build.build_modules_using_kmarkers("k", [b, a, c], out)
    assert calls[-1][3] == ["KBUILD_EXTRA_SYMBOLS=/client0/Module.symvers /client1/Module.symvers"]
    code = 1
    with pytest.raises(FailedError, match=r"^/src/c does not build for kernel k$"):
        build.build_modules_using_kmarkers("k", [c], out)


def test_kernels_txt_is_valid() -> None:
    entries = catalogue.load_kernel_entries()
    assert entries[0].name == catalogue.get_default_kernel_name()
    assert len({entry.name for entry in entries}) == len(entries)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing\n", "no kernel is listed"),
        ("6.1 bookworm\n", ":1: expected 5 columns, found 2"),
        ("a b c d gates\n# x\na b c d gates\n", ":3: kernel a is listed twice"),
        ("a b c d shines\n", ":1: unknown role 'shines'"),
        ("a b c d debug:\n", ":1: unknown role 'debug:'"),
    ],
)
def test_error_in_kernels_txt_has_the_line_number(text: str, message: str) -> None:
    with pytest.raises(UnableError, match=message):
        catalogue.parse_kernel_catalogue(text)


@pytest.mark.parametrize(
    ("pattern", "package", "fits"),
    [
        ("linux-image-6.1.*-amd64", "linux-image-6.1.0-56-amd64", True),
        ("linux-image-6.1.*-amd64", "linux-image-6.1.0-0.deb11.52-amd64", True),
        ("linux-image-6.1.*-amd64", "linux-image-6.12.117+deb13-amd64", False),
        ("linux-image-6.1.*-amd64", "linux-image-6.1.0-56-rt-amd64", False),
        ("linux-image-6.1.*-amd64", "linux-image-6.1.0-56-amd64-unsigned", False),
        ("linux-image-6.1.*-rt-amd64", "linux-image-6.1.0-56-rt-amd64", True),
        ("linux-image-*-amd64", "linux-image-7.3-amd64", True),
        ("linux-image-*-amd64", "linux-image-7.3-cloud-amd64", False),
    ],
)
def test_kernel_image_pattern_matches_package_names(pattern: str, package: str, fits: bool) -> None:
    assert (
        catalogue.Entry("name", "suite", pattern, "suite", "gates").matches_image_package(package)
        is fits
    )


def test_error_about_an_unknown_kernel_lists_known_kernels() -> None:
    with pytest.raises(UnableError, match=r"unknown kernel '0\.99'.*6\.1"):
        catalogue.find_kernel_entry("0.99")


@pytest.mark.parametrize("program", ["lab", "vm"])
def test_unknown_kernel_on_the_command_line_is_refused(program: str, tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.touch()
    words = {"lab": ["fetch", "0.99"], "vm": ["run", "--kernel=0.99", f"--job={job}"]}
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "kmarkers", program, *words[program]],
        env={**os.environ, "KMARKERS_CACHE": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "unknown kernel '0.99'" in done.stderr


def test_update_of_a_source_copy_keeps_object_files(tmp_path: Path) -> None:
    src, objects = tmp_path / "src", tmp_path / "objects"
    (src / "sub").mkdir(parents=True)
    (src / ".git").mkdir()
    for name in ("Kbuild", "a.c", "sub/b.c", ".git/config", "a.o", "a.mod.c"):
        (src / name).write_text(name)
    build.update_source_copy(src, objects)
    (objects / "a.o").write_text("built here")
    (objects / "a.c").touch()
    stamp = (objects / "a.c").stat().st_mtime_ns
    (src / "sub/b.c").unlink()
    (src / "c.c").write_text("new")
    build.update_source_copy(src, objects)
    there = {str(path.relative_to(objects)) for path in objects.rglob("*") if path.is_file()}
    assert there == {"Kbuild", "a.c", "c.c", "a.o"}
    assert (objects / "a.c").stat().st_mtime_ns == stamp


def test_files_of_an_interrupted_update_are_removed_with_their_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same name may belong to a file in one version of the sources, and to a folder in the
    next."""
    src, objects = tmp_path / "src", tmp_path / "objects"
    src.mkdir()
    copy = shutil.copy

    def copy_and_interrupt(source: Path, target: Path) -> None:
        copy(source, target)
        raise KeyboardInterrupt

    (src / "a").write_text("a")
    with monkeypatch.context() as during:
        during.setattr(shutil, "copy", copy_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            build.update_source_copy(src, objects)
    (src / "a").unlink()
    (src / "a").mkdir()
    (src / "a" / "b.c").write_text("b")
    build.update_source_copy(src, objects)
    assert [path.relative_to(objects) for path in objects.rglob("*")] == [Path("a"), Path("a/b.c")]


def test_only_modules_in_modules_order_are_listed(tmp_path: Path) -> None:
    (tmp_path / "modules.order").write_text("/src/a/x.ko\nb/y.o\n")
    found = build.list_built_modules(tmp_path)
    assert found == [tmp_path / "a/x.ko", tmp_path / "b/y.ko"]


def test_initramfs_archive_is_a_valid_cpio(tmp_path: Path) -> None:
    (tmp_path / "tree/deep").mkdir(parents=True)
    (tmp_path / "tree/deep/file").write_text("abc")
    out = io.BytesIO()
    archive = initramfs.Archive(out)
    archive.add_file_or_directory(tmp_path / "tree", "/opt/tree")
    archive.close()
    data = out.getvalue()
    assert len(data) % 4 == 0
    names = ["opt", "opt/tree", "opt/tree/deep", "opt/tree/deep/file", "TRAILER!!!"]
    positions = [data.index(name.encode() + b"\0") for name in names]
    assert positions == sorted(positions)
    assert data.count(b"070701") == len(names)


def test_file_name_in_the_initramfs_may_have_any_bytes(tmp_path: Path) -> None:
    name = b"caf\xe9"
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / os.fsdecode(name)).write_text("abc")
    out = io.BytesIO()
    archive = initramfs.Archive(out)
    archive.add_file_or_directory(tmp_path / "tree", "/opt")
    archive.close()
    assert b"opt/" + name + b"\0" in out.getvalue()


def test_initramfs_headers_have_the_fields_that_the_kernel_documents(tmp_path: Path) -> None:
    """Each header has the fields that Documentation/driver-api/early-userspace/buffer-format.rst of
    the kernel describes, with eight hexadecimal digits each. All files belong to root, and their
    time is 0."""
    (tmp_path / "job").write_text("abcde")
    (tmp_path / "job").chmod(0o640)
    out = io.BytesIO()
    archive = initramfs.Archive(out)
    archive.add_file("opt/job", tmp_path / "job")
    archive.add_file("init", tmp_path / "job", 0o755)
    archive.add_device("dev/null", 1, 3)
    archive.close()
    # The fields of a cpio header: magic, ino, mode, uid, gid, nlink, mtime, filesize, maj, min,
    # rmaj, rmin, namesize, chksum.
    rest, headers = out.getvalue(), []
    for name in ("opt", "opt/job", "init", "dev/null", "TRAILER!!!"):
        assert re.fullmatch(rb"070701[0-9a-f]{104}", rest[:110])
        fields = [int(rest[place : place + 8], 16) for place in range(6, 110, 8)]
        headers.append((name, oct(fields[1]), *fields[2:]))
        head = (110 + len(name) + 1 + 3) // 4 * 4
        assert rest[110:head].rstrip(b"\0") == name.encode()
        assert rest[head : head + fields[6]] == b"abcde"[: fields[6]]
        rest = rest[head + (fields[6] + 3) // 4 * 4 :]
    assert rest == b""
    assert headers == [
        ("opt", "0o40755", 0, 0, 1, 0, 0, 0, 0, 0, 0, 4, 0),
        ("opt/job", "0o100640", 0, 0, 1, 0, 5, 0, 0, 0, 0, 8, 0),
        ("init", "0o100755", 0, 0, 1, 0, 5, 0, 0, 0, 0, 5, 0),
        ("dev/null", "0o20600", 0, 0, 1, 0, 0, 0, 0, 1, 3, 9, 0),
        ("TRAILER!!!", "0o0", 0, 0, 1, 0, 0, 0, 0, 0, 0, 11, 0),
    ]


def test_boot_with_a_successful_job_passes(laboratory: Path) -> None:
    script = 'echo "all quiet" >"$console"; echo "ok 1 x" >"$status"; finish 0'
    settings = {"KMARKERS_ORDERS": "", "KMARKERS_CYCLES": 5}
    result, said = boot_with_fake_qemu(laboratory, script, settings=settings)
    assert result.ok, result.reason
    assert said == ["ok 1 x"]
    assert (laboratory / "out/results/answer").read_text() == "42\n"
    described = json.loads((laboratory / "out/vm.json").read_text())
    assert described["qemu"] == "fake emulator 1.0"
    assert described["release"] == "6.1.0-fake"
    assert described["emulated"] is True
    assert "nonce" not in described["cmdline"]
    assert described["settings"] == {"KMARKERS_ORDERS": "", "KMARKERS_CYCLES": "5"}


@pytest.mark.parametrize("rate", [0.0, 5.0])
def test_nmis_are_sent_during_a_boot_that_requests_them(
    laboratory: Path, monkeypatch: pytest.MonkeyPatch, rate: float
) -> None:
    asked: list[tuple[object, ...]] = []

    @contextlib.contextmanager
    def record_nmi_injection(path: Path, *words: object) -> Iterator[None]:
        asked.append((path.name, *words))
        yield
        asked.append(("end",))

    monkeypatch.setattr(machine, "inject_nmis", record_nmi_injection)
    kernel = catalogue.get_default_kernel_name()
    out = laboratory / "out"
    with use_fake_qemu(laboratory, "finish 0"):
        assert machine.boot_guest(
            Request(kernel, laboratory / "job", out, accel="tcg", nmi=rate)
        ).ok
    assert asked == ([("nmi", rate, out / "status.log"), ("end",)] if rate else [])


def test_second_boot_in_the_same_folder_is_refused(laboratory: Path) -> None:
    """While a boot uses a folder, a second boot with this output folder is refused, and changes
    nothing in the folder."""
    log = laboratory / "out/console.log"
    with hold_lock(laboratory / "out" / machine.LOCK, "unused"):
        log.write_text("of the first boot")
        with pytest.raises(UnableError, match="is used by another boot; wait until"):
            boot_with_fake_qemu(laboratory, "finish 0")
    assert log.read_text() == "of the first boot"


def test_kernel_is_not_replaced_during_a_boot(laboratory: Path) -> None:
    """`lab fetch --update` waits until QEMU has ended, because QEMU may open the kernel late. A
    kernel whose lock cannot be made, as in a read-only cache directory, is booted, too."""
    lock = laboratory / "cache" / f"build-{catalogue.get_default_kernel_name()}.lock"
    script = 'flock -n "$HERE"/cache/build-*.lock true; echo $? >"$HERE/code"\nfinish 0'
    assert boot_with_fake_qemu(laboratory, script)[0].ok
    assert (laboratory / "code").read_text() == "1\n"
    with hold_lock(lock, "the boot has ended"):
        lock.unlink()
    lock.mkdir()
    assert boot_with_fake_qemu(laboratory, "finish 0")[0].ok


def test_full_disk_is_reported_before_the_boot(
    laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_to_write_initramfs(archive: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, "Full", str(archive))

    monkeypatch.setattr("kmtools.lab.initramfs.write_initramfs", fail_to_write_initramfs)
    with pytest.raises(
        UnableError, match=r"^cannot write (.*/initramfs): \1: Full; free disk space "
    ):
        boot_with_fake_qemu(laboratory, "finish 0")


def test_boot_without_an_exit_status_fails(laboratory: Path) -> None:
    result, _ = boot_with_fake_qemu(laboratory, 'echo "ok 1 x" >"$status"')
    assert not result.ok
    assert result.exit_code is None
    assert result.reason == "the guest ended without an exit status"


@pytest.mark.parametrize(
    ("script", "failed"),
    [("finish 0; exit 0", False), ("exit 0", False), ("finish 0; exit 1", True), ("exit 3", True),
     ("kill -SEGV $$", True), ("exec sleep 9", False)],
)  # fmt: skip
def test_emulator_with_an_exit_code_above_zero_has_failed(
    laboratory: Path, script: str, failed: bool
) -> None:
    """An emulator that is killed at the time limit has not failed. The guest is not inspected."""
    limit = 0.05 if "sleep" in script else 20.0
    result, _ = boot_with_fake_qemu(laboratory, script, timeout=limit, silence=0.0)
    assert result.emulator_failed is failed


def test_reason_of_the_emulator_is_reported_if_the_guest_vanishes(laboratory: Path) -> None:
    events = [
        {"event": "RTC_CHANGE", "data": {"offset": 1}},
        {"event": "SHUTDOWN", "data": {"guest": True, "reason": "guest-reset"}},
    ]
    sent = laboratory / "events"
    sent.write_text("".join(json.dumps(event) + "\n" for event in events))
    program = (
        "import os, pathlib, sys;os.write(int(sys.argv[1]), pathlib.Path(sys.argv[2]).read_bytes())"
    )
    result, _ = boot_with_fake_qemu(laboratory, f'{sys.executable} -c "{program}" $events {sent}')
    assert result.reason == "the guest ended without an exit status (QEMU: guest-reset)"


@pytest.mark.parametrize("line", ["kmarkers-exit 0", "kmarkers-exit 0123456789abcdef 0", "exit 0"])
def test_boot_fails_if_the_exit_line_lacks_the_nonce(laboratory: Path, line: str) -> None:
    result, said = boot_with_fake_qemu(laboratory, f'finish 0; echo "{line}" >"$status"')
    assert not result.ok
    assert said == [line]
    assert not (laboratory / "out/results").exists()
    assert (laboratory / "out/results.failed/answer").exists()


def test_boot_fails_if_the_exit_line_is_inside_another_line(laboratory: Path) -> None:
    result, _ = boot_with_fake_qemu(laboratory, 'echo "# kmarkers-exit $nonce 0" >"$status"')
    assert result.exit_code is None


def test_boot_with_a_failed_job_fails(laboratory: Path) -> None:
    result, _ = boot_with_fake_qemu(laboratory, "finish 3")
    assert not result.ok
    assert result.exit_code == 3


def test_boot_fails_on_a_fault_in_the_log_of_a_successful_job(laboratory: Path) -> None:
    result, _ = boot_with_fake_qemu(
        laboratory, 'echo "[ 1.0] WARNING: CPU: 0" >"$console"; finish 0'
    )
    assert not result.ok
    assert result.exit_code == 0
    assert result.fault_lines == ["[ 1.0] WARNING: CPU: 0"]
    assert not (laboratory / "out/results").exists()


def test_boot_with_damaged_results_fails(laboratory: Path) -> None:
    whole = gzip.compress(os.urandom(4096))
    (laboratory / "results.tar.gz").write_bytes(whole[:100])
    result, _ = boot_with_fake_qemu(laboratory, "finish 0")
    assert not result.ok
    assert "results archive of the guest is incomplete" in result.reason


def test_results_archive_writes_no_file_outside_its_directory(laboratory: Path) -> None:
    with tarfile.open(laboratory / "results.tar.gz", "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("results/../../escaped"))
    result, _ = boot_with_fake_qemu(laboratory, "finish 0")
    assert not result.ok
    assert not (laboratory / "escaped").exists()


def test_default_timeout_of_a_boot_is_five_minutes() -> None:
    assert Request.timeout == 300


def test_hanging_emulator_is_killed_at_the_timeout(laboratory: Path) -> None:
    script = 'echo "last words" >"$console"; echo $$ >"$HERE/pid"; exec sleep 1000'
    result, _ = boot_with_fake_qemu(laboratory, script, timeout=0.7, silence=0.0)
    assert not result.ok
    assert result.reason == "no exit status after 0.7 s" and result.seconds >= 0.7
    pid = int((laboratory / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_guest_that_does_not_power_off_fails(
    laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "POWEROFF_SECONDS", 0.0)
    result, _ = boot_with_fake_qemu(laboratory, "finish 0; exec sleep 1000", timeout=600.0)
    assert not result.ok and result.exit_code == 0
    assert result.reason == "the guest sent its exit code but did not power off"
    assert result.seconds < 300


def test_failed_boot_removes_results_of_an_earlier_boot(laboratory: Path) -> None:
    assert boot_with_fake_qemu(laboratory, "finish 0")[0].ok
    result, _ = boot_with_fake_qemu(laboratory, "exit 1")
    assert not result.ok
    assert not (laboratory / "out/results").exists()


def test_lab_shell_needs_a_terminal() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "kmarkers", "lab", "shell"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lab shell: a shell needs a terminal: ")


def test_terminal_settings_are_restored_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        before = termios.tcgetattr(theirs)
        with pytest.raises(KeyboardInterrupt), shell.restore_terminal_settings():
            tty.setraw(theirs)
            assert termios.tcgetattr(theirs) != before
            raise KeyboardInterrupt
        assert termios.tcgetattr(theirs) == before
    os.close(ours)
