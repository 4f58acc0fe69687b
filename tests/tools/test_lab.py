# SPDX-License-Identifier: GPL-2.0-only
"""Tests of kmtools.lab: the log scanner, kernels.txt, builds, the initramfs, and verdicts of
boots."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import re
import subprocess
import sys
import tarfile
import termios
import tty
from pathlib import Path

import pytest
from fakelab import boot_with_fake_qemu
from kmtools.base.errors import UnableError
from kmtools.base.files import hold_lock
from kmtools.lab import build, catalogue, initramfs, logscan, machine, shell
from kmtools.lab.logscan import scan_log, select_fault_context

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


def test_clean_log_has_no_faults() -> None:
    assert scan_log(CLEAN_LOG) == []


@pytest.mark.parametrize("line", DIRTY_LINES)
def test_each_fault_line_is_found(line: str) -> None:
    stamped = f"[    2.000000] {line}"
    assert scan_log(f"{CLEAN_LOG}{stamped}\n") == [stamped]


def test_faults_of_foreign_code_are_not_reported() -> None:
    """Faults between the lines FOREIGN_BEGIN and FOREIGN_END, which a job writes to the log, are
    ignored; other faults are reported."""
    fault = "BUG: unable to handle page fault"
    lines = [fault + " 1", logscan.FOREIGN_BEGIN, fault + " 2", logscan.FOREIGN_END, fault + " 3"]
    assert scan_log("\n".join(f"[    1.000000] {line}" for line in lines)) == [
        f"[    1.000000] {fault} {number}" for number in (1, 3)
    ]
    assert scan_log(f"{logscan.FOREIGN_BEGIN}\n{fault}\n") == []


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


def test_lines_around_a_fault_are_selected() -> None:
    shown = select_fault_context("a\nb\nc\nWARNING: x\nd\n" + "e\n" * 30, before=1, after=1)
    assert shown == ["c", "WARNING: x", "d"]


def test_kernels_txt_is_valid() -> None:
    entries = catalogue.load_kernels()
    assert entries[0].name == catalogue.get_default_kernel_name()
    assert len({entry.name for entry in entries}) == len(entries)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing\n", "no kernel is listed"),
        ("6.1 bookworm\n", ":1: expected 5 columns, found 2"),
        ("a b c d gates\n# x\na b c d gates\n", ":3: kernel a is listed twice"),
        ("a b c d shines\n", ":1: shines is no role"),
        ("a b c d debug:\n", ":1: debug: is no role"),
    ],
)
def test_error_in_kernels_txt_has_the_line_number(text: str, message: str) -> None:
    with pytest.raises(UnableError, match=message):
        catalogue.parse_catalogue(text)


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
def test_image_pattern_matches_versions(pattern: str, package: str, fits: bool) -> None:
    assert (
        catalogue.Entry("name", "suite", pattern, "suite", "gates").matches_package(package) is fits
    )


def test_error_about_an_unknown_kernel_lists_known_ones() -> None:
    with pytest.raises(UnableError, match=r"unknown kernel '0\.99'.*6\.1"):
        catalogue.find_entry("0.99")


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


def test_source_copy_is_updated_and_objects_are_kept(tmp_path: Path) -> None:
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


def test_stale_modules_of_earlier_builds_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "modules.order").write_text("/src/a/x.ko\nb/y.o\n")
    found = build.list_built_modules(tmp_path)
    assert found == [tmp_path / "a/x.ko", tmp_path / "b/y.ko"]


def test_initramfs_archive_is_a_valid_cpio(tmp_path: Path) -> None:
    (tmp_path / "tree/deep").mkdir(parents=True)
    (tmp_path / "tree/deep/file").write_text("abc")
    out = io.BytesIO()
    archive = initramfs.Archive(out)
    archive.add_path(tmp_path / "tree", "/opt/tree")
    archive.close()
    data = out.getvalue()
    assert len(data) % 4 == 0
    names = ["opt", "opt/tree", "opt/tree/deep", "opt/tree/deep/file", "TRAILER!!!"]
    positions = [data.index(name.encode() + b"\0") for name in names]
    assert positions == sorted(positions)
    assert data.count(b"070701") == len(names)


def test_headers_of_the_initramfs_have_the_fields_of_the_kernel(tmp_path: Path) -> None:
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


def test_successful_job_passes(laboratory: Path) -> None:
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


def test_second_boot_in_the_same_folder_is_refused(laboratory: Path) -> None:
    """While a boot uses a folder, a second boot with this output folder is refused, and changes
    nothing in the folder."""
    log = laboratory / "out/console.log"
    with hold_lock(laboratory / "out" / machine.LOCK, "unused"):
        log.write_text("of the first boot")
        with pytest.raises(UnableError, match="is used by another boot; wait for its end"):
            boot_with_fake_qemu(laboratory, "finish 0")
    assert log.read_text() == "of the first boot"


def test_boot_without_an_exit_status_fails(laboratory: Path) -> None:
    result, _ = boot_with_fake_qemu(laboratory, 'echo "ok 1 x" >"$status"')
    assert not result.ok
    assert result.exit_code is None
    assert result.reason == "the guest ended without an exit status"


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
def test_exit_line_without_the_nonce_fails(laboratory: Path, line: str) -> None:
    result, said = boot_with_fake_qemu(laboratory, f'finish 0; echo "{line}" >"$status"')
    assert not result.ok
    assert said == [line]
    assert not (laboratory / "out/results").exists()
    assert (laboratory / "out/results.failed/answer").exists()


def test_exit_line_inside_another_line_fails(laboratory: Path) -> None:
    result, _ = boot_with_fake_qemu(laboratory, 'echo "# kmarkers-exit $nonce 0" >"$status"')
    assert result.exit_code is None


def test_boot_with_a_failed_job_fails(laboratory: Path) -> None:
    result, _ = boot_with_fake_qemu(laboratory, "finish 3")
    assert not result.ok
    assert result.exit_code == 3


def test_fault_in_the_log_fails_a_successful_job(laboratory: Path) -> None:
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


def test_results_archive_cannot_write_outside_its_directory(laboratory: Path) -> None:
    with tarfile.open(laboratory / "results.tar.gz", "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("results/../../escaped"))
    result, _ = boot_with_fake_qemu(laboratory, "finish 0")
    assert not result.ok
    assert not (laboratory / "escaped").exists()


def test_hang_ends_at_the_timeout(laboratory: Path) -> None:
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


def test_old_results_do_not_survive_a_failed_run(laboratory: Path) -> None:
    assert boot_with_fake_qemu(laboratory, "finish 0")[0].ok
    result, _ = boot_with_fake_qemu(laboratory, "exit 1")
    assert not result.ok
    assert not (laboratory / "out/results").exists()


def test_shell_needs_a_terminal() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "kmarkers", "lab", "shell"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lab shell: a shell needs a terminal; ")


def test_terminal_settings_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
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
