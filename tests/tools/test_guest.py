# SPDX-License-Identifier: GPL-2.0-only
"""The shell scripts of test kernels: those of tests/vm, and the first process."""

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


def read_with(job: Path) -> list[str]:
    """Return the text of a job and of all files that jobs may source."""
    return [path.read_text() for path in (job, *SOURCED)]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_no_function_replaces_another(job: Path) -> None:
    functions = Counter(found for text in read_with(job) for found in FUNCTION.findall(text))
    assert functions["run_suite"] == 1
    assert not [function for function, times in functions.items() if times > 1]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_no_variable_of_all_replaces_another(job: Path) -> None:
    texts = read_with(job)
    variables = Counter(found for text in texts for found in set(SHARED.findall(text)))
    assert not [variable for variable, times in variables.items() if times > 1]


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_suite_has_a_function_of_its_name_and_a_job_that_runs_it(suite: Path) -> None:
    assert f"test_{suite.stem}" in FUNCTION.findall(suite.read_text())
    parts = {part.name for part in (*boots.COEXIST, *boots.ALONE)}
    named = {word for job in JOBS for word in re.findall(r"\w+", code_of(job))}
    assert suite.stem in named | parts


def code_of(script: Path) -> str:
    """Return a script without its comments."""
    return re.sub(r"^\s*#.*", "", script.read_text(), flags=re.MULTILINE)


def test_jobs_run_suites_that_are_there() -> None:
    lists = [loop for job in JOBS for loop in SUITE_LOOP.findall(code_of(job))]
    named = [name for loop in lists for name in re.findall(r"\w+", loop)]
    named += [name for job in JOBS for name in SUITE_RUN.findall(code_of(job))]
    assert len(named) > 20
    assert {*named} <= {suite.stem for suite in SUITES}


def test_first_process_touches_no_other_system() -> None:
    text = (ROOT / "scripts" / "guest" / "init").read_text()
    # Only the lines before the first command are run here: the rest would mount and power off.
    head, command, _ = text.partition("\n/bin/busybox --install")
    assert command
    done = subprocess.run(["sh", "-c", head], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "first process of a test kernel" in done.stderr


def arrived(tmp_path: Path, settings: dict[str, object], loses: str = "") -> str:
    """Read the settings of a boot as the first process does; returns those that it finds wrong.
    `loses` is a command that changes one of them before it looks."""
    request = Request("6.1", tmp_path / "job", tmp_path / "out", settings=settings)
    places = {where: str(path) for path, where in machine.guest_files(request, tmp_path)}
    text = (ROOT / "scripts" / "guest" / "init").read_text()
    function = re.search(r"^unsettled\(\) \{\n.*?^\}", text, re.MULTILINE | re.DOTALL)
    assert function
    look = f". /etc/settings\n{loses}\n{function[0]}\nunsettled || true\n"
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


@pytest.mark.skipif(not shutil.which("busybox"), reason="no busybox: run scripts/setup")
def test_settings_arrive_as_they_were_given(tmp_path: Path) -> None:
    assert arrived(tmp_path, HOSTILE) == ""
    assert arrived(tmp_path, {}) == ""


@pytest.mark.skipif(not shutil.which("busybox"), reason="no busybox: run scripts/setup")
@pytest.mark.parametrize("loses", ["unset A", "A=two", "E=' a b '", "export B="])
def test_a_setting_that_does_not_arrive_is_named(tmp_path: Path, loses: str) -> None:
    lost = arrived(tmp_path, HOSTILE, loses)
    assert lost.startswith(re.search(r"[A-E]\b", loses)[0] + "=")  # type: ignore[index]
    assert lost.count("\n") == 1


def test_the_first_process_runs_no_job_with_other_settings() -> None:
    text = (ROOT / "scripts" / "guest" / "init").read_text()
    assert re.search(r"if lost=\$\(unsettled\); then\n.*not ok.*\n.*code=1\nelse\n\tsh /job ", text)
