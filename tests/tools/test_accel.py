# SPDX-License-Identifier: GPL-2.0-only
"""Which accelerator a boot gets, and what is said of it. Boots are replaced by their outcomes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fakelab import fake_emulator, make_laboratory
from kmtools.base.errors import UnableError
from kmtools.lab import accel, catalogue, emulator, machine, triage
from kmtools.lab.machine import Request
from kmtools.lab.result import Result
from kmtools.report import sections
from verdictrows import tier

GOOD = Result(ok=True, exit_code=0)
SLOW = Result(reason="no exit status after 60 s")
DIRTY = Result(exit_code=0, reason="the kernel log has 1 faulty lines", dirt=["WARNING: CPU: 0"])
SILENT = Result(reason="it printed nothing in 60 s")
OUR_CONSOLE = """\
[    9.1] kmarkers_patcher: loading out-of-tree module taints kernel.
[   21.5] BUG: unable to handle page fault for address: ffff888003c0de00
[   21.5] RIP: 0010:ttwu_do_wakeup+0x12/0x150
[   21.5] Kernel panic - not syncing: Fatal exception
"""

Ask = Callable[..., accel.Accel]


class Boots:
    """Boots with known outcomes, by kernel; `kernels` lists those that were asked for."""

    def __init__(self, **outcomes: Result) -> None:
        self.outcomes = outcomes
        self.kernels: list[str] = []

    def choose(self, kernel: str = "a", kvm: Path = Path("/dev/null")) -> accel.Accel:
        """Choose for a kernel, on a host whose KVM may be opened."""

        def boot() -> Result:
            self.kernels.append(kernel)
            return self.outcomes[kernel]

        return accel.choose("QEMU 10", kernel, f"{kernel}-amd64", boot, kvm)


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(accel.VARIABLE, raising=False)
    monkeypatch.setattr(accel, "_found", {})


def another_process() -> None:
    """Forget what this process found, as the next one does."""
    accel._found.clear()


def test_each_kernel_is_tried_once_and_has_a_verdict_of_its_own() -> None:
    boots = Boots(a=GOOD, b=DIRTY)
    for _ in range(2):
        assert boots.choose("a") == accel.Accel("kvm")
        assert boots.choose("b").line == (
            "vm: emulated: kernel b fails under KVM: the kernel log has 1 faulty lines"
        )
        another_process()
    assert boots.kernels == ["a", "b"]


def test_a_boot_whose_time_was_up_is_tried_again_by_the_next_process() -> None:
    assert Boots(a=SLOW).choose().name == "tcg"
    boots = Boots(a=GOOD)
    assert boots.choose().name == "tcg" and boots.kernels == []
    another_process()
    assert boots.choose().name == "kvm" and boots.kernels == ["a"]


def test_a_kernel_that_prints_nothing_speaks_for_all() -> None:
    boots = Boots(a=SILENT, b=GOOD)
    assert boots.choose("a").name == "tcg"
    another_process()
    assert boots.choose("b").name == "tcg"
    assert boots.kernels == ["a"]


def test_without_kvm_or_access_the_reason_and_the_remedy_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = Boots().choose(kvm=tmp_path / "kvm")
    assert absent.line.startswith(f"vm: emulated: there is no {tmp_path}/kvm; load kvm_intel or")
    monkeypatch.setattr("os.access", lambda *_: False)
    assert Boots().choose().line == (
        "vm: emulated: /dev/null cannot be opened; add yourself to the group kvm"
    )


def test_the_variable_chooses_and_never_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(accel.VARIABLE, "tcg")
    boots = Boots(a=GOOD)
    assert boots.choose() == accel.Accel("tcg", "KMARKERS_ACCEL is tcg") and boots.kernels == []
    monkeypatch.setenv(accel.VARIABLE, "kvm")
    assert boots.choose().name == "kvm"
    for outcome in (SLOW, DIRTY, SILENT):
        another_process()
        with pytest.raises(UnableError, match=f"KMARKERS_ACCEL is kvm, and .*{outcome.reason}"):
            Boots(b=outcome).choose("b")
    with pytest.raises(UnableError, match="there is no /absent"):
        boots.choose(kvm=Path("/absent"))
    monkeypatch.setenv(accel.VARIABLE, "xen")
    with pytest.raises(UnableError, match="KMARKERS_ACCEL is 'xen'; it may be kvm or tcg"):
        boots.choose()


def test_what_failed_is_tried_again_if_kvm_is_demanded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Boots(a=DIRTY).choose().name == "tcg"
    another_process()
    monkeypatch.setenv(accel.VARIABLE, "kvm")
    assert Boots(a=GOOD).choose().name == "kvm"


@pytest.mark.parametrize("kept", ['{"QEMU 10": true}', "[]", "not json"])
def test_verdicts_of_other_versions_and_broken_ones_are_ignored(kept: str, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "accel.json").write_text(kept)
    assert Boots(a=GOOD).choose().name == "kvm"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('echo quiet >"$console"; finish 0', ""),
        ("finish 0; echo 'WARNING: CPU: 0 PID: 0 at x' >\"$console\"", "faulty lines"),
        ("exec sleep 30", "it printed nothing in 1 s"),
        ('echo slow >"$console"; exec sleep 30', "no exit status after 1 s"),
        ("exit 1", "ended without an exit status"),
    ],
)
def test_a_kernel_is_booted_under_kvm_to_find_out(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_laboratory(tmp_path)
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.setattr(accel, "KVM", Path("/dev/null"))
    monkeypatch.setattr(accel, "PROBE_SECONDS", 1.0)
    monkeypatch.setattr(machine, "PROBE_OUT", tmp_path / "kvm")
    kernel = catalogue.default_name()
    shown: list[str] = []
    with fake_emulator(tmp_path, script):
        found = machine.usable_accel(kernel, shown.append)
    assert shown == [f"vm: trying kernel {kernel} under KVM, at most 1 s"]
    assert said in found.why and bool(found.why) is bool(said)
    if said:
        assert found.why.endswith(f"; the log is in {tmp_path}/kvm/{kernel}")


def test_a_crash_under_kvm_is_never_the_emulators(tmp_path: Path) -> None:
    (tmp_path / "status.log").write_text("# suite: cases\nok 1 something of ours ran\n")
    (tmp_path / "console.log").write_text(OUR_CONSOLE)
    for name, emulated, again in (("tcg", True, True), ("kvm", True, True), ("kvm", False, False)):
        described = {"accel": name, "emulated": emulated}
        (tmp_path / "vm.json").write_text(json.dumps(described))
        crash = triage.emulators_crash(Result(out=tmp_path), ["kmarkers_patcher"])
        assert (crash is not None) is again, (name, emulated)


def test_emulated_if_any_level_below_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for below, emulated in ((b"", False), (b"KVMKVMKVM", False), (b"TCGTCGTCGTCG", True)):
        monkeypatch.setattr(accel, "hypervisor", lambda below=below: below)
        assert accel.is_emulated("kvm") is emulated
        assert accel.is_emulated("tcg") and accel.is_emulated("bochs")


def test_the_name_of_the_hypervisor_is_read_where_there_is_one() -> None:
    flagged = " hypervisor" in Path("/proc/cpuinfo").read_text()
    assert (accel.hypervisor() != b"") is flagged


def test_a_guest_under_kvm_sees_the_caches_of_its_host() -> None:
    options = emulator.accelerator_options("kvm", "vm", 2)
    assert "host,host-cache-info=on" in options
    assert Request("a", Path(), Path()).accel is None


def test_metal_under_a_hypervisor_is_named_as_such() -> None:
    assert sections.meaning(tier("metal")).startswith("The kernel on the real machine.")
    said = sections.meaning(tier("metal", hypervisor="KVMKVMKVM"))
    assert said.startswith("The kernel that runs here, which is that of a virtual machine.")
    said = sections.meaning(tier("metal", emulated=True, hypervisor="TCGTCGTCGTCG"))
    assert "virtual machine, emulated: its ticks are" in said
