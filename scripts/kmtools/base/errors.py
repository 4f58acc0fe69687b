# SPDX-License-Identifier: GPL-2.0-only
"""Errors that end a command early, their messages and their exit codes."""

from __future__ import annotations

import argparse
import errno
import os
import subprocess

# Exit codes of every command. DONE: success; BAD: a bad result or a failed step; UNABLE: the
# command cannot run on this machine.
DONE, BAD, UNABLE = 0, 1, 2


class UnableError(Exception):
    """Raised for an error that the user can correct: a wrong name, a missing privilege or
    package."""


class FailedError(Exception):
    """Raised if a step fails or its output cannot be used; the message names the step and the
    cause."""


# Exceptions that end a step for a reason outside these tools: a full disk, a missing permission, a
# program that failed.
OBSTACLES = (UnableError, OSError, subprocess.CalledProcessError)


def explain_error(error: Exception) -> str:
    """Return the message of an exception as a sentence for the user."""
    if isinstance(error, subprocess.CalledProcessError):
        command = error.cmd if isinstance(error.cmd, str) else " ".join(map(str, error.cmd))
        return f"exit code {error.returncode} of {command}: {(error.stderr or '').strip()}"
    if not isinstance(error, OSError):
        return str(error)
    where = error.filename2 or error.filename
    said = f"{where}: {error.strerror}" if where else error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        said += "; free disk space and run the command again"
    return said


def parse_positive_int(text: str) -> int:
    """Parse an integer of 1 or more; for the parameter `type` of argparse."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def require_root(action: str) -> None:
    """Raise UnableError, with the name of the action that needs root, unless this process is
    root."""
    if os.geteuid() != 0:
        raise UnableError(
            f"{action} needs root, for device nodes and mounts; run the command with sudo"
        )
