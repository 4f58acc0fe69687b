# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the shell scripts that run in a test kernel: tests/vm/**/*.sh and scripts/guest/init."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT
from kmtools.lab import machine
from kmtools.lab.machine import Request
from kmtools.suites import boots

SCRIPTS = ROOT / "tests" / "vm"
SUITE_LOOP = re.compile(r"^for suite in ([\w\s\\]+); do", re.MULTILINE)
SUITE_RUN = re.compile(r"^\s*run_suite (\w+)$", re.MULTILINE)
FUNCTION = re.compile(r"^([a-z_]+)\(\)", re.MULTILINE)
SHARED = re.compile(r"^([a-z_]+)=", re.MULTILINE)


SUITES = sorted((SCRIPTS / "suites").glob("*.sh"))
JOBS = sorted((SCRIPTS / "jobs").glob("*.sh"))
SOURCED = [*sorted(SCRIPTS.glob("*.sh")), *SUITES]


def read_job_and_sourced_files(job: Path) -> list[str]:
    """Return the texts of a job and of all files that jobs source."""
    return [path.read_text() for path in (job, *SOURCED)]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_no_shell_function_is_defined_twice(job: Path) -> None:
    functions = Counter(
        found for text in read_job_and_sourced_files(job) for found in FUNCTION.findall(text)
    )
    assert functions["run_suite"] == 1
    assert not [function for function, times in functions.items() if times > 1]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_no_shared_variable_is_defined_twice(job: Path) -> None:
    texts = read_job_and_sourced_files(job)
    variables = Counter(found for text in texts for found in set(SHARED.findall(text)))
    assert not [variable for variable, times in variables.items() if times > 1]


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_each_guest_suite_has_a_function_and_a_job(suite: Path) -> None:
    assert f"test_{suite.stem}" in FUNCTION.findall(suite.read_text())
    parts = {part.name for part in (*boots.COEXIST, *boots.ALONE)}
    named = {word for job in JOBS for word in re.findall(r"\w+", strip_comments(job))}
    assert suite.stem in named | parts


def strip_comments(script: Path) -> str:
    """Return a script without its comments."""
    return re.sub(r"^\s*#.*", "", script.read_text(), flags=re.MULTILINE)


def test_jobs_of_test_kernels_run_existing_suites_only() -> None:
    lists = [loop for job in JOBS for loop in SUITE_LOOP.findall(strip_comments(job))]
    named = [name for loop in lists for name in re.findall(r"\w+", loop)]
    named += [name for job in JOBS for name in SUITE_RUN.findall(strip_comments(job))]
    assert len(named) > 20
    assert {*named} <= {suite.stem for suite in SUITES}


def test_guest_init_stops_outside_a_test_kernel() -> None:
    text = (ROOT / "scripts" / "guest" / "init").read_text()
    # Run only the lines before the first command, because later lines mount file systems and power
    # off the machine.
    head, command, _ = text.partition("\n/bin/busybox --install")
    assert command
    done = subprocess.run(["sh", "-c", head], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "first process of a test kernel" in done.stderr


def list_settings_that_init_refuses(
    tmp_path: Path, settings: dict[str, object], change: str = ""
) -> str:
    """Write the files with the settings of a guest. Execute the shell command `change`, which
    changes a setting, then the check of scripts/guest/init. Return the settings that the check
    reports as wrong."""
    request = Request("6.1", tmp_path / "job", tmp_path / "out", settings=settings)
    places = {where: str(path) for path, where in machine.write_guest_etc_files(request, tmp_path)}
    text = (ROOT / "scripts" / "guest" / "init").read_text()
    function = re.search(r"^print_lost_settings\(\) \{\n.*?^\}", text, re.MULTILINE | re.DOTALL)
    assert function
    look = f". /etc/settings\n{change}\n{function[0]}\nprint_lost_settings || true\n"
    for where, path in places.items():
        look = look.replace(where, path)
    words = ["busybox", "sh", "-ec", look]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


HOSTILE = {
    "A": "two words",
    "B": 'it\'s "$HOME" `id` \\ *',
    "C": "",
    "D": 7,
    "E": " a  b ",
    "F": "é",
}


@pytest.mark.skipif(not shutil.which("busybox"), reason="busybox is missing: run scripts/setup")
def test_settings_of_a_job_reach_the_guest_unchanged(tmp_path: Path) -> None:
    assert list_settings_that_init_refuses(tmp_path, HOSTILE) == ""
    assert list_settings_that_init_refuses(tmp_path, {}) == ""


@pytest.mark.skipif(not shutil.which("busybox"), reason="busybox is missing: run scripts/setup")
@pytest.mark.parametrize("change", ["unset A", "A=two", "E=' a b '", "export B="])
def test_guest_init_reports_a_changed_setting(tmp_path: Path, change: str) -> None:
    lost = list_settings_that_init_refuses(tmp_path, HOSTILE, change)
    assert lost.startswith(re.search(r"[A-E]\b", change)[0] + "=")  # type: ignore[index]
    assert lost.count("\n") == 1


def test_guest_init_runs_no_job_with_changed_settings() -> None:
    text = (ROOT / "scripts" / "guest" / "init").read_text()
    branch = r"if lost=\$\(print_lost_settings\); then\n.*not ok.*\n.*code=1\nelse\n\tsh /job "
    assert re.search(branch, text)
