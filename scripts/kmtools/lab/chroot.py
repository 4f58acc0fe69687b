# SPDX-License-Identifier: GPL-2.0-only
"""Runs a command in a chroot: a suite's tree, which is an unpacked Debian or Ubuntu release.

The mounts are in a private mount namespace, which ends with the last process of the command. Each
command gets a tmpfs on /tmp, because make derives the names of temporary files from its process ID,
and commands in different PID namespaces may have the same process ID.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import UnableError, require_root
from kmtools.lab.cache import hold_cache_lock

# Arguments: $1 tree; $2 number of bind mounts; for each bind mount, its source and its mount point;
# then the command.
MOUNT_AND_RUN = """
tree=$1 count=$2; shift 2
fail() { echo "chroot: cannot mount $1 in $tree" >&2; exit 125; }
mount -t proc proc "$tree/proc" || fail /proc
mount -t tmpfs tmpfs "$tree/tmp" || fail /tmp
while [ "$count" -gt 0 ]; do
    mount --bind "$1" "$tree/$2" || fail "$2"
    count=$((count - 1)); shift 2
done
exec chroot "$tree" "$@"
"""
ENVIRONMENT = ("PATH=/usr/bin:/usr/sbin", "LC_ALL=C", "HOME=/")


@functools.cache
def find_chroot_obstacle() -> str:
    """Return the reason why this machine cannot run commands in a chroot, with the remedy; an empty
    text if this machine can. Modules for test kernels are built in a chroot."""
    if os.geteuid() != 0:
        return "building for test kernels needs root, to mount file systems: use sudo"
    for program, package in (("mount", "mount"), ("unshare", "util-linux")):
        if not shutil.which(program):
            return f"{program} is missing: apt-get install {package}"
    words = ["unshare", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    done = processes.capture_output(words)
    if done.returncode == 0:
        return ""
    return (
        f"this machine allows no mounts ({done.stderr.strip()}):"
        " start the container with --privileged, or run the command outside of a container"
    )


def run_in_chroot(
    tree: Path, binds: Sequence[tuple[Path, str]], command: Sequence[str], log: Path | None = None
) -> int:
    """Run a command in a chroot with directories mounted into it; return the command's exit code.

    `binds` are the directories, each with its mount point in `tree`. The output of the command goes
    to `log`, or to the output of this process. Meanwhile, no other process replaces `tree`.
    """
    require_root("running commands in a chroot")
    with hold_cache_lock(f"suite-{tree.name}", shared=True):
        for _, point in binds:
            (tree / point).mkdir(parents=True, exist_ok=True)
        code = processes.run_program(build_chroot_command(tree, binds, command), log)
        if code == 0:
            return 0
        # The command failed. The mounts are the cause if `true` fails in the chroot, too.
        done = processes.capture_output(build_chroot_command(tree, binds, ["true"]))
    if done.returncode != 0:
        raise UnableError(
            f"no command can run in a chroot in {tree}: {done.stderr.strip()}; this needs"
            " namespaces, bind mounts and a new /proc: start a container with --privileged"
        )
    return code


def build_chroot_command(
    tree: Path, binds: Sequence[tuple[Path, str]], command: Sequence[str]
) -> list[str]:
    """Return the command line that mounts `binds` into a tree and runs a command in it. The mount
    points must exist."""
    return [
        *("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork"),
        *("--kill-child", "sh", "-c", MOUNT_AND_RUN, "chroot", str(tree), str(len(binds))),
        *(str(part) for bind in binds for part in bind),
        *("/usr/bin/env", "-i", *ENVIRONMENT, *command),
    ]
