# SPDX-License-Identifier: GPL-2.0-only
"""What make check runs for the roles of kernels.txt, and what counts."""

from __future__ import annotations

import sys
from pathlib import Path

import check
import pytest
from ktap import Tally
from lablib import catalogue
from suites import Suite

KERNELS = """\
a s linux-image-1.*-amd64 host gates
b s linux-image-2.*-amd64 host matrix
c s linux-image-3.*-amd64 host gates
d s linux-image-*-amd64   host reports
e s linux-source-1        host debug:kasan
"""


@pytest.fixture(autouse=True)
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """List kernels of every role, and keep what is written out of the tree."""
    monkeypatch.setattr(catalogue, "load", lambda: catalogue.parse(KERNELS))
    monkeypatch.setattr(check, "LOGS", tmp_path)
    monkeypatch.setattr("suites.LOGS", tmp_path)
    monkeypatch.setattr("checknative.native_suites", list)


def in_kernels(kernel: str, integration: bool) -> list[str]:
    """Return the names of the suites that boot a test kernel."""
    names = [suite.name for suite in check.suites(kernel, integration)]
    return [name for name in names if name.startswith("kernel-")]


def test_integration_adds_those_that_gate_and_those_that_report() -> None:
    assert in_kernels("a", False) == ["kernel-a"]
    assert in_kernels("a", True) == ["kernel-a", "kernel-c", "kernel-d"]
    assert in_kernels("b", True) == ["kernel-b", "kernel-a", "kernel-c", "kernel-d"]
    assert "lint" in [suite.name for suite in check.suites("a", True)]


@pytest.mark.parametrize(("culprit", "code"), [("", 0), ("c", 1), ("d", 0)])
def test_failure_counts_unless_the_kernel_only_reports(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    culprit: str,
    code: int,
) -> None:
    def in_kernel(kernel: str) -> object:
        return lambda log: Tally(1, ["it broke"] if kernel == culprit else [])

    monkeypatch.setattr(check, "in_kernel", in_kernel)
    whole = check.suites
    monkeypatch.setattr(
        check,
        "suites",
        lambda *words: [suite for suite in whole(*words) if suite.name.startswith("kernel-")],
    )
    monkeypatch.setattr(sys, "argv", ["check.py", "--integration"])
    assert check.main() == code
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith(f"3 passed, {code} failed")
    assert (tmp_path / "closing").read_text().strip() == said[-1]
    shown = {"": "", "c": "  FAILED it broke", "d": "  SKIP kernel-d only reports: it broke"}
    assert shown[culprit] in ["", *said]


def test_reporting_kernel_may_fail_and_passes_count() -> None:
    suite = check.report_only(Suite("x", lambda log: Tally(2, ["why"], ["skip"])))
    assert suite.run(Path()) == Tally(2, [], ["skip", "x only reports: why"])


def test_unknown_kernel_runs_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["check.py", "--kernel", "0.99"])
    assert check.main() == 1
    said = capsys.readouterr()
    assert "unknown kernel '0.99'; kernels.txt has: a, b, c, d, e" in said.err
    assert said.out.splitlines()[-1].startswith("0 passed, 1 failed")
