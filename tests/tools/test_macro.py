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


def test_one_boot_has_no_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    macro.write_times(
        tmp_path / "t", [CommandTime("a", "1", "6.1", 2.0), CommandTime("b", "2", "6.1", 3.0)]
    )
    assert main(["macro", "--times", str(tmp_path / "t")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["a", "1", "1", "2.000", "-", "-"]
    assert lines[2].split()[:5] == ["b", "1", "1", "3.000", "1.5000"]
    assert lines[2].endswith("two boots of each kernel are needed")


def test_a_boot_is_recorded_once_under_one_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run of the program after `kmarkers macro` starts is not recorded. If a boot was
    recorded with one label, another label is refused in this boot."""
    file, ran, boot = tmp_path / "times.csv", tmp_path / "ran", tmp_path / "boot"
    boot.write_text("one\n")
    monkeypatch.setattr(macro, "BOOT_ID", boot)
    words = ["--runs", "3", "--", "sh", "-c", f"echo >>{ran}"]
    assert main(["macro", "--times", str(file), "--label", "lock", *words]) == 0
    assert len(macro.load_times(file)) == 3 and len(ran.read_text()) == 4
    assert "boot next: lock" in capsys.readouterr().out
    before = file.read_bytes()
    assert main(["macro", "--times", str(file), "--label", "nop", *words]) == 2
    assert "this boot was recorded as lock" in capsys.readouterr().err
    assert file.read_bytes() == before
    boot.write_text("two\n")
    assert main(["macro", "--times", str(file), "--label", "nop", *words]) == 0
    assert [one.label for one in macro.load_times(file)] == ["lock"] * 3 + ["nop"] * 3
    boot.write_text("three\n")
    assert main(["macro", "--times", str(file), "--label", "nop", *words]) == 0
    assert "boot next: lock" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--label", "x"], 2, "--label and COMMAND must both be given"),
        (["--", "true"], 2, "--label and COMMAND must both be given"),
        ([], 2, "has no times; --label"),
        (["--label", "x", "--", "false"], 1, "false: exit code 1; its time is not recorded"),
        (["--label", "x", "--", "/no/such"], 2, "/no/such: No such file or directory"),
        (["--label", "x", "--runs", "0", "--", "true"], 2, "at least one run is needed"),
    ],
)
def test_invalid_recording_is_reported(
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
