# SPDX-License-Identifier: GPL-2.0-only
"""Runs an SSH server for a test, on an unprivileged port of the loopback interface, with new
keys."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT

UNPACKED = ROOT / "build" / "fleet" / "sshd"
REMEDY = "scripts/setup --fleet installs it"
WAIT_SECONDS = 30.0


@dataclass(frozen=True)
class Server:
    """The port of a running server, and the options of ssh to connect to it."""

    port: int
    options: list[str]


def find_free_port() -> int:
    """Return a free TCP port of the loopback interface."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def find_sshd() -> Path:
    """Return the path of sshd; skip the test if sshd is missing."""
    for path in (Path("/usr/sbin/sshd"), UNPACKED / "usr/sbin/sshd"):
        if path.exists():
            return path
    pytest.skip(f"sshd is missing: {REMEDY}")


def is_ssh_server_answering(port: int) -> bool:
    """Return True if a server on the port sends its SSH version."""
    with socket.socket() as one:
        one.settimeout(5)
        try:
            one.connect(("127.0.0.1", port))
            return one.recv(4) == b"SSH-"
        except OSError:
            return False


def write_sshd_configuration(folder: Path, program: Path, port: int) -> list[str]:
    """Write the keys and configuration files of the SSH server `program` to `folder`; return the
    options with which ssh connects to this server."""
    root = UNPACKED if program.is_relative_to(UNPACKED) else Path("/")
    for name in ("host", "user"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(key, check=True)
    shutil.copy(folder / "user.pub", folder / "authorized")
    lines = [
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {folder}/host",
        f"AuthorizedKeysFile {folder}/authorized",
        f"PidFile {folder}/pid",
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication no",
        "MaxStartups 50",
        f"Subsystem sftp {root}/usr/lib/openssh/sftp-server",
    ]
    for word, name in (("SshdSessionPath", "sshd-session"), ("SshdAuthPath", "sshd-auth")):
        if (root / "usr/lib/openssh" / name).exists():
            lines.append(f"{word} {root}/usr/lib/openssh/{name}")
    (folder / "config").write_text("\n".join(lines) + "\n")
    # sshd requires a user named sshd, which this machine may lack. Add the user to a copy of
    # /etc/passwd.
    users = Path("/etc/passwd").read_text()
    if "\nsshd:" not in users:
        users += "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n"
    (folder / "passwd").write_text(users)
    known = f"UserKnownHostsFile={folder}/known"
    words = ["BatchMode=yes", "StrictHostKeyChecking=accept-new", "IdentitiesOnly=yes", known]
    options = [word for option in words for word in ("-o", option)]
    return [*options, "-i", str(folder / "user")]


@contextmanager
def run_ssh_server(folder: Path) -> Iterator[Server]:
    """Run sshd in its own mount namespace while the `with` block runs, then terminate sshd. The
    keys, configuration and log of sshd are in `folder`."""
    program = find_sshd()
    if os.geteuid() or not shutil.which("unshare") or not shutil.which("ssh-keygen"):
        pytest.skip("an SSH server for tests needs root, unshare and ssh-keygen")
    folder.mkdir(parents=True, exist_ok=True)
    port = find_free_port()
    options = write_sshd_configuration(folder, program, port)
    inside = (
        f"mount --bind {folder}/passwd /etc/passwd && mount -t tmpfs none /run"
        f" && mkdir /run/sshd && exec {program} -D -e -f {folder}/config"
    )
    libraries = str(UNPACKED / "usr/lib/x86_64-linux-gnu")
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", inside],
            env={**os.environ, "LD_LIBRARY_PATH": libraries},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + WAIT_SECONDS
        while not is_ssh_server_answering(port):
            if running.poll() is not None or time.monotonic() > until:
                pytest.skip(f"sshd does not answer: {(folder / 'log').read_text()[-300:]}")
            time.sleep(0.1)
        yield Server(port, options)
    finally:
        running.terminate()
        running.wait()
