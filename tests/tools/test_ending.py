# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the summary that `bench`, `report` and `compare` print at the end, and of their exit
codes: with incomplete runs, closed or full outputs, and different terminals."""

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
from kmtools.analyse.rows import SHARE, Row, RowName
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import SLOWER
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.report import changetext, ending, report
from kmtools.report.comparison import ComparedRun, Comparison, RunPair
from kmtools.report.figures import library

KMARKERS = str(ROOT / "scripts" / "kmarkers")
LOOP = rawdata.Bench("empty-loop", {"none": 1.0, "none-clone": 1.0, "marker-jump": 1.9})
# The variant "jump" is cheaper than its baseline, so that the reported cost has a minus sign.
CALL = rawdata.Bench(
    "getppid-quiet", {"compiled-out": 140.0, "compiled-out-clone": 140.0, "jump": 130.0}
)
COUNTS = rawdata.Bench("empty-loop", {"none": 3, "none-clone": 3, "marker-jump": 4})
# The baseline and its clone differ much, so that no verdict can be given.
POOR = rawdata.Bench("empty-loop", {"none": 1.0, "none-clone": 1.6, "marker-jump": 1.9})


def make_run_of_tier(root: Path, tier: str = "native", *benches: rawdata.Bench, **env: str) -> Path:
    """Make a run of one tier (measurement environment); return its directory."""
    exact = tier == "icount"
    env.setdefault("emulated", str(int(tier != "native")))
    raw = rawdata.write_raw_folder(
        root / "raw" / tier, 24, 1, benches or (LOOP, CALL), exact, **env
    )
    assert main(["collect", str(root / "run"), f"--raw={tier}={raw}"]) == 0
    return root / "run"


@pytest.fixture(scope="module")
def reported_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run and its report."""
    found = make_run_of_tier(tmp_path_factory.mktemp("ending"))
    assert main(["report", str(found), "--no-figures"]) == 0
    return found


@pytest.fixture(params=["60", "80", "200"])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Set and return the width of the terminal in columns."""
    monkeypatch.setenv("COLUMNS", request.param)
    return int(request.param)


def run_report_and_get_summary(
    run: Path, columns: int, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """Run `kmarkers report`, check that the lines of the summary fit, and return these lines."""
    capsys.readouterr()
    assert main(["report", str(run), "--no-figures"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"tables: scripts/kmarkers table {run}" in lines and len(lines) <= ending.LINES
    assert max(len(line) for line in lines if str(run) not in line) <= columns
    return lines


def test_run_with_a_poor_grade_has_no_verdicts(
    tmp_path: Path, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run_report_and_get_summary(make_run_of_tier(tmp_path, "native", POOR), columns, capsys)
    said = " ".join(" ".join(lines).split())
    assert "native: poor numbers: " in said and "for better numbers: " in said
    # The cost is printed, but without a verdict.
    assert "A dormant marker costs" in said and "withheld" in said
    assert not {" costs ", "equivalent"} & {*said.partition("In hot code: ")[2].split(",")}
    assert "slower" not in said


def test_run_without_native_tier_has_a_reason_in_place_of_costs(
    tmp_path: Path, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run_of_tier(tmp_path, "icount", COUNTS)
    env = json.loads((run / "env.json").read_text())
    lacking = [{"tier": "native", "failed": True, "why": "the compiler is broken"}]
    env["run"] = {"quick": False, "missing": lacking, "resume": "make bench RESUME=x"}
    (run / "env.json").write_text(json.dumps(env))
    lines = run_report_and_get_summary(run, columns, capsys)
    said = " ".join(lines)
    assert lines[0].startswith("This run has no cost of a dormant marker: it has no")
    assert "costs" not in said and re.search(r"marker-jump .*\+1 .* more", said)
    assert "Not measured: native, because the compiler is broken." in said
    assert "make bench RESUME=x" in said


def test_interrupted_run_reports_measured_and_missing_tiers(
    tmp_path: Path,
    columns: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run is interrupted after the native tier; the summary names the missing tiers."""
    machine = Machine(tmp_path, monkeypatch)
    monkeypatch.setattr("fakebench.LOOP", LOOP)
    machine.trouble["vm"] = KeyboardInterrupt()
    assert machine.run_bench() == 130
    monkeypatch.setattr(report, "report_run", machine.real_report)
    (run,) = machine.list_runs()
    lines = run_report_and_get_summary(run, columns, capsys)
    said = " ".join(lines)
    assert lines[0].startswith("A dormant marker costs")
    assert "Not measured: vm and icount, because" in said
    assert f"make bench RESUME={run.name}" in said


def test_table_is_replaced_by_a_hint_if_it_does_not_fit(
    tmp_path: Path, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table that does not fit on the screen is replaced by a hint to run `kmarkers table`."""
    names = {f"marker-{n}": n for n in range(2, 33)}
    many = rawdata.Bench("empty-loop", {"none": 1, "none-clone": 1, **names})
    lines = run_report_and_get_summary(make_run_of_tier(tmp_path, "icount", many), columns, capsys)
    assert not any(line.startswith("  marker-2 ") for line in lines)


def test_report_without_matplotlib_has_costs_and_package_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        library, "find_matplotlib_fault", lambda: "apt-get install python3-matplotlib"
    )
    run = make_run_of_tier(tmp_path)
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


def run_kmarkers_in_shell(
    run: Path, name: str, after: str, **env: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the kmarkers command `name` in a shell; `after` is appended to the command, for example a
    redirection. The output of the command is buffered."""
    words = [word.replace("RUN", str(run)) for word in ENDS[name]]
    # PYTHONUNBUFFERED, which may be set for pytest, would disable buffering.
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
def test_ascii_output_if_the_encoding_is_not_utf_8(
    reported_run: Path, name: str, env: dict[str, str], encoding: str
) -> None:
    done = run_kmarkers_in_shell(reported_run, name, "", **env)
    assert (done.returncode, done.stderr) == (0, b"")
    said = done.stdout.decode(encoding)
    assert len(said.splitlines()) > 3 and "\\u" not in said and "?" not in said
    if name == "report":
        assert " -" in said.splitlines()[0] and "%" in said.splitlines()[0]
        assert ("6.72 +- 0.70" if encoding == "ascii" else "6.72 ± 0.70") in said


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_closed_pipe_is_no_failure(reported_run: Path, name: str, reader: str) -> None:
    done = run_kmarkers_in_shell(reported_run, name, f"| {reader}")
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) == (1 if reader == "head -1" else 0)


def test_closed_pipe_keeps_the_exit_code_of_a_failure(
    reported_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_run_of_tier(tmp_path, "native", LOOP)
    words = ("RUN", str(other), "--fail-on=missing", "--all")
    monkeypatch.setitem(ENDS, "compare", words)
    assert run_kmarkers_in_shell(reported_run, "compare", "").returncode == 1
    assert run_kmarkers_in_shell(reported_run, "compare", "| true").returncode == 1


def test_child_process_survives_a_closed_pipe() -> None:
    """A child process, such as a build, must not be killed by SIGPIPE."""
    program = (
        "import subprocess, sys; from kmtools.base import streams;"
        "streams.prepare_standard_streams();"
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
def test_write_error_on_stdout_is_reported(reported_run: Path, name: str) -> None:
    """A closed or full standard output gives an error message of one line."""
    done = run_kmarkers_in_shell(reported_run, name, ">&-")
    said = f"{name}: standard output is closed; to discard the output, redirect it to /dev/null\n"
    assert (done.returncode, done.stderr.decode()) == (2, said)
    done = run_kmarkers_in_shell(reported_run, name, "> /dev/full")
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"{name}: No space left on device")
    assert done.stderr.count(b"\n") == 1
    # If stdout and stderr are closed, the exit code is 2.
    assert run_kmarkers_in_shell(reported_run, name, ">&- 2>&-").returncode == 2
    assert run_kmarkers_in_shell(reported_run, name, "<&- 2>&-").returncode == 0
    assert run_kmarkers_in_shell(reported_run, name, "> /dev/null").returncode == 0


# A program that prints a line and ends with the error %s, as a command does.
FAILING = """
import sys
from kmtools import cli
from kmtools.base.errors import FailedError
def print_line_and_raise(*_):
    print("output")
    raise %s
cli.run_command = print_line_and_raise
sys.argv[1:] = ["table", "x"]
sys.exit(cli.main())
"""


@pytest.mark.parametrize(
    ("error", "exit_code"), [("FailedError('it broke')", 1), ("ModuleNotFoundError(name='x')", 2)]
)
@pytest.mark.parametrize(
    ("redirection", "lines"), [(">log 2>&1", ["output"]), (">/dev/full 2>log", [])]
)
def test_error_is_the_last_line_of_a_log(
    tmp_path: Path, error: str, exit_code: int, redirection: str, lines: list[str]
) -> None:
    """If stdout and stderr are redirected to the same file, the error follows the output, although
    the output is buffered. A full standard output changes neither the error nor the exit code."""
    (tmp_path / "program").write_text(FAILING % error)
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} program {redirection}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")},
        check=False,
    )
    assert done.returncode == exit_code
    *before, last = (tmp_path / "log").read_text().splitlines()
    assert before == lines and last.startswith("table: ")


def test_closed_stderr_descriptor_is_not_reused_by_files(tmp_path: Path) -> None:
    """If a command is started with file descriptor 2 closed, no file that it opens gets this
    descriptor; else error messages would be written to that file."""
    program = (
        "import os; from kmtools.base import streams; streams.prepare_standard_streams();"
        "print(os.open(os.devnull, os.O_RDONLY))"
    )
    done = subprocess.run(
        ["bash", "-c", '"$0" -c "$1" <&- 2>&-', sys.executable, program],
        capture_output=True, text=True, check=True, cwd=ROOT / "scripts",
    )  # fmt: skip
    assert int(done.stdout) > 2


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    """Return a list for the terminals of a test, which are closed at the end of the test."""
    found: list[Terminal] = []
    yield found
    for one in found:
        one.close()


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_whole_output_is_shown_on_a_terminal(
    reported_run: Path, name: str, term: str, terminals: list[Terminal]
) -> None:
    """On a terminal of 80 columns, all lines of the output fit, and the ordinary screen shows them.
    TERM=dumb disables the pager and colours."""
    words = [word.replace("RUN", str(reported_run)) for word in ENDS[name]]
    env = {**os.environ, "TERM": term, "PAGER": "cat"}
    env.pop("NO_COLOR", None)
    env.pop("COLUMNS", None)
    shown = Terminal([sys.executable, KMARKERS, name, *words], env, (80, 40))
    terminals.append(shown)
    assert shown.wait_for_exit() == 0
    # Only lines with the path of the run may be longer than the width of the terminal.
    lines = shown.screen.replace(str(reported_run), "").splitlines()
    assert len(lines) > 3 and max(map(len, lines)) <= 80
    assert "\x1b" not in shown.said or term == "xterm"
    assert not shown.other and shown.cursor


def make_change_with_long_names(
    percent: int, verdict: str, tier: str = "native", kernel: str = "6.1"
) -> Change:
    """Return the change of a row between two runs: `percent` is the change of its cost. The row has
    long names and a note."""
    long = "a-name-that-is-quite-long-for-a-terminal"
    name = RowName(tier, f"{long}-{percent}", f"{long}-{percent}")
    row = Row(name, kernel, "TSC cycles", SHARE, "none", 1.0, 8, 1, np.ones(1), {})
    ends = Interval(percent - 0.1, percent + 0.1)
    note = "only in A" if verdict == MISSING else "a note of so many words that it needs a line"
    other = None if verdict == MISSING else row
    return Change(
        name, "TSC cycles", row, other, SHARE, float(percent), ends, None, 0.1, verdict, note
    )


@pytest.mark.parametrize("changed", [0, 1, 30])
def test_a_comparison_fits_on_a_screen(changed: int) -> None:
    """A comparison fits although its names are long, each row is of another benchmark, many
    tiers have a poor grade, and tiers are missing."""
    rows = [make_change_with_long_names(n, SLOWER) for n in range(1, changed + 1)]
    kernels = [(t, k) for t in ("native", "vm", "icount", "metal") for k in ("5.10", "6.1", "7.2")]
    gone = [make_change_with_long_names(0, MISSING, tier, kernel) for tier, kernel in kernels]
    env = {"machine": {"cpu": {"model_name": "a processor of many words " * 3}}}
    env["run"] = {"missing": [{"tier": "metal", "why": "it is not there"}]}  # type: ignore[dict-item]
    grades = [f"{tier}, kernel {kernel}: poor numbers: {'why ' * 20}" for tier, kernel in kernels]
    a, b = (ComparedRun(f"results/local/{name}", env, (), grades=grades) for name in "ab")
    found = Comparison([RunPair(a, b, [*rows, *gone])], 0.1, frozenset(["slower"]))
    lines = changetext.render_comparison_for_terminal(found).splitlines()
    assert len(lines) <= changetext.LINES and max(map(len, lines)) <= 80
    said = " ".join(" ".join(lines).split())
    assert "results/local/a: not measured: metal, because it is not there" in said
    assert "icount, kernel 5.10: 1 row only in A" in said and "more; --all shows" in said
    if changed:
        # The row with the largest change is printed with both costs and its interval.
        assert f"terminal-{changed} 1.000 1.000 +{changed}.00 % [" in said
        assert lines[-1] == f"{changed} rows fail (slower)"
    whole = changetext.render_comparison_for_terminal(found, True)
    assert "--all" not in whole and whole.count("poor numbers") == 2 * len(grades)


def test_texts_of_a_comparison_that_fit_are_not_truncated() -> None:
    texts = ["a", "b", "c"]
    assert changetext.wrap_texts_to_line_limit(texts, 3) == texts
    assert changetext.wrap_texts_to_line_limit(texts, 2) == ["a", "and 2 more; --all shows them"]
    assert changetext.wrap_texts_to_line_limit(["word " * 40], 1) != []
