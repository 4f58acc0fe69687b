# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers macro`: times of whole programs in kernels that the user boots."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from kmtools.analyse import boots
from kmtools.cli import main
from kmtools.measure import macro
from kmtools.measure.macro import CommandTime

TRUTH = 1.03


def simulate_boots(chance: random.Random, truth: float, labels: int = 2) -> list[CommandTime]:
    """Return simulated times of eight boots for each label, five times for each boot. Boots differ
    by about 1 %. `truth` is the ratio of the times of any other label to the times of label 0."""
    times = []
    for number in range(labels * 8):
        label = number % labels
        boot = chance.gauss(0, 0.01) + (math.log(truth) if label else 0)
        times += [
            CommandTime(f"k{label}", f"b{number}", "6.1", math.exp(boot + chance.gauss(0, 0.002)))
            for _ in range(5)
        ]
    return times


def test_interval_treats_boots_as_clusters() -> None:
    """The interval contains the true ratio in about 95 % of the simulations. If the runs of a boot
    were treated as independent, the interval would contain the ratio in only about half of the
    simulations."""
    chance, covered = random.Random(1), 0
    for _ in range(400):
        row = boots.compute_time_ratios(simulate_boots(chance, TRUTH))[1]
        assert row.low is not None and row.high is not None
        covered += row.low <= TRUTH <= row.high
    assert 0.92 <= covered / 400 <= 0.99


def make_command_times(label: str, *boot_times: list[float]) -> list[CommandTime]:
    """Return the times of a command under the kernel `label`; `boot_times` has a list for each
    boot."""
    return [
        CommandTime(label, f"{label}{number}", "6.1", seconds)
        for number, times in enumerate(boot_times)
        for seconds in times
    ]


# Half the logarithm of 4, and 97.5 % quantiles of Student's t for one and two degrees of freedom.
HALF, T1, T2 = math.log(2), 12.7062, 4.3027


@pytest.mark.parametrize(
    ("other", "cells", "half"),
    [
        # The variance of the mean of two boots is HALF ** 2 in both kernels.
        ([[2.0], [8.0]], ["2", "2", "4.000", "2.0000"], T2 * math.sqrt(2) * HALF),
        # The boots of only one kernel differ, so there is one degree of freedom.
        ([[3.0, 3.0], [3.0], [3.0]], ["3", "4", "3.000", "1.5000"], T1 * HALF),
        # Each boot counts once, with the geometric mean of its times.
        ([[1.0, 1.0, 8.0], [2.0]], ["2", "4", "2.000", "1.0000"], T1 * HALF),
        # The variance of the mean of three boots is also HALF ** 2, which gives 2.67 degrees of
        # freedom.
        (
            [[2.0], [2.0 ** (1 + 3**0.5)], [2.0 ** (1 - 3**0.5)]],
            ["3", "3", "2.000", "1.0000"],
            T2 * math.sqrt(2) * HALF,
        ),
        ([[3.0]], ["1", "1", "3.000", "1.5000"], None),
    ],
)
def test_time_ratio_of_two_kernels_equals_a_computation_by_hand(
    other: list[list[float]], cells: list[str], half: float | None
) -> None:
    """The boots of the first kernel take 1 and 4 s. `half` is half the width of the interval of the
    logarithm of the ratio. The table lists the kernels in the order of the file."""
    first, second = make_command_times("k", [1.0], [4.0]), make_command_times("a", *other)
    heads, base, row = boots.make_kernel_time_table(first + second)
    assert heads == ["kernel", "boots", "runs", "seconds", "ratio", "95 % interval"]
    assert base == ["k", "2", "2", "2.000", "-", "-"]
    assert row[:-1] == ["a", *cells]
    assert (row[-1] == "two boots of each kernel are needed") == (half is None)
    assert [line[0] for line in boots.make_kernel_time_table(second + first)[1:]] == ["a", "k"]
    for ratio in (
        boots.compute_time_ratios(first + second),
        boots.compute_time_ratios(second + first),
    ):
        last = ratio[1]
        if half is None:
            assert last.low is last.high is None
        else:
            assert last.ratio and last.low and last.high
            assert math.log(last.high / last.ratio) == pytest.approx(half, rel=1e-4)
            assert math.log(last.ratio / last.low) == pytest.approx(half, rel=1e-4)


def test_interval_of_equal_boots_has_zero_width() -> None:
    times = make_command_times("k", [2.0], [2.0]) + make_command_times("a", [3.0], [3.0])
    assert boots.make_kernel_time_table(times)[2][-2:] == ["1.5000", "[1.5000, 1.5000]"]


def test_one_boot_per_kernel_gives_no_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    macro.write_command_times(
        tmp_path / "t", [CommandTime("a", "1", "6.1", 2.0), CommandTime("b", "2", "6.1", 3.0)]
    )
    assert main(["macro", "--times", str(tmp_path / "t")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["a", "1", "1", "2.000", "-", "-"]
    assert lines[2].split()[:5] == ["b", "1", "1", "3.000", "1.5000"]
    assert lines[2].endswith("two boots of each kernel are needed")


def test_second_label_is_refused_within_a_boot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run of the program after `kmarkers macro` starts is not recorded. If a boot was
    recorded with one label, another label is refused in this boot."""
    file, ran, boot = tmp_path / "times.csv", tmp_path / "ran", tmp_path / "boot"
    boot.write_text("one\n")
    monkeypatch.setattr(macro, "BOOT_ID", boot)
    words = ["--runs", "3", "--", "sh", "-c", f"echo >>{ran}"]
    assert main(["macro", "--times", str(file), "--label", "lock", *words]) == 0
    assert len(macro.load_command_times(file)) == 3 and len(ran.read_text()) == 4
    assert "kernel to boot next: lock" in capsys.readouterr().out
    before = file.read_bytes()
    assert main(["macro", "--times", str(file), "--label", "nop", *words]) == 2
    assert "this boot has times with the label lock" in capsys.readouterr().err
    assert file.read_bytes() == before
    boot.write_text("two\n")
    assert main(["macro", "--times", str(file), "--label", "nop", *words]) == 0
    assert [one.label for one in macro.load_command_times(file)] == ["lock"] * 3 + ["nop"] * 3
    boot.write_text("three\n")
    assert main(["macro", "--times", str(file), "--label", "nop", *words]) == 0
    assert "kernel to boot next: lock" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--label", "x"], 2, "--label and COMMAND must both be given"),
        (["--", "true"], 2, "--label and COMMAND must both be given"),
        ([], 2, "has no times; --label"),
        (["--label", "x", "--", "false"], 1, "false: exit code 1; its time is not recorded"),
        (["--label", "x", "--", "/no/such"], 2, "/no/such: No such file or directory"),
    ],
)
def test_invalid_arguments_or_a_failed_command_record_no_time(
    words: list[str], code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "times.csv"
    assert main(["macro", "--times", str(file), *words]) == code
    assert said in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b\n", 1),
        ("label,boot,kernel,seconds\na,1,6.1,x\n", 2),
        ("label,boot,kernel,seconds\na,1,6.1,0\n", 2),
    ],
)
def test_invalid_line_of_a_times_file_is_reported(
    text: str, line: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "times.csv"
    file.write_text(text)
    assert main(["macro", "--times", str(file)]) == 1
    assert f"{file}:{line}: " in capsys.readouterr().err
