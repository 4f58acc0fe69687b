# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the conditions under which `lab shell` starts, and of what the guest gets."""

from __future__ import annotations

import math
import os
import re
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.files import hold_lock
from kmtools.base.paths import ROOT
from kmtools.lab import shell
from kmtools.lab.accel import Accel
from kmtools.lab.catalogue import Entry
from kmtools.lab.machine import Request
from kmtools.lab.result import Result
from kmtools.suites import shell as shell_suite

# A program in place of `kmarkers`: a shell with a prompt, which the command "exit" does not end.
ENDLESS_SHELL = f"""
import sys
print({shell_suite.PROMPT!r}, end="", flush=True)
for line in sys.stdin:
    print("x", {shell_suite.PROMPT!r}, flush=True)
"""
REQUEST = Request("6.1", shell.JOB, shell.OUT)


def test_shell_without_a_terminal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(UnableError, match=r"a shell needs a terminal: .* vm run --job"):
        shell.run_guest_shell(REQUEST)


def test_second_shell_of_a_checkout_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(shell, "OUT", tmp_path / "shell")
    monkeypatch.setattr(
        shell, "_build_and_run_guest_shell", lambda *_: pytest.fail("a shell started")
    )
    with (
        hold_lock(tmp_path / "shell.lock", "unused"),
        pytest.raises(UnableError, match="another lab shell of this checkout is open: exit it"),
    ):
        shell.run_guest_shell(REQUEST)


def make_folder_with_files(path: Path, *names: str) -> Path:
    """Make a folder with empty files."""
    path.mkdir(parents=True)
    for name in names:
        (path / name).touch()
    return path


@pytest.mark.parametrize(
    ("terminals", "opens"),
    [((True, True), True), ((True, False), False), ((False, True), False)],
)
def test_input_and_output_of_a_shell_must_be_terminals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminals: tuple[bool, bool], opens: bool
) -> None:
    for stream, is_terminal in zip((sys.stdin, sys.stdout), terminals, strict=True):
        monkeypatch.setattr(stream, "isatty", lambda yes=is_terminal: yes, raising=False)
    monkeypatch.setattr(shell, "OUT", tmp_path / "shell")
    result = Result(ok=True)
    monkeypatch.setattr(shell, "_build_and_run_guest_shell", lambda *_: result)
    if opens:
        assert shell.run_guest_shell(REQUEST) is result
        return
    with pytest.raises(UnableError, match="a shell needs a terminal"):
        shell.run_guest_shell(REQUEST)


class FakeShell:
    """Replaces the parts of a shell in a test kernel: builds, tracers and the boot. `request` is
    the request of the boot, `welcome` the text that the guest prints."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.result = Result(ok=True, out=tmp_path)
        self.code = 0
        self.tracers: dict[Path, str] = {}
        self.missing: list[str] = []
        self.clients: list[Path] = []
        self.builds: list[tuple[object, ...]] = []
        self.dependencies: list[Path] = []
        kernel = SimpleNamespace(release="6.1.0-9")
        for name, to in (
            ("catalogue.find_kernel_entry", lambda name: Entry(name, "s", "i", "q", "gates")),
            ("kernels.ensure_kernel_is_unpacked", lambda entry: kernel),
            ("build.build_modules", self.build_modules),
            ("build.build_modules_using_kmarkers", self.build_clients),
            ("tracers.fetch_tracers", lambda suite: (self.tracers, self.missing)),
            ("stock.copy_module_dependencies", lambda *_: self.dependencies),
            ("find_usable_accel", lambda *_: Accel("kvm")),
            ("boot_guest", self.boot),
            ("restore_terminal_settings", nullcontext),
            ("shutil.get_terminal_size", lambda: os.terminal_size((132, 43))),
        ):
            monkeypatch.setattr(f"kmtools.lab.shell.{name}", to)

    def build_modules(self, *words: object) -> int:
        """Record a build of the modules of kmarkers."""
        self.builds.append(words)
        return self.code

    def build_clients(self, *words: object) -> list[Path]:
        """Record a build of the user's modules."""
        self.builds.append(words)
        return self.clients

    def boot(self, request: Request) -> Result:
        """Record a boot."""
        self.request = request
        self.additions = [(path, where) for path, where in request.additions]
        self.welcome = self.additions[0][0].read_text()
        return self.result


@pytest.fixture(name="fake_shell")
def make_fake_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeShell:
    """Replace the parts of a shell by fake ones."""
    return FakeShell(tmp_path, monkeypatch)


def test_shell_without_modules_of_the_user_shows_the_example(
    fake_shell: FakeShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without tracers, the welcome text says so, and standard error has the reason."""
    monkeypatch.delenv("TERM", raising=False)
    fake_shell.missing = ["tracers: no mirror"]
    request = replace(REQUEST, cpus=3, memory=777)
    assert shell._build_and_run_guest_shell(request, ()) is fake_shell.result
    out, err = capsys.readouterr()
    assert err == "lab shell: tracers: no mirror\n"
    assert out.splitlines()[1:] == [
        "vm: under KVM",
        "lab shell: booting, which takes half a minute; before the first boot, fetching tracers",
    ]
    assert fake_shell.welcome.startswith("\nLinux 6.1.0-9 in a virtual machine, with kmarkers")
    assert "\n    insmod /modules/example_client.ko\n" in fake_shell.welcome
    assert "    echo 'example_* trace' >markers/control\n" in fake_shell.welcome
    assert fake_shell.welcome.endswith("\n\nNo tracer could be fetched.\n\n")
    assert [where for _, where in fake_shell.additions] == ["/welcome"]
    boot = fake_shell.request
    assert boot.settings == {"OWN": "", "SIZE": "43 132", "TERMINAL": "vt100"}
    assert (boot.cpus, boot.memory, boot.terminal) == (3, 777, True)
    assert (boot.timeout, boot.silence) == (math.inf, 0.0)
    assert boot.modules == shell.MODULES / "6.1-shell"
    assert fake_shell.builds == [
        ("6.1", ROOT, shell.MODULES / "6.1-shell", ("-s", "KMARKERS_TESTS=m")),
        ("6.1", (), shell.MODULES / "6.1-clients", ["-s"]),
    ]


def test_shell_loads_dependencies_before_modules_of_the_user(
    fake_shell: FakeShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The welcome text names the tracers that were fetched, and the last module of the user."""
    monkeypatch.setenv("TERM", "xterm")
    fake_shell.clients = [Path("/c/one.ko"), Path("/c/two.ko"), Path("/b/last.ko")]
    fake_shell.dependencies = [Path("/d/usbcore.ko")]
    fake_shell.tracers = {Path("/t/perf"): "/usr/bin/perf", Path("/t/tc"): "/usr/bin/trace-cmd"}
    request = replace(REQUEST, additions=[(Path("/x"), "/y")])
    shell._build_and_run_guest_shell(request, [Path("/c"), Path("/b")])
    out, err = capsys.readouterr()
    assert "lab shell: building /c, /b\n" in out and err == ""
    assert fake_shell.request.settings == {
        "OWN": "/own/usbcore.ko /own/one.ko /own/two.ko /own/last.ko",
        "SIZE": "43 132",
        "TERMINAL": "xterm",
    }
    assert fake_shell.additions[1:] == [
        (Path("/d/usbcore.ko"), "/own/usbcore.ko"),
        (Path("/c/one.ko"), "/own/one.ko"),
        (Path("/c/two.ko"), "/own/two.ko"),
        (Path("/b/last.ko"), "/own/last.ko"),
        (Path("/t/perf"), "/usr/bin/perf"),
        (Path("/t/tc"), "/usr/bin/trace-cmd"),
        (Path("/x"), "/y"),
    ]
    assert "    lsmod                                  # last is loaded\n" in fake_shell.welcome
    assert "echo '* trace' >markers/control" in fake_shell.welcome
    assert fake_shell.welcome.endswith("\nInstalled tracers: trace-cmd, perf.\n\n")


@pytest.mark.parametrize("ok", [True, False])
def test_failure_of_a_shell_is_printed(
    fake_shell: FakeShell, capsys: pytest.CaptureFixture[str], ok: bool
) -> None:
    fake_shell.result = replace(fake_shell.result, ok=ok, reason="why", exit_code=1)
    assert shell._build_and_run_guest_shell(REQUEST, ()) is fake_shell.result
    assert ("vm: why\n" in capsys.readouterr().err) is not ok


def test_shell_is_not_booted_if_modules_cannot_be_built(fake_shell: FakeShell) -> None:
    fake_shell.code = 1
    with pytest.raises(FailedError, match="the kmarkers modules cannot be built for kernel"):
        shell._build_and_run_guest_shell(REQUEST, ())
    assert not hasattr(fake_shell, "request")


def test_object_files_written_since_a_time_are_counted(tmp_path: Path) -> None:
    """Object files in subfolders count, and object files that were written exactly at this time."""
    for name, time_of_change in (("a.o", 99.9), ("b.o", 100.0), ("c.o", 101.0), ("d.c", 200.0)):
        path = make_folder_with_files(tmp_path / name[0], name) / name
        os.utime(path, (1.0, time_of_change))
    assert shell.count_objects_written_since(tmp_path, 100.0) == 2


def test_progress_shows_the_number_of_compiled_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """During a build of modules, the number of object files that this build wrote is shown."""
    said, end = "", time.monotonic() + 60
    monkeypatch.setattr(shell, "LOG_SECONDS", 0.01)
    (tmp_path / "before.o").touch()
    os.utime(tmp_path / "before.o", (1, 1))
    with shell.show_compilation_progress(tmp_path):
        (tmp_path / "first.o").touch()
        (tmp_path / "second.o").touch()
        (tmp_path / "third.c").touch()
        while "2 files compiled" not in said and time.monotonic() < end:
            time.sleep(0.01)
            said += capsys.readouterr().out
    assert re.search(r"^lab shell: 2 files compiled in \d+ s$", said, re.M)


def test_shell_that_does_not_end_fails_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_folder_with_files(tmp_path / "scripts", "kmarkers")
    (tmp_path / "scripts" / "kmarkers").write_text(ENDLESS_SHELL)
    monkeypatch.setattr(shell_suite, "ROOT", tmp_path)
    monkeypatch.setattr(shell_suite, "ANSWER_SECONDS", 0.2)
    tally = shell_suite.run_lab_shell_sessions("6.1", tmp_path / "log")
    for why in ("of the shell is not 0", "after a kernel warning is not 1"):
        assert f"the exit code {why}" in tally.failed
    assert (tmp_path / "log").read_text() == f"{tally.format_summary()}\n"
