# SPDX-License-Identifier: GPL-2.0-only
"""make check: the suites for each role in kernels.txt, and the results that count."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from kmtools.base import processes
from kmtools.check import counts, everything, kernelsuite, native, pace
from kmtools.check import suites as suites_of_check
from kmtools.check.ktap import Tally
from kmtools.check.suites import Suite, nothing
from kmtools.cli import main
from kmtools.commands import check
from kmtools.lab import catalogue, chroot

# The originals of functions that the tests below replace.
native_suites = native.suites

KERNELS = """\
a s linux-image-1.*-amd64 host gates
b s linux-image-2.*-amd64 host matrix
c s linux-image-3.*-amd64 host gates
d s linux-image-*-amd64   host matrix
e s linux-source-1        host debug:kasan
"""


@pytest.fixture(autouse=True)
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """List kernels of every role, and write no file into the tree."""
    monkeypatch.setattr(catalogue, "load", lambda: catalogue.parse(KERNELS))
    monkeypatch.setattr(check, "LOGS", tmp_path)
    monkeypatch.setattr("kmtools.check.suites.LOGS", tmp_path)
    monkeypatch.setattr("kmtools.check.native.suites", lambda full: [])
    monkeypatch.setattr("kmtools.check.kernelsuite.obstacle", lambda kernel: nothing)


def in_kernels(kernel: str, full: bool) -> list[str]:
    """Return the names of the suites that boot a test kernel."""
    names = [suite.name for suite in everything.suites(kernel, full)]
    return [name for name in names if name.startswith("kernel-")]


def test_full_adds_those_that_gate() -> None:
    assert in_kernels("a", False) == ["kernel-a"]
    assert in_kernels("a", True) == ["kernel-c", "kernel-a"]
    assert in_kernels("b", True) == ["kernel-a", "kernel-b", "kernel-c"]
    names = [suite.name for suite in everything.suites("a", True)]
    assert {"lint", "tracers-a", "owners-a", "storms-a", "nmis-a"} <= set(names)
    assert {name for name in names if name.endswith("-a")} > {"counts-a"}


def test_full_has_everything_that_the_short_form_has() -> None:
    short = [suite.name for suite in everything.suites("a", False)]
    full = [suite.name for suite in everything.suites("a", True)]
    assert set(short) < set(full)
    assert all(suite.what for suite in everything.suites("a", True))


def test_nothing_runs_beside_what_is_sensitive_to_it() -> None:
    calm = {suite.name for suite in everything.suites("a", True) if suite.calm}
    assert {"owners-a", "storms-a", "nmis-a"} <= calm
    assert not calm & {suite.name for suite in everything.suites("a", True) if suite.aside}


@pytest.mark.parametrize(("culprit", "code"), [("", 0), ("c", 1)])
def test_failure_of_another_kernel_counts(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    culprit: str,
    code: int,
) -> None:
    def in_kernel(kernel: str, built: object, log: Path) -> Tally:
        return Tally(1, ["it broke"] if kernel == culprit else [])

    monkeypatch.setattr(everything, "in_kernel", in_kernel)
    whole = everything.suites
    monkeypatch.setattr(
        everything,
        "suites",
        lambda *words: [suite for suite in whole(*words) if suite.name.startswith("kernel-")],
    )
    assert main(["check", "--full"]) == code
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith(f"2 passed, {code} failed")
    assert (tmp_path / "closing").read_text().strip() == said[-1]
    assert ("  FAILED it broke" in said) == bool(culprit)


@pytest.mark.parametrize("processors", [1, 2])
@pytest.mark.parametrize("why_not", ["", "no kernel"])
def test_counts_wait_for_the_build_of_the_kernels_tests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, processors: int, why_not: str
) -> None:
    """The suites run beside each other, or one after the other on one processor. The count ends
    also if the other suite could not run, or failed."""
    modules = tmp_path / "modules"
    order = tmp_path / "order"

    def run_or_say(
        kernel: str, out: Path, settings: object, built: Callable[[], None]
    ) -> kernelsuite.Outcome:
        time.sleep(0.2)
        (modules / "a").mkdir(parents=True)
        (modules / "a" / "a.ko").touch()
        order.write_text("built ")
        built()
        return kernelsuite.Outcome(kernel)

    def compare(kernel: str, built: Path, log: Path) -> Tally:
        with order.open("a") as file:
            file.write("counted")
        return Tally(1)

    monkeypatch.setattr(kernelsuite, "MODULES", modules)
    monkeypatch.setattr(kernelsuite, "run_or_say", run_or_say)
    # The count is asked for first, and has no obstacle.
    reasons = iter(["", why_not])
    monkeypatch.setattr(kernelsuite, "obstacle", lambda kernel: partial(str, next(reasons)))
    monkeypatch.setattr(counts, "compare", compare)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: range(processors))
    wanted = [s for s in everything.suites("a", False) if s.name in ("kernel-a", "counts-a")]
    tally = suites_of_check.run_all(wanted)
    if not why_not:
        assert order.read_text() == "built counted"
        assert not tally.failed
        return
    assert not order.exists()


def test_unknown_kernel_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--kernel", "0.99"]) == 2
    said = capsys.readouterr()
    assert "unknown kernel '0.99'; kernels.txt has: a, b, c, d, e" in said.err
    assert said.out == ""


def absent() -> str:
    return "no bread: apt-get install bread"


def run_all_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *suites: Suite
) -> tuple[int, list[str]]:
    """Run only these suites; return the exit code and the output."""
    monkeypatch.setattr(everything, "suites", lambda *words: list(suites))
    code = main(["check"])
    return code, capsys.readouterr().out.splitlines()


def test_exit_code_tells_what_cannot_run_from_what_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = Suite("good", lambda log: Tally(1, [], ["a case: a reason"]))
    bad = Suite("bad", lambda log: Tally(0, ["why"]))
    lame = Suite("lame", lambda log: Tally(9), obstacle=absent)
    assert run_all_of(monkeypatch, capsys, good)[0] == 0
    code, said = run_all_of(monkeypatch, capsys, good, lame)
    assert code == 2
    assert "  SKIP no bread: apt-get install bread" in said
    assert said[-1] == "1 passed, 0 failed, 2 skipped"
    assert run_all_of(monkeypatch, capsys, good, lame, bad)[0] == 1


def test_missing_module_is_named_with_what_brings_it() -> None:
    assert everything.without("json", "x") == ""
    assert "apt-get install python3-pytest" in everything.without(
        "no_such_module", "python3-pytest"
    )


@pytest.mark.parametrize(
    ("code", "failed"), [(0, []), (3, ["pytest: exit code 3"]), (2, ["pytest: exit code 2"])]
)
def test_pytest_that_ends_badly_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, failed: list[str]
) -> None:
    def command(words: list[str], log: Path, env: object) -> int:
        log.with_suffix(".xml").write_text("<t><testcase classname='c' name='n'/></t>")
        return code

    monkeypatch.setattr(processes, "run", command)
    assert suites_of_check.scripts(tmp_path / "scripts.log") == Tally(1, failed)


def test_nothing_is_built_without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    chroot.obstacle.cache_clear()
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "sudo" in chroot.obstacle()
    chroot.obstacle.cache_clear()


@pytest.mark.parametrize("missing", ["mount", "unshare"])
def test_missing_program_is_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    chroot.obstacle.cache_clear()
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: None if name == missing else f"/bin/{name}")
    assert f"{missing} is missing: apt-get install" in chroot.obstacle()
    chroot.obstacle.cache_clear()


def test_machine_without_mounts_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    chroot.obstacle.cache_clear()
    monkeypatch.setattr("os.geteuid", lambda: 0)
    refusal = subprocess.CompletedProcess([], 1, "", "unshare: Operation not permitted\n")
    monkeypatch.setattr("subprocess.run", lambda *words, **how: refusal)
    assert "allows no mounts (unshare: Operation not permitted)" in chroot.obstacle()
    chroot.obstacle.cache_clear()


def test_progress_counts_results_and_forecasts(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    (tmp_path / "x" / "boot").mkdir(parents=True)
    status = tmp_path / "x" / "boot" / "status.log"
    status.write_text("# suite: a\nok 1 one\n# note\nnot ok 2 two\nok 3 three # SKIP no\n")
    assert pace.how_far(log, 10) == "3 of 10 results, after three"
    assert pace.how_far(log, 0) == "3 results, after three"
    log.write_text("....s.. [  5%]\n...F [ 62%]\n")
    assert pace.how_far(log, 10) == "62 %"
    history = pace.History(tmp_path / "times.json")
    assert history.forecast("x", 90) == "about 90 s"
    assert ", about 89 s left" in pace.line("x", log, 1, 90, 10)
    history.add("x", 33.3, 10)
    again = pace.History(tmp_path / "times.json")
    assert again.forecast("x", 90) == "33 s the last time"
    assert again.count("x") == 10
    assert "of 10 results" in pace.line("x", tmp_path / "none.log", 1, 33, 10)


def test_forecast_follows_the_pace_of_this_run(tmp_path: Path) -> None:
    history = pace.History(tmp_path / "times.json")
    history.add("y", 30.0, 1, usual=10)
    assert history.forecast("x", 90) == "about 270 s"
    history.add("z", 1000.0, 1)
    assert history.forecast("x", 90) == "about 270 s"
    assert history.forecast("x") == "the first time here"


def test_every_suite_says_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "suites", native_suites)
    for full in (False, True):
        found = everything.suites("a", full)
        assert len(found) > 6 and not [suite.name for suite in found if suite.usual <= 0]


def test_short_and_long_forms_are_remembered_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    suite = Suite("one", lambda log: Tally(1), "a thing", usual=1000)
    monkeypatch.setattr(everything, "suites", lambda *words: [suite, replace(suite, name="two")])
    assert main(["check"]) == 0
    assert "(about 1000 s; 33 min 20 s left in all) ..." in capsys.readouterr().out.splitlines()[0]
    assert main(["check", "--full"]) == 0
    assert "(about 1000 s; 33 min 20 s left in all) ..." in capsys.readouterr().out.splitlines()[0]
    assert main(["check"]) == 0
    assert "(0 s the last time; 0 s left in all) ..." in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize("text", ["", "[]", '{"x": 3}', '{"x": []}', '{"x": [null]}', "{"])
def test_damaged_history_is_no_history(tmp_path: Path, text: str) -> None:
    path = tmp_path / "times.json"
    path.write_text(text)
    assert pace.History(path).seconds("x") == 0
