# SPDX-License-Identifier: GPL-2.0-only
"""Boots under Secure Boot: what is signed, what the emulator is given, and what is judged."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from fakelab import fake_emulator
from kmtools.base.errors import UnableError
from kmtools.lab import catalogue, chroot, secureboot
from kmtools.lab.apt import FetchError
from kmtools.lab.machine import Request, boot
from kmtools.lab.result import Result
from kmtools.runner.suite import nothing
from kmtools.suites import kernelsuite
from kmtools.suites import secureboot as check

GOOD = 'printf "%s\\n" "$@" >"$HERE/words"; echo quiet >"$console"; finish 0'


class Steps:
    """Takes the place of the trees in which programs run: notes each step, and does its work."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.work = Path()
        self.fails = ""

    def run(
        self, tree: Path, binds: Sequence[tuple[Path, str]], command: Sequence[str], log: Path
    ) -> int:
        self.work = binds[0][0]
        script = command[2]
        known = {"MAKE_KEY": secureboot.MAKE_KEY, "SIGN_KERNEL": secureboot.SIGN_KERNEL}
        known |= {"SIGN_MODULES": secureboot.SIGN_MODULES}
        name = next(name for name in known if known[name] == script)
        self.names.append(name)
        if name == self.fails:
            return 1
        if name == "MAKE_KEY":
            (self.work / "key.pem").write_text("secret")
            (self.work / "variables.fd").touch()
        elif name == "SIGN_KERNEL":
            (self.work / "kernel").write_text("signed kernel")
        else:
            assert command[4] == "6.1.0-fake"
            for module in (self.work / "modules").iterdir():
                module.write_text(f"{module.read_text()} with a signature")
        log.write_text("said\n")
        return 0


@pytest.fixture
def steps(laboratory: Path, monkeypatch: pytest.MonkeyPatch) -> Steps:
    """Make a laboratory whose firmware and signatures are none."""
    tree = laboratory / "firmware, tree"
    (tree / secureboot.FIRMWARE).parent.mkdir(parents=True)
    (tree / secureboot.FIRMWARE).touch()
    done = Steps()
    monkeypatch.setattr(secureboot, "tools", lambda suite: tree)
    monkeypatch.setattr(chroot, "run", done.run)
    (laboratory / "modules").mkdir()
    (laboratory / "modules" / "mine.ko").write_text("a module")
    return done


def secure(laboratory: Path, script: str = GOOD, signed: bool = True, until: str = "") -> Result:
    """Boot the fake emulator with firmware."""
    request = Request(
        kernel=catalogue.default_name(),
        job=laboratory / "job",
        out=laboratory / "out",
        modules=laboratory / "modules",
        timeout=20.0,
        accel="tcg",
        secure_boot=True,
        signed=signed,
        until=until,
    )
    with fake_emulator(laboratory, script):
        return boot(request)


def words(laboratory: Path) -> list[str]:
    """Return the words that the emulator was given."""
    return (laboratory / "words").read_text().splitlines()


def following(laboratory: Path, option: str) -> list[str]:
    """Return the values of an option."""
    given = words(laboratory)
    return [value for name, value in itertools.pairwise(given) if name == option]


def test_kernel_and_modules_are_signed_and_the_key_is_gone(laboratory: Path, steps: Steps) -> None:
    keep = 'for arg; do case $arg in */kernel | */initramfs) cp "$arg" "$HERE";; esac; done; '
    result = secure(laboratory, keep + GOOD)
    assert result.ok, result.reason
    assert steps.names == ["MAKE_KEY", "SIGN_KERNEL", "SIGN_MODULES"]
    assert (laboratory / "kernel").read_text() == "signed kernel"
    assert b"a module with a signature" in (laboratory / "initramfs").read_bytes()
    assert (laboratory / "modules" / "mine.ko").read_text() == "a module"
    assert not steps.work.exists()
    assert not list(laboratory.rglob("*.pem"))


def test_firmware_verifies_and_only_it_changes_its_variables(
    laboratory: Path, steps: Steps
) -> None:
    secure(laboratory)
    assert "q35,smm=on" in following(laboratory, "-machine")
    assert "driver=cfi.pflash01,property=secure,value=on" in following(laboratory, "-global")
    assert following(laboratory, "-fw_cfg") == [secureboot.VERIFY]
    code, variables = following(laboratory, "-drive")
    assert "unit=0,readonly=on," in code
    assert code.endswith(f"/firmware,, tree/{secureboot.FIRMWARE}")
    assert variables.endswith("/secure-boot/variables.fd")
    assert "readonly" not in variables


def test_nothing_is_signed_if_it_is_not_wanted(laboratory: Path, steps: Steps) -> None:
    assert secure(laboratory, signed=False).ok
    assert steps.names == ["MAKE_KEY"]


def test_a_boot_without_it_has_no_firmware(laboratory: Path, steps: Steps) -> None:
    request = Request(
        catalogue.default_name(), laboratory / "job", laboratory / "out", accel="tcg", timeout=20.0
    )
    with fake_emulator(laboratory, GOOD):
        assert boot(request).ok
    assert not steps.names
    assert "-drive" not in words(laboratory)


@pytest.mark.parametrize("step", ["MAKE_KEY", "SIGN_KERNEL", "SIGN_MODULES"])
def test_step_that_fails_names_its_log(laboratory: Path, steps: Steps, step: str) -> None:
    steps.fails = step
    with pytest.raises(UnableError, match=r"cannot be made, see .*signing\.log"):
        secure(laboratory)
    assert not steps.work.exists()


def test_firmware_that_is_gone_is_named(laboratory: Path, steps: Steps) -> None:
    (laboratory / "firmware, tree" / secureboot.FIRMWARE).unlink()
    with pytest.raises(UnableError, match=r"secboot\.fd is missing"):
        secure(laboratory)


def test_text_on_the_console_ends_a_boot(laboratory: Path, steps: Steps) -> None:
    script = f'echo "OVMF: {secureboot.REFUSAL}." >"$console"; exec sleep 1000'
    result = secure(laboratory, script, signed=False, until=secureboot.REFUSAL)
    assert result.seconds < 15
    assert result.exit_code is None
    assert check.judge_refusal(result).passed == 1


@pytest.mark.parametrize(
    ("console", "why"),
    [
        ("", "does not say that it refuses it"),
        ("BdsDxe: No bootable option", "does not say that it refuses it"),
        ("[    0.000000] Linux version 6.1", "starts a kernel that it must refuse"),
        (f"{secureboot.REFUSAL}\nLinux version 6.1", "starts a kernel that it must refuse"),
    ],
)
def test_kernel_that_is_not_refused_fails(tmp_path: Path, console: str, why: str) -> None:
    (tmp_path / "console.log").write_text(console)
    tally = check.judge_refusal(Result(out=tmp_path))
    assert not tally.passed
    assert len(tally.failed) == 1
    assert why in tally.failed[0]


def test_missing_firmware_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(suite: str) -> Path:
        raise FetchError("no mirror")

    monkeypatch.setattr(kernelsuite, "obstacle", lambda kernel: nothing)
    monkeypatch.setattr(secureboot, "tools", none)
    (suite,) = check.suites(catalogue.default_name(), Path())
    assert suite.obstacle().endswith("is missing and cannot be fetched: no mirror")
    monkeypatch.setattr(kernelsuite, "obstacle", lambda kernel: lambda: "no root")
    (suite,) = check.suites(catalogue.default_name(), Path())
    assert suite.obstacle() == "no root"
