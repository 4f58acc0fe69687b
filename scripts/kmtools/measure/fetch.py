# SPDX-License-Identifier: GPL-2.0-only
"""Fetches raw samples: from debugfs of this machine, over ssh from another machine, or from an
archive.

Data from another machine are not trusted: an archive may hold only files with certain names, and
collect.py later checks the content of each file.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from urllib.parse import urlsplit

from kmtools.base.archives import ARCHIVE_ERRORS, read_rest_of_archive
from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.base.text import escape_unprintable_chars
from kmtools.measure.rundir import RunError

DEBUGFS = "/sys/kernel/debug/kmarkers/bench"
TARGET = ROOT / "scripts" / "target"
# Match the names of members of an archive: the files of a raw folder or of one process (MEMBER),
# and the folders themselves (FOLDER).
MEMBER = re.compile(r"(?:\./)?((?:process-[1-9][0-9]*/)?(?:[\w-]+\.csv|env|machine|vm\.json))")
FOLDER = re.compile(r"\.?/?|(?:\./)?process-[1-9][0-9]*/?")
MOST_BYTES = 2_000_000_000
# Largest permitted difference between the clock of another machine and the clock of this machine.
MAX_CLOCK_DIFFERENCE = timedelta(hours=1)
# Options of ssh: a connection without a reply for a minute is closed.
SSH_OPTIONS = (
    "BatchMode=yes",
    "ConnectTimeout=15",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
)
SSH = ("ssh", *(word for option in SSH_OPTIONS for word in ("-o", option)))


def make_sample_gathering_script(folder: str) -> bytes:
    """Return the shell script that writes the samples in `folder` of a machine, and the properties
    of that machine, to the standard output as a tar archive."""
    machine, gather = (
        (TARGET / name).read_text(encoding="utf-8") for name in ("machine.sh", "gather.sh")
    )
    quoted = folder.replace("'", "'\\''")
    return f"machine() (\n{machine})\nset -- '{quoted}'\n{gather}".encode()


def parse_sample_source(source: str) -> tuple[list[str], str]:
    """Return the command that starts a shell on the machine that has the samples, and the folder of
    the samples on that machine. `source` is `debugfs`, a folder, or ssh://[USER@]HOST[:PORT][/FOLDER]."""
    if not source.startswith("ssh://"):
        return ["sh", "-s"], DEBUGFS if source == "debugfs" else source
    try:
        parts = urlsplit(source)
        host, number = parts.hostname or "", parts.port
    except ValueError as error:
        raise UnableError(f"{source!r} names no host: {error}") from error
    # A name that begins with a hyphen would be an option of ssh.
    if not re.fullmatch(r"[\w.:][\w.:-]*", host) or (parts.username or "").startswith("-"):
        raise UnableError(f"{source!r} names no host; use ssh://[USER@]HOST[:PORT][/FOLDER]")
    user = [] if parts.username is None else ["-l", parts.username]
    port = [] if number is None else ["-p", str(number)]
    folder = parts.path if parts.path not in ("", "/") else DEBUGFS
    return [*SSH, *port, *user, host, "sh -s"], folder


def unpack_archive(stream: IO[bytes], name: str, out: Path) -> None:
    """Write the files of an archive to the new folder `out`. Raise RunError if the archive contains
    anything other than files of samples. `name` names the archive in error messages."""
    size = 0
    try:
        with tarfile.open(fileobj=stream, mode="r:*") as archive:
            for member in archive:
                if member.isdir() and FOLDER.fullmatch(member.name):
                    continue
                match = MEMBER.fullmatch(member.name)
                size += member.size
                if not match or not member.isreg() or size > MOST_BYTES:
                    raise RunError(f"{name}: {member.name!r} is not a file of samples")
                target = out / match[1]
                target.parent.mkdir(parents=True, exist_ok=True)
                content = archive.extractfile(member)
                assert content is not None
                target.write_bytes(content.read())
            read_rest_of_archive(archive, MOST_BYTES - size)
    except ARCHIVE_ERRORS as error:
        raise RunError(f"{name}: {error} (truncated or damaged?)") from error
    if not (out.is_dir() and any(out.rglob("env"))):
        raise RunError(f"{name}: the archive holds no samples")


def correct_reported_date(file: Path, name: str, fresh: bool) -> None:
    """Replace a wrong date in `file`, the properties that a machine reported, by the current date.
    A date is wrong if it is invalid or more than MAX_CLOCK_DIFFERENCE in the future. The date of
    `fresh` samples is also wrong if it is more than MAX_CLOCK_DIFFERENCE in the past. `name` names
    the samples in the message."""
    try:
        lines, now = file.read_text(encoding="utf-8").splitlines(), datetime.now(UTC)
    except (FileNotFoundError, UnicodeDecodeError):
        return
    for number, line in enumerate(lines):
        if not line.startswith("date="):
            continue
        told = line.removeprefix("date=")
        try:
            late = datetime.fromisoformat(told.replace("Z", "+00:00")) - now
            right = (
                -MAX_CLOCK_DIFFERENCE < late < MAX_CLOCK_DIFFERENCE
                if fresh
                else late < MAX_CLOCK_DIFFERENCE
            )
        except (ValueError, TypeError):
            right = False
        if not right:
            lines[number] = f"date={now:%Y-%m-%dT%H:%M:%SZ}\nclock_said={told}"
            wrong = (
                f"collect: {name}: the clock of that machine shows {told}; the run gets the date of"
                " this machine"
            )
            print(escape_unprintable_chars(wrong), file=sys.stderr)
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")


def fetch_archive(path: Path, out: Path) -> None:
    """Unpack the archive `path`, which measure.sh made, to the folder `out`."""
    try:
        with path.open("rb") as stream:
            unpack_archive(stream, str(path), out)
    except FileNotFoundError as error:
        raise UnableError(f"{path}: no such file") from error
    correct_reported_date(out / "machine", str(path), fresh=False)


def run_shell_script(command: Sequence[str], text: bytes) -> tuple[int, bytes, list[str]]:
    """Send the script `text` to the shell that `command` starts; return the exit code of the shell,
    its output, and the lines of its standard error. A shell that sends more than MOST_BYTES is
    killed."""
    with (
        TemporaryFile() as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as running,
    ):
        assert running.stdin is not None and running.stdout is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                running.stdin.write(text)
                running.stdin.close()
            content = running.stdout.read(MOST_BYTES + 1)
            if len(content) > MOST_BYTES:
                running.kill()
            code = running.wait()
        finally:
            # End the shell, which still runs after a signal to this process alone.
            running.terminate()
        errors.seek(0)
        return code, content, errors.read().decode(errors="replace").strip().splitlines()


def fetch_from_source(source: str, out: Path) -> None:
    """Fetch samples to the folder `out` from `source`: debugfs, a folder, or another machine (see
    parse_sample_source()). If this fails, FailedError has the last line of the standard error of
    the shell."""
    command, folder = parse_sample_source(source)
    try:
        code, content, said = run_shell_script(command, make_sample_gathering_script(folder))
    except FileNotFoundError as error:
        raise UnableError(f"{command[0]} is not installed") from error
    if len(content) > MOST_BYTES:
        raise FailedError(f"{source}: the machine sent more than {MOST_BYTES} bytes of samples")
    if code:
        raise FailedError(f"{source}: {said[-1] if said else f'exit code {code}'}")
    unpack_archive(BytesIO(content), source, out)
    correct_reported_date(out / "machine", source, fresh=True)
