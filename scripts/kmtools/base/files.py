# SPDX-License-Identifier: GPL-2.0-only
"""Writes files atomically, and holds lock files."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kmtools.base.errors import UnableError, explain_error


def sync_and_rename_directory(partial: Path, final: Path) -> None:
    """Sync the files of the directory `partial` to the disk, then rename this directory to
    `final`."""
    for path in [*(path for path in partial.rglob("*") if path.is_file()), partial]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    partial.rename(final)


def write_file_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` to a temporary file, and rename this file to `path`: a reader of `path` sees
    all of the old content or all of the new. If `path` is a symbolic link, the linked file is
    replaced. If `path` is no regular file, such as /dev/stdout or a named pipe, write to it."""
    data = content.encode(errors="surrogateescape") if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path = path.resolve()
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def hold_lock(path: Path, busy_message: str, wait: bool = False) -> Iterator[None]:
    """Hold the lock file `path` during the `with` block; if another process holds this file, raise
    UnableError with the text `busy_message` or, if `wait` is true, print this text and wait."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("w", encoding="utf-8")
    except OSError as error:
        raise UnableError(f"{path.parent} cannot be written to: {explain_error(error)}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise UnableError(busy_message) from None
            print(busy_message, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
