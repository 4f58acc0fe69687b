# SPDX-License-Identifier: GPL-2.0-only
"""kmarkers compare: it finds a change of one percent, and is quiet where nothing changed."""

from __future__ import annotations

import json
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
from kmtools.analyse.rows import EXACT, SHARE, Name, Row, rows_of
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import FASTER, FEWER, IDENTICAL, MORE, SLOWER
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.measure import collect
from kmtools.report import changetext, comparison
from kmtools.report.comparison import Compared, Comparison, Pair

REFERENCE = ROOT / "results" / "reference"
PROCESSES, BLOCKS = 8, 32
# The processes of the committed run are made into so many groups, of alike many.
GROUPS = 8
# By how much of its number the processes of a row differ in which one percent must be found.
STEADY = 0.002
BENCHES = [bench for bench in rawdata.BENCHES if bench.name == "memcpy-4096"]
INJECTED = ("memcpy-4096", "marker-immediate")
ALARMS = (SLOWER, FASTER, MORE, FEWER)


def slowed(factor: float) -> list[rawdata.Bench]:
    """The benchmarks with one variant slowed down."""
    return [
        replace(bench, costs={**bench.costs, INJECTED[1]: bench.costs[INJECTED[1]] * factor})
        if bench.name == INJECTED[0]
        else bench
        for bench in BENCHES
    ]


def raw(path: Path, seed: int, benches: Sequence[rawdata.Bench] = BENCHES) -> Path:
    """Raw samples of a run of several processes; no two seeds share one of a process."""
    for number in range(PROCESSES):
        part = path / f"process-{number + 1}"
        rawdata.write_tier(part, BLOCKS, seed * PROCESSES + number, benches, emulated="0")
    return path


def run_of(tmp_path: Path, name: str, seed: int, factor: float = 1.0) -> Path:
    """A collected run."""
    folder = raw(tmp_path / f"{name}-raw", seed, slowed(factor))
    assert main(["collect", str(tmp_path / name), f"--raw=native={folder}"]) == 0
    return tmp_path / name


def made_rows(tmp_path: Path, seed: int, factor: float = 1.0) -> list[Row]:
    """The rows of a run that is not kept."""
    loaded = collect.load_raw("native", raw(tmp_path / f"{seed}-{factor}", seed, slowed(factor)))
    return rows_of(loaded.rows, [loaded.tier], verdicts.analyse(loaded.rows, [loaded.tier]))


@cache
def reference_rows() -> tuple[Row, ...]:
    """The rows of the committed run that were measured on a real CPU."""
    return tuple(row for row in comparison.load(REFERENCE).rows if row.name.tier == "native")


def in_groups() -> list[Row]:
    """The rows of the committed run that have a process for each group, or more."""
    rows = [row for row in reference_rows() if row.processes >= GROUPS]
    assert len(rows) > 50, f"the committed run has {len(rows)} rows of {GROUPS} processes or more"
    return rows


def halves() -> list[tuple[list[Row], list[Row]]]:
    """Every way to make two runs of four groups of processes out of the committed one: nothing
    changed between them but the processes."""
    rows, found = in_groups(), []
    for first in combinations(range(GROUPS), GROUPS // 2):
        if first[0] == 0:
            others = [n for n in range(GROUPS) if n not in first]
            found.append((part(rows, first), part(rows, others)))
    return found


def part(rows: Sequence[Row], which: Sequence[int]) -> list[Row]:
    """The rows of some of the groups. Processes that follow each other are in the same group."""
    return [replace(row, values=row.values[np.isin(groups(row), which)]) for row in rows]


def groups(row: Row) -> np.ndarray:
    """The group of each process of a row."""
    return np.arange(len(row.values)) * GROUPS // len(row.values)


def steadiest(place: int) -> Name:
    """The row at a place in the order of how much the processes of a row differ."""
    shares = [row for row in in_groups() if row.kind == SHARE and not row.is_clone]
    spread, name = sorted(
        (float(np.std(row.values, ddof=1) / np.mean(row.values)), row.name) for row in shares
    )[place]
    assert spread <= STEADY, f"{name} is no steady row, nor are those after it"
    return name


def alarms(found: Sequence[Change]) -> list[Change]:
    """The rows that changed, as the rule says."""
    return [change for change in found if change.verdict in ALARMS]


def test_real_pairs_without_a_change_are_quiet() -> None:
    """Of all pairs of the same run's processes, at most one in twenty may raise an alarm."""
    pairs = halves()
    assert len(pairs) == 35 and all(len(a) > 50 for a, _ in pairs)
    loud = [pair for pair in pairs if alarms(changes.compare(*pair))]
    assert len(loud) <= len(pairs) / 20
    # The pairs are no harmless ones: each row on its own, without a margin, raises more.
    rash = 0
    for a, b in pairs:
        both = [(x, y) for x, y in zip(a, b, strict=True) if x.kind == SHARE]
        rash += any(
            not found.lo <= 0 <= found.hi
            for found in (changes.relative(x, y, 0.05)[1] for x, y in both)
        )
    assert rash > len(pairs) / 20


@pytest.mark.parametrize("place", [0, 1])
def test_a_percent_is_found_in_real_data(place: int) -> None:
    """One percent more in a row that is steady, in each of the real pairs."""
    name = steadiest(place)
    found = 0
    for a, b in halves():
        more = [replace(row, values=row.values * (1.01 if row.name == name else 1)) for row in b]
        loud = alarms(changes.compare(a, more))
        assert {change.name for change in loud} <= {name}
        found += any(change.name == name and change.verdict == SLOWER for change in loud)
    assert found >= 30


def test_twenty_made_pairs_are_quiet(tmp_path: Path) -> None:
    loud = 0
    for pair in range(20):
        a, b = (made_rows(tmp_path, 100 + 2 * pair + side) for side in (0, 1))
        loud += bool(alarms(changes.compare(a, b, margin=0.0)))
    assert loud <= 1


@pytest.mark.parametrize(("factor", "verdict"), [(1.01, SLOWER), (0.99, FASTER)])
def test_a_percent_is_found(tmp_path: Path, factor: float, verdict: str) -> None:
    for pair in range(5):
        a, b = made_rows(tmp_path, 2 * pair), made_rows(tmp_path, 2 * pair + 1, factor)
        assert [
            (c.name.benchmark, c.name.variant, c.verdict) for c in alarms(changes.compare(a, b))
        ] == [(*INJECTED, verdict)]


def test_the_exit_code_says_whether_a_row_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, same = run_of(tmp_path, "a", 1), run_of(tmp_path, "b", 2, 1.01), run_of(tmp_path, "c", 3)
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


@pytest.mark.parametrize("words", [["--fail-on", "slow"], ["--margin", "x"], ["--margin=-1"]])
def test_a_wrong_word_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compare", "a", "b", *words])
    assert ended.value.code == 2
    assert words[0].partition("=")[0] in capsys.readouterr().err


def test_every_form_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = run_of(tmp_path, "a", 1), run_of(tmp_path, "b", 2, 1.01)
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
    # What changed is seen without a click, in colours that are defined.
    assert page.index(f'<th scope="row">{INJECTED[1]}') < page.index("<details>")
    assert "--slower:" in page and page.count("<tr>") > len(rows) + 2
    with pytest.raises(SystemExit):
        main(["compare", str(a), str(b), "--format=text"])
    assert main(["compare", str(a), str(b), f"--json={tmp_path}/none/x"]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_no_line_is_wider_than_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """All rows of the committed run: names of 60 characters, costs of nine digits, notes."""
    assert main(["compare", str(REFERENCE), str(REFERENCE), "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 300 and max(map(len, lines)) <= 80


def row_of(variant: str, percent: float, verdict: str) -> Change:
    name = Name("native", "b", variant)
    ends = Interval(percent - 0.1, percent + 0.1)
    row = Row(name, "6.1", "TSC cycles", SHARE, "none", 1.0, 8, 1, np.ones(1), {})
    return Change(name, "TSC cycles", row, row, row.kind, percent, ends, None, 0.1, verdict, "")


def test_a_terminal_shows_what_changed_most_and_what_one_run_lacks() -> None:
    """The rest is counted, and shown on request."""
    changed = [row_of(f"v{n:02}", float(n), SLOWER) for n in range(1, 31)]
    gone = [replace(row_of(f"w{n}", 0.0, MISSING), b=None, note="only in A") for n in range(99)]
    a, b = (Compared(name, {}, ()) for name in "ab")
    found = Comparison([Pair(a, b, [*changed, *gone])], 0.1, frozenset())
    lines = changetext.terminal(found).splitlines()
    assert len(lines) <= 40
    assert "native, kernel 6.1: 99 rows only in A" in lines
    assert "and 22 more rows that changed less: --all" in lines
    shown = [line.split()[0] for line in lines if line.startswith("  v")]
    assert shown == [f"v{n}" for n in range(23, 31)]
    assert len([x for x in changetext.terminal(found, True).splitlines() if "v0" in x]) == 9


def test_a_row_of_large_numbers_is_whole_and_fits() -> None:
    """A row of eleven digits, a wide interval and a note that is longer than a line."""
    row = replace(a_row(), cost=43894027850.0, processes=1, layouts={0: 1.0, 1: 1.0})
    (change,) = changes.compare(one(row), one(row, layouts={0: 1.0, 1: 1.9}))
    assert change.interval.half_width > 500
    shown = changetext.cells(replace(change, note=" ".join(["a note of many words"] * 5)))
    lines = changetext.grouped([shown])
    assert max(map(len, lines)) <= changetext.WIDTH and len(lines) > 5
    said = " ".join(" ".join(lines).split())
    assert all(" ".join(cell.split()) in said for cell in shown)


def test_names_of_a_run_are_no_markup(tmp_path: Path) -> None:
    a = run_of(tmp_path, "a", 1)
    samples = a / "samples.csv"
    samples.write_text(samples.read_text().replace("marker-generic", "<b>x|y</b>"))
    page, text = tmp_path / "x.html", tmp_path / "x.md"
    words = [f"--html={page}", f"--markdown={text}", "--all"]
    assert main(["compare", str(a), str(a), *words]) == 0
    assert "<b>" not in page.read_text() and "&lt;b&gt;x|y" in page.read_text()
    assert "x\\|y" in text.read_text()


def edited(line: int, change: Callable[[str], str]) -> Callable[[Path], None]:
    """Return a function that changes a line of samples.csv; lines count from 1."""

    def edit(run: Path) -> None:
        lines = (run / "samples.csv").read_text().splitlines(keepends=True)
        lines[line - 1] = change(lines[line - 1])
        (run / "samples.csv").write_text("".join(lines))

    return edit


def cut(run: Path) -> None:
    """Cut samples.csv in the middle of its last line."""
    text = (run / "samples.csv").read_text()
    (run / "samples.csv").write_text(text[:-5])


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut": (cut, "last line is incomplete (truncated?)"),
    "tier": (edited(9, lambda s: s.replace("native", "vm", 1)), ":9: env.json has no tier 'vm'"),
    "unit": (edited(9, lambda s: s.replace("TSC cycles", "ns")), ":9: unit is 'ns', not 'TSC"),
    "value": (edited(7, lambda s: s.replace("TSC", "x,TSC")), ":7: 17 fields, not 16"),
    "empty": (edited(5, lambda s: ""), "samples of native, and env.json has"),
    "number": (edited(5, lambda s: s.replace(",loop,", ",loop,9")), ":5: layout is above 31"),
    "bytes": (edited(3, lambda s: s.replace("native", "n\0", 1)), ":3: "),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_wrong_in_a_run_is_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, said = HOSTILE[name]
    run = run_of(tmp_path, "a", 1)
    spoil(run)
    assert main(["compare", str(run), str(run)]) == 1
    error = capsys.readouterr().err
    assert f"{run / 'samples.csv'}" in error and said in error


def test_a_cut_compressed_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("env.json", "samples.csv.gz"):
        shutil.copy(REFERENCE / name, tmp_path / name)
    packed = (tmp_path / "samples.csv.gz").read_bytes()
    (tmp_path / "samples.csv.gz").write_bytes(packed[: len(packed) // 50])
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 1
    assert "samples.csv.gz:" in capsys.readouterr().err


def test_a_run_without_samples_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 1
    assert "there are no samples; kmarkers collect makes them" in capsys.readouterr().err


def one(row: Row, **changed: object) -> list[Row]:
    """A run of a single row."""
    return [replace(row, **changed)]  # type: ignore[arg-type]


def a_row() -> Row:
    """A row of the committed run."""
    return next(row for row in reference_rows() if row.kind == SHARE and not row.is_clone)


def test_units_and_tiers_are_not_mixed() -> None:
    row = a_row()
    (found,) = changes.compare(one(row), one(row, unit="ticks (emulated)"))
    assert (found.verdict, found.percent) == ("not comparable", None)
    other = one(row, name=replace(row.name, tier="metal"))
    assert [c.verdict for c in changes.compare(one(row), other)] == ["missing", "new"]


def test_rows_of_several_kernels_find_their_own() -> None:
    row = a_row()
    both = [replace(row, kernel="6.1"), replace(row, kernel="6.12")]
    found = changes.compare(both, list(reversed(both)))
    assert [(c.a.kernel, c.b.kernel) for c in found if c.a and c.b] == [("6.1",) * 2, ("6.12",) * 2]
    found = changes.compare(both, one(row, kernel="5.10"))
    assert sorted(c.verdict for c in found) == ["missing", "missing", "new"]
    (found_one,) = changes.compare(one(row, kernel="6.1"), one(row, kernel="5.10"))
    assert found_one.percent == 0


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [((7, 7), (7, 7), IDENTICAL), ((7, 7), (8, 8), MORE), ((7, 7), (6, 6), FEWER),
     ((7, 8), (7, 8), "unresolved"), ((7, 8), (9, 9), MORE)],
)  # fmt: skip
def test_counts_are_compared_as_numbers(
    before: tuple[int, int], after: tuple[int, int], verdict: str
) -> None:
    row = replace(a_row(), kind=EXACT)
    a, b = (one(row, lo=float(lo), hi=float(hi), cost=float(lo)) for lo, hi in (before, after))
    (found,) = changes.compare(a, b)
    assert found.verdict == verdict


def test_a_baseline_is_judged_on_demand_only() -> None:
    rows = [row for row in reference_rows() if row.is_baseline]
    more = [replace(row, values=row.values * 2) for row in rows]
    assert {c.verdict for c in changes.compare(rows, more)} == {"not judged"}
    assert SLOWER in {c.verdict for c in changes.compare(rows, more, wholes=True)}


def test_the_clone_sets_the_floor() -> None:
    """What two copies of the same code also changed by is no change of a variant."""
    rows = [row for row in reference_rows() if row.name.benchmark == "memcpy-4096"]
    factors = {True: 1.035, False: 1.03}
    moved = [
        replace(row, values=row.values * factors[row.is_clone]) if row.kind == SHARE else row
        for row in rows
    ]
    found = changes.compare(rows, moved)
    assert {c.verdict for c in found if c.a and c.a.kind == SHARE and not c.a.is_clone} == {
        "unresolved"
    }


def test_more_rows_make_wider_intervals() -> None:
    row = replace(a_row(), resolution=0.0)
    alone = changes.compare(one(row), one(row))[0].interval
    names = [replace(row.name, variant=f"v{n}") for n in range(50)]
    many = [replace(row, name=name) for name in names]
    assert changes.compare(many, many)[0].interval.half_width > 1.5 * alone.half_width


def test_one_process_is_cut_into_stretches(tmp_path: Path) -> None:
    """With a single process, neighbouring blocks are clusters, and the layouts have a say."""
    folder = rawdata.write_tier(tmp_path / "vm", 80, 3, BENCHES, emulated="0")
    loaded = collect.load_raw("native", folder)
    rows = rows_of(loaded.rows, [loaded.tier], verdicts.analyse(loaded.rows, [loaded.tier]))
    assert {(row.processes, len(row.values)) for row in rows} <= {(1, 8), (1, 9)}
    found = changes.compare(rows, rows)
    assert {c.note for c in found} == {"one process"}
    assert not np.isnan([c.percent or 0 for c in found]).any() and not alarms(found)
