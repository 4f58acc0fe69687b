# SPDX-License-Identifier: GPL-2.0-only
"""Runs git in the repositories that tests make."""

from __future__ import annotations

import subprocess
from pathlib import Path


def run_git(tree: Path, *arguments: str) -> str:
    """Run git in the directory `tree`, with a user name and an email address configured; return the
    output of git."""
    options = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *options, *arguments], cwd=tree, check=True, capture_output=True, text=True
    ).stdout
