# SPDX-License-Identifier: GPL-2.0-only
"""Reads compressed tar archives to their end, where the checksum is."""

from __future__ import annotations

import lzma
import math
import tarfile
import zlib

# What reading a damaged archive may raise. KeyError is raised for a link to a missing file.
ARCHIVE_ERRORS = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, KeyError, OSError)


def read_rest_of_archive(archive: tarfile.TarFile, max_bytes: float = math.inf) -> None:
    """Read the data after the last member of an archive, whose members were read: only at its end,
    the checksum is compared. Raise one of ARCHIVE_ERRORS if it is wrong, or if there are more than
    `max_bytes` bytes."""
    assert archive.fileobj is not None
    while rest := archive.fileobj.read(1 << 20):
        max_bytes -= len(rest)
        if max_bytes < 0:
            raise tarfile.ReadError("too much data after the last member")
