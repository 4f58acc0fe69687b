# SPDX-License-Identifier: GPL-2.0-only
"""Tests that the tables in tests/mutants can be parsed, and that each mutant fits the source."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT
from kmtools.runner import suite
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.pace import History
from kmtools.suites import mutants
from kmtools.suites.mutants import (
    ALL_MUTANTS,
    TABLES,
    Environment,
    Mutant,
    MutantError,
    apply_mutant,
    parse_mutant_table,
)

ROW = """
--- some/file.c
@@ a-name: what is broken
kernel core tables: one test: its end,
another; model variant
 kept

-taken
+put
...
-last
"""


@pytest.mark.parametrize("mutant", ALL_MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_can_be_applied(mutant: Mutant) -> None:
    """The old lines of each mutant occur once in the source."""
    sound = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert apply_mutant(mutant, sound) != sound


def make_kernel_test_name_patterns() -> list[re.Pattern[str]]:
    """Return a pattern for each quoted text in tests/vm that may be the name of a test result.
    The pattern matches any text in place of a shell variable."""
    scripts = (path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "vm").rglob("*.sh"))
    texts = {text for script in scripts for text in re.findall(r'"((?:\\.|[^"\\\n])*)"', script)}
    parts = [
        re.split(r"\$\([^)]*\)|\$\{[^}]*\}|\$\w+|\$[@*]", re.sub(r"\\(.)", r"\1", text))
        for text in texts
    ]
    return [
        re.compile(".+".join(map(re.escape, part))) for part in parts if sum(map(len, part)) >= 8
    ]


def test_kernel_tests_named_by_mutants_exist() -> None:
    patterns = make_kernel_test_name_patterns()
    assert len(patterns) > 500
    unknown = [
        f"{mutant.name}: {test}"
        for mutant in ALL_MUTANTS
        if mutant.suites
        for test in mutant.tests
        if not any(pattern.fullmatch(test) for pattern in patterns)
    ]
    assert not unknown


def read_sources_with_test_names() -> str:
    """Return the text of the C test cases and of the shell job that boots mutants: both contain the
    names of tests."""
    folders = [ROOT / "tests" / name for name in ("common", "native", "kernel")]
    paths = [path for one in folders for path in one.rglob("*.c")]
    paths.append(ROOT / "tests" / "vm" / "jobs" / "mutant.sh")
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def is_test_defined(environment: Environment, test: str, sources: str) -> bool:
    """Return True if a test with the name `test` exists: a test of the tools, or a quoted name in
    `sources`."""
    if environment is Environment.TOOLS:
        file, _, function = test.partition("::")
        path = ROOT / "tests" / "tools" / file
        name = function.partition("[")[0]
        return path.is_file() and f"def {name}(" in path.read_text(encoding="utf-8")
    return f'"{test}"' in sources


def test_tests_named_by_mutants_exist() -> None:
    """A test that was renamed is renamed in the tables of mutants, too."""
    named = {
        (mutant.environment, test)
        for mutant in ALL_MUTANTS
        if not mutant.suites
        for name in mutant.tests
        for test in re.split(r"[,;]\s*", name)
    }
    assert len(named) > 250
    sources = read_sources_with_test_names()
    assert not sorted(test for kind, test in named if not is_test_defined(kind, test, sources))


def test_names_of_mutants_are_unique() -> None:
    """No two mutants have the same name."""
    names = [mutant.name for mutant in ALL_MUTANTS]
    assert len(set(names)) == len(names)


def test_every_mutant_line_is_parsed() -> None:
    """Each line that begins with @@ is parsed as a mutant."""
    lines = [line for table in TABLES for line in table.read_text(encoding="utf-8").splitlines()]
    heads = [line for line in lines if "@@ " in line[:3]]
    assert len(heads) == len(ALL_MUTANTS) > 100


def test_all_fields_of_a_mutant_are_parsed() -> None:
    """parse_mutant_table() returns all fields of a mutant."""
    (mutant,) = parse_mutant_table(ROW)
    assert (mutant.name, mutant.what, mutant.file) == ("a-name", "what is broken", "some/file.c")
    assert (mutant.environment, mutant.suites) == (Environment.KERNEL, ["core", "tables"])
    assert (mutant.tests, mutant.model) == (["one test: its end", "another"], "variant")
    assert mutant.edits == [("kept\n\ntaken\n", "kept\n\nput\n"), ("last\n", "")]
    assert apply_mutant(mutant, "last\nkept\n\ntaken\nend\n") == "kept\n\nput\nend\n"


@pytest.mark.parametrize("text", ["", "last\n", "kept\n\ntaken\nlast\nlast\n"])
def test_old_lines_must_occur_exactly_once(text: str) -> None:
    """If the old lines of a mutant do not occur exactly once, apply_mutant() raises an error."""
    (mutant,) = parse_mutant_table(ROW)
    with pytest.raises(MutantError, match="exactly once"):
        apply_mutant(mutant, text)


def test_invalid_mutant_is_refused() -> None:
    """A mutant with an unknown environment (not user, kernel and so on) is an error."""
    with pytest.raises(MutantError, match="cannot be read"):
        list(parse_mutant_table(ROW.replace("kernel core", "nowhere")))


def test_failure_of_unchanged_code_fails_the_check_of_mutants(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If tests fail with the unchanged code, the check of mutants fails and is not skipped."""

    def raise_mutant_error(*_: object) -> list[mutants.Verdict]:
        raise MutantError("tests fail with the unchanged code: one")

    monkeypatch.setattr(mutants, "run_mutants", raise_mutant_error)
    monkeypatch.setattr(suite, "LOGS", tmp_path)
    request = SuiteRequest(options={"mutants": "sdt-no-index"})
    (asked,) = mutants.make_requested_mutant_suites(request, ["mutants"])
    tally = suite.run_suite(asked, History(tmp_path / "times.json"))
    assert tally.failed == ["tests fail with the unchanged code: one"]
    assert not tally.skipped


def test_mutant_that_cannot_be_judged_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mutant that cannot be judged is a failure, or skipped if its test was skipped; the other
    mutants are run."""

    def judge_mutant(mutant: Mutant, _: str) -> mutants.Verdict:
        if mutant.name == "sdt-no-index":
            raise MutantError("does not build")
        if mutant.name == "sdt-events-in-vain":
            mutants.require_test_that_ran([], ["one: no perf"])
        return mutants.Verdict(mutant, mutants.require_test_that_ran(["one fails"], ["two: no"]))

    monkeypatch.setattr(mutants, "copy_sources_to_mutant_tree", lambda: None)
    monkeypatch.setattr(mutants, "require_tests_pass_without_mutants", lambda *_: None)
    monkeypatch.setattr(mutants, "run_mutant", judge_mutant)
    names = ["sdt-no-index", "sdt-events-in-vain", "entry-in-parts"]
    request = SuiteRequest(options={"mutants": " ".join(names)})
    (asked,) = mutants.make_requested_mutant_suites(request, ["mutants"])
    skipped = "sdt-events-in-vain: skipped on this machine: one: no perf"
    assert asked.run(Path()) == Tally(1, ["sdt-no-index: does not build"], [skipped])


@pytest.mark.parametrize(
    ("environment", "ran", "skipped"),
    [
        (Environment.USER, "1..1\nok 1 a\n", "1..1\nok 1 b # SKIP no perf\n"),
        (Environment.TOOLS, "1 passed\n", "SKIPPED [1] tests/b.py:3: no perf\n1 skipped\n"),
    ],
)
@pytest.mark.parametrize("fails", [False, True])
def test_skipped_test_of_a_mutant_is_named_unless_another_test_fails(
    environment: Environment, ran: str, skipped: str, fails: bool, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The tests of the unchanged code may be skipped, too."""

    def run_test(words: list[object], log: Path, _: float) -> int:
        is_skipped = str(words[-1]).endswith("b")
        log.write_text(skipped if is_skipped else ran)
        return int(fails and not is_skipped)

    monkeypatch.setattr(mutants, "SCRATCH", tmp_path)
    monkeypatch.setattr(mutants, "build_test_program", lambda *_: tmp_path / "test")
    monkeypatch.setattr(mutants, "run_with_time_limit", run_test)
    mutant = Mutant("m", "", "", [], ["b", "a"], environment)
    monkeypatch.setattr(mutants, "TREE", tmp_path)
    (tmp_path / "empty").touch()
    log = tmp_path / "m.log"
    if fails:
        assert [one[0] for one in mutants.run_mutant_tests(mutant, "6.1", log)] == ["a"]
        return
    with pytest.raises(mutants.SkippedError, match=r"^skipped on this machine: b: no perf$"):
        mutants.run_mutant_tests(mutant, "6.1", log)
    mutants.require_tests_pass_without_mutants([replace(mutant, file="empty")], "6.1")
