# SPDX-License-Identifier: GPL-2.0-only
"""What is left of a run that somebody interrupts, and what is said of missing headers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT
from kmtools.check import suites
from kmtools.check.ktap import Tally
from kmtools.check.suites import Suite

# Two processes, one of which is not waited for; both write while they live.
SCRIPT = """
import sys
sys.path.insert(0, "scripts")
from pathlib import Path
from kmtools.base.processes import interruptible, run

out = Path(sys.argv[1])
beat = f"while sleep 0.1; do echo >>{out}/beats.$1; done"
try:
    with interruptible():
        run(["sh", "-c", f"sh -c '{beat}' sh 1 & {beat}", "sh", 2], out / "log")
except KeyboardInterrupt as interrupt:
    sys.exit(128 + interrupt.args[0])
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_leaves_no_child(tmp_path: Path, number: signal.Signals) -> None:
    beats = [tmp_path / f"beats.{who}" for who in (1, 2)]
    run = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, tmp_path], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
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


@pytest.mark.parametrize("target", ["modules", "load"])
def test_missing_headers_are_named(tmp_path: Path, target: str) -> None:
    words = ["make", "--no-print-directory", target, f"KDIR={tmp_path}/none"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"modules: no kernel headers in {tmp_path}/none; install the package" in done.stderr
    assert f"linux-headers-{os.uname().release}" in done.stderr


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
def test_only_a_program_that_says_so_is_skipped(
    tmp_path: Path, script: str, failed: int, skipped: int
) -> None:
    tally = suites.run_ktap(["sh", "-c", script], tmp_path / "log")
    assert (len(tally.failed), len(tally.skipped)) == (failed, skipped)


def test_second_run_in_a_checkout_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def second(log: Path) -> Tally:
        assert suites.run_all([good]).failed == ["other tests are running in this checkout"]
        return Tally(1)

    monkeypatch.setattr(suites, "LOGS", tmp_path / "logs")
    good = Suite("good", lambda log: Tally(1))
    assert suites.run_all([Suite("first", second)]) == Tally(1)
    assert capsys.readouterr().err == "check: other tests are running in this checkout\n"
    assert suites.run_all([good]) == Tally(1)


def test_checkout_that_cannot_be_written_to_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(suites, "LOGS", tmp_path / "file" / "logs")
    tally = suites.run_all([Suite("one", lambda log: Tally(1))] * 3)
    assert len(tally.failed) == 1 and not tally.passed
    assert "Not a directory" in capsys.readouterr().err
