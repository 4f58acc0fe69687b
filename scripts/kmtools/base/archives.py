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
    """Read an archive from its last member to its end, where the decompressor compares the
    checksum. Raise one of ARCHIVE_ERRORS if the checksum is wrong, or if more than `max_bytes`
    bytes follow the last member."""
    assert archive.fileobj is not None
    while rest := archive.fileobj.read(1 << 20):
        max_bytes -= len(rest)
        if max_bytes < 0:
            raise tarfile.ReadError("too much data after the last member")
