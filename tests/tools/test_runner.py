# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the parts of `make check`: options, KTAP results, suites, times, the list of tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from kmtools.base import processes
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.commands import check
from kmtools.runner import ktap, least, pace, registry
from kmtools.runner import suite as suites
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.pace import History
from kmtools.runner.suite import Suite, SuitePool

ROW = registry.Test("one", "does one", "user space", "short full", "kmtools.base.text:f", 100.0)


@pytest.mark.parametrize(
    ("value", "words", "flag", "whole"),
    [
        (None, [], False, "default"),
        ("", [], False, "default"),
        ("0", ["0"], False, "0"),
        ("1", ["1"], True, "1"),
        ("a,b c, d", ["a", "b", "c", "d"], True, "a,b c, d"),
    ],
)
def test_test_option_is_read_as_text_words_or_flag(
    value: str | None, words: list[str], flag: bool, whole: str
) -> None:
    request = SuiteRequest(options={} if value is None else {"x": value})
    assert request.get_option_text("x", "default") == whole
    assert (request.get_option_words("x"), request.is_option_set("x")) == (words, flag)


def test_invalid_number_or_choice_of_an_option_is_refused() -> None:
    request = SuiteRequest(options={"n": "12", "zero": "0", "w": "b,a"})
    assert request.get_option_number("n", 3) == 12
    assert (request.get_option_number("absent", 3), request.get_option_number("absent", "4")) == (
        3,
        4,
    )
    with pytest.raises(UnableError, match=r"^-o zero: '0' is not a whole number above 0$"):
        request.get_option_number("zero", 3)
    assert request.get_option_choices("w", ("a", "b")) == ["b", "a"]
    assert request.get_option_choices("absent", ("a",)) == []
    with pytest.raises(UnableError, match=r"^-o w: 'b' is not one of a, c$"):
        request.get_option_choices("w", {"a": 1, "c": 2})


@pytest.mark.parametrize(
    ("test", "option", "error"),
    [
        ("processors", "numbers=2,x", "-o numbers: 'x' is not a whole number above 0"),
        ("aa", "budget=soon", "-o budget: 'soon' is not a time such as 90, 90s, 5m or 1h"),
        ("neighbours", "budget=0", "-o budget: '0' is not a time such as 90, 90s, 5m or 1h"),
        ("independent", "budget=-1", "-o budget: '-1' is not a time such as 90, 90s, 5m or 1h"),
    ],
)
def test_invalid_option_of_a_test_is_an_error_without_a_traceback(
    test: str, option: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", test, "-o", option]) == 2
    assert capsys.readouterr().err == f"check: {error}\n"


def test_two_tests_that_make_the_same_suite_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two tests would write the logs of kernel-6.1, perhaps at the same time."""
    monkeypatch.setattr(check, "print_accelerator_of_tests", lambda *_: None)
    monkeypatch.setattr(suites, "run_all_suites", lambda *_: Tally())
    monkeypatch.setattr(suites, "LOGS", tmp_path)
    assert main(["check", "core", "matrix", "--kernel", "6.1"]) == 2
    said = (
        "check: two of the given tests run the suite kernel-6.1: run these tests one after the"
        " other\n"
    )
    assert capsys.readouterr().err == said
    for words in (["core", "gates"], ["matrix", "gates", "debug"], ["*"]):
        registry.make_suites_of_tests(registry.select_tests(words, ""), SuiteRequest("named"))


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("ok 1 a name", Tally(1)),
        ("ok 2 - a name", Tally(1)),
        ("  ok 3  \n", Tally(1)),
        ("not ok 4 - a name", Tally(failed=["a name"])),
        ("not ok 5", Tally(failed=["5"])),
        ("not ok 6 a # SKIP b", Tally(failed=["a"])),
        ("ok 7 a # SKIP no way", Tally(skipped=["a: no way"])),
        ("ok 8 # SKIP", Tally(skipped=["8: no reason given"])),
        ("ok 9 a # SKIPPED", None),
        ("ok", None),
        ("notok 1 a", None),
        ("# ok 1 a", None),
    ],
)
def test_ktap_line_is_a_pass_a_failure_or_a_skip(line: str, wanted: Tally | None) -> None:
    found = ktap.parse_ktap_by_suite([line, f"1..{int(wanted is not None)}"])
    assert found == ({} if wanted is None else {"": wanted})


def test_ktap_results_of_suites_are_added() -> None:
    lines = ["# suite: a", "ok 1 x", "not ok 2 y", "# suite: b", "ok 3 z # SKIP w", "ok 4 x"]
    split = ktap.parse_ktap_by_suite([*lines, "1..4"])
    assert split == {"a": Tally(1, ["y"]), "b": Tally(1, [], ["z: w"])}
    whole = ktap.parse_ktap([*lines, "1..4"])
    assert (whole, whole.count) == (Tally(2, ["y"], ["z: w"]), 4)
    assert whole.format_summary() == "2 passed, 1 failed, 1 skipped"
    assert ktap.parse_ktap([*lines, "1..5"]).failed == ["y", "5 results planned, 4 seen"]
    assert ktap.parse_ktap([*lines, "1..3"]).failed == ["y", "3 results planned, 4 seen"]
    assert ktap.parse_ktap(lines).failed == ["y", "no plan: the suite did not run to its end"]
    total = Tally(absent=1)
    total.add_tally(Tally(1, absent=2))
    total.add_result(True, "good")
    total.add_result(False, "bad")
    assert total == Tally(2, ["bad"], absent=3)
    assert total.format_summary() == "2 passed, 1 failed"


@pytest.mark.parametrize(
    ("code", "said", "wanted"),
    [
        (0, "1..1\nok 1 a\n", Tally(1)),
        (3, "1..1\nok 1 a\n", Tally(1, ["kmbench: exit code 3"])),
        (1, "1..1\nnot ok 1 a\n", Tally(0, ["a"])),
        (4, "x\n1..0 # SKIP a\nkmarkers: b\n", Tally(skipped=["1..0 # SKIP a", "kmarkers: b"])),
        (0, "1..0 # SKIP a\n", Tally(failed=["no plan: the suite did not run to its end"])),
    ],
)
def test_results_of_earlier_programs_in_the_log_are_ignored(
    code: int, said: str, wanted: Tally, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that skips all its tests has the exit code 4."""
    log = tmp_path / "log"
    log.write_text("1..9\nnot ok 1 earlier\n")

    def append_program_output(words: object, log: Path, env: object) -> int:
        assert env == {"A": "b"}
        with log.open("a") as file:
            file.write(said)
        return code

    monkeypatch.setattr(processes, "run_program", append_program_output)
    assert suites.run_ktap_program([Path("/bin/kmbench"), 1], log, {"A": "b"}) == wanted


def test_pytest_results_are_read_from_the_junit_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = {"a": "", "b": "<failure/>", "c": "<error/>", "d": '<skipped message="no way"/>'}
    text = "".join(f"<testcase classname='t' name={quoteattr(n)}>{x}</testcase>"
                   for n, x in cases.items())  # fmt: skip
    log, calls = tmp_path / "x.log", []

    def write_report_once(words: list[str], log: Path, env: object) -> int:
        calls.append((words, env))
        if len(calls) == 1:
            log.with_suffix(".xml").write_text(f"<a><b>{text}</b></a>")
        return 1

    monkeypatch.setattr(processes, "run_program", write_report_once)
    wanted = Tally(1, ["t.b", "t.c"], ["t.d: no way"])
    assert suites.run_pytest(log, "a.py", "-x", env={"A": "b"}) == wanted
    words = [sys.executable, "-m", "pytest", "-q", f"--junitxml={tmp_path}/x.xml", "a.py", "-x"]
    assert calls == [(words, {"A": "b"})]
    assert suites.run_pytest(log).failed == [f"pytest wrote no report, see {log}"]


def test_incomplete_report_of_pytest_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk, the report ends in the middle of an element."""
    log = tmp_path / "x.log"

    def write_incomplete_report(words: list[str], log: Path, env: object) -> int:
        log.with_suffix(".xml").write_text("<a><testcase classname='t' name='a'/><test")
        return 0

    monkeypatch.setattr(processes, "run_program", write_incomplete_report)
    found = suites.run_pytest(log)
    assert found.passed == 0
    (failed,) = found.failed
    assert failed.startswith(f"pytest's report {tmp_path}/x.xml is incomplete (")
    assert failed.endswith(f"), see {log}")


def raise_given_error(error: Exception) -> Tally:
    raise error


@pytest.mark.parametrize(
    ("error", "loud", "wanted", "line"),
    [
        (UnableError("no bread"), False, Tally(failed=["no bread"]), "  FAILED no bread"),
        (UnableError("no bread"), True, Tally(skipped=["x: no bread"], absent=1),
         "  SKIP x: no bread"),
        (FailedError("it broke"), True, Tally(failed=["it broke"]), "  FAILED it broke"),
        (OSError(13, "Denied", "/a"), False, Tally(failed=["/a: Denied"]), "  FAILED /a: Denied"),
        (subprocess.CalledProcessError(3, "tar"), False, Tally(failed=["exit code 3 of tar: "]),
         "  FAILED exit code 3 of tar: "),
    ],
)  # fmt: skip
def test_exception_of_a_suite_becomes_its_result(
    error: Exception, loud: bool, wanted: Tally, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """If a suite that prints to the terminal cannot run, it is skipped; after any other exception,
    a suite fails. In both cases, the time of the suite is not stored, and does not change the
    expected times of other suites."""
    suite = Suite("x", lambda log: raise_given_error(error), "a thing", usual=7, loud=loud)
    history = History(suites.LOGS / "times.json")
    assert suites.run_suite(suite, history, "[2/3] ", 100.0) == wanted
    first, result, *others = capsys.readouterr().out.splitlines()
    assert first == "[2/3] x: a thing (about 7 s; 1 min 40 s left in all) ..."
    assert re.fullmatch(rf"\[2/3\] x: {wanted.format_summary()} in \d+ s \(CPU \d s\)", result)
    assert others == [line]
    assert history.get_result_count_of_last_run("x") == 0
    assert history.estimate_suite_seconds("y", 5.0) == 5.0


def test_log_of_a_failed_suite_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The logs of an earlier run are removed before the suite starts."""
    old = suites.LOGS / "x" / "boot" / "status.log"
    old.parent.mkdir(parents=True)
    old.touch()
    (suites.LOGS / "x.log").write_text("old\n")

    def write_log(log: Path) -> Tally:
        assert not log.exists() and not old.parent.parent.exists()
        log.write_text("new\n")
        return Tally(1, ["a"])

    history = History(suites.LOGS / "times.json")
    suites.run_suite(Suite("x", write_log), history)
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "  FAILED a",
        f"  see {suites.LOGS}/x.log",
    ]
    suites.run_suite(Suite("x", lambda log: Tally(3, [], ["a: why", "b: why"])), history)
    assert capsys.readouterr().out.splitlines()[2:] == ["  SKIP 2 tests: why"]
    assert history.get_result_count_of_last_run("x") == 5


def test_output_of_a_logged_suite_is_in_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def print_and_pass() -> Tally:
        print("words")
        return Tally(2)

    assert suites.make_run_with_output_in_log(print_and_pass)(tmp_path / "log") == Tally(2)
    assert (tmp_path / "log").read_text() == "words\n"
    assert capsys.readouterr().out == ""
    assert suites.make_one_result_tally(True, "a") == Tally(1)
    assert suites.make_one_result_tally(False, "a") == Tally(failed=["a"])


def test_output_of_the_second_process_has_characters_that_the_locale_lacks() -> None:
    script = f"""if True:
        import sys
        sys.path.insert(0, {str(ROOT / "scripts")!r})
        from kmtools.base import streams
        from kmtools.runner import suite
        streams.prepare_standard_streams()
        def run(_):
            print("5 \\u2212 3 \\xe9")
            return suite.Tally(1)
        with suite.run_suites_in_second_process(run) as (wait, _):
            print(wait())
    """
    env = {**os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 - 3 \\xe9" in done.stdout and "passed=1" in done.stdout


def test_suites_that_others_wait_for_and_long_ones_run_first(tmp_path: Path) -> None:
    """A suite waits for the suite in its field `after` only while the process of that suite lives.
    The time left is at least the time of the longest suite."""
    names = {"a": (5.0, ""), "b": (90.0, "d"), "c": (20.0, ""), "d": (1.0, "")}
    some = [
        Suite(name, raise_given_error, usual=s, after=after)  # type: ignore[arg-type]
        for name, (s, after) in names.items()
    ]
    history = History(tmp_path / "times.json")
    pool = SuitePool(some, history)
    assert pool.estimate_seconds_left(some[1], 2) == 90
    assert pool.estimate_seconds_left(some[0], 2) == 116 / 2
    assert pool.estimate_seconds_left(some[0], 1) == 116
    taken = [pool.take_next_suite(lambda: True) for _ in "123"]
    assert [suite.name for suite in taken if suite] == ["d", "c", "a"]
    last = pool.take_next_suite(lambda: False)
    assert last and last.name == "b"
    assert pool.take_next_suite(lambda: True) is None
    for suite in some[1:]:
        pool.mark_suite_as_ended(suite)
    assert pool.estimate_seconds_left(some[0], 2) == 5


@pytest.mark.parametrize(
    ("calm", "first"),
    [
        ("", "[1/2] b: x (about 30 s"),
        ("b", "[2/2] a: x (about 20 s"),
        ("ab", "[1/2] b: x (about 30 s"),
    ],
)
def test_time_left_includes_suites_that_run_alone(
    calm: str, first: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The times of 20 s and 30 s are added, because one process runs both suites."""
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0})
    some = [Suite(name, lambda log: Tally(1), "x", usual=seconds, calm=name in calm)
            for name, seconds in (("b", 30.0), ("a", 20.0))]  # fmt: skip
    assert suites.run_all_suites(some) == Tally(2)
    assert capsys.readouterr().out.splitlines()[0] == f"{first}; 50 s left in all) ..."


def test_stored_suite_times_are_rounded_and_never_zero(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "times.json"
    history = History(path)
    for name, seconds in (("a", 0.01), ("b", 12.34), ("c", 0.26)):
        history.add_suite_run(name, seconds, 7)
    found = History(path)
    stored = {name: found.get_seconds_of_last_run(name) for name in "abcd"}
    assert stored == {"a": 0.1, "b": 12.3, "c": 0.3, "d": 0.0}
    assert [found.get_result_count_of_last_run(name) for name in "ad"] == [7, 0]


@pytest.mark.parametrize(
    ("text", "total", "shown"),
    [
        ("", 0, "0 results"),
        ("", 7, "0 of 7 results"),
        ("# suite: some thing \n", 0, "0 results, after suite some thing"),
        ("ok 1 - a b\nnot ok 2 - c # SKIP d\n", 1, "2 of 2 results, after c"),
        (" ok 1 a\nok 2\nx ok 3 a\n", 3, "1 of 3 results"),
        ("ok 1 a\n[  7%]\nok 2 b\n[100%]\n", 3, "100 %"),
    ],
)
def test_progress_is_read_from_the_log(text: str, total: int, shown: str, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(text)
    assert pace.describe_suite_progress(tmp_path / "x.log", total) == shown


@pytest.mark.parametrize(
    ("seconds", "left"), [(10, ", about 20 s left"), (29, ", about 1 s left"), (30, ""), (31, "")]
)
def test_progress_has_no_time_left_after_the_expected_end(
    seconds: float, left: str, tmp_path: Path
) -> None:
    shown = pace.format_suite_progress("x", tmp_path / "x.log", seconds, 30, 4)
    assert shown == f"  x: 0 of 4 results; {seconds} s{left}"


def test_suite_clock_counts_elapsed_and_cpu_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU time is the user and system time of this process and of its children."""
    now = [1000.0]
    used = {0: (1.0, 2.0), -1: (10.0, 20.0)}

    def return_cpu_times(who: int) -> SimpleNamespace:
        user, system = used[who]
        return SimpleNamespace(ru_utime=user, ru_stime=system)

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("resource.getrusage", return_cpu_times)
    clock = pace.Clock()
    now[0] = 1060.0
    used |= {0: (5.0, 3.0), -1: (40.0, 60.0)}
    assert clock.get_elapsed_seconds() == 60
    assert clock.format_elapsed_and_cpu_time() == "60 s (CPU 75 s)"


def replace_test_list(monkeypatch: pytest.MonkeyPatch, *rows: registry.Test) -> None:
    """Replace the list of tests."""
    monkeypatch.setattr(registry, "list_tests", lambda: list(rows))


def test_selected_tests_are_unique_and_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [replace(ROW, name=name, sets=sets, groups=groups)
            for name, sets, groups in (("a-1", "short full", "all x"), ("a-2", "full", "all"),
                                       ("b", "weekly", ""), ("fulls", "fuller", ""))]  # fmt: skip
    replace_test_list(monkeypatch, *rows)
    for patterns, form, names in (
        ([], "short", ["a-1"]),
        ([], "full", ["a-1", "a-2"]),
        ([], "weekly", ["b"]),
        (["b", "a-*", "all"], "short", ["a-1", "a-2", "b"]),
        (["x"], "short", ["a-1"]),
    ):
        assert [row.name for row in registry.select_tests(patterns, form)] == names


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("nativ-plain", "; similar names: native-plain"),
        ("nplain", "; similar names: native-plain"),
        ("plaxxxxxxxxxxx", "; similar names: native-plain"),
        ("zzz", ""),
    ],
)
def test_hint_has_close_names_or_names_with_the_same_three_letters(
    pattern: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_test_list(monkeypatch, replace(ROW, name="native-plain"), replace(ROW, name="other"))
    with pytest.raises(UnableError) as raised:
        registry.select_tests([pattern], "short")
    said = f"no test {pattern!r}{hint}; `kmarkers check --list` shows all tests"
    assert str(raised.value) == said


def test_options_of_other_tests_are_refused() -> None:
    rows = [replace(ROW, options="b a"), replace(ROW, options="c b")]
    registry.refuse_unknown_test_options(["a", "c"], rows)
    with pytest.raises(UnableError, match=r"^-o d: .* no such option; their options are: a, b, c$"):
        registry.refuse_unknown_test_options(["a", "d"], rows)
    with pytest.raises(UnableError, match=r"^-o a: .* no such option; they have no options$"):
        registry.refuse_unknown_test_options(["a"], [ROW])


@pytest.mark.parametrize(
    ("where", "needs", "user", "missing", "why"),
    [
        ("user space", "", 1000, "", ""),
        ("user space", "--tools", 1000, "gcc", ""),
        ("user space", "", 1000, "make", "no make: scripts/setup"),
        ("user space", "--html", 1000, "sphinx-build", "no sphinx-build: scripts/setup --html"),
        ("user space", "--other", 1000, "gcc make", "no gcc, make: scripts/setup --other"),
        ("test kernel", "", 0, "", ""),
        ("test kernel", "", 1000, "", "needs root"),
        ("emulated kernel", "", 1000, "", "needs root"),
        ("minimal Debian", "--packages", 1000, "", "needs root"),
        ("minimal Debian", "--packages", 0, "dh_dkms", "no dh_dkms: scripts/setup --packages"),
    ],
)
def test_obstacle_of_a_test_names_the_remedy(
    where: str, needs: str, user: int, missing: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    monkeypatch.setattr("shutil.which", lambda name: None if name in missing.split() else name)
    row = replace(ROW, where=where, needs=needs)
    assert registry.find_test_obstacle(row) == why
    what = f"does one [cannot run here: {why}]" if why else "does one"
    cells = ["one", "short+full", where, "1 min 40 s", needs or "-", what]
    assert registry.format_test_list([row])[1:] == [cells]


def test_program_with_a_slash_is_a_file_of_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "ROOT", tmp_path)
    monkeypatch.setattr("shutil.which", lambda name: None if "/" in name else name)
    assert registry.is_program_installed("gcc")
    assert not registry.is_program_installed("build/gcc")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "gcc").touch()
    assert registry.is_program_installed("build/gcc")


def test_function_that_makes_several_suites_is_called_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[object] = []

    def return_fake_module(name: str) -> SimpleNamespace:
        def record_and_make_suites(request: SuiteRequest, names: list[str]) -> list[Any]:
            calls.append((name, request.form, names))
            return [SimpleNamespace(name=f"suite of {each}") for each in names]

        return SimpleNamespace(f=record_and_make_suites, g=record_and_make_suites)

    monkeypatch.setattr(registry, "import_module", return_fake_module)
    rows = [replace(ROW, name="a"), replace(ROW, name="b", make="kmtools.base.files:g")]
    rows += [replace(ROW, name="c")]
    made = [suite.name for suite in registry.make_suites_of_tests(rows, SuiteRequest("short"))]
    assert made == ["suite of a", "suite of c", "suite of b"]
    assert calls == [("kmtools.base.text", "short", ["a", "c"]),
                     ("kmtools.base.files", "short", ["b"])]  # fmt: skip
    with pytest.raises(UnableError, match=r"^test one is not installed; run `scripts/kmarkers"):
        registry.make_suites_of_tests([replace(ROW, make="kmtools.base.absent:f")], SuiteRequest())


def test_minimum_of_results_is_read_from_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(least, "TABLE", tmp_path / "results.csv")
    read = least.read_minimum_result_counts.__wrapped__
    assert read() == {}
    (tmp_path / "results.csv").write_text("test,kernel,results\na,,7\na,6.1,8\n")
    assert read() == {("a", ""): 7, ("a", "6.1"): 8}


@pytest.mark.parametrize(
    ("passed", "absent", "failed"),
    [
        (7, 0, []),
        (6, 0, ["a: 6 results, fewer than the minimum of 7 in results.csv"]),
        (0, 1, []),
    ],
)
def test_test_with_too_few_results_fails(
    passed: int, absent: int, failed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(least, "read_minimum_result_counts", lambda: {("a", ""): 7})
    tally, other = Tally(passed, absent=absent), Tally()
    least.require_minimum_result_count(tally, "a")
    least.require_minimum_result_count(other, "a", "6.1")
    assert (tally.failed, other.failed) == (failed, [])


@pytest.mark.parametrize(
    ("text", "parsed"),
    [("a=b", ("a", "b")), ("a=", ("a", "")), ("a=b=c", ("a", "b=c")), ("a", None), ("=b", None)],
)
def test_option_of_a_test_has_a_name_and_a_value(text: str, parsed: tuple[str, str] | None) -> None:
    if parsed:
        assert check.parse_name_and_value(text) == parsed
    else:
        with pytest.raises(ArgumentTypeError, match=f"^'{text}' is not NAME=VALUE$"):
            check.parse_name_and_value(text)


@pytest.mark.parametrize(
    ("words", "patterns", "form", "kernel", "setup"),
    [
        ([], [], "short", "", None),
        (["--set", "full"], [], "full", "", None),
        (["one"], ["one"], "named", "", None),
        (["one", "--set", "weekly", "--kernel", "k"], ["one"], "weekly", "k", None),
        (["--setup"], [], "short", "", ("", False)),
        (["--setup", "--set", "full", "--kernel", "k"], [], "full", "k", ("k", True)),
    ],
)
def test_options_of_check_choose_tests_and_their_form(
    words: list[str],
    patterns: list[str],
    form: str,
    kernel: str,
    setup: tuple[str, bool] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[object] = []
    done: list[object] = []
    row = replace(ROW, options="seed")

    def select_tests(*asked: object) -> list[registry.Test]:
        calls.append(asked)
        return [row]

    def run_tests(_: object, request: SuiteRequest) -> int:
        calls.append(request)
        return 7

    monkeypatch.setattr(registry, "select_tests", select_tests)
    monkeypatch.setattr(
        check, "install_tools_and_restart", lambda tests, *asked: done.append(asked)
    )
    monkeypatch.setattr(check, "run_tests", run_tests)
    parser = ArgumentParser()
    run = check.add_check_command(parser)
    assert run(parser.parse_args([*words, "-o", "seed=3"])) == 7
    chosen = form if "--set" in words else "short"
    assert calls == [(patterns, chosen), SuiteRequest(form, kernel, {"seed": "3"})]
    assert done == ([setup] if setup else [])


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], ["a", "b", "c"]),
        (["--set", "short"], ["a"]),
        (["--set", "full"], ["a", "b"]),
        (["c"], ["c"]),
    ],
)
def test_check_list_prints_the_chosen_tests_or_all(
    words: list[str],
    names: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [replace(ROW, name=name, sets=sets)
            for name, sets in (("a", "short full"), ("b", "full"), ("c", "weekly"))]  # fmt: skip
    replace_test_list(monkeypatch, *rows)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(registry, "find_test_obstacle", lambda test: "")
    assert main(["check", "--list", *words]) == 0
    assert [line[0] for line in capsys.readouterr().out.splitlines()[1:]] == names


@pytest.mark.parametrize(("width", "indent"), [(77, 4), (78, 49), (100, 49)])
def test_test_descriptions_are_wrapped_in_their_column_if_wide(
    width: int, indent: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cells before the description take 47 columns: 4 + 10 + 10 + 10 + 5, and four times two
    blanks. The description begins two columns later. Its further lines begin in the same column if
    more than 30 columns follow the cells."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(registry, "find_test_obstacle", lambda test: "")
    what = "describes at great length what this test does " * 4
    check.print_test_table([replace(ROW, what=what.strip())])
    head, first, *others = capsys.readouterr().out.splitlines()
    assert head == "test  sets        where       usual       needs  what"
    assert first.startswith("one   short+full  user space  1 min 40 s  -      describes at")
    assert len(others) > 1 and max(map(len, [first, *others])) <= width
    assert {len(line) - len(line.lstrip()) for line in others} == {indent}
