# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the arguments of tests/model/run.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).resolve().parents[1] / "model" / "run.py"


def test_error_about_an_unknown_model_variant_lists_known_ones() -> None:
    words = [sys.executable, str(RUN), "protocol", "no-such-step"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={"PATH": ""})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("check-model: unknown variant 'no-such-step'; known variants: ")
    assert "protocol, " in done.stderr and "three-cpus-nmi" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_model_check_is_skipped_without_the_program_spin() -> None:
    words = [sys.executable, str(RUN), "protocol"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={"PATH": ""})
    assert done.returncode == 2
    assert done.stdout.startswith("SKIP: spin is missing; run as root: apt-get install ")
    assert done.stdout.splitlines()[-1] == "0 passed, 0 failed, 1 skipped"
