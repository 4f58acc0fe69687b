# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the table that a terminal shows and updates during the native measurement."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import rawdata
from faketerminal import SECONDS, Terminal
from kmtools.base.paths import ROOT
from kmtools.measure.rundir import UNIT_TSC
from kmtools.report.resolving import LiveRow, LiveVerdicts

PROCESSES = 4
# A program that measures the native tier (measurement environment) with the fake kmbench in the
# directory HERE.
DRIVER = """
import os, sys
from pathlib import Path
from kmtools.base.processes import raise_interrupt_on_signals
from kmtools.measure import bench, benchrun, native
from kmtools.measure.progress_json import Events
from kmtools.report.report import make_live_view
here = Path(os.environ["HERE"])
native.KMBENCH = here / "kmbench"
plan = benchrun.Plan(["native"], "6.1", 1, True, {"native": 24, "processes": int(sys.argv[1])})
work = bench.Bench(benchrun.Run(here / "run", plan), print, Events(None), None, make_live_view)
try:
    with raise_interrupt_on_signals():
        done = work.try_measuring_step(["native"], "measure_native")
except KeyboardInterrupt:
    sys.exit(130)
print("measured" if done else "not measured")
"""
# A fake kmbench: it copies prepared samples, prints progress, and waits until the test writes to
# the FIFO `go`.
FAKE = (
    rawdata.READ_OPTIONS
    + r"""mkdir -p "$out" && cp "$HERE/part-$seed/"* "$out"
sleep "${WAIT:-0}"
echo "kmbench: [1/2] empty-loop: 1 of 1 windows in 0.6 s" >&2
read -r _ <"$HERE/go"
echo "kmbench: [2/2] memcpy-4096: 1 of 1 windows in 0.6 s" >&2
"""
)


@pytest.fixture(name="fake_kmbench_folder")
def make_fake_kmbench_folder(tmp_path: Path) -> Path:
    """Make a directory with a fake kmbench, prepared samples for each process, and a FIFO."""
    for number in range(1, PROCESSES + 1):
        rawdata.write_raw_folder(
            tmp_path / f"part-{number}", 24, number, rawdata.BENCHES[:2], emulated="0", cpu="0"
        )
    (tmp_path / "kmbench").write_text(FAKE)
    (tmp_path / "kmbench").chmod(0o755)
    os.mkfifo(tmp_path / "go")
    return tmp_path


def make_driver_environment(fake_kmbench_folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of the program DRIVER."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")
    }
    return {
        **kept,
        "HERE": str(fake_kmbench_folder),
        "PYTHONPATH": str(ROOT / "scripts"),
        "TERM": "xterm",
        **more,
    }


def make_driver_command(processes: int = PROCESSES) -> list[str]:
    # Child processes inherit ignored signals, and pytest may have been started with nohup.
    return ["/usr/bin/env", "--default-signal", sys.executable, "-c", DRIVER, str(processes)]


def let_fake_kmbench_end(fake_kmbench_folder: Path) -> None:
    """End the fake kmbench that waits for the FIFO `go`."""
    (fake_kmbench_folder / "go").write_text("\n")


@pytest.fixture(name="terminal")
def run_driver_on_terminal(fake_kmbench_folder: Path) -> Iterator[Terminal]:
    """Run DRIVER on a terminal of 80 columns."""
    # WAIT is above half a second, because the program shows a new line at most twice a second.
    made = Terminal(
        make_driver_command(), make_driver_environment(fake_kmbench_folder, WAIT="0.6"), (80, 24)
    )
    yield made
    made.close()


def read_visible_verdicts(terminal: Terminal) -> dict[str, str]:
    """Return the verdict of each visible row."""
    rows = re.findall(r"^(\S+ \S+) .* (\w+)$", terminal.screen, re.M)
    return {name: verdict for name, verdict in rows if name.startswith(("empty", "memcpy"))}


def wait_for_patterns(terminal: Terminal, *patterns: str) -> None:
    """Wait until the screen matches all patterns, because the output arrives in pieces."""
    terminal.read_until(lambda: all(re.search(each, terminal.screen, re.M) for each in patterns))


def test_rows_of_the_live_table_are_updated_in_place(
    terminal: Terminal, fake_kmbench_folder: Path
) -> None:
    wait_for_patterns(terminal, "Rows appear when")
    assert terminal.other and not terminal.cursor
    let_fake_kmbench_end(fake_kmbench_folder)
    wait_for_patterns(terminal, "process 2 of 4", r"^empty-loop marker-generic .* slower$")
    terminal.read_until(lambda: len(read_visible_verdicts(terminal)) == 4)
    let_fake_kmbench_end(fake_kmbench_folder)
    wait_for_patterns(
        terminal,
        r"\d+ %, process 3 of 4, empty-loop; about \d+ s left",
        r"empty-loop marker-generic +\+1\.\d{3} +0\.\d\d\d  slower",
        r"^\d of 4 rows resolved$",
    )
    assert terminal.screen.count("measuring on the real CPU") == 1
    let_fake_kmbench_end(fake_kmbench_folder)
    wait_for_patterns(terminal, "process 4 of 4")
    let_fake_kmbench_end(fake_kmbench_folder)
    assert terminal.wait_for_exit() == 0
    assert "measured" in terminal.screen and not terminal.other and terminal.cursor
    assert terminal.beyond <= 0 and terminal.colours


def test_live_table_is_redrawn_after_a_resize(
    terminal: Terminal, fake_kmbench_folder: Path
) -> None:
    terminal.read_until(lambda: "Rows appear when" in terminal.screen)
    let_fake_kmbench_end(fake_kmbench_folder)
    terminal.read_until(lambda: "process 2 of 4" in terminal.screen)
    for width, height in ((40, 24), (132, 40), (24, 6)):
        # The program may write several screens for the old size before it notices the new size. If
        # a screen does not fit, change the size again, and check the next screen.
        end = time.monotonic() + SECONDS
        for lines in itertools.cycle(range(height, height - 5, -1)):
            terminal.said, terminal.beyond = "", 0
            terminal.resize(width, lines)
            terminal.read_until(lambda: terminal.said.endswith("\033[J"))
            rows = terminal.screen.splitlines()
            if terminal.beyond <= 0 and max(map(len, rows)) <= width and len(rows) <= lines:
                break
            assert time.monotonic() < end, f"{width} x {lines}: no screen fits:\n{terminal.screen}"
    wait_for_patterns(terminal, "4 of 4 rows resolved; 3")


@pytest.mark.parametrize("end", ["\x03", "SIGTERM", "SIGHUP"])
def test_interrupted_live_table_restores_the_terminal(terminal: Terminal, end: str) -> None:
    terminal.read_until(lambda: "Rows appear when" in terminal.screen)
    if end.startswith("SIG"):
        os.kill(terminal.pid, signal.Signals[end])
    else:
        terminal.type_keys(end)
    assert terminal.wait_for_exit() == 130
    assert (terminal.other, terminal.cursor, terminal.wraps) == (False, True, True)


def test_lost_terminal_ends_the_measurement(terminal: Terminal) -> None:
    """The program ends although it can no longer write the escape sequence that leaves the
    alternate screen."""
    terminal.read_until(lambda: "Rows appear when" in terminal.screen)
    assert terminal.hang_up_and_wait() == 130


def test_live_table_restores_the_terminal_on_sigtstp(terminal: Terminal) -> None:
    terminal.read_until(lambda: "Rows appear when" in terminal.screen)
    os.kill(terminal.pid, signal.SIGTSTP)
    terminal.read_until(lambda: not terminal.other)
    assert terminal.cursor
    assert os.WIFSTOPPED(os.waitpid(terminal.pid, os.WUNTRACED)[1])
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.read_until(lambda: terminal.other and "Rows appear when" in terminal.screen)


@pytest.mark.parametrize(
    ("settings", "escapes", "colours"),
    [({"TERM": "dumb"}, False, False), ({"NO_COLOR": "1"}, True, False)],
)
def test_term_and_no_color_disable_escapes_and_colours(
    fake_kmbench_folder: Path, settings: dict[str, str], escapes: bool, colours: bool
) -> None:
    terminal = Terminal(
        make_driver_command(1),
        make_driver_environment(fake_kmbench_folder, WAIT="0.6", **settings),
        (80, 24),
    )
    let_fake_kmbench_end(fake_kmbench_folder)
    assert terminal.wait_for_exit() == 0
    assert ("\033[?1049h" in terminal.said) == escapes
    assert ("\033" in terminal.said) == escapes
    assert bool(terminal.colours) == colours
    terminal.close()


def test_output_to_a_pipe_is_plain_lines(fake_kmbench_folder: Path) -> None:
    process = subprocess.Popen(
        make_driver_command(1),
        env=make_driver_environment(fake_kmbench_folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    let_fake_kmbench_end(fake_kmbench_folder)
    said = process.communicate(timeout=60)[0]
    assert said.splitlines() == ["[1/3]    0 s  native: measuring on the real CPU", "measured"]


@pytest.mark.parametrize(
    ("width", "room", "numbers"),
    [
        *((43, 31, []), (44, 22, ["0.10"]), (50, 28, ["0.10"]), (51, 29, ["0.10"])),
        *((59, 37, ["0.10"]), (60, 28, ["+1.00", "0.10"]), (90, 58, ["+1.00", "0.10"])),
    ],
)
def test_long_name_in_the_live_table_keeps_its_start_and_end(
    width: int, room: int, numbers: list[str]
) -> None:
    """A row has a name, up to two numbers of 9 columns, and a verdict of 10 columns. A name that
    does not fit keeps its beginning and its end."""
    fits, long = "f" * room, f"{'abcdefghij' * 5} {'klmnopqrst' * 5}"
    rows = LiveVerdicts("native", unit="cycles")
    for benchmark, variant in ((fits, ""), (f"{fits}f", ""), tuple(long.split())):
        rows.rows[benchmark, variant] = LiveRow("slower", "+1.00", "0.10")
    texts = [text for text, _ in rows.render_terminal_lines(width, 10)][1:4]
    assert [text[room:].split() for text in texts] == [[*numbers, "slower"]] * 3
    assert max(map(len, texts)) <= width
    assert texts[0].startswith(f"{fits} ")
    for text, name in zip(texts[1:], (f"{fits}f", long), strict=True):
        start, end = text[:room].split("~")
        assert name.startswith(start) and name.endswith(end) and len(start) + len(end) == room - 1
        assert abs(len(start) - len(end)) <= 2


def add_simulated_process(
    rows: LiveVerdicts, fake_kmbench_folder: Path, number: int, added: float
) -> Path:
    """Add the samples of a process without noise, in which the variant x adds `added` ticks to the
    baseline. The baseline costs ten ticks in the first process, and twice as much in the second."""
    noise, base = rawdata.Noise(0, 0, 0, 0, 0, 0), 10.0 * number
    adds = {"none": 0.0, "none-clone": 0.0, "same": 0.0, "slow": 3.0, "x": added}
    bench = rawdata.Bench("empty-loop", {name: base + more for name, more in adds.items()}, noise)
    made = rawdata.write_raw_folder(
        fake_kmbench_folder / str(number), 24, number, [bench], emulated="0"
    )
    rows.add_process_samples(made, number)
    return made


def test_live_verdicts_use_all_processes_so_far(tmp_path: Path) -> None:
    """In two processes, x adds -0.5 and 0 ticks. The interval over processes has one degree of
    freedom, Student's t is 12.706, and the standard error 0.25 ticks. All durations are multiples
    of 10 ticks, and the loops differ by 10000 passes, so each end is 0.001 ticks further away."""
    rows = LiveVerdicts("native")
    add_simulated_process(rows, tmp_path, 1, -0.5)
    assert rows.rows["empty-loop", "x"] == LiveRow("faster", "-0.500", "0.001")
    folder = add_simulated_process(rows, tmp_path, 2, 0)
    known = {
        ("empty-loop", "same"): LiveRow("equivalent", "+0.000", "0.001"),
        ("empty-loop", "slow"): LiveRow("slower", "+3.000", "0.001"),
        ("empty-loop", "x"): LiveRow("resolving", "-0.250", "3.178"),
    }
    assert rows.rows == known and rows.unit == UNIT_TSC
    lines = rows.render_terminal_lines(80, 9)
    assert [colour for _, colour in lines] == ["2", "32", "33", "", "", ""]
    assert lines[0][0].split() == ["in", *UNIT_TSC.split(), "adds", "\N{PLUS-MINUS SIGN}"]
    # Malformed samples, and samples without a description of the tier, are ignored.
    path = folder / "empty-loop.csv"
    path.write_text(path.read_text() + "?\n")
    rows.add_process_samples(folder, 2)
    (folder / "env").unlink()
    rows.add_process_samples(folder, 2)
    assert rows.rows == known


def test_live_view_counts_only_the_chosen_variants(tmp_path: Path) -> None:
    rows = LiveVerdicts("native", ["sl*"])
    add_simulated_process(rows, tmp_path, 1, -0.5)
    assert [*rows.rows] == [("empty-loop", "slow")]
    assert rows.render_terminal_lines(80, 9)[-1][0] == "1 of 1 rows resolved"
    rows = LiveVerdicts("native", ["other"])
    add_simulated_process(rows, tmp_path / "other", 1, -0.5)
    assert rows.rows == {}


@pytest.mark.parametrize(
    ("height", "shown", "hidden"),
    [(2, "", 6), (4, "c", 5), (5, "ce", 4), (6, "ace", 3), (8, "abcde", 1), (9, "abcdef", 0),
     (90, "abcdef", 0)],
)  # fmt: skip
def test_unresolved_live_rows_precede_others_if_not_all_fit(
    height: int, shown: str, hidden: int
) -> None:
    """The heading, an empty line and the number of resolved rows take three lines. The row of a
    dormant site precedes the rows of enabled probes, even if the former was resolved later."""
    verdicts = {"b": "unresolved", "c": "resolving", "d": "equivalent", "e": "resolving"}
    rows = LiveVerdicts("native", unit="cycles")
    for name, verdict in {**verdicts, "f": "faster", "a": "slower"}.items():
        rows.rows["empty-loop" if name == "a" else "sdt-enabled", name] = LiveRow(verdict)
    texts = [text for text, _ in rows.render_terminal_lines(80, height)]
    assert "".join(text.split()[1] for text in texts[1:-2]) == shown
    assert texts[-1] == "4 of 6 rows resolved" + (f"; {hidden} not shown" if hidden else "")


def test_samples_of_a_process_become_rows_unless_they_are_malformed(tmp_path: Path) -> None:
    rows = LiveVerdicts("native")
    rows.add_process_samples(tmp_path, 1)
    raw = rawdata.write_raw_folder(tmp_path / "raw", 24, 1, rawdata.BENCHES[:1])
    (file,) = raw.glob("*.csv")
    text = file.read_text()
    file.write_text(text[:-5])
    rows.add_process_samples(raw, 1)
    assert rows.rows == {}
    file.write_text(text)
    rows.add_process_samples(raw, 1)
    assert {name for name, _ in rows.rows} == {rawdata.BENCHES[0].name}


def test_benchmark_is_shown_as_measured_when_the_next_one_begins() -> None:
    rows = LiveVerdicts("vm")
    for name in ("empty-loop", "empty-loop", "memcpy-4096"):
        rows.set_current_benchmark(name)
    texts = [text for text, _ in rows.render_terminal_lines(50, 10)]
    assert [text.split() for text in texts[1:3]] == [
        ["empty-loop", "measured"], ["memcpy-4096", "measuring"],
    ]  # fmt: skip
    assert texts[-1] == "1 of 2 rows measured"
    assert max(map(len, texts)) <= 50
