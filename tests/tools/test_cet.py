# SPDX-License-Identifier: GPL-2.0-only
"""Tests of boots under Bochs on an emulated processor with CET: the settings of Bochs, and the
verdicts about the boots."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT
from kmtools.lab import bochs, catalogue, chroot, machine
from kmtools.lab.apt import FetchError
from kmtools.lab.bochs import Guest
from kmtools.lab.emulator import Emulator
from kmtools.lab.machine import Request, boot_guest
from kmtools.lab.result import Result
from kmtools.lab.watch import Watch
from kmtools.runner.suite import find_no_obstacle
from kmtools.suites import cet, kernelsuite

MISSED = "[    4.1] traps: Missing ENDBR: kmarkers_test_entry+0x4/0xa [kmarkers_test_noendbr]\n"
STARTED = "# suite: boot\nok 1 an entry with ENDBR is called\nok 2 the module unloads\n"
KERNELS_OWN = """[  6.43] WARNING: CPU: 0 PID: 148 at x.c:665 __change_page_attr_set_clr+0xf62/0xfb0
[  6.45] Call Trace:
[  6.45]  <TASK>
[  6.45]  set_memory_rw+0x28/0x40
[  6.45]  apply_retpolines+0x19c/0x4c0
[  6.45]  module_finalize+0x209/0x3e0
[  6.46]  </TASK>
"""
OURS = """[  7.00] WARNING: CPU: 0 PID: 150 at text.c:10 patcher_text_map+0x1/0x2 [kmarkers_patcher]
[  7.01]  <TASK>
[  7.02]  patcher_apply+0x1/0x2 [kmarkers_patcher]
[  7.03]  </TASK>
"""
LOADED = f"# suite: boot\nok 1 boot\nnot ok 2 {cet.FIRST_LOAD}\nok 3 a site counts\n1..3\n"


def make_boot_result(folder: Path, console: str, status: str, exit_code: int | None) -> Result:
    """Return the result of a boot that wrote these texts to the console and to the status
    channel."""
    (folder / "console.log").write_text(console)
    (folder / "status.log").write_text(status)
    return Result(out=folder, exit_code=exit_code)


def test_cet_boot_passes_if_a_call_that_skips_endbr_crashes(tmp_path: Path) -> None:
    tally = cet.judge_skipped_endbr(make_boot_result(tmp_path, MISSED, STARTED, None))
    assert not tally.failed
    assert tally.passed == 5


@pytest.mark.parametrize(
    ("console", "status", "exit_code", "wrong"),
    [
        ("quiet\n", STARTED, None, "IBT is off"),
        (MISSED.replace("+0x4", "+0x0"), STARTED, None, "IBT is off"),
        (MISSED, f"{STARTED}not ok 3 it goes on\n1..3\n", 1, "the kernel survives"),
        (MISSED, STARTED.replace("ok 2", "not ok 2"), None, "the module unloads"),
        (MISSED, "", None, "no call of a function with ENDBR succeeded"),
    ],
)
def test_cet_boot_without_the_expected_crash_fails(
    tmp_path: Path, console: str, status: str, exit_code: int | None, wrong: str
) -> None:
    tally = cet.judge_skipped_endbr(make_boot_result(tmp_path, console, status, exit_code))
    assert any(wrong in reason for reason in tally.failed)


def test_kernel_warning_about_indirect_target_selection_passes(tmp_path: Path) -> None:
    tally = cet.judge_flawed_processor_warnings(make_boot_result(tmp_path, KERNELS_OWN, LOADED, 1))
    assert not tally.failed
    assert tally.passed == 4


def test_cet_boot_fails_on_a_warning_of_kmarkers(tmp_path: Path) -> None:
    tally = cet.judge_flawed_processor_warnings(
        make_boot_result(tmp_path, KERNELS_OWN + OURS, LOADED, 1)
    )
    assert [reason for reason in tally.failed if "patcher_text_map" in reason]


def test_cet_boot_fails_on_a_fault_in_the_kernel_log(tmp_path: Path) -> None:
    console = f"{KERNELS_OWN}[  8.00] BUG: kernel NULL pointer dereference\n"
    tally = cet.judge_flawed_processor_warnings(make_boot_result(tmp_path, console, LOADED, 1))
    assert [reason for reason in tally.failed if "NULL pointer" in reason]


def test_cet_boot_fails_if_a_test_in_the_guest_fails(tmp_path: Path) -> None:
    status = LOADED.replace("ok 3", "not ok 3")
    tally = cet.judge_flawed_processor_warnings(make_boot_result(tmp_path, KERNELS_OWN, status, 1))
    assert tally.failed == ["a site counts"]


def test_kernel_without_ibt_or_bochs_is_skipped_with_the_reason(
    laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = catalogue.get_default_kernel_name()
    monkeypatch.setattr(kernelsuite, "make_boot_obstacle_finder", lambda kernel: find_no_obstacle)
    config = catalogue.require_unpacked_kernel(name).config
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("CONFIG_X86=y\n# CONFIG_X86_KERNEL_IBT is not set\n")
    assert "without indirect branch tracking" in cet.make_bochs_obstacle_finder(name)()

    def raise_fetch_error(suite: str) -> Path:
        raise FetchError("no mirror")

    config.write_text(f"CONFIG_X86=y\n{cet.OPTION}=y\n")
    monkeypatch.setattr(bochs, "fetch_bochs", raise_fetch_error)
    assert (
        "Bochs is missing and cannot be fetched: no mirror"
        in cet.make_bochs_obstacle_finder(name)()
    )
    monkeypatch.setattr(bochs, "fetch_bochs", lambda suite: laboratory)
    assert not cet.make_bochs_obstacle_finder(name)()


def test_bochs_settings_have_processor_and_serial_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    for file in bochs.LOADER:
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        (tree / file).touch()
    steps: list[str] = []

    def record_and_fail_iso_step(
        tree: Path, binds: object, command: Sequence[str], log: Path
    ) -> int:
        steps.append(command[2])
        log.write_text("xorriso: no space left\n")
        return int("fail" in steps)

    monkeypatch.setattr(bochs, "fetch_bochs", lambda suite: tree)
    monkeypatch.setattr(bochs, "read_bochs_version", lambda tree: "3.0")
    monkeypatch.setattr(chroot, "run_in_chroot", record_and_fail_iso_step)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    kernel, initramfs = tmp_path / "vmlinuz", tmp_path / "initramfs"
    kernel.write_text("kernel")
    initramfs.write_text("archive")
    logs = [tmp_path / "out" / name for name in ("console.log", "status.log")]
    guest = Guest("tigerlake", kernel, initramfs, "ibt=on", 2, 512, logs)
    emulator = bochs.prepare_bochs_boot("trixie", guest, scratch)
    assert emulator.powered_off == bochs.POWERED_OFF
    assert emulator.version == "Bochs 3.0, tigerlake"
    settings = (scratch / "bochsrc").read_text()
    (rate,) = re.findall(r"^cpu: model=tigerlake, count=2, ips=(\d+),", settings, re.M)
    (frequency,) = re.findall(r"\btsc_early_khz=(\d+)", bochs.APPEND)
    assert int(rate) == 1000 * int(frequency)
    assert "memory: guest=512, host=512" in settings
    assert re.findall(r"^com(\d): .*dev=/out/(\S+)$", settings, re.M) == [
        ("1", "console.log"),
        ("2", "status.log"),
    ]
    assert "APPEND initrd=/initrd ibt=on" in (scratch / "disc" / "isolinux.cfg").read_text()
    assert (scratch / "disc" / "kernel").read_text() == "kernel"
    steps.append("fail")
    with pytest.raises(UnableError, match="no space left"):
        bochs.prepare_bochs_boot("trixie", guest, tmp_path)


def test_bochs_is_started_without_options_of_qemu(
    laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bochs has no monitor, so its guest is never inspected. Bochs ends with an exit code of its
    own after the guest has powered off."""
    guests: list[Guest] = []
    waits: list[float] = []

    def prepare_fake_bochs(suite: str, guest: Guest, scratch: Path) -> Emulator:
        guests.append(guest)
        console, status, results = guest.serial
        nonce = guest.cmdline.rpartition(" kmarkers.nonce=")[2]
        script = f"""echo "$@" >{console}; echo kmarkers-exit {nonce} 0 >{status}
            cp {laboratory}/results.tar.gz {results}; exit {bochs.POWERED_OFF}"""
        return Emulator(("sh", "-c", script, "sh", "own"), {}, "fake", bochs.POWERED_OFF)

    def make_watch(socket: Path, logs: Sequence[Path], silence: float, record: Path) -> Watch:
        waits.append(silence)
        return Watch(socket, logs, silence, record)

    monkeypatch.setattr(bochs, "prepare_bochs_boot", prepare_fake_bochs)
    monkeypatch.setattr(machine, "Watch", make_watch)
    out = laboratory / "out"
    name = catalogue.get_default_kernel_name()
    result = boot_guest(
        Request(name, laboratory / "job", out, bochs="tigerlake", cpus=3, memory=700)
    )
    assert result.ok and not result.emulator_failed
    assert (out / "results" / "answer").read_text() == "42\n"
    assert (out / "console.log").read_text() == "own\n"
    assert [(guest.model, guest.cpus, guest.memory) for guest in guests] == [("tigerlake", 3, 700)]
    assert waits == [0]
    described = json.loads((out / "vm.json").read_text())
    assert (described["accel"], described["qemu"], described["emulated"]) == ("bochs", "fake", True)


@pytest.mark.parametrize("wrong", [{"nmi": 5.0}, {"tier": "icount"}, {"secure_boot": True}])
def test_requests_that_bochs_cannot_fulfil_are_refused(
    laboratory: Path, wrong: dict[str, object]
) -> None:
    request = Request(
        kernel=catalogue.get_default_kernel_name(),
        job=laboratory / "job",
        out=laboratory / "out",
        bochs="tigerlake",
    )
    with pytest.raises(UnableError, match="Bochs"):
        boot_guest(replace(request, **wrong))  # type: ignore[arg-type]


def test_suites_of_all_cet_setups_exist() -> None:
    there = {path.stem for path in (ROOT / "tests/vm/suites").glob("*.sh")}
    for setup in cet.SETUPS:
        assert set(setup.suites.split()) <= there
