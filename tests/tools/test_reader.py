# SPDX-License-Identifier: GPL-2.0-only
"""Tests of examples/reader/reader.sh with directories in place of debugfs and tracefs.
test_reader() in tests/vm/suites/events.sh tests the script in a test kernel."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT

SCRIPT = ROOT / "examples/reader/reader.sh"

# Replacements for programs that the script runs: mkdir makes the files of an instance, and awk ends
# the session, as if the terminal were closed.
FAKES = {
    "mkdir": 'mkdir -p "$1/events/kmarkers/gone" && : >"$1/trace_pipe"',
    "rmdir": 'rm -r "$1"',
    "awk": "kill -s HUP $PPID",
}


@pytest.fixture(name="reader")
def make_reader_script(tmp_path: Path) -> Path:
    """Return a copy of reader.sh that uses tmp_path instead of /sys/kernel."""
    (tmp_path / "debug/kmarkers/markers/gone").mkdir(parents=True)
    (tmp_path / "tracing/instances").mkdir(parents=True)
    script = tmp_path / "reader.sh"
    script.write_text(SCRIPT.read_text().replace("/sys/kernel", shlex.quote(str(tmp_path))))
    return script


def list_trace_instances(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "tracing/instances").iterdir())


def test_reader_removes_its_trace_instance_without_an_event(reader: Path, tmp_path: Path) -> None:
    """A trace instance has no event for a marker whose format cannot be printed."""
    done = subprocess.run(["sh", str(reader), "gone"], check=False, capture_output=True, text=True)
    assert done.returncode and "events/kmarkers/gone/enable" in done.stderr
    assert not list_trace_instances(tmp_path)


def test_reader_removes_its_trace_instance_after_a_hangup(reader: Path, tmp_path: Path) -> None:
    for name, command in FAKES.items():
        fake = tmp_path / "bin" / name
        fake.parent.mkdir(exist_ok=True)
        fake.write_text(f"#!/bin/sh\nPATH={shlex.quote(os.environ['PATH'])}\n{command}\n")
        fake.chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    # A shell cannot trap a signal that is ignored when it starts, as SIGHUP under nohup.
    words = ["env", "--default-signal", "sh", str(reader), "gone"]
    done = subprocess.run(words, check=False, env={**os.environ, "PATH": path})
    assert done.returncode == 130
    assert not list_trace_instances(tmp_path)
