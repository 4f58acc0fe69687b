# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the command kmarkers: subcommands, help, and exit codes."""

from __future__ import annotations

import argparse
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from kmtools import cli
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.commands import Run
from kmtools.lab import build, shell
from kmtools.measure.rundir import RunError


def replace_commands_by_try_out(
    monkeypatch: pytest.MonkeyPatch, run_command: Callable[[], int | None]
) -> None:
    """Replace all subcommands by one, `try out`, which calls the function `run_command`."""

    def try_out(parser: argparse.ArgumentParser) -> Run:
        """The rest of the help text."""
        parser.add_argument("--number", type=int, help="of things")
        return lambda args: run_command()

    monkeypatch.setattr(cli, "COMMANDS", {"try out": ("trial", "tries things")})
    monkeypatch.setattr(
        cli, "import_module", lambda name: SimpleNamespace(add_try_out_command=try_out)
    )


def make_raising_function(error: BaseException) -> Callable[[], int | None]:
    """Return a function that raises this error."""

    def raise_error() -> int | None:
        raise error

    return raise_error


@pytest.mark.parametrize(
    ("run_command", "exit_code", "expected"),
    [
        (lambda: None, 0, ""),
        (lambda: 1, 1, ""),
        (lambda: 2, 2, ""),
        (make_raising_function(FailedError("it broke")), 1, "try out: it broke\n"),
        (make_raising_function(RunError("a.csv:3: no")), 1, "try out: a.csv:3: no\n"),
        (make_raising_function(UnableError("no bread")), 2, "try out: no bread\n"),
        (
            make_raising_function(OSError(28, "No space left", "/a")),
            2,
            "/a: No space left; free disk space",
        ),
        (
            make_raising_function(subprocess.CalledProcessError(3, ["tar"], "", "bad")),
            2,
            "exit code 3 of tar",
        ),
        (make_raising_function(KeyboardInterrupt()), 130, ""),
        (lambda: os.kill(os.getpid(), signal.SIGINT), 130, ""),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), 143, ""),
    ],
)
def test_each_result_and_error_of_a_command_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    run_command: Callable[[], int | None],
    exit_code: int,
    expected: str,
) -> None:
    replace_commands_by_try_out(monkeypatch, run_command)
    before = signal.getsignal(signal.SIGTERM)
    assert cli.main(["try", "out", "--number", "3"]) == exit_code
    assert signal.getsignal(signal.SIGTERM) is before
    err = capsys.readouterr().err
    assert expected in err and bool(err) == bool(expected)


def test_unknown_command_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_commands_by_try_out(monkeypatch, make_raising_function(AssertionError()))
    for words in (["try"], ["try", "in"], []):
        assert cli.main(words) == 2
        said = capsys.readouterr().err
        assert said.startswith("kmarkers: ") and (repr(" ".join(words)) in said) == bool(words)


def test_command_group_without_subcommand_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lab"]) == 2
    said = "kmarkers: 'lab' needs one more word; `kmarkers lab --help` lists the commands\n"
    assert capsys.readouterr() == ("", said)


def test_help_lists_commands_and_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_commands_by_try_out(monkeypatch, make_raising_function(AssertionError()))
    for words in (["--help"], ["try", "-h"]):
        assert cli.main(words) == 0
        assert "  try out  tries things\n" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        cli.main(["try", "out", "--help"])
    assert ended.value.code == 0
    assert "tries things\n\nThe rest of the help text.\n" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["in"], ["tr"], ["try", "in"], ["--out"]])
def test_help_of_an_unknown_command_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    replace_commands_by_try_out(monkeypatch, make_raising_function(AssertionError()))
    for asked in ([*arguments, "--help"], ["-h", *arguments]):
        assert cli.main(asked) == 2
        said = (
            f"kmarkers: no command {' '.join(arguments)!r}; `kmarkers --help` lists all commands\n"
        )
        assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(
    "command", ["collect", "report", "compare", "compare .", "impact", "publish reference"]
)
def test_missing_run_directory_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    reference = str(ROOT / "results" / "reference")
    gone = str(tmp_path / "gone")
    folders = {"compare": [gone, reference], "compare .": [reference, gone]}.get(command, [gone])
    assert cli.main([*command.removesuffix(" .").split(), *folders]) == 2
    assert capsys.readouterr().err.endswith(f": {gone}: the folder of the run does not exist\n")
    assert not Path(gone).exists()


def test_every_command_can_be_imported() -> None:
    names = [name for name in cli.COMMANDS if cli.find_command(name.split()) != name]
    assert names == [] and 20 < len(cli.COMMANDS) <= 30


def test_bench_imports_no_optional_package() -> None:
    """`kmarkers bench` starts without numpy and matplotlib, because it installs them itself."""
    program = (
        "import sys; sys.path.insert(0, 'scripts')\n"
        "sys.modules.update(numpy=None, matplotlib=None)\n"
        "from kmtools.cli import main\n"
        "sys.exit(main(['bench', '--help']))"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "--resume" in done.stdout


@pytest.mark.parametrize("arguments", [["compare", "a", "b"], ["check", "aa"], ["impact", "a"]])
def test_command_reports_a_missing_python_package(arguments: list[str]) -> None:
    program = (
        "import sys; sys.path.insert(0, 'scripts')\n"
        "sys.modules.update(numpy=None)\n"
        "from kmtools.cli import main\n"
        f"sys.exit(main({arguments!r}))"
    )
    called = [sys.executable, "-c", program]
    done = subprocess.run(called, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith(": needs the Python package numpy: run scripts/setup\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "make_args"),
    [
        (["6.1", "--src", "S", "--out", "O", "-s", "V=1", "W=1"], None),
        (["6.1", "--src", "S", "--out", "O", "V=1", "W=1"], ["V=1", "W=1"]),
        (["6.1", "V=1", "--src", "S", "--out", "O"], ["V=1"]),
        (["--src", "S", "--out", "O", "6.1"], []),
        (["--src", "S", "--out", "O", "6.1", "--", "-s"], ["-s"]),
    ],
)
def test_build_accepts_make_arguments_before_and_after_options(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], make_args: list[str] | None
) -> None:
    """Arguments of make may stand before or after the options of the command; an option of make
    must stand after `--`."""
    builds: list[object] = []

    def record_build(*args: object, kmarkers_source: Path | None = None) -> int:
        builds.append([*args, kmarkers_source])
        return 0

    monkeypatch.setattr(build, "build_modules", record_build)
    if make_args is None:
        with pytest.raises(SystemExit):
            cli.main(["lab", "build", *arguments])
    else:
        assert cli.main(["lab", "build", *arguments]) == 0
        # The kmarkers modules are built before the modules outside the tree, and not to the folder
        # of `lab shell`, which may be starting.
        ours, others = builds
        assert ours == ["6.1", ROOT, shell.MODULES / "6.1-build", shell.OPTIONS, None]
        assert others == ["6.1", Path("S"), Path("O"), make_args, ROOT]


def test_building_kmarkers_builds_no_other_module(monkeypatch: pytest.MonkeyPatch) -> None:
    builds: list[object] = []
    monkeypatch.setattr(
        build, "build_modules", lambda *args, kmarkers_source: builds.append(kmarkers_source)
    )
    assert cli.main(["lab", "build", "--src", str(ROOT), "--out", "O", "6.1"]) == 0
    assert builds == [None]


@pytest.mark.parametrize(
    ("folder", "expected"),
    [("nowhere", "nowhere is not a folder"), (".", "has neither a Kbuild file nor a Makefile")],
)
def test_directory_without_a_module_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str, expected: str
) -> None:
    assert cli.main(["lab", "shell", "--module", str(tmp_path / folder)]) == 2
    assert expected in capsys.readouterr().err


def test_installed_command_uses_the_current_checkout(tmp_path: Path) -> None:
    """An installed command uses the checkout in the working directory. Outside a checkout, only
    `--help` works; other commands report that a checkout is missing."""
    shutil.copytree(ROOT / "scripts" / "kmtools", tmp_path / "site" / "kmtools")
    program = "import sys; from kmtools.cli import main; sys.exit(main())"

    def run_installed_command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
            capture_output=True,
            text=True,
            check=False,
        )

    assert run_installed_command(tmp_path, "--help").returncode == 0
    lost = run_installed_command(tmp_path, "lab", "list")
    assert lost.returncode == 2
    assert lost.stderr.startswith(f"lab list: {tmp_path} is not a checkout of kmarkers: clone km")
    found = run_installed_command(ROOT / "tests" / "tools", "check", "--help")
    assert found.returncode == 0 and "PATTERN" in found.stdout


def run_and_measure_cpu_seconds(*argv: str | Path) -> float:
    """Run a program and return the CPU time that it used, in seconds."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


def test_help_takes_little_cpu_time() -> None:
    """`kmarkers --help` takes at most seven times the CPU time of an empty Python program; three
    times is usual. The two programs run in turn, and the fastest of 9 to 60 runs counts, because
    other processes slow both down. An import of numpy would exceed the limit."""
    python = "/usr/bin/python3" if Path("/usr/bin/python3").is_file() else sys.executable
    printed = alone = math.inf
    for number in range(60):
        words = python, ROOT / "scripts" / "kmarkers", "--help"
        printed = min(printed, run_and_measure_cpu_seconds(*words))
        alone = min(alone, run_and_measure_cpu_seconds(python, "-c", "pass"))
        if number >= 8 and printed <= 7 * alone:
            break
    assert printed <= 7 * alone, (
        f"kmarkers --help: {printed:.3f} s of CPU time; Python alone: {alone:.3f} s"
    )


def test_command_starts_with_an_incomplete_venv(tmp_path: Path) -> None:
    """An interrupted removal of build/venv may leave a Python without pyvenv.cfg in it. The command
    restarts itself once with this Python, not again and again."""
    for name in ("scripts/kmtools", "build/venv/bin"):
        (tmp_path / name).mkdir(parents=True)
    command = shutil.copy(ROOT / "scripts" / "kmarkers", tmp_path / "scripts")
    show = "import sys\ndef main():\n    print(sys.executable)\n"
    (tmp_path / "scripts/kmtools/cli.py").write_text(show)
    python = Path(sys.base_prefix) / "bin" / "python3"
    (tmp_path / "build/venv/bin/python").symlink_to(python)
    done = subprocess.run(
        [python, command], capture_output=True, text=True, timeout=20, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{tmp_path / 'build/venv/bin/python'}\n"
