# SPDX-License-Identifier: GPL-2.0-only
"""Writes files atomically, and holds lock files."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

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
def hold_lock(
    path: Path,
    busy_message: str,
    say: Callable[[str], None] | None = None,
    shared: bool = False,
) -> Iterator[IO[str]]:
    """Hold the lock file `path` during the `with` block; the `with` statement returns the open
    file. If another process holds this file, raise UnableError with the text `busy_message`; with
    `say`, call `say` with this text and wait. Several processes can hold a file as `shared` at the
    same time, and need no right to write to it."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, (os.O_RDONLY if shared else os.O_RDWR) | os.O_CREAT, 0o666)
    except OSError as error:
        raise UnableError(f"{path.parent} cannot be written to: {explain_error(error)}") from None
    with os.fdopen(descriptor) as lock:
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if say is None:
                raise UnableError(busy_message) from None
            say(busy_message)
            fcntl.flock(lock, kind)
        yield lock
