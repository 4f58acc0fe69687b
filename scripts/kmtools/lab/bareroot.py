# SPDX-License-Identifier: GPL-2.0-only
"""Unpacks minimal Debian systems ("roots") and runs commands in them, for tests of installation.

mmdebstrap makes a root for each Debian suite. The root is kept for a week as a tarball in the cache
directory, and unpacked for each use. Only the network settings of this machine are copied into a
root: mirror, proxies, certificates and host names. Each command runs in its own mount and PID
namespaces. When the command ends, the kernel kills all processes of the PID namespace and removes
the mounts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kmtools.base.errors import UnableError, require_root
from kmtools.base.paths import get_cache_dir
from kmtools.base.processes import capture_output
from kmtools.lab.apt import print_step
from kmtools.lab.cache import hold_cache_lock
from kmtools.lab.sources import find_debian_mirror

# The age at which the tarball of a root is made again.
TARBALL_MAX_AGE_SECONDS = 7 * 86400
# The options of apt that are copied into a root directory, because they concern the network.
NETWORK = re.compile(r"Acquire::(?:https?::(?!Proxy-Auto)|Check-|Retries|ForceIPv)")
PROXIES = re.compile(r"(?i)(?:https?|ftp|all|no)_proxy$")
CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
# The copy of this machine's CA_BUNDLE in a root directory. The copy has another name, because the
# package ca-certificates overwrites CA_BUNDLE.
MACHINE_CA_BUNDLE = "/etc/machine-certificates.crt"
CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UID = 1000

# Arguments of this script:
# $1: root
# $2: directory for downloaded packages, or empty
# $3: cache directory, or empty; the lower layer of an overlay
# $4: directory for files that are written to the cache directory; the upper layer of the overlay
# The command follows. overlayfs refuses an upper layer that is itself on an overlay. In that case
# the upper layer is a tmpfs, whose content is lost when the command ends.
ENTER = """
root=$1 packages=$2 lower=$3 upper=$4; shift 4
fail() { echo "root: cannot mount $1 in $root" >&2; exit 125; }
mount_cache() { mkdir -p "$upper/new" "$upper/work" && mount -t overlay overlay "$root/srv/cache" \
    -o "lowerdir=$lower,upperdir=$upper/new,workdir=$upper/work"; }
mount --bind "$root" "$root" || fail "the root directory"
mount -t proc proc "$root/proc" || fail /proc
for dir in sys dev; do mount --rbind "/$dir" "$root/$dir" || fail "/$dir"; done
[ -z "$packages" ] || mount --bind "$packages" "$root/var/cache/apt/archives" || fail "the packages"
[ -z "$lower" ] || mount_cache 2>/dev/null || { mount -t tmpfs tmpfs "$upper" && mount_cache; } ||
    fail "the cache"
exec chroot "$root" "$@"
"""


@dataclass(frozen=True)
class Root:
    """An unpacked root directory, and the directories that are mounted into this root directory."""

    path: Path
    # The directory in which all roots of a Debian suite share downloaded packages.
    packages: Path | None
    # The cache directory with test kernels: the lower layer of an overlay.
    cache: Path | None

    def make_command_environment(
        self, as_user: bool, variables: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the environment of a command in this root, with `variables` added. The command
        runs as an ordinary user if `as_user` is true, else as the superuser."""
        found = {**select_network_variables(), "LANG": "C.UTF-8", **variables, "PATH": PATH}
        found["HOME"] = "/home/user" if as_user else "/root"
        return found | ({"KMARKERS_CACHE": "/srv/cache"} if self.cache else {})

    def make_command_line(self, command: str, as_user: bool) -> list[str]:
        """Return the command line that runs a shell command in this root, as an ordinary user if
        `as_user` is true, else as the superuser."""
        upper = self.path.with_name(f"{self.path.name}.cache")
        upper.mkdir(exist_ok=True)
        who = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"] if as_user else []
        return [
            *("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork"),
            *("--kill-child", "sh", "-c", ENTER, "enter", str(self.path)),
            *(
                str(self.private_package_dir if self.packages else ""),
                str(self.cache or ""),
                str(upper),
            ),
            *(*who, "sh", "-c", f"cd; {command}"),
        ]

    @property
    def private_package_dir(self) -> Path:
        """The directory in which apt keeps the packages of this root. Each root has a directory of
        its own, because apt locks the directory and fails if another apt holds the lock."""
        return self.path.with_name(f"{self.path.name}.packages")

    def remove_root_and_overlay(self) -> None:
        """Remove this root, and the files that commands wrote to the overlay of the cache
        directory. Link the downloaded packages to the directory that all roots of the Debian suite
        share."""
        if self.packages:
            link_missing_packages(self.private_package_dir, self.packages)
        for tree in (
            self.path,
            self.path.with_name(f"{self.path.name}.cache"),
            self.private_package_dir,
        ):
            if tree.exists():
                shutil.rmtree(tree)


def link_missing_packages(source: Path, target: Path) -> None:
    """Link or copy the packages in the directory `source` to the directory `target`, except
    packages that `target` has already. Other processes may use both directories at the same
    time."""
    target.mkdir(parents=True, exist_ok=True)
    for package in source.glob("*.deb"):
        new = target / f"{package.name}.{os.getpid()}"
        if not (target / package.name).exists():
            try:
                new.hardlink_to(package)
            except OSError:  # another file system
                shutil.copyfile(package, new)
            new.replace(target / package.name)


def select_network_variables() -> dict[str, str]:
    """Return the environment variables of this process that concern the network."""
    found = {
        name: value
        for name, value in os.environ.items()
        # Omit variables whose value is a path: such a path does not exist in the root directory.
        if PROXIES.match(name) or (name.startswith("PIP_") and not value.startswith("/"))
    }
    if Path(CA_BUNDLE).is_file():
        found |= dict.fromkeys(CERTIFICATES, MACHINE_CA_BUNDLE)
    return found


def read_network_apt_options() -> str:
    """Return this machine's apt options that concern the network."""
    dump = subprocess.run(
        ["apt-config", "dump"], capture_output=True, encoding="utf-8", errors="replace", check=True
    )
    return "".join(f"{line}\n" for line in dump.stdout.splitlines() if NETWORK.match(line))


def ensure_debian_root_tarball(suite: str) -> Path:
    """Return the tarball with the minimal system of a Debian suite; make the tarball if there is
    none, or if it is older than a week."""
    path = get_cache_dir() / "roots" / f"{suite}.tar"
    with hold_cache_lock(f"root-{suite}"):
        if path.is_file() and 0 <= time.time() - path.stat().st_mtime < TARBALL_MAX_AGE_SECONDS:
            return path
        path.parent.mkdir(exist_ok=True)
        print_step(f"{suite}: making a minimal Debian system, which takes 1 to 2 minutes")
        for lines in find_debian_mirror().list_apt_source_lists(suite):
            said = _make_debian_root_tarball(suite, path, lines)
            if said is None:
                return path
        raise UnableError(f"{suite}: a minimal Debian system cannot be made: {said}")


def _make_debian_root_tarball(suite: str, path: Path, sources: list[str]) -> str | None:
    """Make the tarball `path` with the root of `suite`, which has the essential packages and apt.
    `sources` are the lines of apt's sources.list. Return None, or the error text of mmdebstrap."""
    new, scratch = path.with_suffix(".new.tar"), path.with_suffix(".list")
    options = path.with_suffix(".conf")
    options.write_text(
        read_network_apt_options() + 'Acquire::Check-Valid-Until "false";\n', encoding="utf-8"
    )
    scratch.write_text("".join(f"{line}\n" for line in sources), encoding="utf-8")
    words = [
        *("mmdebstrap", "--quiet", "--mode=root", "--variant=apt", f"--aptopt={options}"),
        *("--dpkgopt=force-unsafe-io", "--skip=cleanup/apt/lists"),
        '--customize-hook=rm -f "$1"/etc/apt/apt.conf.d/99mmdebstrap',
        *(suite, str(new), str(scratch)),
    ]
    try:
        done = capture_output(words)
    except FileNotFoundError:
        raise UnableError("mmdebstrap is missing: apt-get install mmdebstrap") from None
    finally:
        for file in (options, scratch):
            file.unlink(missing_ok=True)
    if done.returncode == 0:
        new.rename(path)
        return None
    new.unlink(missing_ok=True)
    errors = [line for line in done.stderr.splitlines() if line.startswith("E: ")]
    return "\n".join(errors[:1] or done.stderr.splitlines()[-1:])


def unpack_debian_root(suite: str, path: Path, with_cache: bool) -> Root:
    """Unpack the minimal system of a Debian suite to the root directory `path`, and copy the
    network settings of this machine into it. With `with_cache`, commands in this root can use the
    cache directory, and the packages that apt downloads are kept."""
    require_root("unpacking a minimal Debian system")
    packages = get_cache_dir() / "roots" / f"{suite}.packages" if with_cache else None
    root = Root(path, packages, get_cache_dir() if with_cache else None)
    root.remove_root_and_overlay()
    source = ensure_debian_root_tarball(suite)
    path.mkdir(parents=True)
    subprocess.run(["tar", "-C", str(path), "-xf", str(source)], check=True)
    if packages:
        link_missing_packages(packages, root.private_package_dir)
        (root.private_package_dir / "partial").mkdir()
    for name in ("proc", "sys", "dev", "srv/cache", "home/user"):
        (path / name).mkdir(parents=True, exist_ok=True)
    os.chown(path / "home/user", UID, UID)
    with (path / "etc/passwd").open("a", encoding="utf-8") as file:
        file.write(f"user:x:{UID}:{UID}::/home/user:/bin/sh\n")
    with (path / "etc/group").open("a", encoding="utf-8") as file:
        file.write(f"user:x:{UID}:\n")
    copy_network_settings(path)
    return root


def copy_network_settings(path: Path, machine: Path = Path("/")) -> None:
    """Copy the network settings of this machine, whose root directory is `machine`, into the root
    directory `path`, and configure apt there to answer all questions with yes."""
    settings = path / "etc/apt/apt.conf.d/99machine"
    settings.write_text(
        read_network_apt_options() + 'APT::Get::Assume-Yes "true";\n', encoding="utf-8"
    )
    (path / "etc/dpkg/dpkg.cfg.d").mkdir(parents=True, exist_ok=True)
    (path / "etc/dpkg/dpkg.cfg.d/fast").write_text("force-unsafe-io\n", encoding="utf-8")
    names = ("etc/resolv.conf", "etc/hosts", "etc/pip.conf")
    copies = {name: machine / name for name in names}
    copies[MACHINE_CA_BUNDLE[1:]] = machine / CA_BUNDLE[1:]
    home = Path.home()
    places = (home / ".pip/pip.conf", home / ".config/pip/pip.conf", copies["etc/pip.conf"])
    copies["etc/pip.conf"] = next(filter(Path.is_file, places), places[-1])
    for target, source in copies.items():
        if source.is_file():
            (path / target).unlink(missing_ok=True)
            shutil.copyfile(source, path / target)
    apt = machine / "etc/apt"
    for file in (apt / "auth.conf", *(apt / "auth.conf.d").glob("*.conf")):
        if file.is_file():
            copy_secret_file(file, path / file.relative_to(machine))


def copy_secret_file(source: Path, target: Path) -> None:
    """Copy a file with passwords. Until the copy has the mode of the file, only the owner can read
    the copy."""
    target.unlink(missing_ok=True)
    target.touch(0o600)
    shutil.copyfile(source, target)
    shutil.copymode(source, target)


def start_command_in_root(
    root: Root, command: str, variables: Mapping[str, str], as_user: bool = False
) -> subprocess.Popen[bytes]:
    """Start a shell command in the root directory `root`, with `variables` in its environment. The
    command runs as an ordinary user if `as_user` is true, else as the superuser. The caller reads
    stdout and stderr from one pipe."""
    return subprocess.Popen(
        root.make_command_line(command, as_user),
        # The variables are not on the command line, where every user could read a proxy's
        # password.
        env=root.make_command_environment(as_user, variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
