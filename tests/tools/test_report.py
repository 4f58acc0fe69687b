# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers report` and `table`: reproducible files, units, and published numbers."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import rawdata
from kmtools.analyse import published, stats, verdicts
from kmtools.analyse.slopes import Slope
from kmtools.base.paths import ROOT
from kmtools.base.text import format_count
from kmtools.cli import main
from kmtools.measure import rundir
from kmtools.measure.samples import read_samples
from kmtools.report import restable, table
from verdictrows import CORE, make_result

SUMMARY_KEYS = {
    "tier", "kernel", "benchmark", "variant", "unit", "n", "median", "ci_lo", "ci_hi", "baseline",
    "delta", "delta_ci_lo", "delta_ci_hi", "noise_floor", "verdict", "published", "published_delta",
}  # fmt: skip
COUNTS = (
    rawdata.Bench("empty-loop", {"none": 3, "none-clone": 3, "marker-generic": 6, "nop-p6": 4}),
    rawdata.Bench("never-seen", {"plain": 12, "plain-clone": 12, "x": 11}),
)
ALONE = rawdata.Bench("lonely", {"a": 5.0, "b": 6.0})
NOPS = rawdata.Bench(
    "empty-loop",
    {"none": 1.0, "none-clone": 1.0, "marker-generic": 2.2, "nop-p6": 1.9, "nop-3-2": 1.0},
)


def collect_run_of_three_tiers(root: Path) -> Path:
    """Make a run of three tiers (measurement environments): native, emulated vm, and icount."""
    kernel = [
        replace(bench, name=bench.name.replace("getppid-", "getppid-copy-"))
        for bench in rawdata.BENCHES
    ]
    native = rawdata.write_raw_folder(
        root / "native", 24, 1, [*rawdata.BENCHES[1:], ALONE, NOPS], emulated="0"
    )
    vm = rawdata.write_raw_folder(root / "vm", 24, 2, kernel, emulated="1")
    icount = rawdata.write_raw_folder(root / "icount", 4, 3, COUNTS, exact=True, emulated="1")
    (vm / "vm.json").write_text(json.dumps({"accel": "tcg", "emulated": True, "cpus": 2}))
    run = root / "results" / "run"
    tiers = [
        f"--raw={tier}={path}" for tier, path in zip(rundir.TIERS[::2], (native, vm), strict=True)
    ]
    assert main(["collect", str(run), *tiers, f"--raw=icount={icount}"]) == 0
    return run


@pytest.fixture(name="run", scope="module")
def make_run_with_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = collect_run_of_three_tiers(tmp_path_factory.mktemp("report"))
    assert main(["report", str(path)]) == 0
    return path


@pytest.fixture(name="summary", scope="module")
def read_summary_results(run: Path) -> list[dict[str, Any]]:
    entries = json.loads((run / "summary.json").read_text())["results"]
    assert isinstance(entries, list)
    return entries


@pytest.fixture(name="results", scope="module")
def compute_run_results(run: Path) -> list[verdicts.Result]:
    tiers = rundir.make_tiers(rundir.read_env(run / "env.json"))
    return verdicts.compute_results(read_samples(run / "samples.csv", tiers), tiers)


def hash_report_files(run: Path) -> dict[str, str]:
    files = [run / "report.html", run / "summary.json", *sorted((run / "figures").iterdir())]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def find_tier_section(run: Path, tier: str) -> str:
    text = (run / "report.html").read_text()
    parts = re.findall(rf'<div id="[^"]*" data-tier="{tier}">.*?</section>', text, re.DOTALL)
    assert parts
    return "".join(re.split(r"<div id=|</section>", part)[1] for part in parts)


def test_report_files_are_reproducible(run: Path) -> None:
    before = hash_report_files(run)
    names = ("headline", "switching-vm", "cold-metal-6.1-2", "published-P4")
    stale = [run / "figures" / f"{name}.svg" for name in names]
    for path in stale[1:]:
        path.write_text("<svg/>")
    assert main(["report", str(run)]) == 0
    assert [path for path in stale if path.exists()] == stale[:1]
    assert hash_report_files(run) == before
    assert len(before) >= 8


def test_report_keeps_files_of_the_user_in_figures(run: Path, tmp_path: Path) -> None:
    """Only figures with names of the report are deleted."""
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    own = [copy / "figures" / name for name in ("mine.svg", "dormant.svg", "cold-native.png")]
    for path in own:
        path.write_text("<svg/>")
    assert main(["report", str(copy)]) == 0
    assert all(path.read_text() == "<svg/>" for path in own)


def test_compressed_samples_give_the_same_report(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / run.name
    shutil.copytree(run, copy)
    (copy / "samples.csv.gz").write_bytes(gzip.compress((copy / "samples.csv").read_bytes()))
    (copy / "samples.csv").unlink()
    (copy / "summary.json").unlink()
    assert main(["report", str(copy)]) == 0
    assert (copy / "summary.json").read_bytes() == (run / "summary.json").read_bytes()


def test_report_has_all_figures(run: Path) -> None:
    names = {file.name for file in (run / "figures").iterdir()}
    timed = {f"{kind}-native.svg" for kind in ("dormant", "cold")}
    exact = {"dormant-icount.svg", "other-icount.svg"}
    machines = {name for name in names if name.startswith("published-")}
    assert names - machines == timed | exact | {"headline.svg", "then-and-now.svg"}


def test_summary_has_the_documented_keys_and_units(summary: list[dict[str, Any]]) -> None:
    assert all(set(entry) >= SUMMARY_KEYS for entry in summary)
    keys = [(e["tier"], e["kernel"], e["benchmark"], e["variant"]) for e in summary]
    assert len(keys) == len(set(keys))
    assert {e["unit"] for e in summary if e["tier"] == "native"} == {"TSC cycles"}
    assert {e["unit"] for e in summary if e["tier"] == "icount"} == {"instructions"}


def test_emulated_values_are_never_called_cycles(
    run: Path, summary: list[dict[str, Any]], results: list[verdicts.Result]
) -> None:
    emulated = [entry for entry in summary if entry["tier"] in ("vm", "icount")]
    assert emulated and "cycles" not in json.dumps(emulated).lower()
    assert {e["unit"] for e in emulated if e["tier"] == "vm"} == {"ticks (emulated)"}
    for tier in ("vm", "icount"):
        own = [result for result in results if result.tier == tier]
        assert "cycles" not in table.render_result_table(own, 120, False).lower()
        assert "cycles" not in find_tier_section(run, tier).lower()
        for figure in (run / "figures").glob(f"*-{tier}.svg"):
            assert "cycles" not in figure.read_text().lower()
    assert "cycles" in find_tier_section(run, "native").lower()


def test_published_cycles_are_compared_with_native_results_only(
    summary: list[dict[str, Any]],
) -> None:
    for entry in summary:
        if entry["tier"] != "native":
            assert entry["published"] is None and entry["published_rows"] == []
    generic = next(e for e in summary if (e["tier"], e["benchmark"], e["variant"])
                   == ("native", "empty-loop", "marker-generic"))  # fmt: skip
    assert generic["published"] == pytest.approx(2.6697878)
    assert generic["published_delta"] == pytest.approx(1.1671381)


class PageCollector(HTMLParser):
    """Collects tags, ids, labels of figures, and attributes that could load a resource."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.labels: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "data", "srcset") and value:
                self.fetched.append(value)
            if name == "id" and value:
                self.ids.append(value)
            if name == "aria-label" and value:
                self.labels.append(value)


def test_page_loads_no_external_resource_and_labels_figures(run: Path) -> None:
    text = (run / "report.html").read_text()
    parsed = PageCollector()
    parsed.feed(text)
    assert all(value.startswith(("#", "data:image/png;base64,")) for value in parsed.fetched)
    assert not re.search(r"https?://|@import|url\((?!#)", text)
    assert not {"script", "link", "iframe", "img"} & set(parsed.tags)
    assert parsed.tags.count("svg") % 2 == 0, "the page lacks a figure in one of two widths"
    assert all(5 < len(label) < 300 for label in parsed.labels)
    assert len(parsed.ids) == len(set(parsed.ids))
    inside = {value[1:] for value in parsed.fetched if value.startswith("#")}
    assert inside <= set(parsed.ids)
    assert "prefers-color-scheme: dark" in text


def test_unknown_benchmarks_and_variants_are_analysed(summary: list[dict[str, Any]]) -> None:
    found = {e["variant"]: e for e in summary if e["benchmark"] == "never-seen"}
    assert found["x"]["baseline"] == "plain"
    assert (found["x"]["delta"], found["x"]["verdict"]) == (-1, "fewer")


def test_benchmark_without_a_clone_has_no_comparison(
    run: Path, summary: list[dict[str, Any]]
) -> None:
    lonely = [entry for entry in summary if entry["benchmark"] == "lonely"]
    assert {(e["verdict"], e["delta"]) for e in lonely} == {("no baseline", None)}
    assert "not compared: lonely" in (run / "report.html").read_text()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_table_fits_the_width_and_has_optional_colour(
    width: int, results: list[verdicts.Result]
) -> None:
    text = table.render_result_table(results, width, colour=False)
    assert "\033" not in text
    rows = [line for line in text.splitlines() if line.startswith("  ")]
    assert max(map(len, rows)) <= max(width, 62)
    assert all(result.variant in text for result in results)
    assert "\033[" in table.render_result_table(results, width, colour=True)


def test_the_table_names_tier_and_unit(results: list[verdicts.Result]) -> None:
    text = table.render_result_table(results, 120, False)
    for tier, unit in (
        ("native", "TSC cycles"),
        ("vm", "ticks (emulated)"),
        ("icount", "instructions"),
    ):
        assert f"{tier}, kernel 6.12.0-test: {unit} per operation" in text
    assert "smallest detectable" in text


@pytest.mark.parametrize(
    ("unit", "exact"),
    [(unit, False) for unit in (rundir.UNIT_TSC, rundir.UNIT_GUEST, rundir.UNIT_EMULATED)]
    + [(rundir.UNIT_INSTRUCTIONS, True)],
)
def test_header_of_a_benchmark_has_its_numbers_or_says_that_counts_are_exact(
    unit: str, exact: bool
) -> None:
    result = make_result("b", "v", unit=unit)
    numbers = "margin 0.250, noise floor 0.100, smallest detectable 0.350"
    assert (
        table.make_benchmark_header(result)
        == f"b: over none; {'exact counts' if exact else numbers}"
    )
    alone = replace(result, baseline=None)
    assert table.make_benchmark_header(alone) == (
        "b: no variant has an A/A clone, so nothing is compared"
    )


@pytest.mark.parametrize(
    ("unit", "heads"),
    [
        (rundir.UNIT_TSC, ["variant", "added", "95 %", "median", "95 %"]),
        (rundir.UNIT_GUEST, ["variant", "added", "95 %", "median", "95 %"]),
        (rundir.UNIT_EMULATED, ["variant", "added, 95 %", "median"]),
        (rundir.UNIT_INSTRUCTIONS, ["variant", "added", "in all"]),
    ],
)
def test_columns_of_a_page_depend_on_the_unit(unit: str, heads: list[str]) -> None:
    """The interval of emulated ticks is in the cell of the cost; exact counts have no interval. The
    column of core cycles is shown only if a row has core cycles, the column of blocks only if rows
    differ in their number of blocks, and the column of flagged windows only if one is flagged."""
    rows = [make_result("b", name, unit=unit, core=None) for name in ("v", "w")]
    assert [head for head, _, _ in restable.choose_result_columns(rows[:1])] == heads

    def list_column_heads(*changes: dict[str, Any]) -> list[str]:
        changed = [replace(row, **change) for row, change in zip(rows, changes, strict=True)]
        return [head for head, _, _ in restable.choose_result_columns(changed)]

    assert list_column_heads({}, {}) == heads
    assert list_column_heads({"n": 7}, {}) == [*heads, "blocks"]
    assert list_column_heads({"n": 7}, {"n": 7}) == heads
    assert list_column_heads({}, {"flagged": 1}) == [*heads, "windows flagged"]
    assert {*list_column_heads({"core": CORE}, {})} == {*heads, "added, core cycles (estimated)"}


def test_folder_without_env_json_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path)]) == 2
    wrong = "not the folder of a run, because env.json is missing"
    assert capsys.readouterr().err == f"report: {tmp_path}: {wrong}\n"


def test_a_quick_run_and_its_missing_tiers_are_marked(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = json.loads((run / "env.json").read_text())
    assert rundir.list_warnings(env) == []
    lacking = [{"tier": "metal", "failed": False, "why": "<it> broke"}]
    env["run"] = {"quick": True, "missing": lacking, "resume": "make bench RESUME=x"}
    marked = tmp_path / "marked"
    marked.mkdir()
    (marked / "env.json").write_text(json.dumps(env))
    (marked / "samples.csv").symlink_to(run / "samples.csv")
    assert main(["report", str(marked), "--no-figures"]) == 0
    said = capsys.readouterr().out
    assert "QUICK RUN" in said and "Not measured: metal, because <it> broke." in said
    assert main(["report", str(marked)]) == 0
    shown = (marked / "report.html").read_text()
    assert "QUICK RUN" in shown and "metal, because &lt;it&gt; broke." in shown
    assert "make bench RESUME=x" in said and "make bench RESUME=x" in shown
    assert main(["publish", "reference", str(marked), "--out", str(tmp_path / "kept")]) == 1
    assert "QUICK RUN" in capsys.readouterr().err
    assert not (tmp_path / "kept").exists()


def test_unsupported_benchmarks_are_listed_with_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A benchmark that the machine does not support is listed with the reason: in the summary,
    below tables, and in the HTML report."""
    lacks = {"lacks:peers:probe-on": "no perf <events>", "lacks:peer-fprobe": "no fprobe"}
    raw = rawdata.write_raw_folder(tmp_path / "native", 24, 1, [NOPS], False, emulated="0", **lacks)
    run = tmp_path / "run"
    assert main(["collect", str(run), f"--raw=native={raw}"]) == 0
    assert main(["report", str(run)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert main(["table", str(run)]) == 0
    tables = " ".join(capsys.readouterr().out.split())
    page = (run / "report.html").read_text(encoding="utf-8")
    for row in ("peers probe-on: no perf <events>", "peer-fprobe: no fprobe"):
        assert f"not measured (native): {row}" in shown
        assert re.search(rf"not measured: native, kernel \S+: {re.escape(row)}", tables)
        assert row.replace("<", "&lt;").replace(">", "&gt;") in page


def test_table_of_one_tier_is_printed_and_no_file_is_written(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = hash_report_files(run)
    assert main(["table", str(run), "--tier", "icount"]) == 0
    said = capsys.readouterr().out
    assert "icount, kernel" in said and "native, kernel" not in said
    assert hash_report_files(run) == before


def test_tables_of_chosen_benchmarks_are_printed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def print_tables(*words: str) -> str:
        capsys.readouterr()
        assert main(["table", str(run), *words]) == 0
        return capsys.readouterr().out

    assert "vm, kernel" not in print_tables() and "Use --all or --tier" in print_tables()
    assert "vm, kernel" in print_tables("--all") and "Use --all or" not in print_tables("--all")
    assert "vm, kernel" in print_tables("cold-*") and "empty-loop:" not in print_tables("cold-*")
    assert main(["table", str(run), "cold"]) == 2
    assert "no benchmark matches cold; the run has cold-branch, " in capsys.readouterr().err
    assert main(["table", str(run), "--tier", "metal"]) == 2
    assert "no benchmark in tier metal; the run has" in capsys.readouterr().err


def test_table_of_a_run_without_report_is_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table", str(tmp_path / "none")]) == 2
    assert "the folder of the run does not exist" in capsys.readouterr().err
    for name in ("env.json", "samples.csv"):
        (tmp_path / name).symlink_to(run / name)
    assert main(["table", str(tmp_path)]) == 2
    assert f"scripts/kmarkers report {tmp_path}` writes this file" in capsys.readouterr().err


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_summary_fits_on_a_screen(
    run: Path,
    tmp_path: Path,
    columns: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The summary fits also for a quick, interrupted run with many reasons for a poor grade."""
    monkeypatch.setenv("COLUMNS", columns)
    env = json.loads((run / "env.json").read_text())
    lacking = [{"tier": "metal", "failed": True, "why": "a reason of many words " * 5}]
    env["run"] = {"quick": True, "missing": lacking, "resume": "make bench RESUME=x"}
    for tier in env["tiers"]:
        tier["env"] |= {f"lacks:b{n}": f"reason {n} " * 9 for n in range(30)}
    (tmp_path / "env.json").write_text(json.dumps(env))
    (tmp_path / "samples.csv").symlink_to(run / "samples.csv")
    assert main(["report", str(tmp_path), "--no-figures"]) == 0
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert lines[0].startswith("A dormant marker costs") and len(lines) <= 40
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= int(columns)
    assert "QUICK RUN" in said and "RESUME=x" in said and "all lines: " in said
    assert lines[-1] == f"tables: scripts/kmarkers table {tmp_path}"


def test_report_of_a_run_without_markers_shows_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = rawdata.Bench("mine", {"none": 2.0, "none-clone": 2.0, "x": 3.0})
    raw = rawdata.write_raw_folder(tmp_path / "native", 24, 1, [mine], False, emulated="0")
    assert main(["collect", str(tmp_path / "run"), f"--raw=native={raw}"]) == 0
    assert main(["report", str(tmp_path / "run"), "--no-figures"]) == 0
    said = capsys.readouterr().out
    assert "This run has no cost of a dormant marker: it ran" in said and re.search(
        r"^  x +\d.* slower$", said, re.MULTILINE
    )


def test_table_of_medians_needs_no_numpy(
    run: Path, results: list[verdicts.Result], capsys: pytest.CaptureFixture[str]
) -> None:
    program = "import sys; sys.modules['numpy'] = None; from kmtools import cli; "
    program += "cli.main(['table', *sys.argv[1:]])"
    words = [sys.executable, "-c", program, str(run), "--tier", "native"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT / "scripts")
    (row,) = [line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["l1-hit"]]
    (result,) = [r for r in results if (r.tier, r.variant) == ("native", "l1-hit")]
    assert result.delta is not None
    assert float(row[1]) == pytest.approx(result.median, abs=0.001)
    assert float(row[2]) == pytest.approx(stats.compute_median_slope(result.deltas), abs=0.001)
    assert "icount" not in done.stdout and "python3-numpy" in done.stdout


def select_row_columns(rows: list[dict[str, str]], *columns: str) -> set[tuple[str, ...]]:
    return {tuple(row[column] for column in columns) for row in rows}


def test_every_published_row_has_a_variant_or_a_reason() -> None:
    aliases = published.read_csv_table(published.ALIASES)
    columns = ["source", "published_benchmark", "published_variant", "over"]
    assert list(aliases[0]) == [*columns, "benchmark", "variant", "reason", "apart", "found"]
    old = select_row_columns(
        published.read_csv_table(published.PUBLISHED), "source", "benchmark", "variant"
    )
    assert select_row_columns(aliases, "source", "published_benchmark", "published_variant") == old
    for row in aliases:
        assert bool(row["benchmark"] and row["variant"]) != bool(row["reason"]), row
        assert "planned" not in row["reason"], row
        assert row["found"] in ("", "kernel", "objects"), row
        if row["over"]:
            assert (row["source"], *row["over"].split(":", 1)) in old, row


def test_only_three_published_deltas_differ_from_recomputed_ones() -> None:
    rows = {
        (n.source, n.benchmark, n.variant): n
        for n in published.read_published_numbers()
        if n.source == "markers-0.20"
    }
    wrong = {key[1:] for key, n in rows.items() if n.is_stated_delta_wrong}
    assert wrong == {
        ("empty-loop", "nop-p6"),
        ("memcpy-4096", "nop-3-2"),
        ("memcpy-4096", "nop-p6"),
    }
    nop = rows["markers-0.20", "empty-loop", "nop-p6"]
    assert float(nop.delta_stated or 0) == 2.5 and nop.delta == pytest.approx(1.499, abs=1e-3)
    flipped = rows["markers-0.20", "memcpy-4096", "nop-3-2"]
    assert float(flipped.delta_stated or 0) == 0.03
    assert flipped.delta == pytest.approx(-0.0262)
    preemption = rows["markers-0.20", "marker-enabled", "varargs-empty-probe-no-preempt-disable"]
    assert preemption.delta == pytest.approx(-18.47, abs=0.01)


def test_two_published_probe_rows_are_not_compared_natively() -> None:
    apart = {
        (n.benchmark, n.variant) for n in published.read_published_numbers() if n.apart == "native"
    }
    assert apart == {
        ("marker-enabled", "register-args-empty-probe"),
        ("marker-enabled", "varargs-empty-probe-no-preempt-disable"),
    }
    assert {n.apart for n in published.read_published_numbers()} == {"", "native"}


def test_html_has_published_and_recomputed_deltas(run: Path) -> None:
    text = (run / "report.html").read_text()
    row = next(line for line in text.splitlines() if ">empty-loop: nop-p6</th>" in line)
    assert "+2.50 (differs from the published totals)" in row and "+1.499" in row


def test_large_numbers_have_three_significant_digits() -> None:
    known = {
        1: "1", 999: "999", 999.6: "1.00k", 9996: "10.0k", 99_960: "100k", 488_348: "488k",
        999_600: "1.00M", 16_268_898: "16.3M", 28_767_562_473: "28.8G", 1e13: "10000G",
    }  # fmt: skip
    assert {value: table.format_with_si_prefix(value) for value in known} == known


@pytest.mark.parametrize(
    ("value", "plain", "signed"),
    [
        *((None, "-", "-"), (math.inf, "?", "?"), (-math.inf, "?", "?"), (math.nan, "?", "?")),
        *((0.0, "0.000", "+0.000"), (-0.0004, "0.000", "+0.000"), (-0.0006, "-0.001", "-0.001")),
        *((9.5, "9.500", "+9.500"), (10.0, "10.00", "+10.00"), (-10.0, "-10.00", "-10.00")),
        *((99.5, "99.50", "+99.50"), (100.0, "100.0", "+100.0"), (-100.0, "-100.0", "-100.0")),
        *((999.5, "999.5", "+999.5"), (1000.0, "1000", "+1000"), (123456.7, "123457", "+123457")),
    ],
)
def test_numbers_of_a_table_have_three_or_four_digits(
    value: float | None, plain: str, signed: str
) -> None:
    assert table.format_amount(value) == plain
    assert table.format_amount(value, signed=True) == signed


def test_numbers_with_a_prefix_have_three_digits_at_each_power() -> None:
    known = {
        *(
            (0, "0"),
            (0.4, "0"),
            (0.6, "1"),
            (10, "10"),
            (99, "99"),
            (1000, "1.00k"),
            (1234, "1.23k"),
            (10_000, "10.0k"),
        ),
        *((99_940, "99.9k"), (100_000, "100k"), (10**6, "1.00M"), (10**9, "1.00G")),
    }
    assert {(value, table.format_with_si_prefix(value)) for value, _ in known} == known


def test_notes_longer_than_24_characters_are_numbered_below_the_table() -> None:
    """Equal long notes have one number; the numbers begin with 1."""
    notes = ["", "x" * 24, "y" * 25, "z" * 26, "y" * 25]
    rows = [make_result("b", f"v{n}", note=note) for n, note in enumerate(notes)]
    numbers = table.number_long_notes(rows)
    assert numbers == {"y" * 25: 1, "z" * 26: 2}
    assert [table.format_result_verdict(row, numbers) for row in rows] == [
        "equivalent", f"equivalent ({'x' * 24})", "equivalent [1]", "equivalent [2]",
        "equivalent [1]",
    ]  # fmt: skip
    lines = table.render_result_table(rows, 200, False).splitlines()
    assert lines[-4:] == ["", f" [1] {'y' * 25}", "", f" [2] {'z' * 26}"]


@pytest.mark.parametrize("core", [CORE, None])
def test_narrow_table_omits_its_columns_in_order(core: object) -> None:
    """The columns are omitted only if they do not fit, one after the other: the interval of the
    median, the flagged windows, the blocks, the added core cycles, the median, and the interval of
    the added cost."""
    rows = [make_result("b", "v", 1.0, core=core)]
    heads = ["variant", "median", "95 % interval", "added", "95 % interval", "added, core", "n",
             "flagged", "verdict"]  # fmt: skip
    if core is None:
        heads.remove("added, core")
    wanted = [list(heads)]
    for name in ("95 % interval", "flagged", "n", "added, core", "median", "95 % interval"):
        if name in heads:
            heads.remove(name)
            wanted.append(list(heads))
    found: list[list[str]] = []
    width = 200
    while len(found) < len(wanted):
        lines = table.format_result_lines(rows, width, {})
        found.append(re.split(r"\s\s+", lines[0].strip()))
        longest = max(map(len, lines))
        assert table.format_result_lines(rows, longest, {}) == lines
        width = longest - 1
    assert found == wanted
    assert table.format_result_lines(rows, 20, {}) == lines, "a name has fewer than 12 characters"


@pytest.mark.parametrize(("over", "length"), [(0, 30), (1, 29), (18, 12), (19, 12)])
def test_long_names_are_shortened_to_at_least_12_characters(over: int, length: int) -> None:
    rows = [make_result("b", "n" * 30)]
    widest = 2 + 30 + len("  +0.000  equivalent")
    _, line = table.format_result_lines(rows, widest - over, {})
    assert len(line.split()[0]) == length


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        *(("slower", 33), ("more", 33), ("differs", 33), ("faster", 36), ("fewer", 36)),
        *(("equivalent", 32), ("identical", 32), ("unresolved", 2), ("withheld", 2)),
        ("baseline", None),
    ],
)
def test_verdict_has_the_terminal_colour_of_its_kind(verdict: str, code: int | None) -> None:
    """The colour is only on the verdict, even if a variant has the name of the verdict."""
    row = make_result("b", verdict, verdict=verdict)
    *_, plain = table.render_result_table([row], 100, False).splitlines()
    *_, line = table.render_result_table([row], 100, True).splitlines()
    head = plain.removesuffix(verdict)
    assert line == (plain if code is None else f"{head}\033[{code}m{verdict}\033[0m")


def test_table_has_a_heading_for_each_tier_and_benchmark() -> None:
    """A benchmark has a line about core cycles only if its core cycles are known."""
    rows = [
        make_result("a", "v", 1.0, core=None, n=7, windows=90, flagged=2),
        make_result("a", "w", -1.0, core=None, verdict="slower", note="loud"),
        make_result("b", "v", 0.0),
        make_result("b", "v", 3.0, tier="icount", unit=rundir.UNIT_INSTRUCTIONS, core=None),
    ]
    numbers = "margin 0.250, noise floor 0.100, smallest detectable 0.350"
    assert re.sub(" +", " ", table.render_result_table(rows, 120, False)).splitlines() == [
        "native, kernel 6.12: TSC cycles per operation",
        "",
        f" a: over none; {numbers}",
        " variant median 95 % interval added 95 % interval n flagged verdict",
        " v 101.0 [100.9, 101.1] +1.000 [+0.900, +1.100] 7 2/90 equivalent",
        " w 99.00 [98.90, 99.10] -1.000 [-1.100, -0.900] 8 0/100 slower (loud)",
        "",
        f" b: over none; {numbers}",
        f" {CORE.describe_ratio()}",
        " variant median 95 % interval added 95 % interval added, core n flagged verdict",
        " v 100.0 [99.90, 100.1] +0.000 [-0.100, +0.100] +0.000 8 0/100 equivalent",
        "",
        "icount, kernel 6.12: instructions per operation",
        "",
        " b: over none; exact counts",
        " variant median 95 % interval added 95 % interval n flagged verdict",
        " v 103 [102.9, 103.1] +3 [+2.9, +3.1] 8 0/100 equivalent",
    ]


@pytest.mark.parametrize(
    ("count", "text"),
    [(1234567.0, "+1234567"), (-20000001.0, "-20000001"), (999999.0, "+999999"), (2.5, "+2.5")],
)
def test_exact_counts_are_printed_with_all_digits(count: float, text: str) -> None:
    assert format_count(count, signed=True) == text
    assert format_count(count) == text.removeprefix("+")


def parse_table_cells(page: str) -> list[list[str]]:
    """Return the texts of the cells of each row of the tables of a page."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.S)
    return [
        [re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in rows
    ]


def test_results_on_the_page_have_numbered_notes_and_flags() -> None:
    long, short = "a note of more than 24 characters, -1", "short"
    rows = [
        make_result("b", "none", None, note=short),
        make_result("b", "none-clone", flagged=3, flags={"preempted": 2, "<x>": 1}),
        make_result("b", "v", -1.0, verdict="slower", note=long, n=9),
        make_result("c", "v", 2.0, verdict="more", note=long, core=None),
    ]
    page = restable.render_results_html(rows)
    assert "<caption>native: TSC cycles per operation</caption>" in page
    numbers = "margin 0.250, noise floor 0.100, smallest detectable 0.350"
    assert parse_table_cells(page) == [
        ["variant", "added", "95 %", "added, core cycles (estimated)", "median", "95 %", "blocks",
         "windows flagged", "verdict"],
        [f"b: over none; {numbers}"],
        ["none", "–", "–", "–", "100.0", "[99.90, 100.1]", "8", "0 of 100", "baseline (short)"],
        ["none-clone (A/A)", "+0.000", "[−0.100, +0.100]", "+0.000", "100.0", "[99.90, 100.1]",
         "8", "3 of 100 (2 preempted, 1 &lt;x&gt;)", "equivalent"],
        ["v", "−1.000", "[−1.100, −0.900]", "−1.500", "99.00", "[98.90, 99.10]", "9", "0 of 100",
         "slower [1]"],
        [f"c: over none; {numbers}"],
        ["v", "+2.000", "[+1.900, +2.100]", "–", "102.0", "[101.9, 102.1]", "8", "0 of 100",
         "more"],
    ]  # fmt: skip
    assert page.endswith("<p class='soft'>[1] a note of more than 24 characters, −1</p>")
    assert restable.render_results_html([]) == ""
    plain = restable.make_results_caption([make_result("b", "v", unit="x")])
    assert plain == "native: x per operation; 8 blocks; no window flagged"


@pytest.mark.parametrize(
    ("delta", "said"),
    [(None, "–"), (-1.0, "−1.000 [−1.100, −0.900]"), (0.0, "+0.000 [−0.100, +0.100]")],
)
def test_emulated_cost_has_its_interval(delta: float | None, said: str) -> None:
    result = make_result("b", "v", delta, unit=rundir.UNIT_EMULATED)
    assert restable.format_emulated_cost(result) == said


def test_spread_of_blocks_has_quantiles_and_a_bar_for_each_layout() -> None:
    """Of 0, 1, ... 100 ticks, the quantiles are 5, 50, 95 and 100. Blocks at layouts 0 and 1 add 0
    and 1 ticks."""
    slopes = [Slope.from_fraction(n, 0, Fraction(n)) for n in range(101)]
    deltas = [Slope.from_fraction(n, n % 2, Fraction(n % 2)) for n in range(8)]
    rows = [
        make_result("b", "v", slopes=slopes, deltas=deltas),
        make_result("b", "<w>", slopes=slopes, deltas=[]),
        make_result("c", "v"),
    ]
    space, low, high = "\N{EN SPACE}", chr(0x2581), chr(0x2588)
    spread = space.join(("5.000", "50.00", "95.00", "100.0"))
    page = restable.render_block_spread_html(rows)
    assert "<caption>native: blocks and code layouts, TSC cycles per operation</caption>" in page
    assert parse_table_cells(page)[1:] == [
        ["b"], ["v", spread, f"{low}{high} +0.000…+1.000"], ["&lt;w&gt;", spread, "–"],
    ]  # fmt: skip
    assert restable.render_block_spread_html(rows[2:]) == ""


def test_perf_events_of_a_loop_pass_are_shown() -> None:
    """A count is marked as scaled if its counter ran only for a part of the time."""
    rows = [make_result("b", name) for name in ("v", "<w>", "x")] + [make_result("c", "v")]
    counted = {
        ("b", "v", "cycles"): (12.5, 1.0), ("b", "v", "misses"): (-2.0, 0.5),
        ("b", "<w>", "misses"): (3.0, 1.0), ("d", "v", "other"): (1.0, 1.0),
    }  # fmt: skip
    page = restable.render_hardware_events_html(rows, counted)
    scaled = "scaled where the counter ran for a part of the time"
    assert f"<caption>native: events of a pass; {scaled}</caption>" in page
    assert parse_table_cells(page) == [
        ["variant", "cycles", "misses"], ["b"], ["v", "12.50", "−2.000 (scaled)"],
        ["&lt;w&gt;", "–", "3.000"],
    ]  # fmt: skip
    assert restable.render_hardware_events_html(rows[3:], counted) == ""
