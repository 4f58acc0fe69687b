# SPDX-License-Identifier: GPL-2.0-only
"""The page with the results of all kernels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.lab import catalogue
from kmtools.lab.catalogue import Entry
from kmtools.runner import registry
from kmtools.runner.ktap import Tally
from kmtools.suites import kernelpage
from kmtools.suites.kernelpage import FAIL, NEVER, PASS, SKIP, Kept

KERNELS = catalogue.load()


def whole(kernel: str = "6.1", date: str = "2026-11-26") -> Kept:
    """Return the results of a kernel in which everything passed."""
    names = [name for names in kernelpage.columns().values() for name in names]
    return Kept(kernel, "6.1.1-1", "10.0", date, "0123abcd", {name: Tally(3) for name in names})


def cells(one: Kept | None, entry: Entry = KERNELS[0]) -> dict[str, str]:
    """Return the cells of a row, by column."""
    head = ["kernel", "version", "date", "commit", *kernelpage.columns()]
    return dict(zip(head, kernelpage.row(entry, one), strict=True))


def test_each_suite_of_the_tree_has_a_column() -> None:
    named = [name for names in kernelpage.columns().values() for name in names]
    assert len(named) == len(set(named))
    assert {*named} - {*kernelpage.OUTSIDE} == {row.name for row in registry.guest_rows()}


def test_a_cell_is_pass_fail_skip_or_not_run() -> None:
    one = whole()
    assert {*list(cells(one).values())[4:]} == {PASS}
    one.suites["settable"] = Tally(0, [], ["a: no time"])
    assert cells(one)["immediate"] == SKIP
    one.suites["core"].skipped.append("b: no time")
    assert cells(one)["patcher"] == PASS
    one.suites["entry"].failed.append("x")
    assert cells(one)["entry"] == FAIL
    del one.suites["sdt_events"]
    assert cells(one)["sdt"] == NEVER
    # A failure says more than what is lacking.
    one.suites["sdt"].failed.append("y")
    assert cells(one)["sdt"] == FAIL
    assert cells(None)["sdt"] == NEVER and cells(None)["date"] == "-"


@pytest.mark.parametrize("name", ["log", "fetch", "run", "plan"])
def test_what_failed_beside_the_suites_is_a_failure(name: str) -> None:
    one = whole()
    one.suites[name] = Tally(0, ["the kernel log has 1 faulty lines"])
    assert cells(one)["together"] == FAIL
    assert f"- FAILED 6.1 {name}: the kernel log has 1" in kernelpage.as_markdown({"6.1": one})


def test_reasons_stand_once_below_the_table() -> None:
    both = {name: whole(name) for name in ("6.1", "5.10")}
    for one in both.values():
        one.suites["core"].skipped += ["a test: it is too old", "another: it is too old"]
    del both["5.10"].suites["hundred"]
    text = kernelpage.as_markdown(both)
    assert text.count("it is too old") == 1
    assert "- skip: it is too old (core: 6.1, 5.10)" in text
    assert "- not run in 5.10 (hundred)" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + len(kernelpage.listed())


def test_a_kernel_without_results_says_what_it_needs() -> None:
    text = kernelpage.as_markdown({"6.1": whole()})
    said = {line.partition(": ")[0]: line for line in text.splitlines() if "no result, " in line}
    assert (
        "6.8-ubuntu" in said["- no result, needs an archive of Ubuntu, which KMARKERS_UBUNTU names"]
    )
    built = said["- no result, needs a build of the kernel"]
    assert "6.12-upstream" in built and "6.1-kasan" in built
    assert "5.10, 5.10-rt" in said["- no result, needs a whole run"]
    every = {one.kernel: one for one in map(whole, (entry.name for entry in kernelpage.listed()))}
    assert "no result, " not in kernelpage.as_markdown(every)


def test_page_keeps_its_other_sections(tmp_path: Path) -> None:
    page = tmp_path / "kernels.md"
    for title, text in (("One", "old\n"), ("Two", "kept\n"), ("One", "new\n")):
        kernelpage.write_section(page, title, text)
    content = page.read_text()
    assert content.index("## One\n\nnew\n") < content.index("## Two\n\nkept\n")
    assert "old" not in content
    assert content.startswith("<!-- SPDX-License-Identifier")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder for all files of the page."""
    monkeypatch.setattr(kernelpage, "PAGE", tmp_path / "kernels.md")
    monkeypatch.setattr(kernelpage, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(kernelpage, "STORE", tmp_path / "kernels.json")
    return tmp_path


def test_one_row_is_replaced_and_the_others_stay(place: Path) -> None:
    for one in (whole("6.1", "2026-01-01"), whole("5.10", "2026-01-01")):
        kernelpage.keep(one)
    kernelpage.publish()
    again = whole("6.1", "2026-02-02")
    again.suites["core"].failed.append("no")
    kernelpage.keep(again)
    kernelpage.publish()
    text = (place / "kernels.md").read_text()
    assert "| 6.1 | 6.1.1-1 | 2026-02-02 | 0123abcd |" in text
    assert "| 5.10 | 6.1.1-1 | 2026-01-01 | 0123abcd | pass |" in text
    assert not list((place / "kept").iterdir())
    assert [one["kernel"] for one in json.loads((place / "kernels.json").read_text())] == [
        "6.1", "5.10",
    ]  # fmt: skip


@pytest.mark.parametrize("commit", ["", "0123abcd-dirty"])
def test_results_of_no_commit_are_not_published(place: Path, commit: str) -> None:
    one = whole()
    one.commit = commit
    kernelpage.keep(one)
    with pytest.raises(UnableError, match=r"6\.1 are of no commit .*: run them in a clone"):
        kernelpage.publish()
    assert not (place / "kernels.md").exists()


def judged(monkeypatch: pytest.MonkeyPatch, day: str, kept: Sequence[Kept]) -> Tally:
    """Judge results, with suites of which `core` changed on a day."""
    monkeypatch.setattr(kernelpage, "changed", lambda name: day if name == "core" else "2026-01-01")
    return kernelpage.judge({one.kernel: one for one in kept})


def test_a_gate_without_a_suite_and_an_old_row_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    gates = [whole(entry.name) for entry in KERNELS if entry.role == "gates"]
    good = judged(monkeypatch, "2026-11-26", gates)
    assert not good.failed and good.passed > len(gates)
    # A row of the same day is not older.
    old = judged(monkeypatch, "2026-11-27", gates)
    assert old.failed == [f"{one.kernel} was run before core changed" for one in gates]
    del gates[0].suites["tables"]
    lacking = judged(monkeypatch, "2026-11-26", gates)
    assert lacking.failed == [f"{gates[0].kernel} has no result of tables"]
    assert judged(monkeypatch, "2026-11-26", gates[1:]).failed == ["6.1 was not run"]


def test_the_page_is_what_was_published() -> None:
    text = kernelpage.PAGE.read_text()
    assert f"## {kernelpage.TITLE}\n\n{kernelpage.as_markdown(kernelpage.stored())}\n" in text
