# SPDX-License-Identifier: GPL-2.0-only
"""Tests of benchmarks in a program outside this tree, which are measured and judged like the
benchmarks of kmbench."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from fakebench import Machine
from kmtools.base.paths import ROOT
from kmtools.measure import bench, native
from kmtools.report import report
from nativeprograms import build_native_programs

BUILT = ROOT / "build" / "native"
LIBRARIES = (BUILT / "libkmbench.a", BUILT / "libkmarkers.a")
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Werror", "-D_GNU_SOURCE")
EXAMPLE = ROOT / "examples" / "user-benchmark" / "hash.c"
HEAD = """
#include <linux/kernel.h>
#include <kmarkers/bench.h>
static unsigned long x;
BENCH_OPS(a, x++)
BENCH_OPS(b, x++)
BENCH_OPS_EACH(each, (void)0, x++)
"""
# A function that uses all variants, so that the compiler does not warn about unused functions.
USE = """
unsigned long use(void);
unsigned long use(void) { return a_layouts[0](1) + b_layouts[0](1) + each_layouts[0](1); }
"""
GROUP = """
static const struct bench_variant v%(id)s[] = { %(rows)s };
BENCH_GROUP(group%(id)s, .name = %(name)s, .variants = v%(id)s, .nr_variants = %(nr)s,
            .loops = { %(loops)s })
"""
ROWS = 'BENCH_ROW("a", a), BENCH_ROW("a-clone", b)'


def make_group(**changed: str) -> str:
    """Return the C source of a benchmark group, which is valid except for the `changed` fields."""
    words = {"id": "1", "name": '"mine"', "rows": ROWS, "nr": "2", "loops": "1000, 2000, 3000"}
    return GROUP % {**words, **changed}


@pytest.fixture(autouse=True, scope="module")
def _build_libraries() -> None:
    """Build libkmarkers.a and libkmbench.a."""
    build_native_programs(*(library.name for library in LIBRARIES))


def build_outside_program(source: Path, program: Path) -> Path:
    """Compile and link a program outside the tree."""
    include = (f"-I{ROOT / 'native' / 'include'}", f"-I{ROOT / 'include'}")
    words = ["gcc", *FLAGS, *include, "-o", str(program), str(source), *map(str, LIBRARIES)]
    done = subprocess.run([*words, "-lpthread"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.long
def test_benchmark_of_the_example_program_gets_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = build_outside_program(
        Path(shutil.copy(EXAMPLE, tmp_path / "hash.c")), tmp_path / "hash"
    )
    measure, shown = native.measure_processes, report.report_run
    machine = Machine(tmp_path, monkeypatch)
    monkeypatch.setattr(native, "measure_processes", measure)
    monkeypatch.setattr(report, "report_run", shown)
    monkeypatch.setattr(bench, "BUDGET_SECONDS", 10_000)
    words = ("--program", str(program), "--blocks", "32", "--variants", "marked,counted")
    assert machine.run_bench(*words) == 0, capsys.readouterr().err
    (run,) = machine.list_runs()
    summary = json.loads((run / "summary.json").read_text())
    rows = {row["variant"]: row for row in summary["results"]}
    assert set(rows) == {"plain", "plain-clone", "marked", "counted"}
    assert {row["benchmark"] for row in rows.values()} == {"example-hash"}
    # The variant "counted" adds with a LOCK prefix, which costs more than the margin. On a busy
    # machine, the verdict is withheld.
    assert rows["counted"]["verdict"] in ("slower", "withheld")
    assert rows["counted"]["delta_ci_lo"] > 0.25
    assert rows["plain"]["verdict"] == "baseline" and rows["plain-clone"]["noise_floor"] is not None
    assert (
        len({row.split(",")[6] for row in (run / "samples.csv").read_text().splitlines()[2:]}) > 1
    )
    assert "kmbench" not in machine.done and "root" not in machine.done


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ("", "0 benchmarks are registered: register 1 to 64"),
        (make_group(name='"m m"'), "benchmark m m is not valid: its name is not 1 to 64 letters"),
        (make_group(name="0"), "benchmark (null) is not valid: its name is not"),
        (make_group(nr="1"), "benchmark mine is not valid: the number of variants is not 2 to 32"),
        (make_group(nr="33"), "the number of variants is not 2 to 32"),
        (make_group(rows='BENCH_ROW("a", a), BENCH_ROW("b", b)'),
         "the name of the second variant is not"),
        (make_group(rows='BENCH_ROW("a", a), BENCH_ROW("a", b)'),
         "two variants have the same name"),
        (make_group(rows='BENCH_ROW("a", a), BENCH_ROW("", b)'), "the name of a variant is not"),
        (make_group(rows='{ .name = "a" }, BENCH_ROW("a-clone", b)'),
         "first variant needs 1 to 32"),
        (make_group(rows='BENCH_ROW("a", a), { .name = "a-clone" }'),
         "more or fewer layouts than the"),
        (make_group(rows='BENCH_ROW("a", a), { "a-clone", NULL, 32 }'), "a variant lacks a layout"),
        (make_group(rows='BENCH_ROW("a", a), BENCH_ROW("a-clone", each)'),
         "more or fewer layouts than"),
        (make_group(loops="2000, 1000, 3000"), "the three loop counts neither ascend"),
        (make_group(loops="0, 1000, 2000"), "the three loop counts neither ascend"),
        (make_group(loops="1000, 3000"), "the three loop counts neither ascend"),
        (make_group() + make_group(id="2"),
         "benchmark mine is not valid: its name is registered twice"),
    ],
)  # fmt: skip
def test_invalid_benchmark_group_is_reported(tmp_path: Path, groups: str, said: str) -> None:
    source = tmp_path / "own.c"
    source.write_text(f"{HEAD}{groups}\n{USE}")
    program = build_outside_program(source, tmp_path / "own")
    for command in ("list", "run"):
        done = subprocess.run([program, command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


@pytest.mark.parametrize("word", ["start", "stop", "reset", ""])
def test_control_words_of_the_kernel_are_no_benchmark_names(tmp_path: Path, word: str) -> None:
    """A program with a single benchmark refuses the commands of the file bench/control, because it
    has no benchmarks with these names."""
    source = tmp_path / "own.c"
    source.write_text(f"{HEAD}{make_group()}\n{USE}")
    program = build_outside_program(source, tmp_path / "own")
    words = ["run", "-b", "1", word]
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"kmbench: no benchmark named '{word}' (see kmbench list)\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--program", "/no/such"), "'/no/such' is not an executable program"),
        (("--program", "/etc/passwd"), "'/etc/passwd' is not an executable program"),
        (
            ("--program", "/bin/true", "--tiers", "vm"),
            "vm is not measured with --program; choose from nat",
        ),
    ],
)
def test_invalid_program_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    machine = Machine(tmp_path, monkeypatch)
    try:
        code: object = machine.run_bench(*words)
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert said in capsys.readouterr().err
    assert machine.done == [] and machine.list_runs() == []
