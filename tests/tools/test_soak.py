# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the suite `soak`: the verdict on injected faults, and the progress lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from kmtools.lab.result import Result
from kmtools.suites import kernelsuite, soak

NAMES = soak.list_injected_fault_checks()


def make_soak_result(directory: Path, failed: list[str], exit_code: int | None = 1) -> Result:
    """Return the result of a boot in which the checks named in `failed` failed, and one other check
    passed."""
    lines = ["# suite: soak", "ok 1 round 1: the kernel logged no fault"]
    lines += [f"not ok {number} {name}" for number, name in enumerate(failed, 2)]
    (directory / "status.log").write_text("\n".join([*lines, f"1..{len(failed) + 1}"]))
    return Result(out=directory, exit_code=exit_code)


def test_undetected_injected_fault_is_a_failure(tmp_path: Path) -> None:
    assert not soak.judge_injected_fault_boot(make_soak_result(tmp_path, NAMES)).failed
    for number, name in enumerate(NAMES):
        others = NAMES[:number] + NAMES[number + 1 :]
        assert soak.judge_injected_fault_boot(make_soak_result(tmp_path, others)).failed == [
            f"an injected fault is not detected: {name}"
        ]


def test_failure_without_an_injected_fault_is_reported(tmp_path: Path) -> None:
    other = "round 2: the kernel logged no fault"
    assert soak.judge_injected_fault_boot(make_soak_result(tmp_path, [*NAMES, other])).failed == [
        other
    ]


def test_a_guest_that_does_not_end_is_a_failure(tmp_path: Path) -> None:
    assert soak.judge_injected_fault_boot(make_soak_result(tmp_path, NAMES, None)).failed


def test_soak_prints_only_summary_lines(capsys: pytest.CaptureFixture[str]) -> None:
    soak.print_round_summary("ok 1 round 1: the kernel logged no fault")
    soak.print_round_summary("# soak: 45 of 60 s, round 1: 12 batches")
    assert capsys.readouterr().out == "  soak: 45 of 60 s, round 1: 12 batches\n"


def test_soak_guest_has_one_thread_and_a_time_limit(tmp_path: Path) -> None:
    asked = soak.make_soak_request("6.1", tmp_path, tmp_path, 600)
    assert asked.one_thread and asked.cpus > 1
    assert 600 < asked.timeout <= 600 + soak.AROUND_SECONDS


def test_injected_faults_exist_in_the_guest_script() -> None:
    suite = (kernelsuite.TESTS / "suites" / "soak.sh").read_text()
    for kind, (number, check) in soak.FAULTS.items():
        assert 2 < number <= soak.FAULT_ROUNDS
        assert f"\t{kind})" in suite
        assert f'round $rounds: {check}"' in suite
