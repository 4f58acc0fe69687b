# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `make check`: its suites for each role in kernels.txt, and its results."""

from __future__ import annotations

import multiprocessing
import re
import subprocess
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from kmtools.base import processes
from kmtools.cli import main
from kmtools.lab import catalogue, chroot
from kmtools.runner import pace, registry
from kmtools.runner import suite as suites_of_check
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, SuitePool, find_no_obstacle
from kmtools.suites import kernelsuite, scripts, testkernel

KERNELS = """\
a s linux-image-1.*-amd64 host gates
b s linux-image-2.*-amd64 host matrix
c s linux-image-3.*-amd64 host gates
d s linux-image-*-amd64   host matrix
e s linux-source-1        host debug:kasan
"""


@pytest.fixture(autouse=True)
def replace_kernels_txt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace kernels.txt by a list with kernels of every role, all of which can be booted."""
    monkeypatch.setattr(
        catalogue, "load_kernel_entries", lambda: catalogue.parse_kernel_catalogue(KERNELS)
    )
    monkeypatch.setattr(
        "kmtools.suites.kernelsuite.make_boot_obstacle_finder", lambda kernel: find_no_obstacle
    )


def make_suites_of_set(set_name: str, kernel: str = "a") -> list[Suite]:
    """Return the suites of the set `set_name` ("short" or "full") for a kernel."""
    rows = registry.select_tests([], set_name)
    found = registry.make_suites_of_tests(rows, SuiteRequest(set_name, kernel, {}))
    return testkernel.insert_build_suites(found)


def test_full_test_set_adds_the_gating_kernels() -> None:
    names = {suite.name for suite in make_suites_of_set("short")}
    assert {"build-a", "kernel-a-1", "kernel-a-2", "counts-a", "scripts", "native-tsan"} <= names
    for kernel, gates in (("a", {"kernel-c"}), ("b", {"kernel-a", "kernel-c"})):
        full = {suite.name for suite in make_suites_of_set("full", kernel)}
        assert gates < full and f"kernel-{kernel}-2" in full
    names = {suite.name for suite in make_suites_of_set("full")}
    assert {"lint", "tracers-a", "owners-a", "storms-a", "nmis-a"} <= names


def test_full_test_set_contains_the_short_set() -> None:
    assert {suite.name for suite in make_suites_of_set("short")} < {
        one.name for one in make_suites_of_set("full")
    }
    assert all(suite.what and suite.usual > 0 for suite in make_suites_of_set("full"))


def test_timing_sensitive_suites_run_alone() -> None:
    calm = {suite.name for suite in make_suites_of_set("full") if suite.calm}
    assert {"owners-a", "storms-a", "nmis-a"} <= calm


@pytest.mark.parametrize("set_name", ["short", "full"])
def test_two_processes_share_suites_evenly(set_name: str, tmp_path: Path) -> None:
    """Two simulated processes run suites that take 0.5, 1.5 or 2.5 times their usual times. Each
    process takes at most 1.1 times half of the total time, or as long as the longest chain of two
    suites that run one after the other."""
    suites = [suite for suite in make_suites_of_set(set_name) if not suite.calm]
    pool = SuitePool(suites, pace.History(tmp_path / "times.json"))
    ends = [0.0, 0.0]
    running: list[Suite | None] = [None, None]
    durations = [suite.usual * (0.5 + n % 3) for n, suite in enumerate(suites)]
    while True:
        lane = ends.index(min(ends))
        if ended := running[lane]:
            pool.mark_suite_as_ended(ended)
        running[lane] = taken = pool.take_next_suite(lambda: False)
        if not taken:
            break
        ends[lane] += durations[suites.index(taken)]
    assert sum(ends) == pytest.approx(sum(durations))
    by_name = dict(zip([suite.name for suite in suites], durations, strict=True))
    longest_chain = max(by_name[suite.name] + by_name.get(suite.after, 0.0) for suite in suites)
    assert max(ends) <= max(1.1 * sum(durations) / 2, longest_chain)


def test_suite_starts_after_its_prerequisite_suite_has_ended(tmp_path: Path) -> None:
    suites = [
        Suite("long", lambda log: Tally(), usual=90, after="short"),
        Suite("alone", lambda log: Tally(), usual=50, after="absent"),
        Suite("short", lambda log: Tally(), usual=1),
    ]
    pool = SuitePool(suites, pace.History(tmp_path / "times.json"))
    first, second = pool.take_next_suite(lambda: True), pool.take_next_suite(lambda: True)
    assert first and second and (first.name, second.name) == ("short", "alone")
    assert pool.estimate_seconds_left(second, 2) == 141 / 2
    pool.mark_suite_as_ended(first)
    third = pool.take_next_suite(lambda: True)
    assert third and third.name == "long"
    assert pool.take_next_suite(lambda: True) is None


@pytest.mark.parametrize(
    ("comment", "sentence"),
    [
        ("# Loads and unloads modules.", "Loads and unloads modules"),
        ("# Loads modules in\n# any order. In most cycles\n# all.", "Loads modules in any order"),
        ("# Events (built with\n# entry.mk): entry.", "Events (built with entry.mk)"),
        ("# Refused requests; and calls.", "Refused requests"),
        ("#\n# Loads modules\n\n# one: prints", "Loads modules"),
        ("# Loads modules\n# shellcheck source=lib.sh\n# one: prints", "Loads modules"),
        ("insmod one", ""),
    ],
)
def test_first_sentence_of_a_script_describes_its_test(
    tmp_path: Path, comment: str, sentence: str
) -> None:
    """The description excludes the licence, directives of shellcheck, and later comments."""
    head = "# SPDX-License-Identifier: GPL-2.0-only\n# shellcheck shell=dash\n"
    (tmp_path / "a.sh").write_text(f"{head}{comment}\n")
    assert registry.read_first_comment_sentence(tmp_path / "a.sh") == sentence


@pytest.mark.parametrize("row", registry.list_tests(), ids=lambda row: row.name)
def test_every_test_in_the_registry_is_valid_and_makes_suites(row: registry.Test) -> None:
    assert (
        row.what
        and row.usual > 0
        and row.where
        in ("user space", "test kernel", "emulated kernel", "minimal Debian", "source")
    )
    assert set(row.sets.split()) <= set(registry.SETS) and row.sets
    assert set(row.options.split()) <= set(registry.OPTIONS)
    assert row.needs in registry.PROGRAMS
    assert registry.make_suites_of_tests([row], SuiteRequest("full", "a", {}))


def test_names_of_registered_tests_are_unique() -> None:
    names = [row.name for row in registry.list_tests()]
    assert len(set(names)) == len(names) > 60


def test_every_guest_suite_is_in_the_list_or_a_job() -> None:
    """Each suite of tests/vm/suites must be in a list of the job check.sh or in the script of
    another job; otherwise the suite never runs."""
    files = {path.stem for path in registry.GUEST_SUITES.glob("*.sh")}
    jobs = "".join(path.read_text() for path in registry.JOB.parent.glob("*.sh"))
    lists = {name for names in registry.read_suite_names_by_guest() for name in names}
    runs = r"run_suite {0}\b|run_with_core {0}\b|\b{0}\.sh"
    named = {name for name in files if re.search(runs.format(name), jobs)}
    # coexist.sh runs only the suite that KMARKERS_PART names.
    others = {"isolated", "storms", "nmis", "owners"}
    words = {word for line in jobs.splitlines() if "for suite in" in line for word in line.split()}
    assert lists <= files
    assert files - lists - named - others - {word.strip(";") for word in words} == set()


@pytest.mark.parametrize(
    ("patterns", "wanted"),
    [
        (["coexist"], {"owners", "storms", "nmis"}),
        (
            ["native"],
            {"native-plain", "native-asan", "native-ubsan", "native-tsan", "native-replay"},
        ),
        (["long"], {"native-long"}),
        (["entry*", "settable"], {"entry", "entry_many", "entry_events", "settable"}),
        (["native-*san"], {"native-asan", "native-ubsan", "native-tsan"}),
    ],
)
def test_pattern_of_check_selects_tests_by_name_and_group(
    patterns: list[str], wanted: set[str]
) -> None:
    assert {row.name for row in registry.select_tests(patterns, "short")} == wanted


def test_unknown_test_name_gives_similar_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", "entry_mani"]) == 2
    assert "no test 'entry_mani'; similar names: entry_many, " in capsys.readouterr().err
    assert main(["check", "-o", "speed=1", "soak"]) == 2
    assert (
        "-o speed: the selected tests have no such option; their options are: seconds"
        in capsys.readouterr().err
    )


def test_check_list_prints_each_test(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--list"]) == 0
    said = capsys.readouterr().out
    assert all(f"\n{row.name} " in said for row in registry.list_tests())
    assert main(["check", "--list", "coexist"]) == 0
    assert len([line for line in capsys.readouterr().out.splitlines() if line[0] != " "]) == 4


def test_check_list_has_the_reason_why_a_test_cannot_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda name: None if name == "clang" else name)
    assert main(["check", "--list", "fuzz", "storms"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "[cannot run here: no clang: scripts/setup --tools]" in said
    assert "[cannot run here: needs root]" in said


@pytest.mark.parametrize(("culprit", "exit_code"), [("", 0), ("c", 1)])
def test_failure_in_a_gating_kernel_fails_the_check(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    culprit: str,
    exit_code: int,
) -> None:
    def return_outcome_of_kernel(
        kernel: str, out: Path, settings: object, suite_lists: object
    ) -> kernelsuite.Outcome:
        tally = Tally(1, ["it broke"] if kernel == culprit else [])
        return kernelsuite.Outcome(kernel, suites={"one": tally})

    monkeypatch.setattr(kernelsuite, "run_kernel_suites", return_outcome_of_kernel)
    assert main(["check", "gates", "--kernel", "b"]) == exit_code
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith(f"2 passed, {exit_code} failed")
    assert said[-2].startswith("all tests took ")
    assert (suites_of_check.LOGS / "closing").read_text().strip() == said[-1]
    assert ("  FAILED it broke" in said) == bool(culprit)


@pytest.mark.parametrize("processors", [1, 2])
@pytest.mark.parametrize("why_not", ["", "no kernel"])
def test_suites_wait_for_the_build_of_their_modules(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, processors: int, why_not: str
) -> None:
    """Two suites run in parallel with two CPUs, and one after the other with one CPU. In both cases
    the suites wait for the build. If the build cannot start, the suites fail."""
    modules, order = tmp_path / "modules", tmp_path / "order"

    def build_modules(kernel: str, out: Path, log: Path) -> Tally:
        time.sleep(0.2)
        out.mkdir(parents=True)
        (out / "a.ko").touch()
        order.write_text("built ")
        return Tally(1)

    def record_use_of_modules(log: Path) -> Tally:
        with order.open("a") as file:
            file.write("used ")
        return Tally(1)

    monkeypatch.setattr(kernelsuite, "MODULES", modules)
    monkeypatch.setattr(kernelsuite, "build_modules_and_kmlive", build_modules)
    monkeypatch.setattr(
        kernelsuite, "make_boot_obstacle_finder", lambda kernel: partial(str, why_not)
    )
    monkeypatch.setattr("os.sched_getaffinity", lambda process: range(processors))
    users = [
        Suite(name, record_use_of_modules, "a user", usual=100, modules="a")
        for name in ("one", "two")
    ]
    tally = suites_of_check.run_all_suites(testkernel.insert_build_suites(users))
    if not why_not:
        assert order.read_text() == "built used used "
        assert not tally.failed
        return
    assert not order.exists() and len(tally.failed) == 2


def test_many_suites_are_split_between_two_guests() -> None:
    lists = registry.read_suite_names_by_guest()
    assert (
        testkernel.split_suites_between_guests([name for names in lists for name in names]) == lists
    )
    assert testkernel.split_suites_between_guests(["entry"]) == [["entry"]]
    assert testkernel.split_suites_between_guests(["modules"]) == [["cases", "modules"]]


def test_no_suite_is_run_for_an_unknown_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--kernel", "0.99"]) == 2
    said = capsys.readouterr()
    assert "unknown kernel '0.99'; choose from: a, b, c, d, e" in said.err
    assert said.out == ""


def find_fake_obstacle() -> str:
    return "no bread: apt-get install bread"


def run_check_with_suites(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *suites: Suite
) -> tuple[int, list[str]]:
    """Run `make check` with only these suites; return the exit code and the output lines."""
    monkeypatch.setattr(registry, "make_suites_of_tests", lambda *words: list(suites))
    code = main(["check"])
    return code, capsys.readouterr().out.splitlines()


def test_exit_code_distinguishes_failures_from_missing_programs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = Suite("good", lambda log: Tally(1, [], ["a case: a reason"]))
    bad = Suite("bad", lambda log: Tally(0, ["why"]))
    lame = Suite("lame", lambda log: Tally(9), obstacle=find_fake_obstacle)
    assert run_check_with_suites(monkeypatch, capsys, good)[0] == 0
    code, said = run_check_with_suites(monkeypatch, capsys, good, lame)
    assert code == 2
    assert "  SKIP no bread: apt-get install bread" in said
    assert said[-1] == "1 passed, 0 failed, 2 skipped"
    assert run_check_with_suites(monkeypatch, capsys, good, lame, bad)[0] == 1


def test_message_about_a_missing_python_module_names_the_package() -> None:
    assert scripts.find_python_module_obstacle("json", "x") == ""
    assert "apt-get install python3-pytest" in scripts.find_python_module_obstacle(
        "no_such_module", "python3-pytest"
    )


@pytest.mark.parametrize(
    ("exit_code", "failed"), [(0, []), (3, ["pytest: exit code 3"]), (2, ["pytest: exit code 2"])]
)
def test_bad_exit_code_of_pytest_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, exit_code: int, failed: list[str]
) -> None:
    def write_one_result(words: list[str], log: Path, env: object) -> int:
        log.with_suffix(".xml").write_text("<t><testcase classname='c' name='n'/></t>")
        return exit_code

    monkeypatch.setattr(processes, "run_program", write_one_result)
    assert suites_of_check.run_pytest(tmp_path / "scripts.log") == Tally(1, failed)


def test_check_obstacle_without_root_names_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    chroot.find_chroot_obstacle.cache_clear()
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "sudo" in chroot.find_chroot_obstacle()
    chroot.find_chroot_obstacle.cache_clear()


@pytest.mark.parametrize("missing", ["mount", "unshare"])
def test_check_reports_a_missing_program(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    chroot.find_chroot_obstacle.cache_clear()
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: None if name == missing else f"/bin/{name}")
    assert f"{missing} is missing: apt-get install" in chroot.find_chroot_obstacle()
    chroot.find_chroot_obstacle.cache_clear()


def test_check_reports_that_the_machine_forbids_mounts(monkeypatch: pytest.MonkeyPatch) -> None:
    chroot.find_chroot_obstacle.cache_clear()
    monkeypatch.setattr("os.geteuid", lambda: 0)
    refusal = subprocess.CompletedProcess([], 1, "", "unshare: Operation not permitted\n")
    monkeypatch.setattr("subprocess.run", lambda *words, **how: refusal)
    assert "allows no mounts (unshare: Operation not permitted)" in chroot.find_chroot_obstacle()
    chroot.find_chroot_obstacle.cache_clear()


def test_check_progress_line_has_results_and_remaining_time(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    (tmp_path / "x" / "boot").mkdir(parents=True)
    status = tmp_path / "x" / "boot" / "status.log"
    status.write_text("# suite: a\nok 1 one\n# note\nnot ok 2 two\nok 3 three # SKIP no\n")
    assert pace.describe_suite_progress(log, 10) == "3 of 10 results, after three"
    assert pace.describe_suite_progress(log, 0) == "3 results, after three"
    log.write_text("....s.. [  5%]\n...F [ 62%]\n")
    assert pace.describe_suite_progress(log, 10) == "62 %"
    history = pace.History(tmp_path / "times.json")
    assert history.format_expected_time("x", 90) == "about 90 s"
    assert ", about 89 s left" in pace.format_suite_progress("x", log, 1, 90, 10)
    history.add_suite_run("x", 33.3, 10)
    again = pace.History(tmp_path / "times.json")
    assert again.format_expected_time("x", 90) == "about 33 s, 33 s the last time"
    assert again.get_result_count_of_last_run("x") == 10
    assert "of 10 results" in pace.format_suite_progress("x", tmp_path / "none.log", 1, 33, 10)


def test_remaining_time_is_scaled_by_the_speed_of_the_check(tmp_path: Path) -> None:
    history = pace.History(tmp_path / "times.json")
    history.add_suite_run("y", 30.0, 1, usual=10)
    assert history.format_expected_time("x", 90) == "about 270 s"
    history.add_suite_run("z", 1000.0, 1)
    assert history.format_expected_time("x", 90) == "about 270 s"
    assert history.format_expected_time("x") == "no earlier time is stored"
    assert history.format_expected_time("y") == "about 90 s, 30 s the last time"
    # The machine is now three times slower than in the last run.
    history.add_suite_run("y", 90.0, 1)
    assert history.estimate_suite_seconds("x", 90) == 90 * 120 / 40


def test_remaining_time_uses_suite_times_that_another_process_added(tmp_path: Path) -> None:
    history = pace.History(tmp_path / "times.json")
    add = multiprocessing.get_context("fork").Process(
        target=history.add_suite_run, args=("y", 30.0, 1), kwargs={"usual": 10}
    )
    add.start()
    add.join()
    assert history.estimate_suite_seconds("x", 90) == 270


def test_remaining_time_is_accurate_after_a_fifth_of_the_run(tmp_path: Path) -> None:
    """On a machine that is about four times slower than usual, the forecast after a fifth of the
    time is right within 30 %."""
    usual = {"a": 60.0, "b": 50.0, "c": 200.0, "d": 150.0, "e": 90.0}
    slower = {"a": 4.4, "b": 3.6, "c": 4.0, "d": 4.8, "e": 3.4}
    history = pace.History(tmp_path / "times.json")
    for name in ("a", "b"):
        history.add_suite_run(name, usual[name] * slower[name], 1, usual[name])
    left = sum(history.estimate_suite_seconds(name, usual[name]) for name in ("c", "d", "e"))
    truth = sum(usual[name] * slower[name] for name in ("c", "d", "e"))
    assert 0.7 < left / truth < 1.3


def test_times_of_short_and_full_sets_are_stored_separately(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = Suite("one", lambda log: Tally(1), "a thing", usual=1000)
    two = [suite, replace(suite, name="two")]
    monkeypatch.setattr(registry, "make_suites_of_tests", lambda *words: two)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0})
    first = "(about 1000 s; 33 min 20 s left in all) ..."
    assert main(["check"]) == 0
    assert first in capsys.readouterr().out.splitlines()[0]
    assert main(["check", "--set", "full"]) == 0
    assert first in capsys.readouterr().out.splitlines()[0]
    assert main(["check"]) == 0
    assert "(about 0 s, 0 s the last time; 0 s left in all)" in capsys.readouterr().out


def test_equal_skip_reasons_are_printed_once() -> None:
    skipped = [f"tests.{n}: no clang: scripts/setup --tools" for n in range(97)]
    assert list(suites_of_check.group_skips_by_reason(["x: why", *skipped])) == [
        "x: why",
        "97 tests: no clang: scripts/setup --tools",
    ]


@pytest.mark.parametrize("text", ["", "[]", '{"x": 3}', '{"x": []}', '{"x": [null]}', "{"])
def test_damaged_file_of_suite_times_is_ignored(tmp_path: Path, text: str) -> None:
    path = tmp_path / "times.json"
    path.write_text(text)
    assert pace.History(path).get_seconds_of_last_run("x") == 0
