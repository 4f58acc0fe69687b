# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the scripts for continuous integration in ci/, which the GitHub action and the GitLab
template call."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import manyruns
import pytest
from kmtools.base.paths import ROOT
from kmtools.lab import catalogue

CI = ROOT / "ci"
CALL = re.compile(r'compare\.sh" "\$RUN_A" "\$RUN_B" "\$OUT" \$OPTIONS')


def run_ci_compare_script(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Run ci/compare.sh as the GitHub action and the GitLab template do."""
    return subprocess.run(
        [str(CI / "compare.sh"), *map(str, arguments)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Write five simulated runs. Every second run has another CPU model, on which one variant costs
    1 % more."""
    return manyruns.write_simulated_runs(tmp_path / "runs", 5)


def test_compare_script_fails_if_a_row_became_costlier(runs: list[Path], tmp_path: Path) -> None:
    summary, out = tmp_path / "summary", tmp_path / "out"
    same = run_ci_compare_script(runs[0], runs[4], out, GITHUB_STEP_SUMMARY=str(summary))
    assert same.returncode == 0, same.stderr
    names = {f"comparison.{ending}" for ending in ("md", "json", "xml", "html")}
    assert {path.name for path in out.iterdir()} == names
    assert summary.read_text() == (out / "comparison.md").read_text()
    assert run_ci_compare_script(runs[0], runs[1], out).returncode == 1
    assert run_ci_compare_script(runs[0], runs[1], out, "--fail-on", "faster").returncode == 0
    assert run_ci_compare_script(runs[0], tmp_path / "none", out).returncode == 2
    # No file of an older comparison is left.
    assert not list(out.iterdir())
    assert (
        run_ci_compare_script(runs[0]).returncode == 2
        and run_ci_compare_script("--help").returncode == 0
    )


def test_github_action_and_gitlab_template_call_compare_sh() -> None:
    for name in ("action.yml", "gitlab.yml"):
        text = (CI / name).read_text()
        assert len(CALL.findall(text)) == 1 and "scripts/setup" in text
    defaults = {line.strip() for line in (CI / "action.yml").read_text().splitlines()}
    assert {"default: comparison", "default: --fail-on costlier"} <= defaults


@pytest.mark.parametrize("name", ["action.yml", "gitlab.yml"])
@pytest.mark.parametrize(("exit_code", "ended"), [(0, 0), (1, 1), (2, 0)])
def test_missing_package_does_not_end_the_job_before_the_comparison(
    tmp_path: Path, name: str, exit_code: int, ended: int
) -> None:
    """A runner that is not root cannot install packages: scripts/setup exits with 2."""
    found = re.findall(r"'(.*scripts/setup.*)'", (CI / name).read_text())
    assert len(found) == 1
    command = found[0].replace("${{ github.action_path }}/..", str(tmp_path))
    setup = tmp_path / "scripts" / "setup"
    setup.parent.mkdir()
    setup.write_text(f"#!/bin/sh\nexit {exit_code}\n")
    setup.chmod(0o755)
    env = {**os.environ, "KMARKERS": str(tmp_path)}
    assert subprocess.run(["sh", "-e", "-c", command], env=env, check=False).returncode == ended


def test_gitlab_artifacts_are_in_the_output_folder() -> None:
    artifacts = (CI / "gitlab.yml").read_text().partition("artifacts:")[2]
    assert "[$OUT]" in artifacts and "junit: $OUT/comparison.xml" in artifacts


def test_ci_templates_run_every_part_of_ci_test_sh() -> None:
    usage = (CI / "test.sh").read_text()
    listed = re.search(r"^# usage: ci/test\.sh (\S+)", usage, re.M)
    assert listed
    parts = listed[1].split("|")
    for name in ("tests-github.yml", "tests-gitlab.yml"):
        text = (CI / name).read_text()
        found = re.search(r"(?:part|PART): \[(.*)\]", text)
        assert found and found[1].split(", ") == parts
        assert "ci/test.sh $" in text
    for part in parts:
        assert re.search(rf"^\d:{part}[ )|]", usage, re.M)


def test_each_part_of_ci_test_runs_setup_and_tests(tmp_path: Path) -> None:
    for name in ("scripts/setup", "scripts/kmarkers"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@"\nexit ${{FAILS:-0}}\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "ci").mkdir()
    shutil.copy(CI / "test.sh", tmp_path / "ci")
    shutil.copy(ROOT / "kernels.txt", tmp_path)

    def run_ci_test_script(*arguments: str, **env: str) -> tuple[int, str]:
        done = subprocess.run(
            [tmp_path / "ci" / "test.sh", *arguments],
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    default = catalogue.parse_kernel_catalogue((ROOT / "kernels.txt").read_text())[0].name
    for words, option, test in (
        (["lint"], "--lint", "lint"),
        (["native"], "--native", "native"),
        (["vm"], default, f"matrix --kernel {default}"),
        (["vm", "5.10"], "5.10", "matrix --kernel 5.10"),
    ):
        assert run_ci_test_script(*words) == (
            0,
            f"scripts/setup {option}\nscripts/kmarkers check {test}\n",
        )
    # If setup fails, nothing is tested.
    assert run_ci_test_script("vm", FAILS="2") == (2, f"scripts/setup {default}\n")
    assert (
        run_ci_test_script("all")[0]
        == run_ci_test_script()[0]
        == run_ci_test_script("lint", "5.10")[0]
        == 2
    )
