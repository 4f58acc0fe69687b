# SPDX-License-Identifier: GPL-2.0-only
"""What ends a command early, how it is said, and the exit code that tells it."""

from __future__ import annotations

import argparse
import errno
import os
import subprocess

# The exit codes of every command: all is done; a result is bad; it cannot be done here.
DONE, BAD, UNABLE = 0, 1, 2


class UnableError(Exception):
    """Something the caller can put right: a name, a privilege, a missing package."""


class FailedError(Exception):
    """A step failed, or what it left is of no use; the message says which and why."""


# What may stand in the way of a run: no room, no permission, a tool that failed.
OBSTACLES = (UnableError, OSError, subprocess.CalledProcessError)


def explain(error: Exception) -> str:
    """Return in a sentence what stood in the way."""
    if isinstance(error, subprocess.CalledProcessError):
        command = error.cmd if isinstance(error.cmd, str) else " ".join(map(str, error.cmd))
        return f"exit code {error.returncode} of {command}: {(error.stderr or '').strip()}"
    if not isinstance(error, OSError):
        return str(error)
    where = error.filename2 or error.filename
    said = f"{where}: {error.strerror}" if where else error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        said += "; make room and run it again"
    return said


def positive(text: str) -> int:
    """A number of things on a command line, one at least; for argparse."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def require_root(action: str) -> None:
    """Refuse an action that needs privileges this process does not have."""
    if os.geteuid() != 0:
        raise UnableError(f"{action} needs root (device nodes and mounts); run it with sudo")
