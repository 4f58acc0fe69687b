# SPDX-License-Identifier: GPL-2.0-only
"""Standard streams of a command: handles one that is closed, one whose reader leaves, and one that
cannot show every character."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TYPE_CHECKING

from kmtools.base.errors import UnableError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# For terminals that cannot show them; "~" keeps a shortened name as wide as it is.
SIGNS = {"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "±": "+-", "…": "~"}
PLAIN = "kmarkers-plain"


def plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Put signs of ASCII in place of what an encoding lacks; what has none becomes an escape
    sequence."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    made = (SIGNS.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking)
    return "".join(made), error.end


codecs.register_error(PLAIN, plain)


class Patient(io.FileIO):
    """Standard output, which goes on when its reader has left, as `head -1` does: the work and its
    exit code are the same, also of programs that are started. Any other error is raised once, so
    that it has one message."""

    _failed = False

    def write(self, data: ReadableBuffer) -> int:
        """Write what somebody reads."""
        size = memoryview(data).nbytes
        if self._failed:
            return size
        try:
            return super().write(data) or 0
        except OSError as error:
            self._failed = True
            if isinstance(error, BrokenPipeError):
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, self.fileno())
                os.close(nothing)
                return size
            raise


def hold() -> None:
    """Open what is closed, or else the next file would be taken for a standard stream."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def prepare() -> None:
    """Make the streams of this process fit for everything that a command says. Raises UnableError
    if standard output is closed."""
    hold()
    was = sys.stdout
    if was is None:
        raise UnableError("standard output is closed: > /dev/null discards what is said")
    if isinstance(was, io.TextIOWrapper):
        was.flush()
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(Patient(was.fileno(), "w", closefd=False)),
            was.encoding,
            PLAIN,
            line_buffering=was.line_buffering,
            write_through=was.write_through,
        )
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors=PLAIN)
