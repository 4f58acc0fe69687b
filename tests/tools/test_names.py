# SPDX-License-Identifier: GPL-2.0-only
"""Tests that public headers do not conflict with macros of kernel drivers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT

FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Werror", "-D_GNU_SOURCE")
INCLUDES = (f"-I{ROOT}/native/include", f"-I{ROOT}/include")
HEADERS = ("marker.h", "immediate.h", "typed.h", "sdt.h", "user.h", "patcher.h")
# A macro MARK() as drivers such as v4l2loopback define it.
THEIRS = "#define MARK(x, ...) ((x) + 1)\nstatic inline int own(int x) { return MARK(x, 2); }\n"


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("first", [True, False])
def test_driver_can_define_its_own_mark_macro(header: str, first: bool, tmp_path: Path) -> None:
    ours = f"#include <kmarkers/{header}>\n"
    text = (ours + THEIRS if first else THEIRS + ours) + "int main(void) { return own(0); }\n"
    source = tmp_path / "driver.c"
    source.write_text(text)
    words = ["gcc", *FLAGS, *INCLUDES, "-fsyntax-only", str(source)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_mark_macro_is_defined_by_linux_marker_h(tmp_path: Path) -> None:
    source = tmp_path / "old.c"
    source.write_text('#include <linux/marker.h>\nvoid f(void) { MARK(old, "%d", 1); }\n')
    subprocess.run(["gcc", *FLAGS, *INCLUDES, "-fsyntax-only", str(source)], check=True)
