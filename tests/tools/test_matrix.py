# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the suite `matrix`: failures in a kernel, faults of the emulator, table of results."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from fakelab import use_fake_qemu
from kmtools.base.errors import FailedError, UnableError
from kmtools.cli import main
from kmtools.lab import catalogue, emulator, triage
from kmtools.lab.accel import Accel
from kmtools.lab.catalogue import Entry
from kmtools.lab.machine import Request
from kmtools.lab.result import Result
from kmtools.lint import linters as lint
from kmtools.runner import ktap, least, registry
from kmtools.runner import suite as suites
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import dkms, kernelpage, kernelsuite, matrix, processors
from kmtools.suites.kernelpage import KernelResults
from kmtools.suites.kernelsuite import Outcome

KTAP = "# suite: boot\nok 1 clean\n# suite: orders\nok 2 all\nok 3 some # SKIP no time\n"
GOOD = f'printf "{KTAP}1..3\\n" >"$status"; finish 0\n'
WARNING = "[ 9.0] WARNING: CPU: 0 PID: 7 at /src/x.c:1 f+0x1/0x2 [markers]"
PANIC = """\
[    9.1] BUG: unable to handle page fault for address: 0000000000000010
[    9.1] Modules linked in: markers(OE) immediate(OE) patcher(OE)
[    9.1] Call Trace:
[    9.1]  exc_page_fault+0x1/0x2
[    9.1] Kernel panic - not syncing: Fatal exception
"""
WARNING_ON_PURPOSE = WARNING.replace("markers", kernelsuite.WARN_MODULE)
ALARM = kernelsuite.judge_warning_detection
OUR_PANIC = PANIC.replace("exc_page_fault+0x1/0x2", "patcher_apply+0x1f/0x20 [patcher]")


@pytest.fixture(autouse=True)
def disable_minimum_result_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the minimum numbers of results in tests/results.csv, because the fake suites have
    fewer results."""
    monkeypatch.setattr(least, "read_minimum_result_counts", lambda: {})


@pytest.fixture(name="built_laboratory")
def make_laboratory_with_modules(laboratory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Add fake modules to the directory with a fake kernel; return this directory. Building modules
    and judge_warning_detection() are replaced by functions that succeed."""
    modules = laboratory / "modules"
    modules.mkdir()
    for name in ("patcher", "immediate", "markers"):
        (modules / f"{name}.ko").touch()

    def return_passed_build(name: str, modules: Path, log: Path) -> Tally:
        return Tally(passed=1)

    def return_passed_warning_check(
        entry: Entry, modules: Path, out: Path, outcome: Outcome
    ) -> Tally:
        return Tally(passed=1)

    monkeypatch.setattr(kernelsuite, "build_modules_and_kmlive", return_passed_build)
    monkeypatch.setattr(kernelsuite, "judge_warning_detection", return_passed_warning_check)
    monkeypatch.setattr(
        kernelsuite,
        "ensure_kernel_is_unpacked",
        lambda entry: catalogue.require_unpacked_kernel(catalogue.get_default_kernel_name()),
    )
    monkeypatch.setattr(kernelsuite, "MODULES", laboratory / "none")
    monkeypatch.setattr(kernelsuite, "TIMEOUT_SECONDS", 20.0)
    monkeypatch.setattr("kmtools.lab.machine.find_usable_accel", lambda *_: Accel("tcg", "a test"))
    return laboratory


def run_fake_kernel(laboratory: Path, script: str) -> Outcome:
    """Run the suites of the default kernel in a fake QEMU that executes `script`; return the
    outcome."""
    with use_fake_qemu(laboratory, script):
        return kernelsuite.run_kernel_suites(
            catalogue.get_default_kernel_name(), laboratory / "out", laboratory / "modules"
        )


@pytest.mark.parametrize("test", ["matrix", "processors", "dkms"])
def test_builds_for_many_kernels_keep_the_modules_of_other_suites(
    test: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another suite may boot the same kernel at the same time, with the modules in
    MODULES/KERNEL."""
    built = []

    def record_and_fail_build(kernel: str, modules: Path, log: Path) -> Tally:
        built.append(modules)
        return Tally(failed=["no"])

    unpacked = SimpleNamespace(version="1", release="1", suite="s")
    monkeypatch.setattr(kernelsuite, "build_modules_and_kmlive", record_and_fail_build)
    for module in (kernelsuite, processors):
        monkeypatch.setattr(module, "ensure_kernel_is_unpacked", lambda _: unpacked)
    monkeypatch.setattr(catalogue, "require_unpacked_kernel", lambda _: unpacked)
    monkeypatch.setattr(emulator, "choose_qemu_of_suite", lambda _: SimpleNamespace(version="1"))
    monkeypatch.setattr(processors, "LOGS", tmp_path)
    if test == "matrix":
        kernelsuite.run_kernel_suites("6.1", tmp_path / "out")
    elif test == "processors":
        processors.build_processor_test_modules("6.1")
    else:
        dkms.build_and_load_dkms_packages("6.1", [], tmp_path / "log")
    assert built == [kernelsuite.MODULES / f"6.1-{test}"]


def make_boot_script(first: str, later: str) -> str:
    """Return a script for the fake QEMU: `first` in the first boot, `later` in later boots."""
    return f'if [ ! -e "$HERE/booted" ]; then\n: >"$HERE/booted"\n{first}\nelse\n{later}\nfi\n'


def make_crash_script(console: str) -> str:
    """Return a script for the fake QEMU: one test passes, then the guest crashes with this log."""
    return f"printf '# suite: boot\\nok 1 clean\\n' >\"$status\"; printf '{console}' >\"$console\""


def test_kernel_with_passed_tests_passes(built_laboratory: Path) -> None:
    outcome = run_fake_kernel(built_laboratory, GOOD)
    assert outcome.tally == Tally(4, [], ["some: no time"])
    assert list(outcome.suites) == ["build", "alarm", "boot", "orders"]
    assert not outcome.retries


def test_kernel_with_a_warning_in_its_log_fails(built_laboratory: Path) -> None:
    outcome = run_fake_kernel(built_laboratory, f'echo "{WARNING}" >"$console"\n{GOOD}')
    assert outcome.suites["log"].failed == ["the kernel log has 1 lines that report faults"]
    assert "1 FAILED" in matrix.format_outcome_table([outcome])


@pytest.mark.parametrize(
    ("warning", "verdict", "code", "missed"),
    [
        (WARNING_ON_PURPOSE, "not ok", 1, 0),
        (WARNING_ON_PURPOSE, "ok", 0, 1),
        ("", "not ok", 1, 1),
        ("", "ok", 0, 2),
    ],
)
def test_check_of_warning_detection_needs_warning_and_failure(
    built_laboratory: Path, warning: str, verdict: str, code: int, missed: int
) -> None:
    said = f'echo "{verdict} 1 {kernelsuite.WARN_TEST}" >"$status"; echo 1..1 >>"$status"'
    entry = catalogue.find_kernel_entry(catalogue.get_default_kernel_name())
    with use_fake_qemu(built_laboratory, f'{said}; echo "{warning}" >"$console"\nfinish {code}\n'):
        tally = ALARM(entry, built_laboratory / "modules", built_laboratory / "out", Outcome("6.1"))
    assert len(tally.failed) == missed
    assert tally.passed == (0 if missed else 1)


PANICKED = f"{WARNING_ON_PURPOSE}\nKernel panic - not syncing: kernel: panic_on_warn set ..."


@pytest.mark.parametrize(
    ("role", "log", "end", "missed"),
    [
        ("debug:kasan", PANICKED, "", 0),
        ("debug:kasan+clang", PANICKED, "", 0),
        ("debug:kasan", WARNING_ON_PURPOSE, "finish 1", 1),
        ("debug:kasan", WARNING_ON_PURPOSE, "", 1),
        ("debug:kcsan", WARNING_ON_PURPOSE, "finish 1", 0),
        ("debug:kcsan", PANICKED, "", 1),
        ("gates", PANICKED, "", 1),
    ],
)
def test_kernel_with_panic_on_warn_must_panic(
    built_laboratory: Path, role: str, log: str, end: str, missed: int
) -> None:
    said = f'echo "not ok 1 {kernelsuite.WARN_TEST}" >"$status"; echo 1..1 >>"$status"'
    (built_laboratory / "modules" / f"{kernelsuite.WARN_MODULE}.ko").touch()
    entry = Entry(catalogue.get_default_kernel_name(), "s", "linux-source-1", "suite", role)
    outcome = Outcome(entry.name)
    with use_fake_qemu(built_laboratory, f'{said}; echo "{log}" >"$console"\n{end}\n'):
        tally = ALARM(entry, built_laboratory / "modules", built_laboratory / "out", outcome)
    assert len(tally.failed) == missed
    assert not outcome.retries


def test_kernel_with_a_failed_test_fails(built_laboratory: Path) -> None:
    script = 'printf "# suite: orders\\nnot ok 1 x\\n1..1\\n" >"$status"; finish 1\n'
    outcome = run_fake_kernel(built_laboratory, script)
    assert outcome.suites["orders"].failed == ["x"]
    assert "FAILED 6.1 orders: x" in matrix.format_outcome_table([outcome])


def test_kernel_with_a_suite_without_a_plan_fails(built_laboratory: Path) -> None:
    outcome = run_fake_kernel(
        built_laboratory, 'printf "# suite: orders\\nok 1 x\\n" >"$status"; finish 0\n'
    )
    assert outcome.suites["plan"].failed


def test_crash_of_the_emulator_is_retried_and_reported(built_laboratory: Path) -> None:
    outcome = run_fake_kernel(built_laboratory, make_boot_script(make_crash_script(PANIC), GOOD))
    assert not outcome.tally.failed
    assert outcome.retries == [
        "BUG: unable to handle page fault for address: 0000000000000010",
    ]
    assert (built_laboratory / "out" / "boot.crash-1" / "console.log").read_text() == PANIC
    assert "RETRIED 6.1" in matrix.format_outcome_table([outcome])


@pytest.mark.parametrize(("console", "again"), [(PANIC, True), (OUR_PANIC, False)])
def test_single_job_is_retried_after_an_emulator_crash(
    built_laboratory: Path, capsys: pytest.CaptureFixture[str], console: str, again: bool
) -> None:
    request = Request(
        kernel=catalogue.get_default_kernel_name(),
        job=kernelsuite.JOBS / "coexist.sh",
        out=built_laboratory / "out",
        modules=built_laboratory / "modules",
        timeout=20.0,
    )
    with use_fake_qemu(built_laboratory, make_boot_script(make_crash_script(console), GOOD)):
        tally = kernelsuite.boot_and_tally_job(request, built_laboratory / "log")
    assert bool(tally.failed) is not again
    assert ("RETRIED" in capsys.readouterr().out) is again


def test_crash_with_a_kmarkers_frame_is_not_retried(built_laboratory: Path) -> None:
    outcome = run_fake_kernel(
        built_laboratory, make_boot_script(make_crash_script(OUR_PANIC), GOOD)
    )
    assert outcome.tally.failed
    assert not outcome.retries


def test_repeated_emulator_crash_fails(built_laboratory: Path) -> None:
    outcome = run_fake_kernel(built_laboratory, make_crash_script(PANIC))
    assert outcome.tally.failed
    assert len(outcome.retries) == triage.MOST_RETRIES


def test_hang_in_a_test_is_not_retried(
    built_laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernelsuite, "TIMEOUT_SECONDS", 0.5)
    outcome = run_fake_kernel(
        built_laboratory, f"{make_crash_script('all quiet')}; exec sleep 1000\n"
    )
    assert not outcome.retries
    assert any(why.startswith("no exit status after 0.5 s") for why in outcome.tally.failed)


def test_kernel_that_does_not_boot_is_retried(built_laboratory: Path) -> None:
    outcome = run_fake_kernel(built_laboratory, make_boot_script("exit 0", GOOD))
    assert not outcome.tally.failed
    assert outcome.retries == ["the kernel did not boot"]


def test_results_of_several_boots_are_added(tmp_path: Path) -> None:
    outcome = Outcome("k")
    for number, verdict in enumerate(("not ok", "ok")):
        out = tmp_path / str(number)
        out.mkdir()
        (out / "status.log").write_text(
            f"# suite: boot\n{verdict} 1 clean\n# suite: s{number}\nok 2 all\n1..2\n"
        )
        kernelsuite.add_boot_results(
            Result(ok=verdict == "ok", exit_code=1 - number, out=out), outcome, {}
        )
    assert outcome.suites["boot"] == Tally(1, ["clean"], [])
    assert list(outcome.suites) == ["boot", "s0", "s1"]


@pytest.mark.parametrize(
    ("role", "lists", "boots"),
    [("debug:kasan", [], 4), ("gates", registry.read_suite_names_by_guest(), 2), ("gates", [], 1)],
)
def test_slow_machine_gets_a_longer_time_limit(
    built_laboratory: Path,
    monkeypatch: pytest.MonkeyPatch,
    role: str,
    lists: list[list[str]],
    boots: int,
) -> None:
    seen: list[tuple[str, bool]] = []

    def record_boot(*asked: object) -> Result:
        settings, pace = asked[5:]
        assert isinstance(settings, dict) and isinstance(pace, float)
        seen.append((settings.get("KMARKERS_SUITES", ""), pace > 1.0))
        return Result(ok=True, exit_code=0, out=built_laboratory / "none")

    monkeypatch.setattr(kernelsuite, "boot_and_run_job", record_boot)
    entry = replace(catalogue.find_kernel_entry(catalogue.get_default_kernel_name()), role=role)
    for seconds, slow in ((1e-9, True), (1000.0, False)):
        monkeypatch.setattr(kernelsuite, "ALARM_SECONDS", seconds)
        monkeypatch.setattr(kernelsuite, "ALARM_DEBUG_SECONDS", seconds)
        seen.clear()
        kernelsuite.build_and_run_suites(
            entry, built_laboratory / "modules", built_laboratory, Outcome("k"), {}, lists
        )
        assert [is_slow for _, is_slow in seen] == [slow] * boots
        every = [name for names in registry.read_suite_names_by_guest() for name in names]
        assert " ".join(names for names, _ in seen).split() == (every if boots > 1 else [])


def test_all_suites_of_a_kernel_run_in_two_boots(
    built_laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suites are divided into two boots, because one boot would exceed the time limit."""
    seen: list[object] = []

    def record_suite_lists(kernel: str, out: Path, **words: object) -> Outcome:
        seen.append(words["suite_lists"])
        return Outcome(kernel)

    monkeypatch.setattr(kernelsuite, "run_kernel_suites", record_suite_lists)
    monkeypatch.setattr(kernelpage, "KEPT", built_laboratory / "kept")
    for keeps in (True, False):
        matrix.run_suites_in_kernel(
            catalogue.get_default_kernel_name(), keeps, built_laboratory / "x.log"
        )
    assert seen == [registry.read_suite_names_by_guest(), ()]
    assert (built_laboratory / "kept" / f"{catalogue.get_default_kernel_name()}.json").is_file()


def test_line_modules_linked_in_is_not_a_stack_frame() -> None:
    assert triage.find_kmarkers_frames(PANIC, ["patcher", "markers"]) == []
    assert len(triage.find_kmarkers_frames(OUR_PANIC, ["patcher"])) == 1
    with_build_id = "[ 1.0] RIP: 0010:f+0x1/0x2 [patcher 0123456789abcdef]"
    assert triage.find_kmarkers_frames(with_build_id, ["patcher"]) == [with_build_id]


STALE = """\
[  200.1] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI
[  200.2] RIP: 0010:__schedule+0x343/0xbe0
[  200.3] Code: 0f 95 c2 e9 f4 02 00 00 0f <1f> 44 00 00 48 8b 83 88
[  200.4] Call Trace:
[  200.5]  ? probe+0x1/0x2 [patcher]
[  200.6]  ? 0xffffffffc0123456
[  200.7] RIP: 0010:__schedule+0x343/0xbe0
[  200.8] Kernel panic - not syncing: Fatal exception in interrupt
"""


@pytest.mark.parametrize(
    ("was", "now", "again"),
    [
        ("", "", True),
        ("Oops: int3", "int3", True),
        ("0f <1f> 44 00 00", "66 <90> 44", True),
        ("0f <1f> 44", "e9 <12> 34", True),
        # Not retried, because the int3 is still in memory.
        ("0f <1f> 44", "cc <1f> 44", False),
        # Not retried, because kmarkers may have patched the instruction.
        ("0f <1f> 44", "e8 <12> 34", False),
        ("__schedule+0x343/0xbe0\n[  200.3]", "pass+0x3/0xb [patcher]\n[  200.3]", False),
        ("__schedule+0x343/0xbe0\n[  200.3]", "0xffffffffc0123456\n[  200.3]", False),
        # Not retried: another fault precedes the int3.
        ("[  200.1]", "[  200.0] BUG: it began here\n[  200.1]", False),
    ],
)
def test_crash_at_a_stale_int3_is_retried(
    built_laboratory: Path, was: str, now: str, again: bool
) -> None:
    assert was in STALE
    outcome = run_fake_kernel(
        built_laboratory, make_boot_script(make_crash_script(STALE.replace(was, now, 1)), GOOD)
    )
    assert bool(outcome.retries) is again
    assert bool(outcome.tally.failed) is not again


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("[    9.1] RIP: 0010:0xffffffffc0123456", True),
        ("[    9.1][   T57] RIP: 0010:0xffffffffc0123456", True),
        ("[    9.1] RIP: 0010:0x0", True),
        ("[    9.1]  0xffffffffc0123456", True),
        ("[    9.1]  ? 0xffffffffa0123456", True),
        ("[    9.1] Code: Unable to access opcode bytes at 0xffffffffc012342c.", True),
        ("[    9.1] BUG: unable to handle page fault for address: ffffffffc0123456", True),
        ("[    9.1] BUG: unable to handle page fault for address: ffffffff81234567", False),
        ("[    9.1] RIP: 0010:exc_page_fault+0x1/0x2", False),
        ("[    9.1] RIP: 0033:0x7f0123456789", False),
        ("[    9.1] RAX: ffffffffc0123456 RBX: 0000000000000000", False),
        ("[    9.1] Kernel Offset: 0x1000000 from 0xffffffff81000000", False),
    ],
)
def test_address_without_a_symbol_counts_as_code_of_kmarkers(
    built_laboratory: Path, line: str, ours: bool
) -> None:
    assert triage.find_kmarkers_frames(line, ["patcher"]) == [line] * ours
    outcome = run_fake_kernel(
        built_laboratory, make_boot_script(make_crash_script(f"{PANIC}{line}\n"), GOOD)
    )
    assert bool(outcome.tally.failed) == ours
    assert len(outcome.retries) == (not ours)


@pytest.mark.parametrize(
    "line",
    [
        "/src/a.c:1:2: warning: unused variable 'x' [-Wunused-variable]",
        "patcher.o: warning: objtool: f()+0x1: unreachable instruction",
        "WARNING: modpost: missing MODULE_LICENSE() in x.o",
        'ERROR: modpost: "f" [x.ko] undefined!',
        "/src/a.c:1:2: error: expected ';' before '}' token",
    ],
)
def test_warning_in_a_build_is_found(line: str) -> None:
    assert kernelsuite.find_build_warnings(f"  CC [M]  a.o\n{line}\n") == [line]


def test_build_without_warnings_has_no_findings() -> None:
    log = """\
make: Entering directory '/usr/src/linux-headers'
warning: the compiler differs from the one used to build the kernel
  The kernel was built by: gcc-12 (Debian 12.2.0-14) 12.2.0
  You are using:           gcc-12 (Debian 12.2.0-15) 12.2.0
  CC [M]  /src/errors.o
"""
    assert kernelsuite.find_build_warnings(log) == []


OBSTACLES = [
    (UnableError("no room"), "no room"),
    (
        OSError(errno.ENOSPC, "No space left", "/a", None, "/b"),
        "/b: No space left; free disk space",
    ),
    (subprocess.CalledProcessError(2, ["tar", "-x"], "", "bad"), "exit code 2 of tar -x: bad"),
]


@pytest.mark.parametrize(("error", "said"), OBSTACLES)
def test_exception_in_a_suite_is_reported_as_a_failure(
    built_laboratory: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def raise_error(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(kernelsuite, "build_modules_and_kmlive", raise_error)
    assert said in run_fake_kernel(built_laboratory, GOOD).suites["run"].failed[0]
    monkeypatch.setattr(kernelsuite, "ensure_kernel_is_unpacked", raise_error)
    assert said in run_fake_kernel(built_laboratory, GOOD).suites["fetch"].failed[0]
    monkeypatch.setattr(suites, "LOGS", built_laboratory)
    tally = suites.run_all_suites([Suite("one", raise_error), Suite("two", lambda log: Tally(1))])
    assert (tally.passed, len(tally.failed)) == (1, 1)
    assert said in tally.failed[0]


def test_results_are_stored_and_published(
    built_laboratory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = built_laboratory / "kernels.md"
    monkeypatch.setattr(kernelpage, "PAGE", page)
    monkeypatch.setattr(kernelpage, "KEPT", built_laboratory / "results")
    monkeypatch.setattr(kernelpage, "STORE", built_laboratory / "kernels.json")
    monkeypatch.setattr(kernelpage, "describe_checkout_commit", lambda: "0123abcd")
    (built_laboratory / "none").mkdir()
    (built_laboratory / "modules").rename(built_laboratory / "none" / "6.1-matrix")
    monkeypatch.setattr(
        kernelsuite, "make_boot_obstacle_finder", lambda kernel: suites.find_no_obstacle
    )
    first = catalogue.load_kernel_entries()[:1]
    monkeypatch.setattr(catalogue, "load_kernel_entries", lambda: first)
    monkeypatch.setattr(registry, "read_suite_names_by_guest", lambda: [["orders"]])
    assert main(["publish", "kernels"]) == 2
    with use_fake_qemu(built_laboratory, GOOD):
        assert main(["check", "matrix"]) == 0
    assert not page.exists()
    assert main(["publish", "kernels"]) == 0
    assert f"| {first[0].name} |" in page.read_text() and "| 0123abcd |" in page.read_text()
    assert f"kernel {first[0].name}: the row in kernels.md is written" in capsys.readouterr().out


def test_full_disk_is_reported_if_a_boot_fails(
    built_laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(built_laboratory)._replace(free=1)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    assert not run_fake_kernel(built_laboratory, GOOD).tally.failed
    assert (
        "no disk space left for the logs"
        in run_fake_kernel(built_laboratory, make_crash_script("")).suites["run"].failed[0]
    )


def test_ktap_output_is_split_by_suite() -> None:
    suites = ktap.parse_ktap_by_suite(f"{KTAP}1..3\n".splitlines())
    assert suites == {"boot": Tally(1), "orders": Tally(1, [], ["some: no time"])}
    assert ktap.parse_ktap_by_suite(KTAP.splitlines())["plan"].failed
    assert ktap.parse_ktap_by_suite(f"{KTAP}1..4\n".splitlines())["plan"].failed


def test_kernel_outcome_table_has_times_and_retries() -> None:
    outcomes = [
        Outcome("quick", seconds=240.0),
        Outcome("debug", seconds=300.0, may_take=kernelsuite.SLOW_DEBUG_SECONDS),
        Outcome("slow", seconds=240.6, retries=["BUG: x", "the kernel did not boot"]),
    ]
    text = matrix.format_outcome_table(outcomes)
    assert text.splitlines()[4:] == [
        "Building, booting and testing took 781 s in all.",
        "RETRIED slow: fault of the emulator, not of kmarkers: BUG: x",
        "RETRIED slow: fault of the emulator, not of kmarkers: the kernel did not boot",
        "SLOW slow: slower than 4 minutes",
    ]


def test_kernel_version_checks_outside_compat_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    compat = tmp_path / "include/compat/compat.h"
    compat.parent.mkdir(parents=True)
    cited = '/*\n * 0123456789ab ("x"), v6.4\n */\n#if LINUX_VERSION_CODE < 1\n'
    compat.write_text(cited + "/* why not */\n#if LINUX_VERSION_CODE < 2\n")
    (tmp_path / "a.c").write_text("#if KERNEL_VERSION(6, 1, 0)\n")
    tree = lint.Sources(files=[Path("a.c"), Path("include/compat/compat.h")])
    assert lint.find_forbidden_version_checks(tree) == [
        "a.c:1: #if KERNEL_VERSION(6, 1, 0)",
        "include/compat/compat.h:6: the comment cites no commit: #if LINUX_VERSION_CODE < 2",
    ]


@pytest.fixture(name="outdated_results")
def publish_outdated_results(
    built_laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> KernelResults:
    """Publish results of kernel 6.1, in which the suite `many` failed, the suite `core` is missing,
    and the suites `typed` and `cases` ran before their last change. Return these results."""
    for name, file in (("PAGE", "page.md"), ("KEPT", "kept"), ("STORE", "kernels.json")):
        monkeypatch.setattr(kernelpage, name, built_laboratory / file)
    monkeypatch.setattr(kernelpage, "describe_checkout_commit", lambda: "89abcdef")
    monkeypatch.setattr(
        kernelsuite, "make_boot_obstacle_finder", lambda kernel: suites.find_no_obstacle
    )
    monkeypatch.setattr(kernelpage, "list_files_changed_since", lambda commit: None)
    monkeypatch.setattr(
        kernelpage,
        "find_last_suite_change",
        lambda name: "2026-02-02" if name in ("typed", "cases") else "2026-01-01",
    )
    found = {name: Tally(1) for name in kernelpage.list_guest_suite_names() if name != "core"}
    found["many"] = Tally(1, ["many: no"])
    found["run"] = Tally(0, ["run: no"])
    published = KernelResults("6.1", "6.1.9-1", "10.0", "2026-02-01", "01234567", found)
    kernelpage.STORE.write_text(json.dumps([asdict(published)]))
    return published


def replace_guests_by_passed_suites(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> tuple[list[list[str]], Callable[[], Tally]]:
    """Replace test kernels by a function that passes each suite. Return the lists of the suites
    that are run, and a function that runs the test `matrix` with missing=1 for kernel 6.1."""
    seen: list[list[str]] = []

    def record_and_pass_suites(
        kernel: str, out: Path, *, settings: None, suite_lists: Sequence[list[str]]
    ) -> Outcome:
        seen.extend(suite_lists)
        passed = {name: Tally(2) for names in suite_lists for name in names}
        return Outcome(kernel, version, qemu="7.0", suites=passed | {"build": Tally(1)})

    monkeypatch.setattr(kernelsuite, "run_kernel_suites", record_and_pass_suites)
    monkeypatch.setattr(
        matrix, "ensure_kernel_is_unpacked", lambda entry: SimpleNamespace(version=version)
    )
    request = SuiteRequest("named", "6.1", {"missing": "1"})

    def run_matrix() -> Tally:
        (suite,) = matrix.make_requested_matrix_suites(request, ["matrix"])
        return suite.run(kernelpage.STORE.with_suffix(".log"))

    return seen, run_matrix


def test_only_failed_missing_or_changed_suites_are_repeated(
    outdated_results: KernelResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With missing=1, a suite runs if the suite failed, has no result, or changed after its run.
    The suite `modules` runs, too, because `modules` needs `cases`. Other results keep their date
    and commit."""
    seen, run_matrix = replace_guests_by_passed_suites(monkeypatch, outdated_results.version)
    repeated = ["cases", "modules", "typed", "many", "core"]
    assert not run_matrix().failed
    assert [name for names in seen for name in names] == repeated
    kernelpage.publish_kernel_results()
    (now,) = kernelpage.read_published_results().values()
    assert (now.date, now.commit) == ("2026-02-01", "01234567")
    assert {*now.repeated} == {*repeated, "build"}
    assert {name for name, tally in now.suites.items() if tally.passed == 2} == {*repeated}
    assert not any(tally.failed for tally in now.suites.values())
    assert not kernelpage.list_suites_to_repeat(now)
    failed = kernelpage.judge_published_results({"6.1": now}).failed
    assert not [why for why in failed if why.startswith("kernel 6.1 ")]
    text = kernelpage.PAGE.read_text()
    today = now.repeated["core"][0]
    assert f"- run again on {today} at 89abcdef: cases, modules, typed, many, core, build" in text
    with pytest.raises(UnableError, match="no suite has changed since"):
        run_matrix()


def test_suites_are_not_repeated_in_another_version_of_a_kernel(
    outdated_results: KernelResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, run_matrix = replace_guests_by_passed_suites(monkeypatch, "6.1.9-2")
    with pytest.raises(FailedError, match=r"6\.1\.9-2, but .* 6\.1\.9-1: run all suites"):
        run_matrix()
    assert not seen and not kernelpage.KEPT.exists()


def test_repeated_suites_of_uncommitted_trees_are_not_published(
    outdated_results: KernelResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run_matrix = replace_guests_by_passed_suites(monkeypatch, outdated_results.version)
    monkeypatch.setattr(kernelpage, "describe_checkout_commit", lambda: "89abcdef-dirty")
    run_matrix()
    with pytest.raises(UnableError, match="of no commit"):
        kernelpage.publish_kernel_results()


@pytest.mark.parametrize(
    ("at_the_end", "stored"),
    [("01234567", "89abcdef"), ("89abcdef-dirty", "89abcdef-dirty"), ("", "89abcdef")],
)
def test_results_are_of_the_commit_at_the_beginning_of_the_run(
    at_the_end: str,
    stored: str,
    outdated_results: KernelResults,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A commit during the run may change a suite that has run already."""
    _, run_matrix = replace_guests_by_passed_suites(monkeypatch, outdated_results.version)
    commits, run_suites = ["89abcdef"], kernelsuite.run_kernel_suites

    def run_suites_and_change_commit(*words: Any, **options: Any) -> Outcome:
        commits.append(at_the_end)
        return run_suites(*words, **options)

    monkeypatch.setattr(kernelsuite, "run_kernel_suites", run_suites_and_change_commit)
    monkeypatch.setattr(kernelpage, "describe_checkout_commit", lambda: commits[-1])
    run_matrix()
    (found,) = kernelpage.read_unpublished_results()
    assert found.repeated["core"][1] == stored


def test_suites_of_debug_kernels_are_split_into_four_boots() -> None:
    every = registry.read_suite_names_by_guest()
    parts = kernelsuite.split_suites_for_debug_kernel(every)
    assert len(parts) == 4
    assert [name for part in parts for name in part] == [name for names in every for name in names]
    assert kernelsuite.split_suites_for_debug_kernel([["nomem", "cases", "modules"]]) == [
        ["cases", "modules"], ["nomem"],
    ]  # fmt: skip
