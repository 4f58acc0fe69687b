# SPDX-License-Identifier: GPL-2.0-only
"""Tests of random mutants: how they are made, judged and reported, without a build or a boot."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kmtools.base import processes
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.commands import check
from kmtools.lab import catalogue, machine
from kmtools.lab.accel import Accel
from kmtools.runner import registry
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.suites import cmutations, mutants, pymutations, randommutants, testlines
from kmtools.suites.randommutants import Change, Judgement

# Skips a test if the Python environment for mutants of Python code is missing.
NEEDS_MUTATION_PYTHON = pytest.mark.skipif(
    not testlines.PYTHON.exists(),
    reason=f"{testlines.PYTHON} is missing: run scripts/setup --mutants",
)

BODY = """\
static int f(int a)
{
%s
}
"""
# For each mutation operator: a line of code, the changed line, and the name of the operator.
OPERATORS = (
    ("unlock(a);", "{ }", "delete statement"),
    ("goto out;", "{ }", "delete statement"),
    ("if (a) b(a); else c();", "if (a) { } else c();", "delete statement"),
    ("if (g(a)) b();", "if (!(g(a))) b();", "negate condition"),
    ("while (a) b();", "while (!(a)) b();", "negate condition"),
    ('if (g("x; y")) b();', 'if (!(g("x; y"))) b();', "negate condition"),
    ("x = a < b;", "x = a <= b;", "swap comparison"),
    ("x = a == b;", "x = a != b;", "swap comparison"),
    ("x = 4;", "x = 5;", "change constant"),
    ("x = 4;", "x = 3;", "change constant"),
    ("x = 0x10;", "x = 0xf;", "change constant"),
    ("if (a) return a;", "if ((a) && 0) return a;", "drop error path"),
    ("if (a) { b(); goto c; }", "if ((a) && 0) { b(); goto c; }", "drop error path"),
    ("if (a && b[c && d]) e();", "if (b[c && d]) e();", "drop left operand"),
    ("if (a && b || c) e();", "if (a || c) e();", "drop right operand"),
    ("x = f(a - 1, b) + c;", "x = c;", "drop left operand"),
    ("x = f(a - b->c, d);", "x = f(a, d);", "drop right operand"),
)
# Code in which no mutation operator changes anything.
SILENT = (
    *("/* a < b; */", "// if (a < 3)", "#define X(a) (a < 3)", "return a;", "int b;"),
    *('pr_info("3 < 4 %d", a + 3);', "struct foo *bar = baz;", "u32 x, y;", "const char *s = t;"),
)


def list_mutants_of_line(line: str) -> list[tuple[str, str]]:
    """Return the mutants of a line of C: the changed line, and the name of the operator."""
    text = BODY % line
    edits = cmutations.list_c_source_edits(text)
    return [(cmutations.apply_edit(text, edit).splitlines()[2], edit.what) for edit in edits]


@pytest.mark.parametrize(("line", "changed", "what"), OPERATORS)
def test_mutation_operator_makes_the_expected_change(line: str, changed: str, what: str) -> None:
    """Each operator makes the expected change."""
    assert (changed, what) in list_mutants_of_line(line)


@pytest.mark.parametrize("line", SILENT)
def test_lines_without_code_have_no_mutants(line: str) -> None:
    """Comments, strings, preprocessor lines, messages and declarations are not changed."""
    assert not list_mutants_of_line(line)


def test_mutants_keep_strings_and_comments() -> None:
    """Mutants of real sources have the comments and strings of the sources."""
    text = (ROOT / "patcher" / "batch.c").read_text(encoding="utf-8")
    parts = [found[0] for found in cmutations.SILENT.finditer(text)]
    edits = cmutations.list_c_source_edits(text)
    assert len(edits) > 100
    for edit in edits[::7]:
        changed = cmutations.apply_edit(text, edit)
        left = [found[0] for found in cmutations.SILENT.finditer(changed)]
        assert set(left) <= set(parts)
        assert changed != text


def test_same_seed_gives_same_mutants() -> None:
    """The order of C mutants depends only on the seed."""
    files = ["patcher/stats.c", "base/words.c"]
    one, again, other = (
        [change.name for change in randommutants.draw_c_mutants(files, seed, ROOT)]
        for seed in (3, 3, 4)
    )
    assert one == again
    assert one != other
    assert sorted(one) == sorted(other)


@NEEDS_MUTATION_PYTHON
def test_same_seed_gives_same_python_mutants(tmp_path: Path) -> None:
    """Python mutants depend only on the sources and the seed, and do not change annotations or
    docstrings."""
    text = 'def f(a: int | None) -> int:\n    """Add 1 < 2."""\n    return a + 1\n'
    (tmp_path / "a.py").write_text(text)
    program = pymutations.__file__
    one, again, other = (
        processes.capture_output([testlines.PYTHON, program, tmp_path, seed, 4]).stdout
        for seed in (1, 1, 2)
    )
    assert one == again != other
    assert len(one.splitlines()) == 4
    assert "int | None" in one and "Add 1 < 2" in one


@NEEDS_MUTATION_PYTHON
def test_all_changes_of_a_syntax_tree_node_are_drawn(tmp_path: Path) -> None:
    """An `except` clause can be changed in a different way for each exception that it names. All
    ways are drawn, however many there are."""
    exceptions = [f"E{number}" for number in range(9)]
    text = f"try:\n    f()\nexcept ({', '.join(exceptions)}):\n    pass\n"
    (tmp_path / "a.py").write_text(text)
    words: list[str | Path] = [testlines.PYTHON, pymutations.__file__, tmp_path, "1", "9"]
    # If some ways to change the clause are never drawn, the program does not end.
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    changed = [json.loads(line)[3] for line in done.stdout.splitlines()]
    for name in exceptions:
        assert any(name not in new for new in changed)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("x: int = 1", "x: str = 1", True),
        ("def f(a: int) -> int: return 1", "def f(a: str) -> str:  return 1", True),
        ('def f():\n "one"\n return 1', 'def f():\n "two"\n return 1', True),
        ("if TYPE_CHECKING: import a", "if not TYPE_CHECKING: import a", True),
        ("x = 16", "x = 0x10", True),
        ("x = 1", "x = ", True),
        ("x = 1", "x = 2", False),
        ("x = a < b", "x = a <= b", False),
    ],
)
def test_python_changes_without_effect_are_recognised(old: str, new: str, same: bool) -> None:
    assert pymutations.has_same_effect(old, new) == same


def judge_planted_mutants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judgements: Sequence[Judgement], count: int
) -> tuple[Tally, str]:
    """Judge mutants in a fake source tree: each mutant gets the next of `judgements`. Return the
    result and the report."""
    (tmp_path / "a.c").write_text("one\ntwo\n")
    monkeypatch.setattr(randommutants, "SCRATCH", tmp_path)
    changes = [Change("a.c", 2, "swap", f"one\nchanged {n}\n") for n, _ in enumerate(judgements)]
    given = iter(judgements)
    seen = []

    def return_next_judgement(_: Change, __: Path) -> Judgement:
        seen.append((tmp_path / "a.c").read_text())
        return next(given)

    report = tmp_path / "report.txt"
    tally = randommutants.judge_mutants(
        "native", iter(changes), count, return_next_judgement, report, tmp_path
    )
    assert seen == [change.text for change in changes[: len(seen)]]
    assert (tmp_path / "a.c").read_text() == "one\ntwo\n"
    return tally, report.read_text()


def test_survivor_is_printed_as_diff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A survivor is reported as a diff, with the tests that ran, and lowers the rate. One survivor
    of two mutants may be chance, so there is no failure."""
    given = [Judgement("case_one"), Judgement(seen_by=["native-plain"])]
    tally, report = judge_planted_mutants(tmp_path, monkeypatch, given, 2)
    said = capsys.readouterr().out
    for text in (said, report):
        assert "seen by native-plain\n--- a/a.c\n+++ b/a.c\n" in text
        assert "-two\n+changed 1\n" in text
        assert "native: 1 of 2 mutants caught, 50 %" in text
    assert "a.c:2 swap" in said and "case_one" in said
    assert not tally.failed


def test_too_many_survivors_are_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample fails if chance does not explain why so few mutants are caught. The failure names
    the limit."""
    tally, _ = judge_planted_mutants(
        tmp_path, monkeypatch, [Judgement(seen_by=["native-plain"])] * 2, 2
    )
    assert tally.failed and "the limit is 92 %" in tally.failed[0]


@pytest.mark.parametrize(
    "caught, judged, below",
    [
        *((0, 0, False), (0, 1, False), (0, 2, True), (7, 10, True), (8, 10, False)),
        *((176, 200, True), (177, 200, False), (200, 200, False)),
    ],
)
def test_limit_of_mutant_catch_rate_allows_for_chance(
    caught: int, judged: int, below: bool
) -> None:
    """A sample is below the limit of 92 % if the binomial distribution makes so few caught mutants
    improbable: at most 7 of 10 (probability 0.04), or 176 of 200 (0.03)."""
    assert randommutants.is_caught_share_too_low(caught, judged, 92.0) is below


def test_run_passes_if_all_mutants_are_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If all mutants are caught, the result is a pass. A mutant without effect is not counted."""
    given = [Judgement(counted=False), Judgement("a"), Judgement("b"), Judgement("c")]
    tally, report = judge_planted_mutants(tmp_path, monkeypatch, given, 2)
    assert (tally.passed, tally.failed) == (1, [])
    assert report.startswith("native: 2 of 2 mutants caught, 100 %")


def test_mutant_that_cannot_be_judged_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mutant that cannot be judged is a failure, but neither caught nor a survivor."""
    given = [Judgement(), Judgement("a")]
    judge: Any = randommutants.judge_mutants

    def fail_to_judge_survivors(*words: Any) -> Tally:
        def raise_error(change: Change, log: Path) -> Judgement:
            judgement: Judgement = words[3](change, log)
            if not judgement.caught:
                raise mutants.MutantError("cannot be built")
            return judgement

        tally: Tally = judge(*words[:3], raise_error, *words[4:])
        return tally

    monkeypatch.setattr(randommutants, "judge_mutants", fail_to_judge_survivors)
    tally, report = judge_planted_mutants(tmp_path, monkeypatch, given, 2)
    assert tally.failed == ["a.c:2 swap: cannot be built"]
    assert "1 of 1 mutants caught" in report


def test_mutant_with_the_same_object_code_is_not_counted(tmp_path: Path) -> None:
    """The objects of two sources with the same code are equal, whatever the debug information."""
    objects = []
    for name, text in (
        ("a.c", "int f(int a) { return a + 0; }"),
        ("b.c", "int f(int b) {return b;}"),
    ):
        (tmp_path / "x.c").write_text(text)
        make = ["gcc", "-g", "-O2", "-c", tmp_path / "x.c", "-o", tmp_path / "x.o"]
        objects.append(
            randommutants.compile_object(make, tmp_path / "x.o", tmp_path / f"{name}.log")
        )
    assert objects[0] is not None and objects[0] == objects[1]


def test_mutant_listed_as_unnoticed_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A survivor in the list of unnoticed mutants does not lower the rate of caught mutants."""
    table = tmp_path / "unnoticed.txt"
    table.write_text("A list.\n--- a.c\n@@ a-name: it has no effect.\n-two\n+changed 0\n")
    monkeypatch.setattr(mutants, "UNNOTICED", table)
    tally, report = judge_planted_mutants(tmp_path, monkeypatch, [Judgement(), Judgement("a")], 2)
    assert tally.passed == 1
    assert "1 of 1 mutants caught" in report and "1 listed as unnoticed" in report


def test_list_of_unnoticed_mutants_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All survivors are compared with the list that was read at the beginning."""
    read: list[str] = []
    parse: Any = mutants.parse_mutant_table

    def parse_and_record_table(text: str, table: str) -> Any:
        read.append(table)
        return parse(text, table)

    monkeypatch.setattr(mutants, "parse_mutant_table", parse_and_record_table)
    judge_planted_mutants(tmp_path, monkeypatch, [Judgement()] * 3, 3)
    assert read == ["unnoticed.txt"]


def test_list_of_unnoticed_mutants_matches_sources() -> None:
    """The old lines of each listed mutant occur once in the source."""
    for mutant in randommutants.list_unnoticed_mutants():
        sound = (ROOT / mutant.file).read_text(encoding="utf-8")
        assert mutants.apply_mutant(mutant, sound) != sound
    heads = mutants.UNNOTICED.read_text(encoding="utf-8").count("\n@@ ")
    assert heads == len(randommutants.list_unnoticed_mutants())


def test_first_line_changed_by_a_mutant_is_found() -> None:
    """The number of the first line that differs is found, also if lines at the end were deleted."""
    changes = (("a\nb\n", "a\nc\n", 2), ("a\nb\n", "c\nb\n", 1))
    deletions = (("a\nb\n", "a\n", 2), ("a", "a\nb", 2))
    for old, new, line in (*changes, *deletions):
        assert pymutations.find_changed_line(old, new) == line


SLOW_AND_QUICK = testlines.TestTimes({"slow": 9.0, "quick": 1.0})


def test_tests_that_execute_a_line_are_found(tmp_path: Path) -> None:
    """The tests that execute a line are found, quickest first. For lines that an import executes,
    all tests of the file are found, even if one of the tests imports the file."""
    data = tmp_path / "data"
    with sqlite3.connect(data) as database:
        database.executescript(
            "CREATE TABLE file (id, path); CREATE TABLE context (id, context);"
            "CREATE TABLE line_bits (file_id, context_id, numbits);"
        )
        database.execute("INSERT INTO file VALUES (1, ?)", [str(tmp_path / "a.py")])
        contexts = enumerate(["", "slow", "quick", "failing"])
        database.executemany("INSERT INTO context VALUES (?, ?)", contexts)
        # Bit masks of the lines that each context executes: line 1; 1 and 9; 9 and 10; 9.
        bits = [b"\x02", b"\x02\x02", b"\x00\x06", b"\x00\x02"]
        rows = [(1, context, some) for context, some in enumerate(bits)]
        database.executemany("INSERT INTO line_bits VALUES (?, ?, ?)", rows)
    lines = testlines.TestLines(SLOW_AND_QUICK, data, tmp_path)
    assert lines.find_tests_of_lines("a.py", [9]) == ["quick", "slow"]
    assert lines.find_tests_of_lines("a.py", [10]) == ["quick"]
    assert lines.find_tests_of_lines("a.py", [1]) == ["quick", "slow"]
    assert lines.find_tests_of_lines("a.py", [2]) == lines.find_tests_of_lines("b.py", [9]) == []


def test_tests_that_execute_a_c_line_are_found() -> None:
    """The tests that execute a line are found, quickest first. For a line from which nothing was
    compiled, all tests of the file are found, and for another file, all tests."""
    table = {"a.c": {"3": ["slow", "quick", "failing"], "4": [], "7": ["slow"]}}
    lines = testlines.NativeTestLines(SLOW_AND_QUICK, table)
    assert lines.find_tests_of_lines("a.c", 3) == ["quick", "slow"]
    assert lines.find_tests_of_lines("a.c", 7) == ["slow"]
    assert lines.find_tests_of_lines("a.c", 5) == ["quick", "slow"]
    assert lines.find_tests_of_lines("a.c", 4) == []
    assert lines.find_tests_of_lines("b.c", 3) == ["quick", "slow"]


# A Python file, and tests that execute its lines 2, 4, 6, 8 and 10: in the main thread of the test,
# in another thread, in a forked worker process, in a program, and in a fixture of two tests.
STEPS = """def one():
    return 1
def two():
    return 2
def three():
    return 3
def four():
    return 4
def five():
    return 5
"""
STEPS_TESTS = """import multiprocessing, subprocess, sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import pytest
sys.path.insert(0, "scripts")
from kmtools import steps
def test_self(): assert steps.one() == 1
def test_thread():
    with ThreadPoolExecutor() as pool:
        assert pool.submit(steps.two).result() == 2
def test_worker():
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        assert pool.submit(steps.three).result() == 3
def test_program():
    text = "import sys; sys.path.insert(0, 'scripts'); from kmtools import steps; steps.four()"
    subprocess.run([sys.executable, "-c", text], check=True)
@pytest.fixture(scope="module")
def shared(): return steps.five()
@pytest.fixture
def own(shared): return shared + steps.one()
def test_shared(shared): pass
def test_indirect(own): assert own == 6
"""


@NEEDS_MUTATION_PYTHON
def test_python_lines_that_a_test_executes_are_measured(tmp_path: Path) -> None:
    """The tests that execute a line are found, also in threads, worker processes, programs and
    shared fixtures."""
    (tmp_path / "scripts" / "kmtools").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "mutants").symlink_to(ROOT / "tests" / "mutants")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "scripts" / "kmtools" / "steps.py").write_text(STEPS)
    (tmp_path / "tests" / "test_steps.py").write_text(STEPS_TESTS)
    log = tmp_path / "logs" / "sound.log"
    log.parent.mkdir()
    lines = testlines.record_lines_of_tests(tmp_path, log, ["tests/test_steps.py"])
    for line, names in (
        *((2, {"self", "indirect"}), (4, {"thread"}), (6, {"worker"}), (8, {"program"})),
        (10, {"shared", "indirect"}),
    ):
        found = lines.find_tests_of_lines("scripts/kmtools/steps.py", [line])
        assert {*found} == {f"tests/test_steps.py::test_{name}" for name in names}


def test_shared_fixture_counts_once_in_the_time_of_tests(tmp_path: Path) -> None:
    """A fixture of 40 seconds runs in the test a, and the test b uses the fixture, too. Without the
    fixture, a takes 2 seconds, b 1 second and c 30 seconds. Of two tests with 200 seconds each, one
    is chosen."""
    record = tmp_path / "log.jsonl"
    entries: list[object] = [{"test": "a", "uses": ["f"]}, {"test": "b", "uses": ["f"]}]
    entries += [{"test": "c", "uses": []}, {"fixture": "f", "seconds": 40.0, "test": "a"}]
    entries += [[name, "passed", time] for name, time in (("a", 42.0), ("b", 1.0), ("c", 30.0))]
    record.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    times = testlines.read_passed_tests(record)
    assert times.seconds == {"a": 2.0, "b": 1.0, "c": 30.0}
    assert times.sort_tests_by_time({"f", "c"}) == ["c", "b", "a"]
    assert times.sum_test_seconds(["a", "b", "c"]) == 73.0
    assert times.compute_test_time_limit(["b"]) == testlines.START_SECONDS + 41 * testlines.SLOWER
    assert times.choose_quick_tests(["a", "b", "c"]) == ["a", "b", "c"]
    long = testlines.TestTimes({"a": 200.0, "b": 200.0})
    assert long.choose_quick_tests(["a", "b"]) == ["a"]
    fixtures = {f"t{n}": ["f"] for n in range(9)}
    shared = testlines.TestTimes(dict.fromkeys(fixtures, 1.0), fixtures, {"f": 200.0})
    assert shared.choose_quick_tests(fixtures) == [*fixtures]


# A C program that executes one of the lines 3 and 5.
CHOICE = """int main(int count, char **words) {
    if (count > 1)
        words[0] = 0;
    else
        words[0] = 0;
    return 0;
}
"""
# Three tests: one runs the program with an argument, one without, and one does not run the program.
CHOICE_TESTS = """import subprocess
from pathlib import Path
import pytest
PROGRAM = Path("build/native/choice").absolute()
@pytest.fixture(scope="session", autouse=True)
def program():
    subprocess.run(["make", "-s", "-Cnative", PROGRAM], check=True)
def test_with(): subprocess.run([PROGRAM, "word"], check=True)
def test_without(): subprocess.run([PROGRAM], check=True)
def test_other(): assert PROGRAM.exists()
"""
CHOICE_MAKEFILE = """OUT := ../build/native
$(abspath $(OUT))/choice: choice.c
\tmkdir -p $(OUT)
\tgcc -O0 $(EXTRA) -c -o $@.o $<
\tgcc $(EXTRA) -o $@ $@.o
"""


def test_c_lines_that_a_test_executes_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs that count the executions of lines are built only for the measurement. The results
    of the measurement are stored."""
    for name in ("native", "tests"):
        (tmp_path / name).mkdir()
    (tmp_path / "tests" / "mutants").symlink_to(ROOT / "tests" / "mutants")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "native" / "choice.c").write_text(CHOICE)
    (tmp_path / "native" / "Makefile").write_text(CHOICE_MAKEFILE)
    (tmp_path / "tests" / "test_choice.py").write_text(CHOICE_TESTS)
    monkeypatch.setattr(testlines, "PYTHON", sys.executable)
    log = tmp_path / "logs" / "sound.log"
    log.parent.mkdir()
    for _ in range(2):
        lines = testlines.record_native_lines_of_tests(tmp_path, log, ["tests/test_choice.py"])
        tests = [lines.find_tests_of_lines("native/choice.c", line) for line in (3, 5, 2)]
        name = "tests/test_choice.py::test_with"
        assert tests[0] == [name] and tests[1] == [f"{name}out"]
        assert {*tests[2]} == {name, f"{name}out"} and f"{name[:-4]}other" in lines.times.seconds
        # The second measurement must not run the tests.
        monkeypatch.setattr(testlines, "run_pytest_in_tree", None)
    assert not [*tmp_path.rglob("*.gcda")]


def test_stored_test_results_are_read_again(tmp_path: Path) -> None:
    """Results of an earlier run are read instead of running the tests again. A test with a failed
    phase, such as the teardown, does not count as passed."""
    phases = [["a", "passed", 1.0], ["a", "passed", 2.0], ["b", "passed", 1.0], ["b", "failed", 0]]
    record = tmp_path / "log.jsonl"
    record.write_text("".join(f"{json.dumps(phase)}\n" for phase in phases))
    assert testlines.read_passed_tests(record) == testlines.TestTimes({"a": 3.0})
    (tmp_path / "log.json").write_text('{"seconds": {"a": 3.0}, "fixtures": {"a": ["f"]}}')
    found = testlines.load_or_run_passing_tests(tmp_path, [], tmp_path / "log")
    assert found == testlines.TestTimes({"a": 3.0}, {"a": ["f"]})


@pytest.mark.parametrize("code", [None, 2, 3])
def test_results_of_an_incomplete_run_are_refused(
    code: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the tests are not run to the end, the passed tests are not stored."""

    def write_incomplete_test_log(*_: object, **__: object) -> int | None:
        (tmp_path / "log.jsonl").write_text('["a", "passed", 1.0]\n')
        return code

    monkeypatch.setattr(testlines, "run_pytest_in_tree", write_incomplete_test_log)
    with pytest.raises(FailedError, match="not run to the end"):
        testlines.load_or_run_passing_tests(tmp_path, [], tmp_path / "log")
    assert not (tmp_path / "log.json").exists()


def test_all_lines_of_a_statement_or_function_head_are_found() -> None:
    """For a line of a statement, all lines of the statement are found. For a line in the head of a
    function, all lines of the head are found."""
    text = "def f(\n    a,\n):\n    x = (\n        a\n    )\n    return x\n"
    found = [[*testlines.find_statement_lines(text, line)] for line in (2, 5, 7)]
    assert found == [[1, 2, 3], [4, 5, 6], [7]]


def test_suites_of_the_mutated_module_run_first() -> None:
    """The suites that detect mutants of the same module run first, and no suite is left out."""
    suites = randommutants.order_suites_by_detections("entry/hit.c")
    assert suites[0].startswith("entry")
    assert sorted(suites) == sorted(randommutants.order_suites_by_detections("sdt/hit.c"))


@pytest.mark.parametrize(
    ("text", "caught", "counted"),
    [
        ("int b;\n", "case_two", True),
        ("quiet\n", "", True),
        ("int  a;\n", "", False),
        ("broken\n", "", False),
        ("warning: b\n", "a warning of the compiler", True),
    ],
)
def test_kernel_mutant_is_judged_by_its_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, caught: str, counted: bool
) -> None:
    """A mutant for kernels is built and booted, if its object has changed. Then the modules are
    built again without the change."""
    source = tmp_path / "tree" / "entry" / "hit.c"
    built = tmp_path / "objects" / "entry" / "hit.o"
    for path in (source, built):
        path.parent.mkdir(parents=True)
    source.write_text("int a;\n")

    def build_fake_modules(_: str, __: Path, modules: Path, ___: object, log: Path) -> int:
        built.write_text(source.read_text().replace("  ", " "))
        modules.mkdir(exist_ok=True)
        (modules / "entry.ko").write_text(built.read_text())
        log.write_text(source.read_text())
        return int(source.read_text() == "broken\n")

    def return_failed_case(guest: randommutants.Guest, _: Path) -> str:
        said = (guest.modules / "entry.ko").read_text()
        return "" if said in ("int a;\n", "quiet\n") else "case_two"

    monkeypatch.setattr(randommutants, "TREE", tmp_path / "tree")
    monkeypatch.setattr(randommutants, "SCRATCH", tmp_path)
    monkeypatch.setattr(randommutants, "get_object_dir", lambda *_: tmp_path / "objects")
    monkeypatch.setattr(randommutants, "build_modules", build_fake_modules)
    monkeypatch.setattr(randommutants, "make_stripped_module_copies", lambda *_: None)
    monkeypatch.setattr(mutants, "build_kmlive", lambda _: source)
    monkeypatch.setattr(randommutants, "list_native_c_files", lambda *_: {"native/live.c"})
    monkeypatch.setattr(randommutants, "boot_until_failure", return_failed_case)
    monkeypatch.setattr(randommutants, "read_unchanged_text", lambda _: "int a;\n")
    judge = randommutants.make_kernel_judge("6.1")
    with randommutants.replace_file_text_temporarily("entry/hit.c", text, tmp_path / "tree"):
        judgement = judge(Change("entry/hit.c", 1, "swap", text), tmp_path / "one.log")
    assert source.read_text() == built.read_text() == "int a;\n"
    if not isinstance(judgement, Judgement):
        # This call boots the mutant that judge() has built.
        judgement = judgement()
    assert (judgement.caught, judgement.counted) == (caught, counted)
    assert {path.name for path in tmp_path.glob("*modules")} == {"modules", "sound-modules"}


@pytest.mark.parametrize(
    ("text", "caught", "counted"),
    [
        ("live", "", False),
        ("broken", "", False),
        ("warns", "a warning of the compiler", True),
        ("quiet", "", True),
    ],
)
def test_kmlive_mutant_is_judged_by_suites_that_run_kmlive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, caught: str, counted: bool
) -> None:
    """A mutant of kmlive boots with the unchanged modules, if its object file has changed. A mutant
    that cannot be compiled is not counted."""
    source = tmp_path / "tree" / "native" / "live.c"
    source.parent.mkdir(parents=True)
    source.write_text("live")
    booted = list[tuple[str, str, str]]()

    def return_fake_object(make: Sequence[object], _: Path, __: Path) -> bytes | None:
        said = source.read_text()
        fails = said == "broken" or (said == "warns" and "EXTRA=-Wno-error" not in make)
        return None if fails else said.encode()

    def record_boot(guest: randommutants.Guest, _: Path) -> str:
        booted.append((guest.file, guest.modules.name, guest.kmlive.read_text()))
        return ""

    monkeypatch.setattr(randommutants, "SCRATCH", tmp_path)
    monkeypatch.setattr(randommutants, "build_modules", lambda *_: 0)
    monkeypatch.setattr(randommutants, "copy_and_strip_modules", lambda *_: None)
    monkeypatch.setattr(randommutants, "TREE", tmp_path / "tree")
    monkeypatch.setattr(randommutants, "compile_object", return_fake_object)
    monkeypatch.setattr(randommutants, "read_unchanged_text", lambda _: "live")
    monkeypatch.setattr(mutants, "build_kmlive", lambda _: source)
    monkeypatch.setattr(randommutants, "list_native_c_files", lambda *_: {"native/live.c"})
    monkeypatch.setattr(randommutants, "boot_until_failure", record_boot)
    judge = randommutants.make_kernel_judge("6.1")
    with randommutants.replace_file_text_temporarily("native/live.c", text, tmp_path / "tree"):
        judgement = judge(Change("native/live.c", 1, "swap", text), tmp_path / "one.log")
    if not isinstance(judgement, Judgement):
        judgement = judgement()
        assert judgement.seen_by == ["bench", "packets"]
    assert (judgement.caught, judgement.counted) == (caught, counted)
    sound = ("base", "sound-modules", "live")
    assert booted == [sound, *[("native/live.c", "sound-modules", text)] * (text == "quiet")]


def test_files_of_kmlive_are_mutated_for_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """kmlive needs the modules, so no test in user space runs its code."""
    monkeypatch.setattr(randommutants, "TREE", ROOT)
    kernel, native = (randommutants.list_c_files(where, ROOT) for where in ("C", "native"))
    assert "native/live.c" in kernel and "entry/hit.c" in kernel
    assert "native/main.c" in native and "patcher/batch.c" in native
    assert not {*kernel} & {*native}


def test_two_mutants_boot_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While two mutants wait for the results of their boots, the next mutant is built. The rows are
    in the order of the mutants."""
    (tmp_path / "a.c").write_text("sound\n")
    monkeypatch.setattr(randommutants, "SCRATCH", tmp_path)
    both = threading.Barrier(randommutants.GUESTS, timeout=60)

    def defer_judgement(change: Change, _: Path) -> randommutants.LateJudgement:
        assert (tmp_path / "a.c").read_text() == change.text

        def boot_and_judge() -> Judgement:
            both.wait()
            if change.text == "b3\n":
                raise mutants.MutantError("no boot")
            return Judgement("" if change.text == "b1\n" else change.text.strip())

        return boot_and_judge

    changes = (Change("a.c", 1, f"change {n}", f"b{n}\n") for n in range(4))
    tally = randommutants.judge_mutants(
        "C", changes, 4, defer_judgement, tmp_path / "report", tmp_path
    )
    assert tally.failed == ["a.c:1 change 3: no boot"]
    assert "2 of 3 mutants caught" in (tmp_path / "report").read_text()
    assert (tmp_path / "a.c").read_text() == "sound\n"


def test_waiting_mutants_are_not_booted_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Running boots are ended by a signal. Boots that wait for a free guest never begin."""
    (tmp_path / "a.c").write_text("sound\n")
    monkeypatch.setattr(randommutants, "SCRATCH", tmp_path)
    monkeypatch.setattr(randommutants, "GUESTS", 1)
    booted, began, interrupted = list[str](), threading.Event(), threading.Event()

    def defer_judgement(change: Change, _: Path) -> randommutants.LateJudgement:
        def boot_and_judge() -> Judgement:
            booted.append(change.text)
            began.set()
            interrupted.wait(60)
            return Judgement()

        return boot_and_judge

    class CancellingPool(ThreadPoolExecutor):
        """An executor in which the running boot ends only after the waiting boots are cancelled."""

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            interrupted.set()
            super().shutdown(wait=wait)

    def raise_interrupt_during_boot(*_: object) -> None:
        assert began.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(randommutants, "ThreadPoolExecutor", CancellingPool)
    monkeypatch.setattr(randommutants.Sample, "record_judgement", raise_interrupt_during_boot)
    changes = (Change("a.c", 1, f"change {n}", f"b{n}\n") for n in range(2))
    with pytest.raises(KeyboardInterrupt):
        randommutants.judge_mutants("C", changes, 2, defer_judgement, tmp_path / "report", tmp_path)
    assert booted == ["b0\n"]


def test_first_failed_result_ends_the_kernel_job(tmp_path: Path) -> None:
    """With KMARKERS_STOP, the first failed result ends a job; a passed result does not."""
    library = (ROOT / "tests" / "vm" / "lib.sh").read_text(encoding="utf-8")
    (tmp_path / "lib.sh").write_text(library.replace("/tmp/", f"{tmp_path}/"))
    (tmp_path / "dmesg").write_text("#!/bin/sh\n")
    (tmp_path / "dmesg").chmod(0o755)
    job = f". {tmp_path}/lib.sh; result 0 one; result 1 two; result 0 three; finish"
    said = []
    for stop in ("", "1"):
        env = {"KMARKERS_STOP": stop, "PATH": f"{tmp_path}:/usr/bin:/bin"}
        done = processes.capture_output(["sh", "-c", job], env=env)
        assert done.returncode == 1
        said.append(done.stdout)
    assert "ok 4 three" in said[0] and said[0].endswith("1..4\n")
    assert "not ok 3 two" in said[1] and said[1].endswith("1..3\n")
    assert "three" not in said[1]


def test_options_select_random_mutants() -> None:
    """With an option for random mutants, random mutants replace the mutants chosen by hand. An
    unknown value of `where` is refused."""
    (suite,) = randommutants.make_requested_random_mutant_suites(
        SuiteRequest(options={"random": "5", "seed": "1", "where": "native,python"}), ["mutants"]
    )
    assert (suite.name, suite.what[:2]) == ("mutants-random", "5 ")
    for name, value in (("seed", "3"), ("where", "python")):
        request = SuiteRequest(options={name: value})
        (suite,) = randommutants.make_requested_random_mutant_suites(request, ["mutants"])
        assert suite.name == "mutants-random"
    (by_hand,) = randommutants.make_requested_random_mutant_suites(SuiteRequest(), ["mutants"])
    assert by_hand.name == "mutants"
    with pytest.raises(UnableError, match="nowhere"):
        randommutants.make_requested_random_mutant_suites(
            SuiteRequest(options={"random": "5", "where": "nowhere"}), ["mutants"]
        )


@pytest.mark.parametrize(
    ("pattern", "where", "boots"),
    [
        *(("mutants", "", True), ("mutants-random", "", True), ("mutants-random", "C", True)),
        *(("mutants-random", "python,C", True), ("mutants", "python", False)),
        *(("mutants-random", "native, python", False), ("native-plain", "", False)),
        *(("counts", "", False), ("module", "", False), ("processors", "", False)),
        *(("cet", "", False), ("kvm", "", False), ("alone", "", True), ("matrix", "", True)),
    ],
)
def test_kvm_is_tried_only_for_tests_that_may_use_kvm(
    pattern: str,
    where: str,
    boots: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`kmarkers check` prints the accelerator, and may boot a kernel to choose the accelerator.
    Mutants of Python code and of code that runs in user space need no kernel. Some tests always
    use emulation."""
    tried: list[str] = []

    def try_kvm(kernel: str, _: object) -> Accel:
        tried.append(kernel)
        return Accel("kvm")

    monkeypatch.setattr(registry, "find_test_obstacle", lambda _: "")
    monkeypatch.setattr(catalogue, "find_unpacked_kernel", lambda _: True)
    monkeypatch.setattr(machine, "find_usable_accel", try_kvm)
    request = SuiteRequest(options={"where": where})
    check.print_accelerator_of_tests(registry.select_tests([pattern], "weekly"), request)
    assert tried == [catalogue.get_default_kernel_name()] * boots
    line = f"kernel {catalogue.get_default_kernel_name()}: under KVM\n"
    assert capsys.readouterr().out == line * boots
    assert registry.KERNEL_MUTANTS in randommutants.LIMITS


def test_argument_random_equals_option_random() -> None:
    """--random N is the same as -o random=N."""
    parser = ArgumentParser()
    check.add_check_command(parser)
    words = ["mutants", "--random", "3", "--seed", "4", "--where", "C", "-o", "model=1"]
    options = dict(parser.parse_intermixed_args(words).options)
    assert options == {"random": "3", "seed": "4", "where": "C", "model": "1"}
