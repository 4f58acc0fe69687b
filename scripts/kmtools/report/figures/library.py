# SPDX-License-Identifier: GPL-2.0-only
"""Checks that figures can be drawn: matplotlib may be missing, too old or broken."""

from __future__ import annotations

import importlib
import io
import logging
import re
from contextlib import redirect_stderr
from functools import cache
from types import ModuleType

# The package of matplotlib in Debian, and the oldest version that works.
PACKAGE, LEAST_VERSION = "python3-matplotlib", (3, 6)


@cache
def find_matplotlib_fault() -> str:
    """Return "" if matplotlib can draw figures, else the reason why not. If matplotlib is missing,
    return the command that installs the package."""
    try:
        # matplotlib may have been installed after this program started.
        importlib.invalidate_caches()
        # matplotlib may print errors on import.
        with redirect_stderr(io.StringIO()):
            version = importlib.import_module("matplotlib").__version__
            found = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
            if found < LEAST_VERSION:
                return f"{PACKAGE} is {version}, and must be 3.6 or later"
            # Suppress the warning about a missing font (system-ui) for each text.
            logging.getLogger("matplotlib").setLevel(logging.ERROR)
            import_canvas_module().render_part_as_inline_svg(make_trial_panel(), 100, "")
    except ModuleNotFoundError as error:
        if error.name == "matplotlib":
            return f"apt-get install {PACKAGE}"
        return f"{PACKAGE} does not work here: {error}"
    except Exception as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        return f"{PACKAGE} does not work here: {words[:200]}"
    return ""


def import_canvas_module() -> ModuleType:
    """Import and return the module canvas, which needs matplotlib."""
    return importlib.import_module("kmtools.report.figures.canvas")


def make_trial_panel() -> object:
    """Return a small panel, which is drawn to test matplotlib."""
    scales = importlib.import_module("kmtools.report.figures.scales")
    rows = importlib.import_module("kmtools.report.figures.rows")
    row = rows.Row("a", 1.0, 0.5, 1.5, "slower", "b")
    return rows.Panel("c", "d", scales.Scale(0.0, 2.0), [row])
