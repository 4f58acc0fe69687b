# SPDX-License-Identifier: GPL-2.0-only
"""Tests of boots under Secure Boot: signatures, QEMU's options, and verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from fakelab import use_fake_qemu
from kmtools.base.errors import UnableError
from kmtools.lab import catalogue, chroot, secureboot
from kmtools.lab.apt import FetchError
from kmtools.lab.build import list_kernel_binds
from kmtools.lab.machine import Request, boot_guest
from kmtools.lab.result import Result
from kmtools.runner.suite import find_no_obstacle
from kmtools.suites import kernelsuite
from kmtools.suites import secureboot as check

GOOD = 'printf "%s\\n" "$@" >"$HERE/words"; echo quiet >"$console"; finish 0'


class FakeSigningSteps:
    """Replaces chroot.run_in_chroot(): records the name of each step, and writes the files that the
    step would write. The step named `fails` fails."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.work = Path()
        self.fails = ""

    def run_in_chroot(
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


@pytest.fixture(name="steps")
def replace_signing_steps(laboratory: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSigningSteps:
    """Replace firmware and signing programs by fake ones."""
    tree = laboratory / "firmware, tree"
    (tree / secureboot.FIRMWARE).parent.mkdir(parents=True)
    (tree / secureboot.FIRMWARE).touch()
    done = FakeSigningSteps()
    monkeypatch.setattr(secureboot, "fetch_firmware", lambda suite: tree)
    monkeypatch.setattr(chroot, "run_in_chroot", done.run_in_chroot)
    (laboratory / "modules").mkdir()
    (laboratory / "modules" / "mine.ko").write_text("a module")
    return done


def boot_under_secure_boot(
    laboratory: Path, script: str = GOOD, signed: bool = True, until: str = ""
) -> Result:
    """Boot the fake QEMU, which executes `script`, under Secure Boot. Sign kernel and modules if
    `signed` is true. The boot ends when the console has the text `until`."""
    request = Request(
        kernel=catalogue.get_default_kernel_name(),
        job=laboratory / "job",
        out=laboratory / "out",
        modules=laboratory / "modules",
        timeout=20.0,
        accel="tcg",
        secure_boot=True,
        signed=signed,
        until=until,
    )
    with use_fake_qemu(laboratory, script):
        return boot_guest(request)


def read_command_line(laboratory: Path) -> list[str]:
    """Return the command line of the fake QEMU."""
    return (laboratory / "words").read_text().splitlines()


def find_option_values(laboratory: Path, option: str) -> list[str]:
    """Return the values of an option on the command line of the fake QEMU."""
    given = read_command_line(laboratory)
    return [value for name, value in itertools.pairwise(given) if name == option]


def test_kernel_and_modules_are_signed_and_the_key_is_removed(
    laboratory: Path, steps: FakeSigningSteps
) -> None:
    keep = 'for arg; do case $arg in */kernel | */initramfs) cp "$arg" "$HERE";; esac; done; '
    result = boot_under_secure_boot(laboratory, keep + GOOD)
    assert result.ok, result.reason
    assert steps.names == ["MAKE_KEY", "SIGN_KERNEL", "SIGN_MODULES"]
    assert (laboratory / "kernel").read_text() == "signed kernel"
    assert b"a module with a signature" in (laboratory / "initramfs").read_bytes()
    assert (laboratory / "modules" / "mine.ko").read_text() == "a module"
    assert not steps.work.exists()
    assert not list(laboratory.rglob("*.pem"))


def test_qemu_options_enforce_secure_boot_and_protect_variables(
    laboratory: Path, steps: FakeSigningSteps
) -> None:
    boot_under_secure_boot(laboratory)
    assert "q35,smm=on" in find_option_values(laboratory, "-machine")
    assert "driver=cfi.pflash01,property=secure,value=on" in find_option_values(
        laboratory, "-global"
    )
    assert find_option_values(laboratory, "-fw_cfg") == [secureboot.DISABLE_LEGACY_LOADER]
    code, variables = find_option_values(laboratory, "-drive")
    assert "unit=0,readonly=on," in code
    assert code.endswith(f"/firmware,, tree/{secureboot.FIRMWARE}")
    assert variables.endswith("/secure-boot/variables.fd")
    assert "readonly" not in variables


def test_unsigned_boot_signs_neither_kernel_nor_modules(
    laboratory: Path, steps: FakeSigningSteps
) -> None:
    assert boot_under_secure_boot(laboratory, signed=False).ok
    assert steps.names == ["MAKE_KEY"]


@pytest.mark.parametrize(
    ("given", "names"), [(True, ["mine.ko"]), (False, ["mine.ko"]), (True, [])]
)
def test_given_dkms_key_signs_kernel_and_modules(
    laboratory: Path,
    steps: FakeSigningSteps,
    monkeypatch: pytest.MonkeyPatch,
    given: bool,
    names: list[str],
) -> None:
    """A given key is copied before the first step. Without a given key, the first step makes a key.
    Modules are signed in the tree of the kernel's suite, in which the kernel's folders are
    mounted."""
    key = laboratory / "key"
    key.mkdir()
    (key / "mok.key").write_text("private")
    (key / "mok.pub").write_text("public")
    seen: list[tuple[Path, list[str], dict[str, str]]] = []

    def record_step(
        tree: Path, binds: Sequence[tuple[Path, str]], command: Sequence[str], log: Path
    ) -> int:
        work = binds[0][0]
        files = {path.name: path.read_text() for path in work.iterdir() if path.is_file()}
        seen.append((tree, [point for _, point in binds], files))
        return 0

    monkeypatch.setattr(chroot, "run_in_chroot", record_step)
    kernel = catalogue.require_unpacked_kernel(catalogue.get_default_kernel_name())
    (laboratory / "image").write_text("kernel")
    files = secureboot.BootFiles(
        laboratory / "image", [laboratory / "modules" / name for name in names]
    )
    boot_files = secureboot.prepare_secure_boot(
        *(kernel, "trixie", files, laboratory / "scratch", laboratory / "log"),
        signed=True,
        key=key if given else None,
    )
    work = laboratory / "scratch/secure-boot"
    assert (boot_files.image, boot_files.modules) == (
        work / "kernel",
        [work / "modules" / name for name in names],
    )
    copied = {"key.pem": "private", "certificate.der": "public"} if given else {}
    assert [one[2] for one in seen] == [{"kernel": "kernel", **copied}] * (2 + len(names))
    suite_tree = laboratory / "cache/suites/s"
    firmware = laboratory / "firmware, tree"
    assert [one[0] for one in seen] == [firmware, firmware, suite_tree][: len(seen)]
    binds = [point for _, point in list_kernel_binds(kernel)]
    assert binds and [one[1] for one in seen] == [["src"], ["src"], ["src", *binds]][: len(seen)]


def test_boot_without_secure_boot_has_no_firmware(
    laboratory: Path, steps: FakeSigningSteps
) -> None:
    request = Request(
        catalogue.get_default_kernel_name(),
        laboratory / "job",
        laboratory / "out",
        accel="tcg",
        timeout=20.0,
    )
    with use_fake_qemu(laboratory, GOOD):
        assert boot_guest(request).ok
    assert not steps.names
    assert "-drive" not in read_command_line(laboratory)


@pytest.mark.parametrize("step", ["MAKE_KEY", "SIGN_KERNEL", "SIGN_MODULES"])
def test_error_of_a_failed_step_names_the_log(
    laboratory: Path, steps: FakeSigningSteps, step: str
) -> None:
    steps.fails = step
    with pytest.raises(UnableError, match=r"cannot be made, see .*signing\.log"):
        boot_under_secure_boot(laboratory)
    assert not steps.work.exists()


def test_missing_firmware_file_is_reported(laboratory: Path, steps: FakeSigningSteps) -> None:
    (laboratory / "firmware, tree" / secureboot.FIRMWARE).unlink()
    with pytest.raises(UnableError, match=r"secboot\.fd is missing"):
        boot_under_secure_boot(laboratory)


def test_boot_ends_at_the_expected_console_text(laboratory: Path, steps: FakeSigningSteps) -> None:
    script = f'echo "OVMF: {secureboot.REFUSAL}." >"$console"; exec sleep 1000'
    result = boot_under_secure_boot(laboratory, script, signed=False, until=secureboot.REFUSAL)
    assert result.seconds < 300
    assert result.exit_code is None
    assert check.judge_firmware_refusal(result).passed == 1


@pytest.mark.parametrize(
    ("console", "why"),
    [
        ("", "does not print that it refuses the kernel"),
        ("BdsDxe: No bootable option", "does not print that it refuses the kernel"),
        ("[    0.000000] Linux version 6.1", "starts a kernel that it must refuse"),
        (f"{secureboot.REFUSAL}\nLinux version 6.1", "starts a kernel that it must refuse"),
    ],
)
def test_unsigned_kernel_that_starts_fails_the_test(tmp_path: Path, console: str, why: str) -> None:
    (tmp_path / "console.log").write_text(console)
    tally = check.judge_firmware_refusal(Result(out=tmp_path))
    assert not tally.passed
    assert len(tally.failed) == 1
    assert why in tally.failed[0]


def test_missing_firmware_skips_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_fetch_error(suite: str) -> Path:
        raise FetchError("no mirror")

    monkeypatch.setattr(kernelsuite, "make_boot_obstacle_finder", lambda kernel: find_no_obstacle)
    monkeypatch.setattr(secureboot, "fetch_firmware", raise_fetch_error)
    (suite,) = check.make_secureboot_suites(catalogue.get_default_kernel_name(), Path())
    assert suite.obstacle().endswith("is missing and cannot be fetched: no mirror")
    monkeypatch.setattr(kernelsuite, "make_boot_obstacle_finder", lambda kernel: lambda: "no root")
    (suite,) = check.make_secureboot_suites(catalogue.get_default_kernel_name(), Path())
    assert suite.obstacle() == "no root"
