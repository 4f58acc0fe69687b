# SPDX-License-Identifier: GPL-2.0-only
"""The end of `bench`, `report` and `compare`: a true answer and the right exit code, whatever the
run lacks and wherever the text goes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import rawdata
from fakebench import Machine
from faketerminal import Terminal
from kmtools.analyse.changes import MISSING, Change
from kmtools.analyse.rows import SHARE, Name, Row
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import SLOWER
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.report import changetext, ending, report
from kmtools.report.comparison import Compared, Comparison, Pair
from kmtools.report.figures import library

KMARKERS = str(ROOT / "scripts" / "kmarkers")
LOOP = rawdata.Bench("empty-loop", {"none": 1.0, "none-clone": 1.0, "marker-jump": 1.9})
# "marker-jump" is cheaper here than none, so that the answer has a minus sign.
CALL = rawdata.Bench(
    "getppid-quiet", {"compiled-out": 140.0, "compiled-out-clone": 140.0, "jump": 130.0}
)
COUNTS = rawdata.Bench("empty-loop", {"none": 3, "none-clone": 3, "marker-jump": 4})
# Two identical rows that differ much: no verdict can be given.
POOR = rawdata.Bench("empty-loop", {"none": 1.0, "none-clone": 1.6, "marker-jump": 1.9})


def collected(root: Path, tier: str = "native", *benches: rawdata.Bench, **env: str) -> Path:
    """Return a run of one tier."""
    exact = tier == "icount"
    env.setdefault("emulated", str(int(tier != "native")))
    raw = rawdata.write_tier(root / "raw" / tier, 24, 1, benches or (LOOP, CALL), exact, **env)
    assert main(["collect", str(root / "run"), f"--raw={tier}={raw}"]) == 0
    return root / "run"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was reported."""
    found = collected(tmp_path_factory.mktemp("ending"))
    assert main(["report", str(found), "--no-figures"]) == 0
    return found


@pytest.fixture(params=["60", "80", "200"])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The width of the terminal."""
    monkeypatch.setenv("COLUMNS", request.param)
    return int(request.param)


def ended(run: Path, columns: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that a report ends with, after it did and they fit."""
    capsys.readouterr()
    assert main(["report", str(run), "--no-figures"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"tables: scripts/kmarkers table {run}" in lines and len(lines) <= ending.LINES
    assert max(len(line) for line in lines if str(run) not in line) <= columns
    return lines


def test_a_poor_run_says_so(
    tmp_path: Path, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ended(collected(tmp_path, "native", POOR), columns, capsys)
    said = " ".join(" ".join(lines).split())
    assert "native: poor numbers: " in said and "better: " in said
    # The number is shown, and no verdict claims that it is one.
    assert "A dormant marker costs" in said and "withheld" in said
    assert not {" costs ", "equivalent"} & {*said.partition("In hot code: ")[2].split(",")}
    assert "slower" not in said


def test_a_run_without_native_gives_no_answer_and_the_reason(
    tmp_path: Path, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    run = collected(tmp_path, "icount", COUNTS)
    env = json.loads((run / "env.json").read_text())
    lacking = [{"tier": "native", "failed": True, "why": "the compiler is broken"}]
    env["run"] = {"quick": False, "missing": lacking, "resume": "make bench RESUME=x"}
    (run / "env.json").write_text(json.dumps(env))
    lines = ended(run, columns, capsys)
    said = " ".join(lines)
    assert lines[0].startswith("This run has no answer: no tier of it has cycles")
    assert "costs" not in said and re.search(r"marker-jump .*\+1 .* more", said)
    assert "Not measured: native, because the compiler is broken." in said
    assert "make bench RESUME=x" in said


def test_an_interrupted_run_answers_for_what_it_has(
    tmp_path: Path,
    columns: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Interrupted after user space: the report tells of that, and names what is lacking."""
    machine = Machine(tmp_path, monkeypatch)
    monkeypatch.setattr("fakebench.LOOP", LOOP)
    machine.trouble["vm"] = KeyboardInterrupt()
    assert machine.bench() == 130
    monkeypatch.setattr(report, "report", machine.whole_report)
    (run,) = machine.runs()
    lines = ended(run, columns, capsys)
    said = " ".join(lines)
    assert lines[0].startswith("A dormant marker costs")
    assert "Not measured: vm and icount, because" in said
    assert f"make bench RESUME={run.name}" in said


def test_a_table_in_place_of_an_answer_needs_room(
    tmp_path: Path, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that has just too many lines to stand below the rest is shown by `kmarkers table`."""
    names = {f"marker-{n}": n for n in range(2, 33)}
    many = rawdata.Bench("empty-loop", {"none": 1, "none-clone": 1, **names})
    lines = ended(collected(tmp_path, "icount", many), columns, capsys)
    assert not any(line.startswith("  marker-2 ") for line in lines)


def test_a_report_without_figures_has_the_answer_and_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "fault", lambda: "apt-get install python3-matplotlib")
    run = collected(tmp_path)
    capsys.readouterr()
    assert main(["report", str(run)]) == 0
    said = capsys.readouterr()
    assert said.err == "report: the page has no figures: apt-get install python3-matplotlib\n"
    assert said.out.startswith("A dormant marker costs")
    assert said.out.splitlines()[-1] == f"page:   {run / 'report.html'}"
    assert (run / "report.html").is_file()


ENDS = {
    "report": ("RUN", "--no-figures"),
    "table": ("RUN",),
    "compare": ("RUN", "RUN", "--fail-on=changed"),
}
PLAIN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}


def shell(run: Path, name: str, after: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command with redirections behind it, and with Python's usual buffers."""
    words = [word.replace("RUN", str(run)) for word in ENDS[name]]
    # pytest itself may run unbuffered.
    clean = {key: text for key, text in os.environ.items() if key != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["bash", "-c", f'set -o pipefail; "$0" "$@" {after}', sys.executable, KMARKERS, name,
         *words],
        capture_output=True, check=False, env={**clean, **env},
    )  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize(
    ("env", "encoding"),
    [
        (PLAIN, "ascii"),
        ({"PYTHONIOENCODING": "ascii"}, "ascii"),
        ({"PYTHONIOENCODING": "latin-1"}, "latin-1"),
    ],
    ids=["LC_ALL=C", "ascii", "latin-1"],
)
def test_a_terminal_without_unicode_shows_signs_of_ascii(
    run: Path, name: str, env: dict[str, str], encoding: str
) -> None:
    done = shell(run, name, "", **env)
    assert (done.returncode, done.stderr) == (0, b"")
    said = done.stdout.decode(encoding)
    assert len(said.splitlines()) > 3 and "\\u" not in said and "?" not in said
    if name == "report":
        assert " -" in said.splitlines()[0] and "%" in said.splitlines()[0]
        assert ("6.72 +- 0.70" if encoding == "ascii" else "6.72 ± 0.70") in said


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_reader_that_leaves_is_no_failure(run: Path, name: str, reader: str) -> None:
    done = shell(run, name, f"| {reader}")
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) == (1 if reader == "head -1" else 0)


def test_a_reader_that_leaves_hides_no_failure(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = collected(tmp_path, "native", LOOP)
    words = ("RUN", str(other), "--fail-on=missing", "--all")
    monkeypatch.setitem(ENDS, "compare", words)
    assert shell(run, "compare", "").returncode == 1
    assert shell(run, "compare", "| true").returncode == 1


def test_a_program_that_is_started_goes_on_without_a_reader() -> None:
    """A build, for example, which would end with SIGPIPE."""
    program = (
        "import subprocess, sys; from kmtools.base import streams; streams.prepare();"
        "sys.stdin.readline(); print('x', flush=True); print('y', flush=True);"
        "sys.exit(subprocess.call(['sh', '-c', 'echo z && exit 7']))"
    )
    words = [sys.executable, "-c", program]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, cwd=ROOT / "scripts") as running:
        assert running.stdout is not None and running.stdin is not None
        running.stdout.close()
        running.stdin.write(b"\n")
        running.stdin.close()
        assert running.wait() == 7


@pytest.mark.parametrize("name", ENDS)
def test_what_cannot_be_written_is_named(run: Path, name: str) -> None:
    """A closed output, and a full one: a message of one line."""
    done = shell(run, name, ">&-")
    said = f"{name}: standard output is closed: > /dev/null discards what is said\n"
    assert (done.returncode, done.stderr.decode()) == (2, said)
    done = shell(run, name, "> /dev/full")
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"{name}: No space left on device")
    assert done.stderr.count(b"\n") == 1
    # Without a place for messages the exit code is the same, and no file of ours is taken for one.
    assert shell(run, name, ">&- 2>&-").returncode == 2
    assert shell(run, name, "<&- 2>&-").returncode == 0
    assert shell(run, name, "> /dev/null").returncode == 0


def test_closed_streams_are_not_given_to_files(tmp_path: Path) -> None:
    """The next file that is opened would be written by whatever prints a message."""
    program = (
        "import os; from kmtools.base import streams; streams.prepare();"
        "print(os.open(os.devnull, os.O_RDONLY))"
    )
    done = subprocess.run(
        ["bash", "-c", '"$0" -c "$1" <&- 2>&-', sys.executable, program],
        capture_output=True, text=True, check=True, cwd=ROOT / "scripts",
    )  # fmt: skip
    assert int(done.stdout) > 2


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    """Terminals of a test, which end with it."""
    found: list[Terminal] = []
    yield found
    for one in found:
        one.close()


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_a_terminal_shows_it_all(
    run: Path, name: str, term: str, terminals: list[Terminal]
) -> None:
    """A dumb one has no pager and no colours."""
    words = [word.replace("RUN", str(run)) for word in ENDS[name]]
    env = {**os.environ, "TERM": term, "PAGER": "cat"}
    env.pop("NO_COLOR", None)
    env.pop("COLUMNS", None)
    shown = Terminal([sys.executable, KMARKERS, name, *words], env, (80, 40))
    terminals.append(shown)
    assert shown.ended() == 0
    # Only the path of the run may be wider.
    lines = shown.screen.replace(str(run), "").splitlines()
    assert len(lines) > 3 and max(map(len, lines)) <= 80
    assert "\x1b" not in shown.said or term == "xterm"
    assert not shown.other and shown.cursor


def row_of(number: int, verdict: str, tier: str = "native", kernel: str = "6.1") -> Change:
    """Return a row with long names and a note."""
    long = "a-name-that-is-quite-long-for-a-terminal"
    name = Name(tier, f"{long}-{number}", f"{long}-{number}")
    row = Row(name, kernel, "TSC cycles", SHARE, "none", 1.0, 8, 1, np.ones(1), {})
    ends = Interval(number - 0.1, number + 0.1)
    note = "only in A" if verdict == MISSING else "a note of so many words that it needs a line"
    other = None if verdict == MISSING else row
    percent = float(number)
    return Change(name, "TSC cycles", row, other, SHARE, percent, ends, None, 0.1, verdict, note)


@pytest.mark.parametrize("changed", [0, 1, 30])
def test_a_comparison_fits_on_a_screen(changed: int) -> None:
    """With long names, a benchmark for each row, machines of many poor tiers, and tiers that one
    side lacks."""
    rows = [row_of(n, SLOWER) for n in range(1, changed + 1)]
    kernels = [(t, k) for t in ("native", "vm", "icount", "metal") for k in ("5.10", "6.1", "7.2")]
    gone = [row_of(0, MISSING, tier, kernel) for tier, kernel in kernels]
    env = {"machine": {"cpu": {"model_name": "a processor of many words " * 3}}}
    env["run"] = {"missing": [{"tier": "metal", "why": "it is not there"}]}  # type: ignore[dict-item]
    grades = [f"{tier}, kernel {kernel}: poor numbers: {'why ' * 20}" for tier, kernel in kernels]
    a, b = (Compared(f"results/local/{name}", env, (), grades=grades) for name in "ab")
    found = Comparison([Pair(a, b, [*rows, *gone])], 0.1, frozenset(["slower"]))
    lines = changetext.terminal(found).splitlines()
    assert len(lines) <= changetext.LINES and max(map(len, lines)) <= 80
    said = " ".join(" ".join(lines).split())
    assert "results/local/a: not measured: metal, because it is not there" in said
    assert "icount, kernel 5.10: 1 row only in A" in said and "more: --all" in said
    if changed:
        # The one that changed most, with both costs and its interval.
        assert f"terminal-{changed} 1.000 1.000 +{changed}.00 % [" in said
        assert lines[-1] == f"{changed} rows fail (slower)"
    whole = changetext.terminal(found, True)
    assert "--all" not in whole and whole.count("poor numbers") == 2 * len(grades)


def test_nothing_is_cut_that_fits() -> None:
    texts = ["a", "b", "c"]
    assert changetext.fitted(texts, 3) == texts
    assert changetext.fitted(texts, 2) == ["a", "and 2 more: --all"]
    assert changetext.fitted(["word " * 40], 1) != []
