# SPDX-License-Identifier: GPL-2.0-only
"""Reads compressed tar archives to their end, where the checksum is."""

from __future__ import annotations

import lzma
import math
import tarfile
import zlib

# What reading a damaged archive may raise. KeyError is raised for a link to a missing file.
ARCHIVE_ERRORS = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, KeyError, OSError)


def check_rest_of_archive(archive: tarfile.TarFile, most: float = math.inf) -> None:
    """Read the data after the last member of an archive, whose members were read: only at its end,
    the checksum is compared. Raise one of ARCHIVE_ERRORS if it is wrong, or if there are more than
    `most` bytes."""
    assert archive.fileobj is not None
    while rest := archive.fileobj.read(1 << 20):
        most -= len(rest)
        if most < 0:
            raise tarfile.ReadError("too much data after the last member")
