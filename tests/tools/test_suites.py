# SPDX-License-Identifier: GPL-2.0-only
"""Tests of running suites: interruption, missing headers, skipped programs, parallel suites."""

from __future__ import annotations

import gzip
import lzma
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from kmtools.base.errors import BAD
from kmtools.base.paths import ROOT
from kmtools.base.processes import raise_interrupt_on_signals
from kmtools.commands import check
from kmtools.lab import catalogue
from kmtools.runner import suite as suites
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.pace import History
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, target, testkernel

# A script that starts two processes, which write until they are killed, and waits for one of them.
SCRIPT = """
import sys
sys.path.insert(0, "scripts")
from pathlib import Path
from kmtools.base.processes import raise_interrupt_on_signals, run_program

out = Path(sys.argv[1])
beat = f"while sleep 0.1; do echo >>{out}/beats.$1; done"
try:
    with raise_interrupt_on_signals():
        run_program(["sh", "-c", f"sh -c '{beat}' sh 1 & {beat}", "sh", 2], out / "log")
except KeyboardInterrupt as interrupt:
    sys.exit(128 + interrupt.args[0])
"""


def require_that_signal_ends_children(script: str, tmp_path: Path, number: signal.Signals) -> None:
    """Send signal `number` to a script that starts two processes. Both processes must end, and
    the script must print nothing."""
    beats = [tmp_path / f"beats.{process}" for process in (1, 2)]
    # Child processes inherit ignored signals, and pytest may have been started with nohup.
    command = ["env", "--default-signal", sys.executable, "-c", script, str(tmp_path)]
    quiet = subprocess.DEVNULL
    run = subprocess.Popen(command, cwd=ROOT, stdout=quiet, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while not all(beat.is_file() for beat in beats) and time.monotonic() < deadline:
        time.sleep(0.05)
    run.send_signal(number)
    _, said = run.communicate(timeout=20)
    assert run.returncode == 128 + number
    assert said == ""
    sizes = [beat.stat().st_size for beat in beats]
    time.sleep(0.5)
    assert [beat.stat().st_size for beat in beats] == sizes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_suite_leaves_no_child_process(tmp_path: Path, number: signal.Signals) -> None:
    require_that_signal_ends_children(SCRIPT, tmp_path, number)


# A script that reads the output of a shell, which writes until it is killed.
FETCHING = """
import sys
sys.path.insert(0, "scripts")
from kmtools.base.processes import raise_interrupt_on_signals
from kmtools.measure.fetch import run_shell_script

beat = f"while sleep 0.1; do echo | tee -a {sys.argv[1]}/beats.1 >>{sys.argv[1]}/beats.2; done"
try:
    with raise_interrupt_on_signals():
        run_shell_script(["sh"], beat.encode())
except KeyboardInterrupt as interrupt:
    sys.exit(128 + interrupt.args[0])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_interrupted_output_capture_leaves_no_process(
    tmp_path: Path, number: signal.Signals
) -> None:
    require_that_signal_ends_children(FETCHING, tmp_path, number)


# A script that runs a program that needs some time to clean up after SIGTERM.
CLEANING = """
import sys
sys.path.insert(0, "scripts")
from kmtools.base.processes import raise_interrupt_on_signals, run_program

clean = "trap 'sleep 1; touch cleaned; exit' TERM; touch begun; while sleep 0.1; do :; done"
try:
    with raise_interrupt_on_signals():
        run_program(["sh", "-c", f"cd {sys.argv[1]}; {clean}"])
except KeyboardInterrupt as interrupt:
    sys.exit(128 + interrupt.args[0])
"""


def test_second_hangup_does_not_interrupt_the_clean_up(tmp_path: Path) -> None:
    """If a terminal is lost, SIGHUP comes from the kernel and from the shell."""
    words = ["env", "--default-signal", sys.executable, "-c", CLEANING, str(tmp_path)]
    process = subprocess.Popen(words, cwd=ROOT)
    deadline = time.monotonic() + 20
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    while process.poll() is None and time.monotonic() < deadline:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.1)
    assert process.wait(1) == 128 + signal.SIGHUP
    assert (tmp_path / "cleaned").exists()


def test_hangup_is_ignored_under_nohup(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: dict[int, object] = {signal.SIGHUP: signal.SIG_IGN}
    monkeypatch.setattr(signal, "getsignal", handlers.get)
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    with raise_interrupt_on_signals():
        assert handlers[signal.SIGHUP] == signal.SIG_IGN
        assert handlers[signal.SIGTERM] != signal.SIG_IGN


@pytest.mark.many
@pytest.mark.parametrize("target", ["modules", "load"])
def test_missing_kernel_headers_are_reported(tmp_path: Path, target: str) -> None:
    words = ["make", "--no-print-directory", target, f"KDIR={tmp_path}/none"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    hint = subprocess.run(
        ["scripts/host", "hint"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    said = f"modules: no kernel headers in {tmp_path}/none: {hint.stdout.strip()}; or set KDIR"
    assert hint.stdout.strip() and said in done.stderr
    assert os.uname().release in hint.stdout


@pytest.mark.parametrize(
    ("script", "failed", "skipped"),
    [
        ("echo 1..1; echo ok 1 a", 0, 0),
        ("echo 1..1; echo ok 1 a; exit 4", 1, 0),
        ("echo '1..0 # SKIP no way'; exit 4", 0, 1),
        ("exit 4", 1, 0),
        ("exit 0", 1, 0),
    ],
)
def test_only_a_program_with_a_skip_line_is_skipped(
    tmp_path: Path, script: str, failed: int, skipped: int
) -> None:
    tally = suites.run_ktap_program(["sh", "-c", script], tmp_path / "log")
    assert (len(tally.failed), len(tally.skipped)) == (failed, skipped)


def test_second_run_in_a_checkout_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def start_second_run(log: Path) -> Tally:
        assert check.run_tests([], SuiteRequest("short", "", {})) == BAD
        assert former.read_text() == "7 passed, 0 failed\n"
        return Tally(1)

    monkeypatch.setattr(suites, "LOGS", tmp_path / "logs")
    good = Suite("good", lambda log: Tally(1))
    former = tmp_path / "logs" / "closing"
    former.parent.mkdir()
    former.write_text("7 passed, 0 failed\n")
    assert suites.run_all_suites([Suite("first", start_second_run)]) == Tally(1)
    assert former.read_text() == "1 passed, 0 failed\n"
    assert capsys.readouterr().err == "check: other tests are running in this checkout\n"
    assert suites.run_all_suites([good]) == Tally(1)


def test_two_processes_keep_each_others_suite_times(tmp_path: Path) -> None:
    def add_100_suite_times(letter: str) -> None:
        history = History(tmp_path / "times.json")
        for number in range(100):
            history.add_suite_run(f"{letter}{number}", 1.0, 1)

    other = multiprocessing.get_context("fork").Process(target=add_100_suite_times, args=("b",))
    other.start()
    add_100_suite_times("a")
    other.join()
    known = History(tmp_path / "times.json")
    assert [
        name
        for n in range(100)
        for name in (f"a{n}", f"b{n}")
        if not known.get_seconds_of_last_run(name)
    ] == []


def test_two_suites_run_in_parallel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make_suite_function(mine: str, other: str) -> Callable[[Path], Tally]:
        """Return the function of a suite `mine` that passes only if the suite `other` runs at the
        same time."""

        def run_suite(log: Path) -> Tally:
            (tmp_path / mine).touch()
            deadline = time.monotonic() + 20
            while not (tmp_path / other).exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            return Tally(int((tmp_path / other).exists()), skipped=[f"{mine}: a reason"])

        return run_suite

    monkeypatch.setattr(suites, "LOGS", tmp_path / "logs")
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    both = [
        Suite("one", make_suite_function("a", "b")),
        Suite("two", make_suite_function("b", "a")),
    ]
    total = suites.run_all_suites(both)
    assert (total.passed, sorted(total.skipped)) == (2, ["a: a reason", "b: a reason"])
    said = capsys.readouterr().out
    assert "[1/2] one: 1 passed" in said and "[2/2] two: 1 passed" in said
    times = (tmp_path / "logs" / "times-single.json").read_text()
    assert '"one"' in times and '"two"' in times
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0})
    both[0] = replace(both[0], run=lambda log: Tally(os.getpid()))
    both = [replace(suite, run=lambda log: Tally(os.getpid())) for suite in both]
    assert suites.run_all_suites(both).passed == 2 * os.getpid()


@pytest.mark.parametrize("processors", [1, 2])
def test_suites_that_must_run_alone_run_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    """The suite that must run alone is first in the list, but starts after the longest suite."""
    ends = tmp_path / "ends"

    def make_suite(name: str, seconds: float = 0.0) -> Suite:
        def run_suite(log: Path) -> Tally:
            time.sleep(seconds)
            with ends.open("a") as file:
                file.write(f"{name} ")
            return Tally(1)

        return Suite(name, run_suite)

    monkeypatch.setattr(suites, "LOGS", tmp_path / "logs")
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(processors)))
    calm = replace(make_suite("calm"), calm=True)
    assert suites.run_all_suites([calm, make_suite("long", 0.5), make_suite("other")]) == Tally(3)
    assert ends.read_text() == ("other long calm " if processors > 1 else "long other calm ")


def test_output_of_the_second_process_is_not_lost_in_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While a suite of the first process redirects the output of this process to a log, the output
    of a suite of the second process is printed."""
    monkeypatch.setattr(suites, "LOGS", tmp_path / "logs")
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    main_process = os.getpid()
    began, ended = tmp_path / "began", tmp_path / "ended"

    def wait_in_first_process() -> Tally:
        if os.getpid() != main_process:
            # Wait until the first process has taken a suite; otherwise, this process might take
            # both suites.
            while not began.exists():
                time.sleep(0.01)
            ended.touch()
            return Tally(2)
        began.touch()
        while not ended.exists():
            time.sleep(0.01)
        time.sleep(0.5)
        return Tally(1)

    run = suites.make_run_with_output_in_log(wait_in_first_process)
    assert suites.run_all_suites([Suite("one", run), Suite("two", run)]) == Tally(3)
    said = capsys.readouterr().out
    assert ": 1 passed" in said and ": 2 passed" in said


def test_crash_of_the_second_process_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suites, "LOGS", tmp_path / "logs")
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    main_process = os.getpid()
    taken = tmp_path / "taken"

    def die_in_second_process(log: Path) -> Tally:
        if os.getpid() != main_process:
            taken.touch()
            os._exit(3)
        while not taken.exists():
            time.sleep(0.01)
        return Tally(1)

    some = [Suite(name, die_in_second_process) for name in ("one", "two")]
    after = [replace(suite, name=f"{suite.name}-next", after=suite.name) for suite in some]
    total = suites.run_all_suites([*some, *after])
    assert (total.passed, total.failed) == (3, ["second test process: exit code 3"])


LANES = """
import sys, time
sys.path.insert(0, "scripts")
from pathlib import Path
from kmtools.base.processes import raise_interrupt_on_signals, run_program
from kmtools.runner import suite as suites
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, target, testkernel

suites.LOGS = Path(sys.argv[1])
beat = "echo $$ >{0}/pid.{1}; while sleep 0.1; do echo >>{0}/beats.{1}; done"

def beats(number):
    return lambda log: run_program(["sh", "-c", beat.format(sys.argv[1], number)], log)

try:
    with raise_interrupt_on_signals():
        suites.run_all_suites([Suite("a", beats(1)), Suite("b", beats(2))])
except KeyboardInterrupt as interrupt:
    sys.exit(128 + interrupt.args[0])
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a second test process needs two CPUs")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_second_process_leaves_no_child_process(
    tmp_path: Path, number: signal.Signals
) -> None:
    require_that_signal_ends_children(LANES, tmp_path, number)


def test_unwritable_checkout_is_one_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(suites, "LOGS", tmp_path / "file" / "logs")
    tally = suites.run_all_suites([Suite("one", lambda log: Tally(1))] * 3)
    assert len(tally.failed) == 1 and not tally.passed
    assert "Not a directory" in capsys.readouterr().err


def test_suites_that_the_user_names_use_long_settings() -> None:
    sizes = {
        form: testkernel.choose_stress_settings(SuiteRequest(form))
        for form in ("named", "short", "full")
    }
    assert sizes["named"] == {}
    assert sizes["full"]["KMARKERS_BATCHES"] == 200 and "KMARKERS_SAMPLES" not in sizes["full"]
    assert sizes["short"]["KMARKERS_BATCHES"] == 100 and sizes["short"]["KMARKERS_SAMPLES"] == 4
    assert testkernel.choose_stress_settings(SuiteRequest("weekly")) == sizes["full"]


@pytest.mark.parametrize("ending", [".ko", ".ko.gz", ".ko.xz"])
def test_network_driver_is_unpacked_for_the_guest(ending: str, tmp_path: Path) -> None:
    content = b"driver"
    packed = {".ko.gz": gzip.compress(content), ".ko.xz": lzma.compress(content)}
    folder = tmp_path / "usr/lib/modules/6.1/kernel"
    folder.mkdir(parents=True)
    (folder / f"e1000{ending}").write_bytes(packed.get(ending, content))
    kernel = SimpleNamespace(tree=tmp_path, release="6.1")
    assert target.copy_network_driver(kernel, tmp_path / "out").read_bytes() == content  # type: ignore[arg-type]


def test_kernel_without_a_network_driver_is_no_ssh_guest(
    laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = catalogue.get_default_kernel_name()
    monkeypatch.setattr(kernelsuite, "make_boot_obstacle_finder", lambda _: str)
    assert target.find_ssh_obstacle(name).startswith(f"kernel {name} has no module e1000")
    module = catalogue.get_kernel_dir(name) / "usr/lib/modules/6.1.0-fake/e1000.ko.zst"
    module.parent.mkdir(parents=True)
    module.touch()
    assert "e1000" not in target.find_ssh_obstacle(name)
