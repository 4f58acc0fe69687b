# SPDX-License-Identifier: GPL-2.0-only
"""Tests of tests/results.csv: a suite with fewer results than this table lists fails."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from kmtools.base.errors import UnableError
from kmtools.lab.result import VM_JSON
from kmtools.runner import least, registry, suite
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.suites import kernelsuite, matrix, testkernel
from kmtools.suites.kernelsuite import Outcome

TABLE = {("orders", "6.1"): 40, ("native-plain", ""): 190}


@pytest.fixture(autouse=True)
def replace_minimum_result_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(least, "read_minimum_result_counts", lambda: TABLE)
    monkeypatch.setattr(suite, "LOGS", tmp_path / "logs")


def make_suite_result(results: int, *other_suites: str) -> SimpleNamespace:
    """Return the result of a boot in which the suite `orders` had `results` results, and each suite
    of `other_suites` had one."""
    lines = [f"# suite: {name}\nok {n} a\n" for n, name in enumerate(other_suites, results + 1)]
    oks = "".join(f"ok {n} it works\n" for n in range(1, results + 1))
    status = f"# suite: orders\n{oks}{''.join(lines)}1..{results + len(other_suites)}\n"
    return SimpleNamespace(status=status, exit_code=0, ok=True)


@pytest.mark.parametrize(
    ("results", "kernel", "wrong"),
    [
        (40, "6.1", []),
        (41, "6.1", []),
        (28, "6.1", ["orders: 28 results, fewer than the minimum of 40 in results.csv"]),
        (28, "6.12", []),
    ],
)
def test_suite_with_fewer_results_than_its_minimum_fails(
    results: int, kernel: str, wrong: list[str]
) -> None:
    outcome = Outcome(kernel)
    kernelsuite.add_boot_results(make_suite_result(results), outcome, {"KMARKERS_SUITES": "orders"})  # type: ignore[arg-type]
    assert outcome.tally.failed == wrong


def test_suite_with_a_minimum_that_did_not_run_fails() -> None:
    outcome = Outcome("6.12")
    settings = {"KMARKERS_SUITES": "orders cases modules"}
    kernelsuite.add_boot_results(make_suite_result(40, "modules"), outcome, settings)  # type: ignore[arg-type]
    assert outcome.tally.failed == ["cases: the suite has no result"]


@pytest.mark.parametrize(("passed", "skipped", "good"), [(190, 0, 1), (180, 10, 1), (189, 0, 0)])
def test_user_space_suite_below_its_minimum_fails(passed: int, skipped: int, good: int) -> None:
    one = Tally(passed, skipped=["x: a reason"] * skipped)
    total = suite.run_all_suites([suite.Suite("native-plain", lambda log: one)])
    assert len(total.failed) == 1 - good


def test_skipped_suite_does_not_fail_for_missing_results() -> None:
    one = Tally(skipped=["no compiler"], absent=1)
    assert not suite.run_all_suites([suite.Suite("native-plain", lambda log: one)]).failed


def write_boot_results(
    folder: Path, results: int, settings: kernelsuite.Settings | None, *earlier: str
) -> None:
    """Write the files of a boot in which the suite `cases` had `results` results, or one failure if
    `results` is 0. Before `cases`, each suite of `earlier` had one result. Without `settings`,
    vm.json is missing."""
    folder.mkdir(parents=True)
    lines = [f"# suite: {name}\nok {n} a\n" for n, name in enumerate(earlier, 1)]
    lines.append("# suite: cases\n")
    lines += [f"ok {n} a\n" for n in range(len(earlier) + 1, len(earlier) + results + 1)]
    lines += [] if results else [f"not ok {len(earlier) + 1} a\n"]
    plan = f"1..{len(earlier) + max(1, results)}\n"
    (folder / "status.log").write_text("".join(lines) + plan)
    if settings is not None:
        (folder / VM_JSON).write_text(json.dumps({"accel": "tcg", "settings": settings}))


def test_minimum_counts_are_published_for_passed_suites_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "check"
    for place, number in (("kernel-6.1-1", 3), ("kernel-5.10/boot", 2), ("kernel-6.12", 0)):
        write_boot_results(logs / place, number, kernelsuite.FEW_SETTINGS)
    (logs / "times-full.json").write_text(
        json.dumps({"native-plain": [1.0, 200], "kernel-6.1-1": [1.0, 9], "lint": [1.0, 10]})
    )
    monkeypatch.setattr(least, "TABLE", tmp_path / "results.csv")
    monkeypatch.setattr(least, "LOGS", logs)
    least.publish_minimum_result_counts()
    assert (tmp_path / "results.csv").read_text() == (
        "test,kernel,results\ncases,5.10,2\ncases,6.1,3\nnative-plain,,200\norders,6.1,40\n"
    )


@pytest.mark.parametrize(
    ("place", "settings", "count"),
    [
        ("kernel-6.1-2", kernelsuite.SHORT_SETTINGS, 3),
        ("kernel-6.1", {"KMARKERS_SUITES": "cases"}, None),
        ("kernel-6.1", {}, None),
        ("kernel-6.1", None, None),
        ("kernel-6.1-rt-2", kernelsuite.FEW_SETTINGS, None),
        ("kernel-6.12-kasan/boot-cases", kernelsuite.DEBUG_SETTINGS, None),
        ("kernel-6.1-1.crash-1", kernelsuite.FEW_SETTINGS, None),
    ],
)
def test_minimum_counts_use_short_boots_of_gating_kernels_only(
    place: str, settings: kernelsuite.Settings | None, count: int | None, tmp_path: Path
) -> None:
    write_boot_results(tmp_path / place, 3, settings)
    expected = {} if count is None else {("cases", "6.1"): count}
    assert least.count_results_of_last_runs(tmp_path) == expected


def test_results_are_counted_after_failed_or_long_boots(tmp_path: Path) -> None:
    """The results of a suite are counted although the boots before it failed or had a long form,
    and although a suite before it in the same boot no longer exists. Of several boots of a kernel,
    the smallest number counts."""
    write_boot_results(tmp_path / "kernel-5.10-1", 0, kernelsuite.FEW_SETTINGS)
    write_boot_results(tmp_path / "kernel-5.10-2", 9, {})
    write_boot_results(tmp_path / "kernel-6.1-1", 4, kernelsuite.FEW_SETTINGS, "removed", "orders")
    write_boot_results(tmp_path / "kernel-6.1-2", 3, kernelsuite.FEW_SETTINGS)
    write_boot_results(tmp_path / "kernel-6.12", 5, kernelsuite.FEW_SETTINGS)
    assert least.count_results_of_last_runs(tmp_path) == {
        ("cases", "6.1"): 3,
        ("orders", "6.1"): 1,
        ("cases", "6.12"): 5,
    }


def test_suites_run_in_short_form_unless_the_user_names_them() -> None:
    """In sets of tests, each suite runs in its short form in a test kernel. A suite that the user
    names runs in its long form."""
    for form in ("short", "full"):
        settings = testkernel.choose_stress_settings(SuiteRequest(form))
        assert least.SHORT_SETTING in settings
    assert least.SHORT_SETTING in matrix.GATE_SETTINGS
    assert least.SHORT_SETTING not in testkernel.choose_stress_settings(SuiteRequest("named"))


def test_minimum_counts_are_not_published_without_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(least, "LOGS", tmp_path)
    with pytest.raises(UnableError, match="run `make check-full` first"):
        least.publish_minimum_result_counts()


def test_results_csv_names_existing_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    names = {row.name for row in registry.list_tests()}
    for test, kernel in least.read_minimum_result_counts():
        assert kernel or test in names or test.rpartition("-")[0].removesuffix("-6.1") in names
        assert not kernel or (kernelsuite.TESTS / "suites" / f"{test}.sh").is_file()
