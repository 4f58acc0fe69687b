# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the choice between KVM and emulation (TCG), with prepared results in place
of trial boots."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakelab import make_files_for_fake_boot, use_fake_qemu
from kmtools.base.errors import UnableError
from kmtools.base.paths import get_cache_dir
from kmtools.cli import main
from kmtools.lab import accel, cache, catalogue, emulator, machine, triage
from kmtools.lab.machine import Request
from kmtools.lab.result import Result
from kmtools.report import sections
from verdictrows import make_tier

GOOD = Result(ok=True, exit_code=0)
SLOW = Result(reason="no exit status after 60 s")
DIRTY = Result(
    exit_code=0,
    reason="the kernel log has 1 lines that report faults",
    fault_lines=["WARNING: CPU: 0"],
)
SILENT = Result(reason="it printed nothing in 60 s")
OUR_CONSOLE = """\
[    9.1] kmarkers_patcher: loading out-of-tree module taints kernel.
[   21.5] BUG: unable to handle page fault for address: ffff888003c0de00
[   21.5] RIP: 0010:ttwu_do_wakeup+0x12/0x150
[   21.5] Kernel panic - not syncing: Fatal exception
"""

Ask = Callable[..., accel.Accel]
# The real function that reads the version of KVM; most tests use a replacement.
READ_KVM_VERSION = accel.read_kvm_version


class FakeBoots:
    """Replaces each trial boot by the result that `outcomes` has for the kernel. `kernels` lists
    the kernels that were booted."""

    def __init__(self, **outcomes: Result) -> None:
        self.outcomes = outcomes
        self.kernels: list[str] = []

    def choose_accel(self, kernel: str = "a", kvm: Path = Path("/dev/null")) -> accel.Accel:
        """Choose the accelerator for a kernel; `kvm` replaces /dev/kvm."""

        def record_kernel_and_return_result() -> Result:
            self.kernels.append(kernel)
            return self.outcomes[kernel]

        return accel.choose_accel(
            "QEMU 10", kernel, f"{kernel}-amd64", record_kernel_and_return_result, kvm
        )


@pytest.fixture(autouse=True)
def _use_empty_cache_and_fake_kvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(accel.VARIABLE, raising=False)
    monkeypatch.setattr(accel, "_found", {})
    # /dev/null replaces /dev/kvm.
    monkeypatch.setattr(accel, "read_kvm_version", lambda kvm: 12)


def clear_kvm_verdicts_in_memory() -> None:
    """Clear the verdicts in memory, so that they are read from the cache as in a new process."""
    accel._found.clear()


def write_trial_boot_log(kernel: str) -> Path:
    """Write the log of a trial boot of a kernel; return its folder."""
    cache.tag_cache_dir()
    folder = accel.get_trial_boot_folder(kernel)
    folder.mkdir(parents=True)
    (folder / "console.log").write_text("a line\n")
    return folder


def test_each_kernel_has_one_trial_boot_and_kvm_verdict() -> None:
    boots = FakeBoots(a=GOOD, b=DIRTY)
    for _ in range(2):
        assert boots.choose_accel("a") == accel.Accel("kvm")
        assert boots.choose_accel("b").boot_message == (
            "vm: emulated: kernel b fails under KVM: the kernel log has 1 lines that report faults"
        )
        clear_kvm_verdicts_in_memory()
    assert boots.kernels == ["a", "b"]


def test_next_process_repeats_a_trial_boot_that_timed_out() -> None:
    assert FakeBoots(a=SLOW).choose_accel().name == "tcg"
    boots = FakeBoots(a=GOOD)
    assert boots.choose_accel().name == "tcg" and boots.kernels == []
    clear_kvm_verdicts_in_memory()
    assert boots.choose_accel().name == "kvm" and boots.kernels == ["a"]


def test_silent_trial_boot_disables_kvm_for_all_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The message says how to try KVM again. If KVM works in a later trial boot, the verdict no
    longer applies."""
    boots = FakeBoots(a=SILENT, b=GOOD)
    assert boots.choose_accel("a").name == "tcg"
    clear_kvm_verdicts_in_memory()
    assert boots.choose_accel("b").boot_message == (
        f"vm: emulated: kernel a fails under KVM: {SILENT.reason}; "
        "to try KVM again, set KMARKERS_ACCEL=kvm"
    )
    assert boots.kernels == ["a"]
    clear_kvm_verdicts_in_memory()
    monkeypatch.setenv(accel.VARIABLE, "kvm")
    assert boots.choose_accel("b").name == "kvm"
    clear_kvm_verdicts_in_memory()
    monkeypatch.delenv(accel.VARIABLE)
    assert boots.choose_accel("b").name == "kvm" and boots.kernels == ["a", "b"]
    boots.outcomes["a"] = GOOD
    assert boots.choose_accel("a").name == "kvm"


def test_kvm_verdict_after_a_qemu_failure_is_not_cached(tmp_path: Path) -> None:
    """The reason why KVM is not used contains the last line that QEMU printed and the path of the
    log. A verdict that is read from memory has the same reason."""
    folder = write_trial_boot_log("a")
    (folder / "qemu.log").write_text("first\nioctl(KVM_CREATE_VM) failed: 16 Device busy\n")
    broken = Result(reason="the guest ended", emulator_failed=True, out=folder)
    for _ in range(2):
        assert FakeBoots(a=broken).choose_accel("a").why == (
            "kernel a fails under KVM: the guest ended;"
            " QEMU says: ioctl(KVM_CREATE_VM) failed: 16 Device busy;"
            f" the log is in {folder}"
        )
    clear_kvm_verdicts_in_memory()
    (folder / "qemu.log").write_text("")
    assert "QEMU says" not in FakeBoots(a=broken).choose_accel("a").why
    clear_kvm_verdicts_in_memory()
    assert FakeBoots(a=GOOD).choose_accel("a").name == "kvm"
    clear_kvm_verdicts_in_memory()
    assert FakeBoots(a=broken).choose_accel("a").name == "kvm"


def test_log_of_a_trial_boot_is_named_in_later_runs_while_it_exists() -> None:
    folder = write_trial_boot_log("a")
    for kernel in ("a", "a", "b"):
        assert FakeBoots(a=SILENT).choose_accel(kernel).why.endswith(f"; the log is in {folder}")
        clear_kvm_verdicts_in_memory()
    (folder / "console.log").unlink()
    assert "the log is in" not in FakeBoots().choose_accel("a").why


DAY = 24 * 3600


@pytest.mark.parametrize(
    ("boot_id", "age", "used"),
    [
        ("this boot", DAY - 1, True),
        ("this boot", DAY + 1, False),
        ("this boot", -1, False),
        ("another boot", 0, False),
        ("", 0, False),
    ],
)
def test_silent_trial_boot_is_repeated_after_a_reboot_or_a_day(
    boot_id: str, age: float, used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`age` is the number of seconds since the trial boot, and is negative if the clock was set
    back. An empty `boot_id` stands for a host without a boot ID."""
    path = tmp_path / "boot_id"
    monkeypatch.setattr(accel, "BOOT_ID", path)
    monkeypatch.setattr(accel, "time", SimpleNamespace(time=lambda: 1e9))
    if boot_id:
        path.write_text("this boot\n")
    boots = FakeBoots(a=SILENT, b=GOOD)
    assert boots.choose_accel("a").name == "tcg"
    clear_kvm_verdicts_in_memory()
    monkeypatch.setattr(accel, "time", SimpleNamespace(time=lambda: 1e9 + age))
    if boot_id:
        path.write_text(f"{boot_id}\n")
    assert boots.choose_accel("b").name == ("tcg" if used else "kvm")


@pytest.mark.parametrize(
    "kept",
    [
        "kernel a fails under KVM: it printed nothing in 60 s",
        {"fault": "kernel a fails under KVM", "kernel": "a", "boot_id": "this boot"},
        {"fault": "kernel a fails under KVM", "kernel": "a", "time": 1e9},
        {"fault": 1, "kernel": "a", "boot_id": "this boot", "time": 1e9},
    ],
)
def test_kvm_verdict_for_all_kernels_needs_a_boot_id_and_a_time(
    kept: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accel, "BOOT_ID", tmp_path / "boot_id")
    monkeypatch.setattr(accel, "time", SimpleNamespace(time=lambda: 1e9))
    (tmp_path / "boot_id").write_text("this boot\n")
    key = f"QEMU 10; {accel._describe_host_kernel_and_cpu()}; every kernel"
    cache.tag_cache_dir()
    (get_cache_dir() / "accel.json").write_text(json.dumps({key: kept}))
    assert FakeBoots(b=GOOD).choose_accel("b").name == "kvm"


def test_reason_and_remedy_are_printed_if_kvm_is_unusable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = FakeBoots().choose_accel(kvm=tmp_path / "kvm")
    assert absent.boot_message == (
        f"vm: emulated: there is no {tmp_path}/kvm; load kvm_intel or kvm_amd, if the CPU supports"
        " virtualisation; start a container with --device /dev/kvm"
    )

    def raise_permission_error(kvm: Path) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(accel, "read_kvm_version", raise_permission_error)
    # Make the folder of an earlier trial boot: the message must not refer to the log of that boot.
    write_trial_boot_log("a")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert FakeBoots().choose_accel().boot_message == (
        "vm: emulated: /dev/null cannot be opened; add yourself to the group kvm"
    )
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert FakeBoots().choose_accel().boot_message == (
        "vm: emulated: /dev/null cannot be opened by root (Permission denied): start the container"
        " with --device /dev/kvm, or let the security module of this machine permit it"
    )


@pytest.mark.parametrize("device", ["/dev/null", "plain"])
def test_kvm_file_that_is_no_kvm_device_is_refused_without_a_boot(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the file. No verdict about the kernel is stored."""
    monkeypatch.setattr(accel, "read_kvm_version", READ_KVM_VERSION)
    path = tmp_path / device
    if device == "plain":
        path.touch()
    boots = FakeBoots(a=GOOD)
    said = boots.choose_accel(kvm=path).boot_message
    assert said == (
        f"vm: emulated: {path} is no device of KVM (Inappropriate ioctl for device);"
        " load kvm_intel or kvm_amd, if the CPU supports virtualisation;"
        " start a container with --device /dev/kvm"
    )
    assert boots.kernels == [] and not (get_cache_dir() / "accel.json").exists()


def test_kmarkers_accel_forces_an_accelerator_without_fallback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(accel.VARIABLE, "tcg")
    boots = FakeBoots(a=GOOD)
    assert (
        boots.choose_accel() == accel.Accel("tcg", "KMARKERS_ACCEL is tcg") and boots.kernels == []
    )
    monkeypatch.setenv(accel.VARIABLE, "kvm")
    assert boots.choose_accel().name == "kvm"
    for outcome in (SLOW, DIRTY, SILENT):
        clear_kvm_verdicts_in_memory()
        with pytest.raises(UnableError, match=f"KMARKERS_ACCEL is kvm, and .*{outcome.reason}"):
            FakeBoots(b=outcome).choose_accel("b")
    with pytest.raises(UnableError, match="there is no /absent"):
        boots.choose_accel(kvm=Path("/absent"))
    monkeypatch.setenv(accel.VARIABLE, "xen")
    with pytest.raises(UnableError, match="KMARKERS_ACCEL is 'xen'; set it to kvm or tcg"):
        boots.choose_accel()


def test_two_processes_do_not_try_kvm_at_the_same_time() -> None:
    """The second process waits for the verdict of the first process, and uses this verdict."""
    second = FakeBoots(a=DIRTY)
    with ThreadPoolExecutor() as pool:
        with cache.hold_cache_lock("kvm"):
            waiting = pool.submit(second.choose_accel)
            with pytest.raises(TimeoutError):
                waiting.result(0.5)
            key = f"QEMU 10; {accel._describe_host_kernel_and_cpu()}; a a-amd64"
            (get_cache_dir() / "accel.json").write_text(json.dumps({key: ""}))
        assert waiting.result(10).name == "kvm" and second.kernels == []


def test_forced_kvm_repeats_a_failed_trial_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FakeBoots(a=DIRTY).choose_accel().name == "tcg"
    clear_kvm_verdicts_in_memory()
    monkeypatch.setenv(accel.VARIABLE, "kvm")
    assert FakeBoots(a=GOOD).choose_accel().name == "kvm"


@pytest.mark.parametrize("kept", ['{"QEMU 10": true}', "[]", "not json"])
def test_invalid_entries_of_accel_json_are_ignored(kept: str, tmp_path: Path) -> None:
    cache.tag_cache_dir()
    (tmp_path / "cache" / "accel.json").write_text(kept)
    assert FakeBoots(a=GOOD).choose_accel().name == "kvm"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('echo quiet >"$console"; finish 0', ""),
        ("finish 0; echo 'WARNING: CPU: 0 PID: 0 at x' >\"$console\"", "lines that report faults"),
        ("exec sleep 30", "it printed nothing in 1 s"),
        ('echo slow >"$console"; exec sleep 30', "no exit status after 1 s"),
        (
            "echo KVM is busy >&2; exit 1",
            "the guest ended without an exit status; QEMU says: KVM is busy; the log is in",
        ),
    ],
)
def test_trial_boot_decides_whether_kvm_is_used(
    script: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files_for_fake_boot(tmp_path)
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.setattr(accel, "KVM", Path("/dev/null"))
    monkeypatch.setattr(accel, "TRIAL_BOOT_SECONDS", 1.0)
    kernel = catalogue.get_default_kernel_name()
    shown: list[str] = []
    with use_fake_qemu(tmp_path, script):
        found = machine.find_usable_accel(kernel, shown.append)
    assert shown == [f"vm: trying kernel {kernel} under KVM, at most 1 s"]
    assert expected in found.why and bool(found.why) is bool(expected)
    if expected:
        assert found.why.endswith(f"; the log is in {accel.get_trial_boot_folder(kernel)}")


def test_trial_boot_is_announced_on_stderr_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`vm accel` prints only the accelerator on stdout. Before the trial boot, it says on stderr
    that it boots a kernel."""

    def announce_and_choose_kvm(kernel: str, show: Callable[[str], None]) -> accel.Accel:
        show(f"trying {kernel}")
        assert capsys.readouterr() == ("", "trying 6.1\n")
        return accel.Accel("kvm")

    monkeypatch.setattr("kmtools.commands.lab.find_usable_accel", announce_and_choose_kvm)
    assert main(["vm", "accel", "--kernel", "6.1"]) == 0
    assert capsys.readouterr() == ("vm: under KVM\n", "")


def test_crash_is_attributed_to_the_emulator_if_the_cpu_is_emulated(
    tmp_path: Path,
) -> None:
    (tmp_path / "status.log").write_text("# suite: cases\nok 1 something of ours ran\n")
    (tmp_path / "console.log").write_text(OUR_CONSOLE)
    for name, emulated, again in (("tcg", True, True), ("kvm", True, True), ("kvm", False, False)):
        described = {"accel": name, "emulated": emulated}
        (tmp_path / "vm.json").write_text(json.dumps(described))
        crash = triage.find_emulator_fault(Result(out=tmp_path), ["kmarkers_patcher"])
        assert (crash is not None) is again, (name, emulated)


def test_instructions_are_emulated_if_the_hypervisor_is_tcg(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ((b"", False), (b"KVMKVMKVM", False), (b"TCGTCGTCGTCG", True), (None, True))
    for below, emulated in names:
        monkeypatch.setattr(accel, "read_hypervisor_name", lambda below=below: below)
        assert accel.are_instructions_emulated("kvm") is emulated
        assert accel.are_instructions_emulated("tcg") and accel.are_instructions_emulated("bochs")


def test_hypervisor_name_is_read_by_cpuid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPUID is executed if the flags in /proc/cpuinfo name a hypervisor; the result is then not
    None (unknown)."""
    flagged = " hypervisor" in Path("/proc/cpuinfo").read_text()
    assert (accel.read_hypervisor_name() != b"") is flagged
    monkeypatch.setattr(accel, "CPU_INFO", tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("flags : fpu hypervisor\n")
    assert accel.read_hypervisor_name() is not None


def test_hypervisor_is_unknown_if_no_page_may_be_executable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_executable_page(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("mmap.mmap", refuse_executable_page)
    monkeypatch.setattr(accel, "CPU_INFO", tmp_path / "cpuinfo")
    for flags, name in (("fpu hypervisor", None), ("fpu", b"")):
        (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n")
        assert accel.read_hypervisor_name() == name


@pytest.mark.parametrize("below", [b"", accel.EMULATOR])
def test_vm_json_of_a_kvm_guest_says_whether_the_host_is_emulated(
    below: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files_for_fake_boot(tmp_path)
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.setattr(accel, "read_hypervisor_name", lambda: below)
    kernel = catalogue.get_default_kernel_name()
    with use_fake_qemu(tmp_path, "finish 0"):
        machine.boot_guest(Request(kernel, tmp_path / "job", tmp_path / "out", accel="kvm"))
    described = json.loads((tmp_path / "out" / "vm.json").read_text())
    assert (described["accel"], described["emulated"]) == ("kvm", below == accel.EMULATOR)


@pytest.mark.parametrize(
    ("script", "version"),
    [("echo QEMU 7.2 $1; echo Copyright", "QEMU 7.2 --version"), ("true", "unknown")],
)
def test_version_of_qemu_is_its_first_output_line(script: str, version: str) -> None:
    command = ("sh", "-c", script, "sh")
    assert emulator._make_qemu_emulator(command, {}) == emulator.Emulator(command, {}, version)


@pytest.mark.parametrize(
    ("command", "expected"), [(("/none/qemu",), "No such file"), (("false",), "exit status 1")]
)
def test_error_names_an_emulator_that_does_not_run(command: tuple[str, ...], expected: str) -> None:
    with pytest.raises(UnableError, match=f"^{command[0]} cannot be run: .*{expected}"):
        emulator._make_qemu_emulator(command, {})


def test_kvm_guest_sees_the_caches_of_its_host() -> None:
    options = emulator.make_accelerator_options("kvm", "vm", 2)
    assert "host,host-cache-info=on" in options
    assert Request("a", Path(), Path()).accel is None


def test_description_of_tier_metal_names_a_virtual_machine() -> None:
    """The description of the tier native does not name the virtual machine, because code in user
    space is the same in a virtual machine."""
    assert sections.describe_tier(make_tier("metal")).startswith("The kernel on the real machine.")
    said = sections.describe_tier(make_tier("metal", hypervisor="KVMKVMKVM"))
    assert said.startswith("The kernel that runs here, which is the kernel of a virtual machine.")
    said = sections.describe_tier(make_tier(hypervisor="KVMKVMKVM"))
    assert said.startswith("The same code in user space on the real CPU.")
    said = sections.describe_tier(make_tier("metal", emulated=True, hypervisor="TCGTCGTCGTCG"))
    assert "virtual machine, emulated: its ticks are" in said
