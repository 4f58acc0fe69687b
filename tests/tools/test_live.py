# SPDX-License-Identifier: GPL-2.0-only
"""What a terminal shows while native is measured: rows resolve, in place, at any width."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import rawdata
from faketerminal import Terminal
from kmtools.base.paths import ROOT
from kmtools.report.resolving import Resolving

PROCESSES = 4
# It measures the native tier with the program in HERE.
DRIVER = """
import os, sys
from pathlib import Path
from kmtools.base.processes import interruptible
from kmtools.measure import bench, benchrun, native
from kmtools.measure.progress_json import Events
from kmtools.report.report import resolving
here = Path(os.environ["HERE"])
native.KMBENCH = here / "kmbench"
plan = benchrun.Plan(["native"], "6.1", 1, True, {"native": 24, "processes": int(sys.argv[1])})
work = bench.Bench(benchrun.Run(here / "run", plan), print, Events(None), None, resolving)
try:
    with interruptible():
        done = work.attempt(["native"], "measure_native")
except KeyboardInterrupt:
    sys.exit(130)
print("measured" if done else "not measured")
"""
# A process that has samples ready, says so, and goes on when it is told.
FAKE = (
    rawdata.READ_OPTIONS
    + r"""mkdir -p "$out" && cp "$HERE/part-$seed/"* "$out"
sleep "${WAIT:-0}"
echo "kmbench: [1/2] empty-loop: 1 of 1 windows in 0.6 s" >&2
read -r _ <"$HERE/go"
echo "kmbench: [2/2] memcpy-4096: 1 of 1 windows in 0.6 s" >&2
"""
)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a kmbench and the samples of each of its processes."""
    for number in range(1, PROCESSES + 1):
        rawdata.write_tier(
            tmp_path / f"part-{number}", 24, number, rawdata.BENCHES[:2], emulated="0", cpu="0"
        )
    (tmp_path / "kmbench").write_text(FAKE)
    (tmp_path / "kmbench").chmod(0o755)
    os.mkfifo(tmp_path / "go")
    return tmp_path


def env_of(here: Path, **more: str) -> dict[str, str]:
    """The environment of the driver."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")
    }
    return {**kept, "HERE": str(here), "PYTHONPATH": str(ROOT / "scripts"), "TERM": "xterm", **more}


def words(processes: int = PROCESSES) -> list[str]:
    return [sys.executable, "-c", DRIVER, str(processes)]


def go_on(here: Path) -> None:
    """Let a process end."""
    (here / "go").write_text("\n")


@pytest.fixture
def terminal(here: Path) -> Iterator[Terminal]:
    """The driver on a terminal of 80 columns."""
    # A line is shown at most twice a second.
    made = Terminal(words(), env_of(here, WAIT="0.6"), (80, 24))
    yield made
    made.close()


def verdicts(terminal: Terminal) -> dict[str, str]:
    """The verdict of each row in sight."""
    rows = re.findall(r"^(\S+ \S+) .* (\w+)$", terminal.screen, re.M)
    return {name: verdict for name, verdict in rows if name.startswith(("empty", "memcpy"))}


def shown(terminal: Terminal, *patterns: str) -> None:
    """Wait until all of these are in sight: a terminal hands a screen over in pieces."""
    terminal.until(lambda: all(re.search(each, terminal.screen, re.M) for each in patterns))


def test_rows_resolve_in_place(terminal: Terminal, here: Path) -> None:
    shown(terminal, "Rows come when")
    assert terminal.other and not terminal.cursor
    go_on(here)
    shown(terminal, "process 2 of 4", r"^empty-loop marker-generic .* slower$")
    terminal.until(lambda: len(verdicts(terminal)) == 4)
    go_on(here)
    shown(
        terminal,
        r"\d+ %, process 3 of 4, empty-loop; about \d+ s left",
        r"empty-loop marker-generic +\+1\.\d{3} +0\.\d\d\d  slower",
        r"^\d of 4 rows resolved$",
    )
    assert terminal.screen.count("measuring on the real CPU") == 1
    go_on(here)
    shown(terminal, "process 4 of 4")
    go_on(here)
    assert terminal.ended() == 0
    assert "measured" in terminal.screen and not terminal.other and terminal.cursor
    assert terminal.beyond <= 0 and terminal.colours


def test_another_size_is_heeded_at_once(terminal: Terminal, here: Path) -> None:
    terminal.until(lambda: "Rows come when" in terminal.screen)
    go_on(here)
    terminal.until(lambda: "process 2 of 4" in terminal.screen)
    for width, height in ((40, 24), (132, 40), (24, 6)):
        terminal.said = ""
        terminal.resize(width, height)
        terminal.until(lambda: terminal.said.endswith("\033[J"))
        if terminal.beyond > 0:
            # This was on its way when the size changed.
            terminal.said, terminal.beyond = "", 0
            terminal.resize(width, height - 1)
            terminal.until(lambda: terminal.said.endswith("\033[J"))
        assert max(map(len, terminal.screen.splitlines())) <= width
        assert len(terminal.screen.splitlines()) <= height
        assert terminal.beyond <= 0
    shown(terminal, "4 of 4 rows resolved; 3")


@pytest.mark.parametrize("end", ["\x03", "SIGTERM"])
def test_an_interruption_gives_the_terminal_back(terminal: Terminal, end: str) -> None:
    terminal.until(lambda: "Rows come when" in terminal.screen)
    if end == "SIGTERM":
        os.kill(terminal.pid, signal.SIGTERM)
    else:
        terminal.press(end)
    assert terminal.ended() == 130
    assert (terminal.other, terminal.cursor, terminal.wraps) == (False, True, True)


def test_a_job_that_is_stopped_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.until(lambda: "Rows come when" in terminal.screen)
    os.kill(terminal.pid, signal.SIGTSTP)
    terminal.until(lambda: not terminal.other)
    assert terminal.cursor
    assert os.WIFSTOPPED(os.waitpid(terminal.pid, os.WUNTRACED)[1])
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.until(lambda: terminal.other and "Rows come when" in terminal.screen)


@pytest.mark.parametrize(
    ("settings", "escapes", "colours"),
    [({"TERM": "dumb"}, False, False), ({"NO_COLOR": "1"}, True, False)],
)
def test_the_environment_is_heeded(
    here: Path, settings: dict[str, str], escapes: bool, colours: bool
) -> None:
    terminal = Terminal(words(1), env_of(here, WAIT="0.6", **settings), (80, 24))
    go_on(here)
    assert terminal.ended() == 0
    assert ("\033[?1049h" in terminal.said) == escapes
    assert ("\033" in terminal.said) == escapes
    assert bool(terminal.colours) == colours
    terminal.close()


def test_elsewhere_there_are_plain_lines(here: Path) -> None:
    process = subprocess.Popen(
        words(1), env=env_of(here), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    go_on(here)
    said = process.communicate(timeout=60)[0]
    assert said.splitlines() == ["[1/3]    0 s  native: measuring on the real CPU", "measured"]


def test_rows_of_a_guest_are_measured_one_after_the_other() -> None:
    rows = Resolving("vm")
    for name in ("empty-loop", "empty-loop", "memcpy-4096"):
        rows.at(name)
    texts = [text for text, _ in rows.lines(50, 10)]
    assert [text.split() for text in texts[1:3]] == [
        ["empty-loop", "measured"], ["memcpy-4096", "measuring"],
    ]  # fmt: skip
    assert texts[-1] == "1 of 2 rows measured"
    assert max(map(len, texts)) <= 50
