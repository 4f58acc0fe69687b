# SPDX-License-Identifier: GPL-2.0-only
"""Runs apt with a private state directory for each Debian or Ubuntu suite; this machine's apt state
is not changed."""

from __future__ import annotations

import functools
import hashlib
import math
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.paths import get_cache_dir
from kmtools.base.processes import capture_output
from kmtools.lab.catalogue import Entry
from kmtools.lab.sources import Mirror, find_mirror

# The age at which package lists are downloaded again.
LISTS_MAX_AGE_SECONDS = 3600
# Messages of apt which mean that the mirror lacks a package or a suite. Other messages have other
# causes, such as a full disk.
ABSENT = re.compile(
    "  404  Not Found| File not found - |does not have a Release file|No packages found"
    "|Unable to locate package|held broken packages|has no installation candidate"
)
# The beginnings of summaries: error messages of apt that give no reason themselves.
SUMMARIES = ("E: Some index files failed", "E: Unable to fetch some archives")


class FetchError(UnableError):
    """Raised if a download failed; a later attempt may succeed."""


class NotOnMirrorError(FetchError):
    """Raised if the mirror lacks a package or a suite."""


def make_fetch_error(failed_command: str, apt_output: str) -> FetchError:
    """Return the exception for a failed apt command: NotOnMirrorError if all error messages except
    summaries match ABSENT, else FetchError."""
    errors = [line for line in apt_output.splitlines() if line.startswith("E: ")]
    reasons = [line for line in errors if not line.startswith(SUMMARIES)]
    absent = reasons and all(ABSENT.search(line) for line in reasons)
    kind = NotOnMirrorError if absent else FetchError
    return kind(f"{failed_command}:\n{apt_output.strip()}")


@dataclass(frozen=True)
class ListedFile:
    """A package file in apt's lists: its size and its digest."""

    size: int
    digest: str  # "KIND:HEX", for example "SHA256:0123..."

    def verify_download(self, path: Path) -> bool:
        """Return True if the file `path` has the size and the digest of this package file. Only
        SHA256 digests are compared.

        If the size is right but the digest is not, as after a power failure, remove the file.
        """
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        kind, _, digest = self.digest.partition(":")
        with path.open("rb") as file:
            if kind != "SHA256" or hashlib.file_digest(file, "sha256").hexdigest() == digest:
                return True
        path.unlink()
        return False


@dataclass(frozen=True)
class Candidate:
    """A kernel image package that matches an entry of kernels.txt, and for which the archive has a
    headers package."""

    package: str
    version: str

    @property
    def release(self) -> str:
        """The release that `uname -r` prints in this kernel."""
        return self.package.removeprefix("linux-image-")


class PrivateApt:
    """Runs apt-get and apt-cache with a state directory for one Debian or Ubuntu suite."""

    def __init__(self, suite: str) -> None:
        self.suite = suite
        self.dir = get_cache_dir() / "apt" / suite
        self.archives = self.dir / "cache" / "archives"
        self._stamp = self.dir / "updated"

    @property
    def has_package_lists(self) -> bool:
        """True if package lists were downloaded before."""
        return self._stamp.exists()

    def update_package_lists(self, mirror: Mirror | None = None, force: bool = False) -> None:
        """Download the package lists if they are older than LISTS_MAX_AGE_SECONDS, or if `force` is
        True."""
        # Also download lists whose time is in the future, because the clock was wrong.
        age = time.time() - self._stamp.stat().st_mtime if self.has_package_lists else math.inf
        if not force and 0 <= age < LISTS_MAX_AGE_SECONDS:
            return
        (self.dir / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        self.archives.mkdir(parents=True, exist_ok=True)
        (self.dir / "status").touch()
        missing: list[NotOnMirrorError] = []
        for lines in (mirror or find_mirror(self.suite)).list_apt_source_lists(self.suite):
            if missing:
                print_step(f"{missing[0]}\n{self.suite}: trying without the security archive")
            (self.dir / "sources.list").write_text("\n".join(lines) + "\n", encoding="utf-8")
            try:
                self._run_apt("apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "update")
            except NotOnMirrorError as error:
                missing.append(error)
                continue
            self._stamp.touch()
            return
        raise missing[0]

    def find_image_candidates(self, entry: Entry) -> list[Candidate]:
        """Return the image packages that match an entry of kernels.txt, newest first."""
        headers = set(self._list_package_names("linux-headers-"))
        names = [
            name
            for name in self._list_package_names("linux-image-")
            if name.replace("image", "headers", 1) in headers
        ]
        fitting = [name for name in names if entry.matches_image_package(name)]
        if not fitting:
            there = "\n  ".join(sorted(names)) or "none"
            raise NotOnMirrorError(
                f"kernel {entry.name}: {self.suite} has no {entry.image} with headers; "
                f"its image packages with headers are:\n  {there}"
            )
        shown = self._run_apt("apt-cache", "show", "--no-all-versions", *fitting)
        pairs = re.findall(r"^Package: (\S+)\n(?:.+\n)*?Version: (\S+)", shown, re.M)
        found = [Candidate(package, version) for package, version in pairs]
        by_version = functools.cmp_to_key(compare_package_versions)
        return sorted(found, key=lambda one: by_version(one.version), reverse=True)

    def find_package_version(self, package: str) -> str:
        """Return the version of a package that apt would download."""
        shown = self._run_apt("apt-cache", "show", "--no-all-versions", package)
        match = re.search(r"^Version: (\S+)", shown, re.M)
        if match is None:
            raise NotOnMirrorError(f"{self.suite} has no package {package}")
        return match[1]

    def select_available_packages(self, packages: Sequence[str]) -> list[str]:
        """Return the names in `packages` that are in apt's package lists."""
        known = {name for package in packages for name in self._list_package_names(package)}
        return [name for name in packages if name in known]

    def list_packages_with_dependencies(self, packages: Sequence[str]) -> list[str]:
        """Return the names of packages and of all their dependencies."""
        listed = self._list_files_to_download("install", "--no-install-recommends", *packages)
        return [file.split("_", 1)[0] for file in listed]

    def download_packages(self, packages: Sequence[str]) -> list[Path]:
        """Download packages without their dependencies, except packages that earlier calls have
        downloaded; return the files of all packages."""
        listed = self._list_files_to_download("download", *packages)
        files = {self.archives / name: one for name, one in listed.items()}
        missing = [one.size for path, one in files.items() if not one.verify_download(path)]
        if missing:
            print_step(
                f"{self.suite}: downloading {len(missing)} packages, {sum(missing) / 1e6:.0f} MB"
            )
            self.archives.mkdir(parents=True, exist_ok=True)
            try:
                self._run_apt("apt-get", "-qq", "download", *packages, cwd=self.archives)
            except FetchError:
                # The mirror may have changed since the lists were downloaded. Remove the stamp, so
                # that the next run downloads new lists.
                self._stamp.unlink(missing_ok=True)
                raise
        return list(files)

    def _list_files_to_download(self, *command: str) -> dict[str, ListedFile]:
        """Return the files that the apt-get command `command` would download, by file name."""
        # Use an empty cache, because apt-get does not list files that are in its cache.
        empty = self.dir / "empty"
        (empty / "partial").mkdir(parents=True, exist_ok=True)
        option = f"-oDir::Cache::archives={empty}"
        listed = self._run_apt("apt-get", option, "-qq", "-y", "--print-uris", *command, cwd=empty)
        found = re.findall(r"^'[^']+' (\S+) (\d+) ?(\S*)", listed, re.M)
        return {name: ListedFile(int(size), digest) for name, size, digest in found}

    def _list_package_names(self, prefix: str) -> list[str]:
        """Return all package names with a prefix."""
        return self._run_apt("apt-cache", "pkgnames", prefix).split()

    def _run_apt(self, *command: str, cwd: Path | None = None) -> str:
        program, *rest = command
        options = [f"-o{option}" for option in self._make_apt_options()]
        done = capture_output([program, *options, *rest], cwd)
        if done.returncode != 0:
            words = [word for word in command if not word.startswith(("-", "APT::"))]
            raise make_fetch_error(f"{self.suite}: {' '.join(words[:4])} failed", done.stderr)
        return done.stdout

    def _make_apt_options(self) -> list[str]:
        """Return apt options that select the private state directory, and disable the preferences
        and hooks of this machine."""
        return [
            f"Dir::State={self.dir}",
            f"Dir::State::status={self.dir / 'status'}",
            f"Dir::Cache={self.dir / 'cache'}",
            "Dir::Cache::pkgcache=pkgcache.bin",
            "Dir::Cache::srcpkgcache=srcpkgcache.bin",
            f"Dir::Etc::sourcelist={self.dir / 'sources.list'}",
            "Dir::Etc::sourceparts=/dev/null",
            "Dir::Etc::preferences=/dev/null",
            "Dir::Etc::preferencesparts=/dev/null",
            "Acquire::Check-Valid-Until=false",
            "Acquire::Languages=none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
            "APT::Sandbox::User=root",
            "APT::Update::Post-Invoke=",
            "APT::Update::Post-Invoke-Success=",
            "DPkg::Post-Invoke=",
        ]


def compare_package_versions(left: str, right: str) -> int:
    """Compare two package versions as dpkg does: 1, 0 or -1 if left is newer, equal or older."""
    if left == right:
        return 0
    return 1 if capture_output(["dpkg", "--compare-versions", left, "lt", right]).returncode else -1


def print_step(message: str) -> None:
    """Print a line about one step of a long job on stderr."""
    print(message, file=sys.stderr, flush=True)
