# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the Makefile: variables reach the scripts unchanged, including quotes and blanks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A script that replaces each program that make starts, and logs the arguments.
SHOW = """#!/bin/sh
for word; do printf '<%s>' "$word"; done >>log
echo >>log
"""
PROGRAMS = ("scripts/setup", "scripts/bench", "scripts/host", "scripts/kmarkers")


def copy_makefile(to: Path) -> None:
    """Copy the Makefile and the files that it includes to the directory `to`."""
    for name in ("Makefile", "scripts/directory.mk"):
        (to / name).parent.mkdir(exist_ok=True)
        (to / name).write_bytes((ROOT / name).read_bytes())


def run_make_and_read_last_command(tmp_path: Path, *words: str) -> list[str]:
    """Run make with SHOW in place of all programs; return the arguments of the last program."""
    for name in PROGRAMS:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SHOW)
        path.chmod(0o755)
    copy_makefile(tmp_path)
    (tmp_path / "log").unlink(missing_ok=True)
    clean = {name: to for name, to in os.environ.items() if name in ("PATH", "HOME")}
    done = subprocess.run(
        ["make", "-s", *words], cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    last = (tmp_path / "log").read_text().splitlines()[-1]
    return last.removeprefix("<").removesuffix(">").split("><") if last else []


@pytest.mark.parametrize("name", ["--x", 'it\'s a "b"; c, `id` $HOME #'])
@pytest.mark.parametrize(
    ("target", "variable", "before"),
    [
        ("bench", "K", ["--kernel="]),
        ("bench", "RESUME", ["--resume="]),
        ("check", "K", ["check", "--setup", "--kernel="]),
        ("check-full", "K", ["check", "--setup", "--set=full", "--kernel="]),
        ("check-coexist", "K", ["check", "--setup", "coexist", "--kernel="]),
        ("check-matrix", "K", ["check", "--setup", "matrix", "--kernel="]),
        ("check-debug", "K", ["check", "--setup", "debug", "--kernel="]),
        ("setup", "K", [""]),
        ("check-fresh", "ROOT", ["check", "--setup", "fresh", "-o", "root="]),
        ("check-fresh", "WHO", ["check", "--setup", "fresh", "-o", "who="]),
        ("soak", "SECONDS", ["check", "--setup", "soak", "-o", "seconds="]),
        ("lint", "TOOLS", ["check", "--setup", "lint", "-o", "tools="]),
    ],
)
def test_make_variable_reaches_the_script_unchanged(
    tmp_path: Path, target: str, variable: str, before: list[str], name: str
) -> None:
    wanted = [*before[:-1], before[-1] + name]
    assert run_make_and_read_last_command(tmp_path, target, f"{variable}={name}") == wanted


def test_make_bench_host_can_resume_a_run(tmp_path: Path) -> None:
    kernel = tmp_path / "headers"
    kernel.mkdir()
    (kernel / "Makefile").write_text("modules:;@:\n")
    words = ["bench-host", f"KDIR={kernel}", "YES=1"]
    assert run_make_and_read_last_command(tmp_path, *words) == ["-y", "bench"]
    assert run_make_and_read_last_command(tmp_path, *words, "RESUME=a run") == [
        "-y",
        "bench",
        "--resume=a run",
    ]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        *((name, [name]) for name in ("fuzz", "coverage", "soak", "lint")),
        *((f"check-{name}", [name]) for name in ("native", "cet", "it's", "entry_many")),
        ("bench-many-files", ["many-files"]),
        ("check-weekly", ["--set=weekly"]),
    ],
)
def test_check_target_runs_the_named_tests(tmp_path: Path, target: str, words: list[str]) -> None:
    assert run_make_and_read_last_command(tmp_path, target) == ["check", "--setup", *words]


def test_make_help_fits_a_terminal() -> None:
    done = subprocess.run(
        ["make", "-s", "help"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert 15 < len(lines) <= 24 and max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("target", "variable", "option"),
    [
        ("bench", "QUICK", "--quick"),
    ],
)
def test_make_variable_0_or_empty_adds_no_option(
    tmp_path: Path, target: str, variable: str, option: str
) -> None:
    assert option in run_make_and_read_last_command(tmp_path, target, f"{variable}=1")
    for no in ("0", ""):
        assert option not in run_make_and_read_last_command(tmp_path, target, f"{variable}={no}")


def test_without_a_kernel_name_all_kernels_are_tested(tmp_path: Path) -> None:
    assert run_make_and_read_last_command(tmp_path, "check-matrix") == [
        "check",
        "--setup",
        "matrix",
    ]
    assert run_make_and_read_last_command(tmp_path, "setup") == []


def test_clean_keeps_files_that_were_not_built(tmp_path: Path) -> None:
    copy_makefile(tmp_path)
    built = ("one.o", "one.ko", "one.mod", "one.mod.c", ".one.o.cmd", ".one.o.d", "modules.order")
    made = [f"patcher/{name}" for name in (*built, "Module.symvers")]
    made += ["Module.symvers", "compile_commands.json", "build/native/kmbench", "build/deb/one.deb"]
    kept = [
        "Makefile",
        "scripts/directory.mk",
        "patcher/one.c",
        "build/lab/kernels/6.1",
        *(f"build/{name}/bin/python" for name in ("venv", "lint", "page", "mutation", "fleet")),
        "build/peers/lib",
    ]
    for name in [*made, *kept]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    subprocess.run(["make", "-s", "clean"], cwd=tmp_path, check=True, capture_output=True)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == set(kept)


def test_dry_run_of_native_works_in_a_new_checkout(tmp_path: Path) -> None:
    copy_makefile(tmp_path)
    (tmp_path / "native").mkdir()
    (tmp_path / "native" / "Makefile").write_text("all:;compile\n")
    words = ["make", "-n", "native"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "compile\n" in done.stdout


def test_make_man_checks_for_no_packaging_tools(tmp_path: Path) -> None:
    """If a program is missing, scripts/man itself prints the names of the two programs that it
    needs."""
    copy_makefile(tmp_path)
    words = ["make", "-s", "-n", "-o", "native", "man"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "scripts/man\n"


INHERITED = {
    "KMARKERS": "/nowhere", "OUT": "/nowhere/out", "KBUILD_OUTPUT": "/nowhere/kbuild",
    "KBUILD_EXTRA_SYMBOLS": "/nowhere/symvers", "ARCH": "arm64", "PYTHONSAFEPATH": "1",
    "CDPATH": "/nowhere",
}  # fmt: skip


def test_inherited_environment_variables_are_not_used_in_builds(tmp_path: Path) -> None:
    env = {**os.environ, **INHERITED}

    def run_successfully(*words: object) -> str:
        command = [str(word) for word in words]
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run_successfully("scripts/kmarkers", "--version").startswith("kmarkers ")
    # With -B, make -n prints the commands of all targets, also of targets that are up to date.
    assert "/nowhere" not in run_successfully("make", "-n", "-B", "native")
    assert "/nowhere" in run_successfully("make", "-n", "-B", "-C", "native", "OUT=/nowhere/asked")
    (tmp_path / "Makefile").write_text("modules:\n\t@env\n")
    told = run_successfully("make", "-s", "modules", f"KDIR={tmp_path}").splitlines()
    names = {line.partition("=")[0] for line in told}
    assert names & {*INHERITED} <= {"OUT", "PYTHONSAFEPATH"}
    kbuild = (ROOT / "Kbuild").read_text()
    assert "export KMARKERS := $(KBUILD_EXTMOD)\n" in kbuild
