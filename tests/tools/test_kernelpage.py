# SPDX-License-Identifier: GPL-2.0-only
"""Tests of Documentation/kernels.md, the page with the test results of all kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from gitrepo import run_git
from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT
from kmtools.lab import catalogue
from kmtools.lab.catalogue import Entry
from kmtools.runner import registry
from kmtools.runner.ktap import Tally
from kmtools.suites import kernelpage
from kmtools.suites.kernelpage import FAIL, NEVER, PASS, SKIP, KernelResults

KERNELS = catalogue.load_kernel_entries()


def make_passed_results(kernel: str = "6.1", date: str = "2026-11-26") -> KernelResults:
    """Return results of a kernel in which all suites passed."""
    names = [name for names in kernelpage.list_suites_by_page_column().values() for name in names]
    return KernelResults(
        kernel, "6.1.1-1", "10.0", date, "0123abcd", {name: Tally(3) for name in names}
    )


def make_kernel_row(results: KernelResults | None, entry: Entry = KERNELS[0]) -> dict[str, str]:
    """Return the row of a kernel in the table: the text of the cell in each column."""
    head = ["kernel", "version", "date", "commit", *kernelpage.list_suites_by_page_column()]
    return dict(zip(head, kernelpage.format_kernel_row(entry, results), strict=True))


def test_each_suite_of_the_tree_has_a_column() -> None:
    named = [name for names in kernelpage.list_suites_by_page_column().values() for name in names]
    assert len(named) == len(set(named))
    assert {*named} - {*kernelpage.OUTSIDE} == {test.name for test in registry.list_guest_tests()}


def test_cell_of_the_kernel_table_is_pass_fail_skip_or_not_run() -> None:
    one = make_passed_results()
    assert {*list(make_kernel_row(one).values())[4:]} == {PASS}
    one.suites["settable"] = Tally(0, [], ["a: no time"])
    assert make_kernel_row(one)["immediate"] == SKIP
    one.suites["core"].skipped.append("b: no time")
    assert make_kernel_row(one)["patcher"] == PASS
    one.suites["entry"].failed.append("x")
    assert make_kernel_row(one)["entry"] == FAIL
    del one.suites["sdt_events"]
    assert make_kernel_row(one)["sdt"] == NEVER
    # A cell shows a failure rather than missing results.
    one.suites["sdt"].failed.append("y")
    assert make_kernel_row(one)["sdt"] == FAIL
    assert make_kernel_row(None)["sdt"] == NEVER and make_kernel_row(None)["date"] == "-"


@pytest.mark.parametrize("name", ["log", "fetch", "run", "plan"])
def test_failure_outside_the_suites_fails_the_kernels_row(name: str) -> None:
    one = make_passed_results()
    one.suites[name] = Tally(0, ["the kernel log has 1 lines that report faults"])
    assert make_kernel_row(one)["together"] == FAIL
    assert f"- FAILED 6.1 {name}: the kernel log has 1" in kernelpage.format_kernel_table(
        {"6.1": one}
    )


def test_each_skip_reason_is_printed_once_below_the_table() -> None:
    both = {name: make_passed_results(name) for name in ("6.1", "5.10")}
    for one in both.values():
        one.suites["core"].skipped += ["a test: it is too old", "another: it is too old"]
    del both["5.10"].suites["hundred"]
    text = kernelpage.format_kernel_table(both)
    assert text.count("it is too old") == 1
    assert "- skip: it is too old (core: 6.1, 5.10)" in text
    assert "- not run in 5.10 (hundred)" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + len(kernelpage.list_catalogue_kernels())


def test_kernels_without_results_are_listed_with_requirements() -> None:
    text = kernelpage.format_kernel_table({"6.1": make_passed_results()})
    said = {line.partition(": ")[0]: line for line in text.splitlines() if "no result, " in line}
    assert (
        "6.8-ubuntu" in said["- no result, needs an archive of Ubuntu, which KMARKERS_UBUNTU names"]
    )
    built = said["- no result, needs a build of the kernel"]
    assert "6.12-upstream" in built and "6.1-kasan" in built
    assert "5.10, 5.10-rt" in said["- no result, needs a whole run"]
    every = {
        one.kernel: one
        for one in map(
            make_passed_results, (entry.name for entry in kernelpage.list_catalogue_kernels())
        )
    }
    assert "no result, " not in kernelpage.format_kernel_table(every)


def test_kernel_page_keeps_its_other_sections(tmp_path: Path) -> None:
    page = tmp_path / "kernels.md"
    for title, text in (("One", "old\n"), ("Two", "kept\n"), ("One", "new\n")):
        kernelpage.replace_page_section(page, title, text)
    content = page.read_text()
    assert content.index("## One\n\nnew\n") < content.index("## Two\n\nkept\n")
    assert "old" not in content
    assert content.startswith("<!-- SPDX-License-Identifier")


def test_kernel_page_is_utf_8_in_each_locale(tmp_path: Path) -> None:
    """A page with characters that the locale's encoding lacks is written and read."""
    script = f"""
import sys
sys.path.insert(0, {str(ROOT / "scripts")!r})
from pathlib import Path
from kmtools.suites import kernelpage, pairs, processors
page = kernelpage.PAGE = Path({str(tmp_path / "page")!r})
processors.KEPT = page.with_name("kept")
row = tuple(pairs.choose_tested_combinations()[0].cells)
found = ["x", "1", f"{{kernelpage.RED}} **1 FAILED**", "0", "9", "2026-11-30"]
for _ in range(2):
    processors.store_combination_results({{row: found}})
    processors.publish_processor_results()
    assert processors.read_page_results(page)[row] == found
"""
    env = {**os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"{kernelpage.RED} **1 FAILED**" in (tmp_path / "page").read_text(encoding="utf-8")


@pytest.fixture(name="page_folder")
def redirect_page_to_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Redirect the page kernels.md and its result files to a directory; return this directory."""
    monkeypatch.setattr(kernelpage, "PAGE", tmp_path / "kernels.md")
    monkeypatch.setattr(kernelpage, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(kernelpage, "STORE", tmp_path / "kernels.json")
    return tmp_path


def test_row_of_one_kernel_is_replaced_and_other_rows_are_kept(page_folder: Path) -> None:
    for one in (
        make_passed_results("6.1", "2026-01-01"),
        make_passed_results("5.10", "2026-01-01"),
    ):
        kernelpage.store_kernel_results(one)
    kernelpage.publish_kernel_results()
    again = make_passed_results("6.1", "2026-02-02")
    again.suites["core"].failed.append("no")
    kernelpage.store_kernel_results(again)
    kernelpage.publish_kernel_results()
    text = (page_folder / "kernels.md").read_text()
    assert "| 6.1 | 6.1.1-1 | 2026-02-02 | 0123abcd |" in text
    assert "| 5.10 | 6.1.1-1 | 2026-01-01 | 0123abcd | pass |" in text
    assert not list((page_folder / "kept").iterdir())
    assert [one["kernel"] for one in json.loads((page_folder / "kernels.json").read_text())] == [
        "6.1", "5.10",
    ]  # fmt: skip


@pytest.mark.parametrize("commit", ["", "0123abcd-dirty"])
def test_results_of_uncommitted_trees_are_not_published(page_folder: Path, commit: str) -> None:
    one = make_passed_results()
    one.commit = commit
    kernelpage.store_kernel_results(one)
    with pytest.raises(UnableError, match=r"6\.1 are of no commit .*: run the tests in"):
        kernelpage.publish_kernel_results()
    assert not (page_folder / "kernels.md").exists()


def judge_results_after_suite_change(
    monkeypatch: pytest.MonkeyPatch, day: str, published: Sequence[KernelResults]
) -> Tally:
    """Judge the results `published` as if the suite `core` was last changed on `day`, and all
    other suites earlier."""
    monkeypatch.setattr(
        kernelpage, "find_last_suite_change", lambda name: day if name == "core" else "2026-01-01"
    )
    return kernelpage.judge_published_results({one.kernel: one for one in published})


def test_gating_kernel_without_a_suite_or_with_old_results_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gates = [make_passed_results(entry.name) for entry in KERNELS if entry.role == "gates"]
    good = judge_results_after_suite_change(monkeypatch, "2026-11-26", gates)
    assert not good.failed and good.passed > len(gates)
    # Results from the day of the change are recent enough; results from the day before are too old.
    old = judge_results_after_suite_change(monkeypatch, "2026-11-27", gates)
    assert old.failed == [f"kernel {one.kernel} ran before core changed" for one in gates]
    del gates[0].suites["tables"]
    lacking = judge_results_after_suite_change(monkeypatch, "2026-11-26", gates)
    assert lacking.failed == [f"kernel {gates[0].kernel} has no results of tables"]
    assert judge_results_after_suite_change(monkeypatch, "2026-11-26", gates[1:]).failed == [
        "kernel 6.1 was not run"
    ]


def test_suite_is_compared_with_its_text_at_the_commit_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are too old if the suite was changed after the run, even on the same day, and even if
    the change is not committed yet."""
    folder = tmp_path / "suites"
    folder.mkdir()
    monkeypatch.setattr(kernelpage, "ROOT", tmp_path)
    monkeypatch.setattr(registry, "GUEST_SUITES", folder)
    run_git(tmp_path, "init", "-q")
    commits = []
    for text in ("before", "after"):
        (folder / "core.sh").write_text(text)
        (folder / "many.sh").write_text("same")
        run_git(tmp_path, "add", "-A")
        run_git(tmp_path, "commit", "-qm", text)
        commits.append(run_git(tmp_path, "rev-parse", "HEAD").strip()[:8])
    today = f"{datetime.now(UTC):%Y-%m-%d}"

    def list_suites_changed_after(commit: str) -> list[str]:
        kernelpage.list_files_changed_since.cache_clear()
        one = KernelResults("6.1", "6.1.1-1", "7.0", today, commit)
        return [
            name for name in ("core", "many") if kernelpage.has_suite_changed_since_run(one, name)
        ]

    assert [list_suites_changed_after(commit) for commit in commits] == [["core"], []]
    (folder / "many.sh").write_text("not committed")
    assert list_suites_changed_after(commits[1]) == ["many"]
    one = KernelResults("6.1", "6.1.1-1", "7.0", today, commits[0])
    one.repeated["core"] = [today, commits[1]]
    assert not kernelpage.has_suite_changed_since_run(one, "core")
    # If git does not know the commit, the date of the last change decides.
    assert not list_suites_changed_after("89abcdef")
    kernelpage.list_files_changed_since.cache_clear()


def test_committed_page_matches_published_results() -> None:
    text = kernelpage.PAGE.read_text()
    table = kernelpage.format_kernel_table(kernelpage.read_published_results())
    assert f"## {kernelpage.TITLE}\n\n{table}\n" in text
