# SPDX-License-Identifier: GPL-2.0-only
"""Files that are whole or not there, and locks that keep others out."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kmtools.base.errors import UnableError, explain


def publish(partial: Path, final: Path) -> None:
    """Give a directory of files its name once they are on the disk: it is whole or not there."""
    for path in [*(path for path in partial.rglob("*") if path.is_file()), partial]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    partial.rename(final)


def write_whole(path: Path, text: str) -> None:
    """Write a file that is never seen half written."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def alone(path: Path, others: str) -> Iterator[None]:
    """Hold a lock file; UnableError with `others` for its words if another process has it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("w")
    except OSError as error:
        raise UnableError(f"{path.parent} cannot be written to: {explain(error)}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UnableError(others) from None
        yield
