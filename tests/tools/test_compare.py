# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers compare`: it finds changes of 1 %, and reports none between equal runs."""

from __future__ import annotations

import json
import math
import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import rawdata
from kmtools.analyse import changes, verdicts
from kmtools.analyse.changes import MISSING, Change
from kmtools.analyse.rows import EXACT, SEVERAL_KERNELS, SHARE, WHOLE, Row, RowName, make_run_rows
from kmtools.analyse.stats import UNBOUNDED, Interval
from kmtools.analyse.verdicts import FASTER, FEWER, IDENTICAL, MORE, SLOWER, UNRESOLVED
from kmtools.analyse.words import NOT_JUDGED
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.measure import collect
from kmtools.measure.rundir import RunError
from kmtools.report import changefiles, changepage, changetext, comparison
from kmtools.report.comparison import ComparedRun, Comparison, RunPair

REFERENCE = ROOT / "results" / "reference"
PROCESSES, BLOCKS = 8, 32
# The reference run's processes are divided into this number of groups of equal size.
GROUPS = 8
# The maximum relative standard deviation between processes of a steady row (variant). In a steady
# row, a change of 1 % must be found.
STEADY = 0.002
BENCHES = [bench for bench in rawdata.BENCHES if bench.name == "memcpy-4096"]
INJECTED = ("memcpy-4096", "marker-immediate")
ALARMS = (SLOWER, FASTER, MORE, FEWER)


def make_slower_benches(factor: float) -> list[rawdata.Bench]:
    """Return BENCHES, with the costs of the variant INJECTED multiplied by `factor`."""
    return [
        replace(bench, costs={**bench.costs, INJECTED[1]: bench.costs[INJECTED[1]] * factor})
        if bench.name == INJECTED[0]
        else bench
        for bench in BENCHES
    ]


def write_raw_run(path: Path, seed: int, benches: Sequence[rawdata.Bench] = BENCHES) -> Path:
    """Write the raw samples of a run of several processes; `seed` is the number of the run. Each
    process gets its own seed, which depends on `seed`. Return `path`."""
    for number in range(PROCESSES):
        part = path / f"process-{number + 1}"
        rawdata.write_raw_folder(part, BLOCKS, seed * PROCESSES + number, benches, emulated="0")
    return path


def make_seeded_run(tmp_path: Path, name: str, seed: int, factor: float = 1.0) -> Path:
    """Make a run in which the costs of one variant are multiplied by `factor`; return its
    directory."""
    folder = write_raw_run(tmp_path / f"{name}-raw", seed, make_slower_benches(factor))
    assert main(["collect", str(tmp_path / name), f"--raw=native={folder}"]) == 0
    return tmp_path / name


def simulate_rows_of_run(tmp_path: Path, seed: int, factor: float = 1.0) -> list[Row]:
    """Return the rows of a simulated run, in which the costs of one variant are multiplied by
    `factor`. No samples.csv is written."""
    loaded = collect.load_raw_folder(
        "native", write_raw_run(tmp_path / f"{seed}-{factor}", seed, make_slower_benches(factor))
    )
    return make_run_rows(
        loaded.rows, [loaded.tier], verdicts.compute_results(loaded.rows, [loaded.tier])
    )


@cache
def load_reference_rows() -> tuple[Row, ...]:
    """Return the rows of the reference run that were measured on a real CPU."""
    return tuple(
        row for row in comparison.load_compared_run(REFERENCE).rows if row.name.tier == "native"
    )


def read_rows_with_process_groups() -> list[Row]:
    """Return the rows of the reference run that at least GROUPS processes measured: only these rows
    can be divided into GROUPS groups of processes."""
    rows = [row for row in load_reference_rows() if row.processes >= GROUPS]
    assert len(rows) > 50, (
        f"the reference run has only {len(rows)} rows that {GROUPS} or more processes measured"
    )
    return rows


def split_reference_run_in_halves() -> list[tuple[list[Row], list[Row]]]:
    """Return one pair of runs for each way to divide the reference run's process groups into two
    halves; each run has one half."""
    rows, found = read_rows_with_process_groups(), []
    for first in combinations(range(GROUPS), GROUPS // 2):
        if first[0] == 0:
            others = [n for n in range(GROUPS) if n not in first]
            found.append((select_process_groups(rows, first), select_process_groups(rows, others)))
    return found


def select_process_groups(rows: Sequence[Row], group_numbers: Sequence[int]) -> list[Row]:
    """Return `rows` with only the processes of the groups with these numbers; a group has
    consecutive processes."""
    return [
        replace(row, values=row.values[np.isin(assign_processes_to_groups(row), group_numbers)])
        for row in rows
    ]


def assign_processes_to_groups(row: Row) -> np.ndarray:
    """Divide the processes that measured a row (a variant) into GROUPS groups; return for each
    process the number of its group."""
    return np.arange(len(row.values)) * GROUPS // len(row.values)


def find_row_by_steadiness(steadiness_rank: int) -> RowName:
    """Return the name of the row (variant) with this rank, if rows are sorted by the spread between
    processes; rank 0 has the smallest spread."""
    shares = [
        row for row in read_rows_with_process_groups() if row.kind == SHARE and not row.is_clone
    ]
    spread, name = sorted(
        (float(np.std(row.values, ddof=1) / np.mean(row.values)), row.name) for row in shares
    )[steadiness_rank]
    assert spread <= STEADY, f"{name}: the spread between processes, {spread:.3g}, exceeds {STEADY}"
    return name


def select_alarming_changes(compared: Sequence[Change]) -> list[Change]:
    """Return the changes among `compared` whose verdict is slower, faster, more or fewer."""
    return [change for change in compared if change.verdict in ALARMS]


def test_halves_of_the_reference_run_raise_few_alarms() -> None:
    """Of all pairs of halves of the reference run, at most one in twenty may raise an alarm."""
    pairs = split_reference_run_in_halves()
    assert len(pairs) == 35 and all(len(a) > 50 for a, _ in pairs)
    loud = [pair for pair in pairs if select_alarming_changes(changes.compare_rows(*pair))]
    assert len(loud) <= len(pairs) / 20
    # Without a margin, and with a 95 % interval for each row on its own, too many pairs would raise
    # an alarm.
    rash = 0
    for a, b in pairs:
        both = [(x, y) for x, y in zip(a, b, strict=True) if x.kind == SHARE]
        rash += any(
            not found.lo <= 0 <= found.hi
            for found in (changes.compute_relative_change(x, y, 0.05)[1] for x, y in both)
        )
    assert rash > len(pairs) / 20


@pytest.mark.parametrize("rank", [0, 1])
def test_change_of_1_percent_is_detected_in_real_data(rank: int) -> None:
    """A steady row costs 1 % more in one half of the reference run. The row is slower in at least
    30 of 35 pairs of halves, and no other row raises an alarm."""
    name = find_row_by_steadiness(rank)
    found = 0
    for a, b in split_reference_run_in_halves():
        more = [replace(row, values=row.values * (1.01 if row.name == name else 1)) for row in b]
        loud = select_alarming_changes(changes.compare_rows(a, more))
        assert {change.name for change in loud} <= {name}
        found += any(change.name == name and change.verdict == SLOWER for change in loud)
    assert found >= 30


def test_at_most_one_of_twenty_simulated_pairs_raises_an_alarm(tmp_path: Path) -> None:
    loud = 0
    for pair in range(20):
        a, b = (simulate_rows_of_run(tmp_path, 100 + 2 * pair + side) for side in (0, 1))
        loud += bool(select_alarming_changes(changes.compare_rows(a, b, margin=0.0)))
    assert loud <= 1


@pytest.mark.parametrize(("factor", "verdict"), [(1.01, SLOWER), (0.99, FASTER)])
def test_change_of_1_percent_is_detected_in_simulated_runs(
    tmp_path: Path, factor: float, verdict: str
) -> None:
    for pair in range(5):
        a, b = (
            simulate_rows_of_run(tmp_path, 2 * pair),
            simulate_rows_of_run(tmp_path, 2 * pair + 1, factor),
        )
        assert [
            (c.name.benchmark, c.name.variant, c.verdict)
            for c in select_alarming_changes(changes.compare_rows(a, b))
        ] == [(*INJECTED, verdict)]


def test_compare_exits_with_1_if_a_row_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, same = (
        make_seeded_run(tmp_path, "a", 1),
        make_seeded_run(tmp_path, "b", 2, 1.01),
        make_seeded_run(tmp_path, "c", 3),
    )
    capsys.readouterr()
    runs = [str(a), str(b)]
    assert main(["compare", *runs]) == 0
    out = capsys.readouterr().out
    line = next(line for line in out.splitlines() if "marker-immediate" in line)
    assert line.startswith("  marker-immediate  ") and line.endswith("slower")
    assert "\nnative memcpy-4096, TSC cycles\n" in out
    assert main(["compare", *runs, "--fail-on", "costlier"]) == 1
    assert main(["compare", *runs, "--fail-on", "faster,missing"]) == 0
    assert main(["compare", *runs, "--fail-on", "changed", "--margin", "2 %"]) == 0
    assert main(["compare", str(a), str(same), "--fail-on", "changed"]) == 0
    assert main(["compare", str(a), str(same), str(b), "--fail-on", "slower"]) == 1
    assert capsys.readouterr().out.rstrip().endswith("1 rows fail (slower)")


@pytest.mark.parametrize("arguments", [["--fail-on", "slow"], ["--margin", "x"], ["--margin=-1"]])
def test_compare_refuses_invalid_option_values(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compare", "a", "b", *arguments])
    assert ended.value.code == 2
    assert arguments[0].partition("=")[0] in capsys.readouterr().err


def test_all_formats_of_a_comparison_have_the_same_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = make_seeded_run(tmp_path, "a", 1), make_seeded_run(tmp_path, "b", 2, 1.01)
    files = {name: tmp_path / f"out.{name}" for name in ("json", "junit", "html", "markdown")}
    words = [f"--{name}={path}" for name, path in files.items()]
    assert main(["compare", str(a), str(b), "--fail-on=slower", *words]) == 1
    whole = json.loads(files["json"].read_text())
    assert (whole["schema"], whole["failing"], whole["failed"]) == (1, ["slower"], 1)
    rows = whole["pairs"][0]["rows"]
    row = next(row for row in rows if row["fails"])
    assert (row["benchmark"], row["variant"]) == INJECTED
    assert row["percent_lo"] < 1 < row["percent_hi"] and row["percent_lo"] > row["margin"] == 0.1
    assert row["a"]["processes"] == row["b"]["clusters"] == PROCESSES
    suite = ElementTree.parse(files["junit"]).getroot()[0]
    failed = [case for case in suite if case.find("failure") is not None]
    assert [(case.get("classname"), case.get("name")) for case in failed] == [
        (f"native.{INJECTED[0]}", INJECTED[1])
    ]
    assert (suite.get("tests"), suite.get("failures")) == (str(len(rows)), "1")
    assert f"| native | {INJECTED[0]} | {INJECTED[1]} |" in files["markdown"].read_text()
    page = files["html"].read_text()
    HTMLParser().feed(page)
    assert '<span class="slower">slower' in page and "://" not in page
    # Changed rows are visible without opening <details>, in defined colours.
    assert page.index(f'<th scope="row">{INJECTED[1]}') < page.index("<details>")
    assert "--slower:" in page and page.count("<tr>") > len(rows) + 2
    with pytest.raises(SystemExit):
        main(["compare", str(a), str(b), "--format=text"])
    assert main(["compare", str(a), str(b), f"--json={tmp_path}/none/x"]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_lines_of_a_comparison_have_at_most_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """The reference run is compared with itself. All rows fit, with names of 60 characters, costs
    of nine digits, and notes."""
    assert main(["compare", str(REFERENCE), str(REFERENCE), "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 300 and max(map(len, lines)) <= 80


def make_row_change(variant: str, percent: float, verdict: str) -> Change:
    name = RowName("native", "b", variant)
    ends = Interval(percent - 0.1, percent + 0.1)
    row = Row(name, "6.1", "TSC cycles", SHARE, "none", 1.0, 8, 1, np.ones(1), {})
    return Change(name, "TSC cycles", row, row, row.kind, percent, ends, None, 0.1, verdict, "")


def test_terminal_shows_largest_changes_and_counts_missing_rows() -> None:
    """Of 30 changed and 99 missing rows, the eight largest changes and the number of missing rows
    are shown. The other changed rows are only counted; --all shows them."""
    changed = [make_row_change(f"v{n:02}", float(n), SLOWER) for n in range(1, 31)]
    gone = [
        replace(make_row_change(f"w{n}", 0.0, MISSING), b=None, note="only in A") for n in range(99)
    ]
    a, b = (ComparedRun(name, {}, ()) for name in "ab")
    found = Comparison([RunPair(a, b, [*changed, *gone])], 0.1, frozenset())
    lines = changetext.render_comparison_for_terminal(found).splitlines()
    assert len(lines) <= 40
    assert "native, kernel 6.1: 99 rows only in A" in lines
    assert "and 22 more rows that changed less; --all shows them" in lines
    shown = [line.split()[0] for line in lines if line.startswith("  v")]
    assert shown == [f"v{n}" for n in range(23, 31)]
    assert (
        len(
            [
                x
                for x in changetext.render_comparison_for_terminal(found, True).splitlines()
                if "v0" in x
            ]
        )
        == 9
    )


LONG_TEXT = " ".join(["words"] * 16)


@pytest.mark.parametrize(
    ("texts", "most_lines", "lines"),
    [
        *(([], 3, []), (["a"], 0, ["a"]), (["a", "b"], 2, ["a", "b"])),
        (["a", "b"], 1, ["a", "and 1 more; --all shows them"]),
        (["a", "b", "c"], 3, ["a", "b", "c"]),
        (["a", "b", "c"], 2, ["a", "and 2 more; --all shows them"]),
        (["a", "b", "c", "d", "e"], 4, ["a", "b", "c", "and 2 more; --all shows them"]),
        (["a", LONG_TEXT], 3, ["a", LONG_TEXT[:77], "words words words"]),
        (["a", LONG_TEXT], 2, ["a", "and 1 more; --all shows them"]),
        (
            [LONG_TEXT, "b"],
            1,
            [LONG_TEXT[:77], "words words words", "and 1 more; --all shows them"],
        ),
    ],
)
def test_omitted_texts_of_a_comparison_are_counted(
    texts: list[str], most_lines: int, lines: list[str]
) -> None:
    """The first text is always printed. The last of the allowed lines is for the number of omitted
    texts, or for the last text. LONG_TEXT has 95 characters; 13 words fit in a line of 80."""
    made = changetext.wrap_texts_to_line_limit(texts, most_lines)
    assert [line.strip() for line in made] == lines


@pytest.mark.parametrize(
    ("kinds", "timed", "counted"),
    [
        *(((SHARE,), True, False), ((WHOLE,), True, False), ((EXACT,), False, True)),
        *(((SHARE, EXACT), True, True), ((), False, False)),
    ],
)
def test_hints_of_a_comparison_depend_on_the_kinds_of_rows(
    kinds: Sequence[str], timed: bool, counted: bool
) -> None:
    """For rows that are times, a hint names the smallest detectable change: the margin, 0.1 %, plus
    twice the half width of the interval, 0.1 %. For rows that count instructions, a hint says how
    counts are compared."""
    rows = [replace(make_row_change("v", 1.0, SLOWER), kind=kind) for kind in kinds]
    pair = RunPair(ComparedRun("a", {}, ()), ComparedRun("b", {}, ()), rows)
    hints = changetext.list_hints_for_reader(Comparison([pair], 0.1, frozenset()), pair)
    assert hints == [
        "margin 0.1 %, the same for all rows",
        *["a change of 0.3 % would be detected in half of the rows"] * timed,
        *["instructions are compared as numbers, without a margin"] * counted,
    ]


@pytest.mark.parametrize(
    ("version", "commit", "expected"),
    [
        ("1.2", "0123456789abcdef", ""),
        ("1.3", "0123456789abcdef", "version 1.3, commit 0123456789ab"),
        ("1.2", "fedcba9876543210", "version 1.2, commit fedcba987654"),
        (None, None, "version ?, commit ?"),
    ],
)
def test_different_versions_of_compared_runs_are_printed(
    version: str | None, commit: str | None, expected: str
) -> None:
    sources = [("1.2", "0123456789abcdef"), (version, commit)]
    a, b = (ComparedRun("x", {"source": {"version": v, "commit": c}}, ()) for v, c in sources)
    pair = RunPair(a, b, [])
    hints = changetext.list_hints_for_reader(Comparison([pair], 0.1, frozenset()), pair)
    made = f"A was made by version 1.2, commit 0123456789ab, B by {expected}"
    assert [line for line in hints if "made by" in line] == [made] * bool(expected)


def test_detectable_change_is_the_median_of_judged_timed_rows() -> None:
    """The change that would be detected in half of the rows is the median of the margin plus the
    width of the interval. The intervals have half widths of 1, 2 and 5 %, and the margin is 0.1 %,
    so the median is 0.1 % + 2 * 2 %. Counts of instructions, rows without a verdict and unbounded
    intervals are left out."""
    told = "would be detected in half of the rows"

    def list_hints_of_changes(*rows: Change) -> list[str]:
        a, b = (ComparedRun(name, {}, ()) for name in "ab")
        pair = RunPair(a, b, rows)
        return changetext.list_hints_for_reader(Comparison([pair], 0.1, frozenset()), pair)

    def make_interval_change(half_width: float, **more: object) -> Change:
        change = replace(
            make_row_change("v", 0.0, UNRESOLVED), interval=Interval(-half_width, half_width)
        )
        return replace(change, **more)  # type: ignore[arg-type]

    left_out = [
        make_interval_change(50.0, kind=EXACT, margin=0.0, verdict=MORE),
        make_interval_change(60.0, verdict=NOT_JUDGED),
        make_interval_change(math.inf),
    ]
    timed = [make_interval_change(half) for half in (1.0, 5.0, 2.0)]
    assert f"a change of 4.1 % {told}" in list_hints_of_changes(*timed, *left_out)
    assert f"a change of 10 % {told}" in list_hints_of_changes(timed[1], *left_out)
    assert all(told not in line for line in list_hints_of_changes(*left_out))


def test_row_with_large_numbers_fits_without_truncation() -> None:
    """A row fits although it has a cost of eleven digits, a wide interval and a note longer than a
    line."""
    row = replace(
        find_relative_cost_row(), cost=43894027850.0, processes=1, layouts={0: 1.0, 1: 1.0}
    )
    (change,) = changes.compare_rows(
        make_run_of_one_row(row), make_run_of_one_row(row, layouts={0: 1.0, 1: 1.9})
    )
    assert change.interval.half_width > 500
    shown = changetext.make_change_cells(
        replace(change, note=" ".join(["a note of many words"] * 5))
    )
    lines = changetext.format_rows_by_benchmark([shown])
    assert max(map(len, lines)) <= changetext.WIDTH and len(lines) > 5
    said = " ".join(" ".join(lines).split())
    assert all(" ".join(cell.split()) in said for cell in shown)


def test_names_of_a_run_are_escaped_in_html(tmp_path: Path) -> None:
    a = make_seeded_run(tmp_path, "a", 1)
    samples = a / "samples.csv"
    samples.write_text(samples.read_text().replace("marker-generic", "<b>x|y</b>"))
    page, text = tmp_path / "x.html", tmp_path / "x.md"
    words = [f"--html={page}", f"--markdown={text}", "--all"]
    assert main(["compare", str(a), str(a), *words]) == 0
    assert "<b>" not in page.read_text() and "&lt;b&gt;x|y" in page.read_text()
    assert "x\\|y" in text.read_text()


def make_samples_csv_line_edit(line: int, change: Callable[[str], str]) -> Callable[[Path], None]:
    """Return a function that changes a line of samples.csv; lines count from 1."""

    def edit_samples(run: Path) -> None:
        lines = (run / "samples.csv").read_text().splitlines(keepends=True)
        lines[line - 1] = change(lines[line - 1])
        (run / "samples.csv").write_text("".join(lines))

    return edit_samples


def truncate_samples_csv(run: Path) -> None:
    """Cut samples.csv in the middle of its last line."""
    text = (run / "samples.csv").read_text()
    (run / "samples.csv").write_text(text[:-5])


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut": (truncate_samples_csv, "last line is incomplete (truncated?)"),
    "tier": (
        make_samples_csv_line_edit(9, lambda s: s.replace("native", "vm", 1)),
        ":9: env.json has no tier 'vm'",
    ),
    "unit": (
        make_samples_csv_line_edit(9, lambda s: s.replace("TSC cycles", "ns")),
        ":9: unit of 'loop' is 'ns', not 'TSC",
    ),
    "value": (
        make_samples_csv_line_edit(7, lambda s: s.replace("TSC", "x,TSC")),
        ":7: row has 17 fields, not 16",
    ),
    "empty": (
        make_samples_csv_line_edit(5, lambda s: ""),
        "samples of tier native, but env.json has",
    ),
    "number": (
        make_samples_csv_line_edit(5, lambda s: s.replace(",loop,", ",loop,9")),
        ":5: layout is above 31",
    ),
    "bytes": (make_samples_csv_line_edit(3, lambda s: s.replace("native", "n\0", 1)), ":3: "),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_compare_names_the_invalid_part_of_a_run(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, said = HOSTILE[name]
    run = make_seeded_run(tmp_path, "a", 1)
    spoil(run)
    assert main(["compare", str(run), str(run)]) == 1
    error = capsys.readouterr().err
    assert f"{run / 'samples.csv'}" in error and said in error


def test_truncated_compressed_file_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("env.json", "samples.csv.gz"):
        shutil.copy(REFERENCE / name, tmp_path / name)
    packed = (tmp_path / "samples.csv.gz").read_bytes()
    (tmp_path / "samples.csv.gz").write_bytes(packed[: len(packed) // 50])
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 1
    assert "samples.csv.gz:" in capsys.readouterr().err


def test_compare_refuses_a_run_without_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 1
    assert "no such file; `kmarkers collect` writes this file" in capsys.readouterr().err


def make_run_of_one_row(row: Row, **changed: object) -> list[Row]:
    """Return a run with the single row `row`, in which the fields `changed` are replaced."""
    return [replace(row, **changed)]  # type: ignore[arg-type]


def find_relative_cost_row() -> Row:
    """Return the first row of the reference run that has relative costs (the kind SHARE) and is
    not the row of a clone."""
    return next(row for row in load_reference_rows() if row.kind == SHARE and not row.is_clone)


def test_rows_with_different_units_or_tiers_are_not_compared() -> None:
    row = find_relative_cost_row()
    (found,) = changes.compare_rows(
        make_run_of_one_row(row), make_run_of_one_row(row, unit="ticks (emulated)")
    )
    assert (found.verdict, found.percent) == ("not comparable", None)
    other = make_run_of_one_row(row, name=replace(row.name, tier="metal"))
    assert [c.verdict for c in changes.compare_rows(make_run_of_one_row(row), other)] == [
        "missing",
        "new",
    ]


def test_compared_rows_are_matched_by_kernel() -> None:
    row = find_relative_cost_row()
    both = [replace(row, kernel="6.1"), replace(row, kernel="6.12")]
    found = changes.compare_rows(both, list(reversed(both)))
    assert [(c.a.kernel, c.b.kernel) for c in found if c.a and c.b] == [("6.1",) * 2, ("6.12",) * 2]
    found = changes.compare_rows(both, make_run_of_one_row(row, kernel="5.10"))
    assert sorted(c.verdict for c in found) == ["missing", "missing", "new"]
    (found_one,) = changes.compare_rows(
        make_run_of_one_row(row, kernel="6.1"), make_run_of_one_row(row, kernel="5.10")
    )
    assert found_one.percent == 0


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [((7, 7), (7, 7), IDENTICAL), ((7, 7), (8, 8), MORE), ((7, 7), (6, 6), FEWER),
     ((7, 8), (7, 8), "unresolved"), ((7, 8), (9, 9), MORE)],
)  # fmt: skip
def test_instruction_counts_are_compared_exactly(
    before: tuple[int, int], after: tuple[int, int], verdict: str
) -> None:
    row = replace(find_relative_cost_row(), kind=EXACT)
    a, b = (
        make_run_of_one_row(row, lo=float(lo), hi=float(hi), cost=float(lo))
        for lo, hi in (before, after)
    )
    (found,) = changes.compare_rows(a, b)
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("before", "after", "percent", "ends", "note"),
    [
        ((8, 8), (9, 9), 12.5, (12.5, 12.5), "+1 instructions"),
        ((8, 8), (6.5, 6.5), -18.75, (-18.75, -18.75), "-1.5 instructions"),
        ((8, 8), (8, 8), 0, (0, 0), ""),
        ((8, 10), (11, 12), 37.5, (12.5, 50), "blocks disagree"),
        ((8, 8), (8, 9), 0, (0, 12.5), "blocks disagree"),
        ((-8, -8), (-9, -9), -12.5, (-12.5, -12.5), "-1 instructions"),
    ],
)
def test_relative_change_of_a_count_agrees_with_a_computation_by_hand(
    before: tuple[float, float], after: tuple[float, float], percent: float,
    ends: tuple[float, float], note: str,
) -> None:  # fmt: skip
    row = replace(make_timed_row([]), kind=EXACT)
    a, b = (replace(row, cost=lo, lo=lo, hi=hi) for lo, hi in (before, after))
    found = changes.compute_exact_count_change(a, b)
    assert (found[0], found[1], found[3]) == (percent, Interval(*ends), note)
    assert math.isnan(changes.compute_exact_count_change(replace(a, cost=0.0), b)[0])


@pytest.mark.parametrize(
    ("variances", "degrees", "freedom"),
    [
        # (3 + 1)^2 / (9 / 4 + 1 / 4) is 6.4, which is rounded down.
        ((3.0, 1.0), (4, 4), 6),
        ((1.0, 1.0), (4, 4), 8),
        ((0.0, 0.0), (4, 7), 11),
        # (3 + 1)^2 / (9 / 4 + 1 / 2) is 5.8, which is rounded down.
        ((3.0, 1.0), (4, 2), 5),
        ((3.0, 0.0), (4, 2), 4),
    ],
)
def test_degrees_of_freedom_of_a_sum_follow_the_formula_of_welch(
    variances: tuple[float, float], degrees: tuple[int, int], freedom: int
) -> None:
    assert changes.combine_degrees_of_freedom(variances, degrees) == freedom


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({}, ""),
        ({"unit": "ticks"}, "A in ns, B in ticks"),
        ({"kind": WHOLE}, "only one of the two runs has a baseline"),
        ({"baseline": "other"}, "the baseline is none in A, and other in B"),
        ({"places": frozenset((0, 1, 2))}, "A at 2 code layouts, B at 3"),
        ({"places": frozenset((0, 4))}, "A at code layouts 0, 3, B at 0, 4"),
        ({"crowded": True}, "B has too few blocks to tell its code layouts apart, A has enough"),
    ],
)
def test_reason_why_rows_cannot_be_compared_is_noted(changed: dict[str, object], note: str) -> None:
    row = replace(make_timed_row([2.0, 2.0]), places=frozenset((0, 3)))
    other = replace(row, **changed)  # type: ignore[arg-type]
    assert changes.explain_incomparable_rows(row, other) == note
    (found,) = changes.compare_rows([row], [other])
    assert (found.verdict == "not comparable", found.is_comparable) == (bool(note), not note)


@pytest.mark.parametrize(
    ("poor", "expected"),
    [
        (("", ""), ""),
        (("quick; next: x", ""), "A: quick"),
        (("", "quick; next: x; next: y"), "B: quick"),
        (("quick; next: x", "quick; next: y"), "A and B: quick"),
        (("quick", "late; next: x"), "A: quick; B: late"),
    ],
)
def test_note_on_a_poor_grade_names_the_run(poor: tuple[str, str], expected: str) -> None:
    """The remedy of a poor grade is left out. A poor grade replaces a verdict on a time, and
    precedes the note."""
    a, b = (replace(make_timed_row([2.0, 2.0], processes=1), poor=why) for why in poor)
    assert changes.describe_poor_grades(a, b) == expected
    (found,) = changes.compare_rows([a], [b])
    wanted = ("withheld", f"{expected}; one process") if expected else ("equivalent", "one process")
    assert (found.verdict, found.note) == wanted


def test_noise_floor_is_the_change_of_the_clone() -> None:
    """The clone costs 2 % less in run B. If a run has one process, the floor is the far end of the
    interval of the change. Variants and baselines give no floor."""
    name = RowName("native", "b", "none-clone")
    clone = replace(make_timed_row([1.0, 1.0]), name=name)
    cheaper = replace(clone, values=np.array([0.98, 0.98]))
    key = ("native", "", "b")
    assert changes.compute_noise_floors([(clone, cheaper)]) == {key: pytest.approx(2)}
    assert changes.compute_noise_floors([(cheaper, clone)]) == {key: pytest.approx(100 / 49)}
    assert changes.compute_noise_floors([(make_timed_row([1.0, 1.0]),) * 2]) == {}
    assert changes.compute_noise_floors([(replace(clone, kind=WHOLE),) * 2]) == {}
    # The variance of a mean is 0.01 ** 2 in run A, none in run B; there is one degree of freedom.
    varied = replace(clone, values=np.array([0.99, 1.01]), processes=1)
    (floor,) = changes.compute_noise_floors([(varied, cheaper)]).values()
    assert floor == pytest.approx(2 + 100 * 12.7062 * 0.98 * 0.01, rel=1e-4)


def test_noise_floor_of_a_row_of_several_kernels_is_the_largest() -> None:
    """The clone changes by 2 % in kernel 6.1 and by 3 % in kernel 6.2."""
    row = make_timed_row([1.0] * 3)
    clone = replace(row, name=RowName("native", "b", "none-clone"))
    a = [replace(clone, kernel="6.1"), replace(clone, kernel="6.2")]
    b = [replace(one, values=np.full(3, new)) for one, new in zip(a, (1.02, 1.03), strict=True)]
    floors = changes.compute_noise_floors(list(zip(a, b, strict=True)))
    for kernel, floor in (("6.1", 2), ("6.2", 3), (SEVERAL_KERNELS, 3), ("6.3", None)):
        found = changes.find_noise_floor(floors, replace(row, kernel=kernel))
        assert found == (floor and pytest.approx(floor))
    (change,) = (
        change
        for change in changes.compare_rows([*a, row], [*b, replace(row, values=np.full(3, 1.025))])
        if change.name.variant == "v"
    )
    assert change.verdict == UNRESOLVED and change.floor == pytest.approx(3)
    floors = changes.compute_noise_floors([(clone, replace(clone, values=np.full(3, 1.02)))])
    assert changes.find_noise_floor(floors, replace(row, kernel="6.1")) == pytest.approx(2)
    assert changes.find_noise_floor(floors, replace(row, name=RowName("native", "c", "v"))) is None


def test_clone_is_judged_without_its_own_noise_floor() -> None:
    clone = replace(make_timed_row([1.0] * 3), name=RowName("native", "b", "none-clone"))
    (found,) = changes.compare_rows([clone], [replace(clone, values=np.full(3, 1.02))])
    assert found.verdict == SLOWER and found.floor == pytest.approx(2)


@pytest.mark.parametrize(("half_width", "verdict"), [(0.09, "equivalent"), (0.11, UNRESOLVED)])
def test_equivalence_needs_the_95_percent_interval_of_the_row_alone(
    half_width: float, verdict: str
) -> None:
    """The 95 % interval of the row is ± `half_width` %. The interval of the comparison, at 99 %, is
    wider than the margin of 0.1 %. Student's t for three degrees of freedom, those of the run that
    varies, is 3.1824 and 5.8409. The four clusters of run B differ from 1 by the square root of 3
    times the standard error."""
    error = half_width / 100 / 3.1824
    b = make_timed_row([1 + sign * error * math.sqrt(3) for sign in (-1, -1, 1, 1)])
    (found,) = changes.compare_rows([make_timed_row([1.0] * 4)], [b])
    assert found.interval.half_width == pytest.approx(100 * error * 5.8409, rel=1e-4)
    assert found.interval.half_width > found.margin == 0.1
    assert found.verdict == verdict


@pytest.mark.parametrize("comparisons", [1, 5])
def test_error_probability_is_divided_by_judged_rows_and_comparisons(comparisons: int) -> None:
    """Two rows with relative costs are judged; a baseline is judged only on request. With a total
    error probability of 1 %, Student's t for two degrees of freedom is the square root of
    2 / (p (2 - p)) - 2."""
    row = make_timed_row([0.9, 1.1])
    rows = [replace(row, name=RowName("native", "b", name)) for name in ("x", "y")]
    rows.append(replace(row, name=RowName("native", "b", "none"), kind=WHOLE))
    for wholes, count in ((False, 2), (True, 3)):
        found = changes.compare_rows(rows, rows, judge_whole_rows=wholes, comparisons=comparisons)
        p = 0.01 / (count * comparisons)
        t = math.sqrt(2 / (p * (2 - p)) - 2)
        assert found[0].interval.half_width == pytest.approx(100 * t * math.sqrt(2) * 0.1)
        assert (found[2].verdict == NOT_JUDGED) == (not wholes)


def test_baselines_are_judged_only_on_request() -> None:
    rows = [row for row in load_reference_rows() if row.is_baseline]
    more = [replace(row, values=row.values * 2) for row in rows]
    assert {c.verdict for c in changes.compare_rows(rows, more)} == {"not judged"}
    assert SLOWER in {c.verdict for c in changes.compare_rows(rows, more, judge_whole_rows=True)}


def test_noise_floor_of_a_benchmark_does_not_apply_to_its_baseline() -> None:
    """The clone changes by 5 %, which is the noise floor of the relative costs alone: a baseline
    that costs 2 % more is slower."""
    row = make_timed_row([1.0] * 3)
    baseline = replace(row, name=RowName("native", "b", "none"), kind=WHOLE)
    clone = replace(row, name=RowName("native", "b", "none-clone"))
    rows = [baseline, clone, row]
    more = [
        replace(one, values=one.values * factor)
        for one, factor in zip(rows, (1.02, 1.05, 1.02), strict=True)
    ]
    found = changes.compare_rows(rows, more, judge_whole_rows=True)
    assert [change.verdict for change in found] == [SLOWER, SLOWER, UNRESOLVED]
    assert [change.floor for change in found] == [None, *[pytest.approx(5)] * 2]


def test_change_is_unresolved_if_the_clone_changes_as_much() -> None:
    rows = [row for row in load_reference_rows() if row.name.benchmark == "memcpy-4096"]
    factors = {True: 1.035, False: 1.03}
    moved = [
        replace(row, values=row.values * factors[row.is_clone]) if row.kind == SHARE else row
        for row in rows
    ]
    found = changes.compare_rows(rows, moved)
    assert {c.verdict for c in found if c.a and c.a.kind == SHARE and not c.a.is_clone} == {
        "unresolved"
    }


def test_comparison_of_more_rows_has_wider_intervals() -> None:
    row = replace(find_relative_cost_row(), resolution=0.0)
    alone = changes.compare_rows(make_run_of_one_row(row), make_run_of_one_row(row))[0].interval
    names = [replace(row.name, variant=f"v{n}") for n in range(50)]
    many = [replace(row, name=name) for name in names]
    assert changes.compare_rows(many, many)[0].interval.half_width > 1.5 * alone.half_width


def test_blocks_of_one_process_are_clustered_in_stretches(tmp_path: Path) -> None:
    """A row of one process has eight or nine clusters: stretches of neighbouring blocks."""
    folder = rawdata.write_raw_folder(tmp_path / "vm", 80, 3, BENCHES, emulated="0")
    loaded = collect.load_raw_folder("native", folder)
    rows = make_run_rows(
        loaded.rows, [loaded.tier], verdicts.compute_results(loaded.rows, [loaded.tier])
    )
    assert {(row.processes, len(row.values)) for row in rows} <= {(1, 8), (1, 9)}
    found = changes.compare_rows(rows, rows)
    assert {c.note for c in found} == {"one process"}
    assert not np.isnan([c.percent or 0 for c in found]).any() and not select_alarming_changes(
        found
    )


def make_timed_row(
    values: Sequence[float], processes: int = 3, resolution: float = 0.0, **layouts: float
) -> Row:
    """Return a row whose clusters cost `values`. A keyword argument such as at0=10 is the cost at
    code layout 0."""
    return Row(
        *(RowName("native", "b", "v"), "", "ns", SHARE, "none", 1.0, len(values), processes),
        *(np.array(values), {int(name[2:]): cost for name, cost in layouts.items()}, resolution),
    )


@pytest.mark.parametrize("other", [[], [0.0, 0.0], [-1.0, -1.0]])
def test_change_from_or_to_a_cost_not_above_zero_has_no_number(other: list[float]) -> None:
    """No change is computed if a cost is zero or negative, or if a row has no cost, as in an edited
    estimates.json."""
    usual, wrong = make_timed_row([2.0, 2.0]), make_timed_row(other)
    for a, b in ((usual, wrong), (wrong, usual), (wrong, wrong)):
        percent, interval, note = changes.compute_relative_change(a, b, 0.05)
        assert (str(percent), note) == ("nan", "a cost is not above zero")
        assert interval == UNBOUNDED


def test_change_of_a_row_with_one_cluster_has_no_interval() -> None:
    """The change from or to a single cluster is a number without an interval."""
    one, two = make_timed_row([2.0]), make_timed_row([3.0, 3.0])
    for a, b, wanted in ((one, two, 50), (two, one, -100 / 3), (one, one, 0)):
        percent, interval, note = changes.compute_relative_change(a, b, 0.05)
        assert percent == pytest.approx(wanted)
        assert (interval, note) == (UNBOUNDED, "too few blocks")


@pytest.mark.parametrize(
    ("processes", "costs", "resolution", "ends", "note"),
    [
        (3, (11, 12, 16), 0.0, (-8.70, 48.70), ""),
        (3, (11, 12, 16), 0.01, (-10.70, 50.70), ""),
        (1, (11, 12, 16), 0.0, (-35.72, 95.72), "one process"),
        (1, (11, 12, 13), 0.0, (-8.70, 48.70), "one process"),
        (1, (11,), 0.0, (-8.70, 48.70), "one process"),
    ],
)
def test_interval_of_a_change_agrees_with_the_delta_method(
    processes: int, costs: Sequence[float], resolution: float, ends: tuple[float, float], note: str
) -> None:
    """The expected intervals of the change from 9, 10, 11 to 11, 12, 13 are computed by hand with
    the delta method. Welch's formula gives 3.9 degrees of freedom, which are rounded down to three:
    Student's t is 3.182. With one process, the interval over layouts is included; t for two degrees
    of freedom is 4.303. Layouts that cost nothing in a run, or that only one run has, are
    ignored."""
    a = make_timed_row([9, 10, 11], resolution=resolution, at0=10, at1=10, at2=10, at3=0, at4=10)
    layouts = {f"at{n}": cost for n, cost in enumerate(costs)} | {"at3": 50.0, "at5": 50.0}
    b = make_timed_row([11, 12, 13], processes, resolution, **layouts)
    percent, interval, found = changes.compute_relative_change(a, b, 0.05)
    assert percent == pytest.approx(20) and found == note
    assert (interval.lo, interval.hi) == pytest.approx(ends, abs=0.005)


@pytest.mark.parametrize(
    ("varied", "steady", "half_width"),
    [
        # With two clusters, the standard error is 1/10 of the mean, and Student's t is 12.706 for
        # one degree of freedom. With three, the error is 1/10 / sqrt(3), and t is 4.303.
        ((9, 11), (10, 10, 10), 127.06),
        ((9, 10, 11), (10, 10), 24.84),
        ((9, 10, 11), (10, 10, 10, 10), 24.84),
    ],
)
def test_interval_has_the_degrees_of_freedom_of_the_row_that_varies(
    varied: Sequence[float], steady: Sequence[float], half_width: float
) -> None:
    for values in ((varied, steady), (steady, varied)):
        a, b = map(make_timed_row, values)
        percent, interval, _ = changes.compute_relative_change(a, b, 0.05)
        assert percent == pytest.approx(0) and interval.half_width == pytest.approx(
            half_width, abs=0.01
        )


@pytest.mark.parametrize(
    ("percent", "text"),
    [
        *((None, "-"), (math.nan, "-"), (math.inf, "?"), (-math.inf, "?"), (0.0, "+0.00 %")),
        *((1.0, "+1.00 %"), (-1.257, "-1.26 %"), (123.0, "+123.00 %")),
    ],
)
def test_change_without_a_number_is_printed_as_a_dash(percent: float | None, text: str) -> None:
    assert changetext.format_percent(percent) == text


def make_pair_of_runs() -> RunPair:
    """Return two runs with a slower row, a row whose change is unbounded, a row about 100 sites,
    and a row that only A has. The rows are in two benchmarks."""
    slower = replace(make_row_change("v", 1.5, SLOWER), floor=0.25, note="a <note>")
    wide = replace(make_row_change("w", 0.0, UNRESOLVED), interval=UNBOUNDED)
    name = RowName("vm", "arm", "one|two", "switch", 100)
    new = {"unit": "ticks", "cost": 2000.0, "blocks": 9, "processes": 3, "values": np.ones(2)}
    row = replace(make_row_change("x", 0.0, "").a, name=name, **new)  # type: ignore[type-var]
    sites = Change(name, "ticks", row, row, WHOLE, -2.0, Interval(-3, -1), None, 0.1, FASTER)
    gone = replace(
        make_row_change("y", 0.0, MISSING),
        b=None,
        percent=None,
        interval=UNBOUNDED,
        note="only in A",
    )
    machine = {"cpu": {"model_name": "X\x07 5", "microcode": "0x1"}}
    env = {
        "run": {"quick": True, "missing": [{"tier": "metal", "why": "no"}]},
        "machine": machine,
        "kernel": {"release": "6.1"},
        "date": "2026-01-31",
    }
    a = ComparedRun("a", env, (), grades=["native: poor"])
    return RunPair(a, ComparedRun("b_1", {}, (), note="told"), [slower, wide, sites, gone])


def test_json_of_a_comparison_has_each_row_in_both_runs() -> None:
    found = Comparison([make_pair_of_runs()], 0.1, frozenset([SLOWER, MISSING]), ["dead: m: gone"])
    text = changefiles.render_comparison_json(found)
    assert text.endswith("}\n") and text.startswith('{\n "schema": 1,\n "margin": 0.1,\n')
    whole = json.loads(text)
    (pair,) = whole.pop("pairs")
    assert whole == {
        "schema": 1, "margin": 0.1, "failing": ["missing", "slower"], "failed": 2,
        "faults": ["dead: m: gone"],
    }  # fmt: skip
    assert pair["a"] == {
        "run": "a", "date": "2026-01-31", "cpu": "X\x07 5", "microcode": "0x1", "kernel": "6.1",
        "grades": ["native: poor"],
        "remarks": [
            "a is a quick run: it has few blocks, so its intervals are wide",
            "a: not measured: metal, because no", "a: native: poor",
        ],
    }  # fmt: skip
    assert pair["b"] == {
        **dict.fromkeys(("date", "cpu", "microcode", "kernel")), "run": "b_1", "grades": [],
        "remarks": ["told"],
    }  # fmt: skip
    assert pair["counts"] == {SLOWER: 1, UNRESOLVED: 1, FASTER: 1, MISSING: 1}
    first, wide, sites, gone = pair["rows"]
    own = {"kernel": "6.1", "unit": "TSC cycles", "cost": 1.0, "blocks": 8, "processes": 1,
           "clusters": 1}  # fmt: skip
    assert first == {
        "tier": "native", "benchmark": "b", "variant": "v", "measured": "loop", "sites": None,
        "kind": SHARE, "percent": 1.5, "percent_lo": 1.4, "percent_hi": 1.6, "noise_floor": 0.25,
        "margin": 0.1, "verdict": SLOWER, "note": "a <note>", "fails": True, "a": own, "b": own,
    }  # fmt: skip
    ends = ("percent", "percent_lo", "percent_hi", "noise_floor", "fails")
    assert [wide[end] for end in ends] == [0.0, None, None, None, False]
    assert [sites[end] for end in ends] == [-2.0, -3.0, -1.0, None, False]
    assert [gone[end] for end in ends] == [None, None, None, None, True]
    assert (sites["measured"], sites["sites"], gone["b"], gone["a"]) == ("switch", 100, None, own)
    assert sites["a"] == {"kernel": "6.1", "unit": "ticks", "cost": 2000.0, "blocks": 9,
                          "processes": 3, "clusters": 2}  # fmt: skip


@pytest.mark.parametrize("failing", [{SLOWER}, {SLOWER, MISSING}])
def test_junit_has_failures_skipped_rows_and_outputs(failing: set[str]) -> None:
    """A row without a number is skipped, unless its verdict is a failure."""
    found = Comparison([make_pair_of_runs()], 0.1, frozenset(failing), ["dead: m: gone", "odd"])
    text = changefiles.render_comparison_junit(found)
    assert (
        text.startswith("<?xml") and text.endswith("</testsuites>\n") and "\n <testsuite " in text
    )
    root = ElementTree.fromstring(text)
    rows, machines = root
    lost = int(MISSING in failing)
    assert (root.tag, root.attrib) == ("testsuites", {"name": "kmarkers compare"})
    assert rows.attrib == {
        "name": "a b_1", "tests": "4", "failures": str(1 + lost), "skipped": str(1 - lost),
    }  # fmt: skip
    cases = [(case.get("classname"), case.get("name"), case[0].tag) for case in rows]
    assert cases == [
        ("native.b", "v", "failure"),
        ("native.b", "w", "system-out"),
        ("vm.arm", "one|two switch 100", "system-out"),
        ("native.b", "y", "failure" if lost else "skipped"),
    ]
    assert [case[0].get("message") or case[0].text for case in rows] == [
        "slower: +1.50 % [+1.40, +1.60] a <note>",
        "unresolved: +0.00 % [?, ?]",
        "faster: -2.00 % [-3.00, -1.00]",
        "missing: - - only in A",
    ]
    assert machines.attrib == {"name": "machines", "tests": "2", "failures": "2", "skipped": "0"}
    assert [
        (case.get("classname"), case.get("name"), case[0].get("message")) for case in machines
    ] == [
        ("dead", "m: gone", "dead: m: gone"),
        ("odd", "", "odd"),
    ]
    assert (
        len(ElementTree.fromstring(changefiles.render_comparison_junit(replace(found, faults=()))))
        == 1
    )


HINTS = [
    "A: a, X\\x07 5, 0x1, 6.1, 2026-01-31",
    "B: b_1",
    "a is a quick run: it has few blocks, so its intervals are wide",
    "a: not measured: metal, because no",
    "a: native: poor",
    "told",
    "margin 0.1 %, the same for all rows",
    "a change of 1.2 % would be detected in half of the rows",
]


def test_markdown_of_a_comparison_is_escaped() -> None:
    """Rows that did not change are only in the table of all rows. A character with a meaning in
    Markdown is escaped."""
    pair = make_pair_of_runs()
    counts = "4 rows: 1 slower, 1 unresolved, 1 faster, 1 missing"
    heads = [
        "| tier | benchmark | variant | A | B | unit | change | interval | verdict |",
        "| --- | --- | --- | --: | --: | --- | --: | --: | --- |",
    ]
    rows = [
        "| native | b | v | 1.000 | 1.000 | TSC cycles | +1.50 % | \\[+1.40, +1.60\\]"
        " | slower (a &lt;note&gt;) |",
        "| native | b | w | 1.000 | 1.000 | TSC cycles | +0.00 % | \\[?, ?\\] | unresolved |",
        "| vm | arm | one\\|two (switch, 100 sites) | 2000 | 2000 | ticks | -2.00 %"
        " | \\[-3.00, -1.00\\] | faster |",
        "| native | b | y | 1.000 | - | TSC cycles | - | - | missing (only in A) |",
    ]
    body = ["## b\\_1 against a", ""]
    body += [f"- {line}".replace("\\x07", "\\\\x07").replace("b_1", "b\\_1") for line in HINTS]
    body += [f"- {counts}", "", *heads]
    end = ["", "no row fails (fewer)", ""]
    found = Comparison([pair], 0.1, frozenset([FEWER]))
    assert changetext.render_comparison_markdown(found).split("\n") == [
        *body,
        *rows[:1],
        *rows[2:],
        *end,
    ]
    assert changetext.render_comparison_markdown(found, True).split("\n") == [*body, *rows, *end]
    faults = changetext.render_comparison_markdown(replace(found, faults=["dead: *"])).split("\n")
    assert faults == ["- dead: \\*", "", *body, *rows[:1], *rows[2:], *end]
    none = replace(found, pairs=[replace(pair, changes=pair.changes[1:2])])
    assert changetext.render_comparison_markdown(none).split("\n")[-4:] == ["No row changed.", *end]


def test_page_of_a_comparison_shows_changed_rows_then_all() -> None:
    pair = make_pair_of_runs()
    found = Comparison([pair], 0.1, frozenset([MISSING]), ["<dead>"])
    page = changepage.render_comparison_page(found)
    assert page.startswith('<!doctype html>\n<html lang="en">') and page.endswith("</html>\n")
    assert (
        '<ul class="warning"><li>&lt;dead&gt;</li></ul><h2>b_1 against a</h2><ul><li>A: a' in page
    )
    assert '<p class="answer">1 rows fail (missing)</p>' in page
    counts = "4 rows: 1 slower, 1 unresolved, 1 faster, 1 missing"
    assert "".join(f"<li>{line}</li>" for line in [*HINTS, counts]) + "</ul>" in page
    changed, _, whole = page.partition("<details><summary>All 4 rows</summary>")
    for part, names in ((changed, ["v", "one|two", "y"]), (whole, ["v", "w", "one|two", "y"])):
        table = part[part.index('<div class="scroll"') :]
        titles = re.findall(r'<tr><th colspan="6"><div>(.*?)</div></th></tr>', table)
        assert titles == ["native b, TSC cycles", "vm arm, ticks", "native b, TSC cycles"]
        assert [n.split(" (")[0] for n in re.findall(r'scope="row">(.*?)<', table)] == names
        assert re.findall(r'<th scope="col"(.*?)>(.*?)</th>', table) == [
            ("", "variant"),
            *((' class="n"', head) for head in ("A", "B", "change", "interval")),
            (' class="v"', "verdict"),
        ]
    assert (
        '<tr><th scope="row">v</th><td class="n">1.000</td><td class="n">1.000</td>'
        '<td class="n">+1.50 %</td><td class="n">[+1.40, +1.60]</td>'
        '<td class="v"><span class="slower">slower (a &lt;note&gt;)</span></td></tr>'
    ) in changed
    quiet = Comparison([replace(pair, changes=pair.changes[1:2])], 0.1, frozenset())
    page = changepage.render_comparison_page(quiet)
    assert "</ul><p>No row changed.</p><details>" in page and 'class="warning"' not in page


def test_terminal_shows_the_head_of_a_comparison_above_its_rows() -> None:
    pair = make_pair_of_runs()
    found = Comparison([pair, pair], 0.1, frozenset([SLOWER, MISSING]))
    head = [*HINTS[:6], *(f"{line}." for line in HINTS[6:]), "native, kernel 6.1: 1 row only in A"]
    legend = ["", changetext.COLUMN_LEGEND, ""]
    foot = ["", "4 rows: 1 slower, 1 unresolved, 1 faster, 1 missing", ""]
    slower = "  v  1.000  1.000  +1.50 %  [+1.40, +1.60]  slower (a <note>)"
    row = "  one|two (switch, 100 sites)  2000  2000  -2.00 %  [-3.00, -1.00]  faster"
    sites = ["", "vm arm, ticks", row]
    shown = [*head, *legend, "native b, TSC cycles", slower, *sites, *foot]
    end = ["4 rows fail (missing, slower)"]
    assert changetext.render_comparison_for_terminal(found).split("\n") == [*shown, *shown, *end]
    whole = [
        *(*head, *legend, "native b, TSC cycles"),
        slower,
        "  w  1.000  1.000  +0.00 %          [?, ?]  unresolved",
        *sites,
        *("", "native b, TSC cycles", "  y  1.000  -  -  -  missing (only in A)", *foot),
    ]
    assert changetext.render_comparison_for_terminal(found, True).split("\n") == [
        *whole,
        *whole,
        *end,
    ]
    none = replace(found, pairs=[replace(pair, changes=[])])
    assert (
        changetext.render_comparison_for_terminal(none, True).count(changetext.COLUMN_LEGEND) == 0
    )


@pytest.mark.parametrize(
    ("withheld", "failing", "expected"),
    [
        (0, (), "no verdict counts as a failure, because --fail-on was not given"),
        (0, ("slower", "more"), "1 rows fail (more, slower)"),
        (0, ("fewer",), "no row fails (fewer)"),
        (
            2,
            ("fewer",),
            "no row fails (fewer); 2 rows are withheld, because the numbers of a run are poor",
        ),
    ],
)
def test_outcome_of_a_comparison_names_the_failing_verdicts(
    withheld: int, failing: Sequence[str], expected: str
) -> None:
    rows = [make_row_change("v", 1.0, SLOWER)]
    a, b = (ComparedRun(name, {}, ()) for name in "ab")
    pairs = [RunPair(a, b, rows)]
    pairs += [RunPair(a, b, [make_row_change("w", 1.0, "withheld")])] * withheld
    assert (
        changetext.describe_comparison_outcome(Comparison(pairs, 0.1, frozenset(failing)))
        == expected
    )


def test_rows_that_one_run_lacks_are_counted_by_tier_and_kernel() -> None:
    gone = replace(make_row_change("v", 0.0, MISSING), b=None, note="only in A")
    new = replace(make_row_change("v", 0.0, "new"), a=None, note="only in B")
    assert gone.a is not None
    other, merged = (
        replace(gone, a=replace(gone.a, kernel=kernel)) for kernel in ("5.10", SEVERAL_KERNELS)
    )
    a, b = (ComparedRun(name, {}, ()) for name in "ab")
    rows = [new, gone, make_row_change("x", 1.0, SLOWER), gone, other, merged]
    assert changetext.describe_missing_rows(RunPair(a, b, rows)) == [
        "native, several kernels: 1 row only in A",
        "native, kernel 5.10: 1 row only in A",
        "native, kernel 6.1: 2 rows only in A",
        "native, kernel 6.1: 1 row only in B",
    ]


def test_rows_of_several_kernels_are_told_apart_in_all_formats() -> None:
    rows = [replace(make_timed_row([1.0] * 3), kernel=kernel) for kernel in ("6.1", "6.2")]
    changed = [replace(row, values=np.full(3, 1.5)) for row in rows]
    found = changes.compare_rows(rows, changed)
    pair = RunPair(ComparedRun("a", {}, ()), ComparedRun("b", {}, ()), found)
    comparison = Comparison([pair], 0.1, frozenset())
    terminal = changetext.render_comparison_for_terminal(comparison)
    for said in (terminal, changetext.render_comparison_markdown(comparison),
                 changepage.render_comparison_page(comparison)):  # fmt: skip
        assert "v (kernel 6.1)" in said and "v (kernel 6.2)" in said
    suite = ElementTree.fromstring(changefiles.render_comparison_junit(comparison))
    names = [case.get("name") for case in suite.iter("testcase")]
    assert names == ["v kernel 6.1", "v kernel 6.2"]
    assert [change.kernel for change in changes.compare_rows(rows[:1], changed[1:])] == [""]


def test_rows_without_a_verdict_are_counted_with_their_reasons() -> None:
    notes = [("withheld", "loud"), ("not comparable", "units"), ("withheld", "loud"), (SLOWER, "x")]
    rows = [replace(make_row_change("v", 1.0, verdict), note=note) for verdict, note in notes]
    a, b = (ComparedRun(name, {}, ()) for name in "ab")
    pair = RunPair(a, b, rows)
    assert changetext.list_hints_for_reader(Comparison([pair], 0.1, frozenset()), pair)[2:] == [
        "1 rows are not comparable: units", "2 rows are withheld: loud",
    ]  # fmt: skip


@pytest.mark.parametrize(("length", "lines"), [(73, 2), (74, 3)])
def test_verdict_that_does_not_fit_beside_the_numbers_has_its_own_line(
    length: int, lines: int
) -> None:
    """The indentation, a number and the space behind it take 7 of 80 columns."""
    made = changetext.split_row_into_lines("name", ["1"], "v" * length)
    assert made == [
        "name",
        *(["    1  " + "v" * 73] if lines == 2 else ["    1", "    " + "v" * 74]),
    ]


@pytest.mark.parametrize(("over", "split"), [(0, False), (1, True)])
def test_row_of_up_to_80_columns_is_printed_in_one_line(over: int, split: bool) -> None:
    cells = ("t", "b", "v" * (54 + over), "1", "2", "u", "+1.00 %", "[?]", "sl")
    lines = changetext.format_rows_by_benchmark([cells])
    assert lines[:2] == ["", "t b, u"] and len(lines) == (4 if split else 3)
    if split:
        assert lines[2:] == ["  " + cells[2], "    1  2  +1.00 %  [?]  sl"]
    else:
        assert len(lines[2]) == 80


def test_rows_of_a_comparison_are_shown_up_to_a_line_limit() -> None:
    """The limit includes three lines above the first benchmark, and one line below the last row if
    rows are omitted."""
    rows = [make_row_change(f"v{n}", float(n if n % 2 else -n), SLOWER) for n in range(1, 11)]
    shown = {
        most: [line.split()[0] for line in changetext.render_rows_to_line_limit(rows, most)[4:]]
        for most in (99, 13, 12, 6, 0)
    }
    largest = [f"v{n}" for n in range(3, 11)]
    assert shown == {
        99: [*largest, "and"], 13: [*largest, "and"], 12: [*largest[1:], "and"],
        6: ["v10", "and"], 0: ["v10", "and"],
    }  # fmt: skip
    assert changetext.render_rows_to_line_limit(rows, 6)[-1] == (
        "and 9 more rows that changed less; --all shows them"
    )
    assert len(changetext.render_rows_to_line_limit(rows[:2], 6)) == 6
    assert changetext.render_rows_to_line_limit([], 99) == []
    unknown = [replace(row, percent=None) for row in rows[:2]]
    assert changetext.select_most_changed([*unknown, rows[0]], 1) == [rows[0]]
    order = [rows[3], replace(rows[0], percent=math.nan), rows[9], rows[5]]
    assert changetext.select_most_changed(order, 1) == [rows[9]]


def test_runs_of_the_same_name_are_printed_with_their_paths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make_run_of_folder(path: Path) -> ComparedRun:
        return ComparedRun(path.name, {}, ())

    monkeypatch.setattr(comparison, "load_compared_run", make_run_of_folder)
    one, two, other = (Path(name) for name in ("/one/run", "/two/run", "/three/other"))
    runs = comparison.load_compared_runs([one, two, other])
    assert [(run.name, run.note) for run in runs] == [(str(one), ""), (str(two), ""), ("other", "")]
    runs = comparison.load_compared_runs([other, two, Path("/three/../three/other")])
    assert [run.name for run in runs] == [str(other), "run", "/three/../three/other"]
    assert [run.note for run in runs] == [
        "", "", "A and B are the same run, /three/../three/other"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "a and b have no row in common"),
        (["only A"], "a and b have no row in common"),
        (["z", "y", "z", "only A"], "no row of a and b can be compared: y; z"),
        (["z", ""], ""),
    ],
)
def test_compared_runs_need_a_comparable_row(rows: Sequence[str], why: str) -> None:
    """Each text in `rows` is the reason why a row is not comparable, or is empty."""
    made = [
        replace(make_row_change("v", 0.0, "not comparable" if text else SLOWER), note=text)
        for text in rows
    ]
    made = [replace(row, b=None, verdict=MISSING) if row.note == "only A" else row for row in made]
    a, b = (ComparedRun(name, {}, ()) for name in "ab")
    assert comparison.find_comparison_obstacle(RunPair(a, b, made)) == why


def test_each_run_is_compared_with_the_first() -> None:
    """If a run has no row in common with the first run, compare_runs() adds a message to the given
    list of faults; without a list, it raises an error."""
    row = make_timed_row([5.0, 5.1])
    rows = {name: [replace(row, name=RowName("native", "b", name))] for name in "vw"}
    runs = [ComparedRun(n, {}, rows[v]) for n, v in (("a", "v"), ("b", "v"), ("c", "w"))]
    said = comparison.compare_runs(runs, faults=["dead"], fail_on=["costlier", "missing"])
    assert [(pair.a.name, pair.b.name) for pair in said.pairs] == [("a", "b")]
    assert said.faults == ["dead", "not compared: a and c have no row in common"]
    assert said.failing == {SLOWER, MORE, MISSING, "not comparable"} and said.margin == 0.1
    with pytest.raises(RunError, match=r"^a and c have no row in common$"):
        comparison.compare_runs(runs)


def test_pairs_of_runs_share_the_error_probability() -> None:
    """With two pairs of runs, the only row has the interval that a pair of two rows would have."""
    rows = [make_timed_row([5.0 + n / 10 for n in range(9)])]
    twice = [*rows, replace(rows[0], name=RowName("native", "b", "w"))]
    runs = [ComparedRun(name, {}, rows) for name in "abc"]
    found = comparison.compare_runs(runs).pairs
    (two,) = comparison.compare_runs([ComparedRun(name, {}, twice) for name in "ab"]).pairs
    (alone,) = comparison.compare_runs(runs[:2]).pairs
    assert [pair.changes[0].interval for pair in found] == [two.changes[0].interval] * 2
    assert alone.changes[0].interval.half_width < two.changes[0].interval.half_width


@pytest.mark.parametrize(("count", "shown"), [(7, 7), (8, 6)])
def test_head_of_a_comparison_has_at_most_seven_remarks(count: int, shown: int) -> None:
    """One more line may name the rows that one run lacks."""
    grades = [f"grade {n}" for n in range(count)]
    kernels = [f"{n}.0" for n in range(count + 1)]
    gone = replace(make_row_change("v", 0.0, MISSING), b=None, note="only in A")
    assert gone.a is not None
    rows = [replace(gone, a=replace(gone.a, kernel=kernel)) for kernel in kernels]
    pair = RunPair(ComparedRun("a", {}, (), grades=grades), ComparedRun("b", {}, ()), rows)
    found = Comparison([pair], 0.1, frozenset())
    for everything in (False, True):
        lines = changetext.make_run_pair_head(found, pair, everything)
        kept = count if everything else shown
        more = [f"and {count - kept} more; --all shows them"] * (kept < count)
        assert [line for line in lines if ": grade " in line] == [
            f"a: {text}" for text in grades[:kept]
        ]
        assert len([line for line in lines if line.endswith("row only in A")]) == kept + 1
        assert [line for line in lines if line.startswith("and ")] == more * 2


def test_characters_of_markdown_are_escaped() -> None:
    assert changetext.escape_markdown("a-`*_|[]#@~\\<&>\"'") == (
        "a-\\`\\*\\_\\|\\[\\]\\#\\@\\~\\\\&lt;&amp;&gt;\"'"
    )
