# SPDX-License-Identifier: GPL-2.0-only
"""Finds the mirror in the apt configuration of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path

from kmtools.base.errors import UnableError

APT_DIR = Path("/etc/apt")
OS_RELEASE = Path("/etc/os-release")


@dataclass(frozen=True)
class Source:
    """A source of packages: a URI and a suite."""

    uri: str
    suite: str
    components: tuple[str, ...]
    signed_by: str = ""

    def line(self, suite: str) -> str:
        """Return a one-line apt source for another suite at the same URI."""
        option = f" [signed-by={self.signed_by}]" if self.signed_by else ""
        return f"deb{option} {self.uri} {suite} main"


@dataclass(frozen=True)
class Mirror:
    """The archive and, if the machine has one, its security part."""

    archive: Source
    security: Source | None

    def candidates(self, suite: str) -> list[list[str]]:
        """Return source lists to try for a suite, the most complete one first."""
        lines = [self.archive.line(suite)]
        if suite == "experimental":  # incomplete by design: the rest comes from sid
            return [[self.archive.line("sid"), *lines]]
        if self.security is None:
            return [lines]
        return [[*lines, self.security.line(f"{suite}-security")], lines]


def parse_one_line(text: str) -> list[Source]:
    """Parse a sources.list."""
    found = []
    for line in text.splitlines():
        match = re.match(r"deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s*(.*)", line.split("#", 1)[0])
        if match is None:
            continue
        options = dict(option.split("=", 1) for option in (match[1] or "").split() if "=" in option)
        keyring = options.get("signed-by", "")
        found.append(Source(match[2], match[3], tuple(match[4].split()), keyring))
    return found


def parse_deb822(text: str) -> list[Source]:
    """Parse a .sources file."""
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    found: list[Source] = []
    for stanza in re.split(r"\n\s*\n", kept):
        fields = message_from_string(stanza)
        if "deb" not in fields.get("types", "").split():
            continue
        if fields.get("enabled", "yes").strip().lower() in ("no", "false"):
            continue
        components = tuple(fields.get("components", "").split())
        # An inline key block is of no use as a file name.
        keyring = fields.get("signed-by", "").strip()
        keyring = keyring if keyring.startswith("/") else ""
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                found.append(Source(uri, suite, components, keyring))
    return found


def read_all(apt_dir: Path = APT_DIR) -> list[Source]:
    """Read every source of the machine in the order of apt."""
    found: list[Source] = []
    for path in (apt_dir / "sources.list", *sorted((apt_dir / "sources.list.d").glob("*"))):
        if path.is_file() and path.suffix == ".list":
            found += parse_one_line(path.read_text())
        elif path.is_file() and path.suffix == ".sources":
            found += parse_deb822(path.read_text())
    return found


def codename(os_release: Path = OS_RELEASE) -> str:
    """Return the machine's own suite."""
    match = re.search(r'^VERSION_CODENAME="?([a-z]+)', os_release.read_text(), re.M)
    return match[1] if match else "stable"


def choose(sources: Iterable[Source], own: str) -> Mirror:
    """Choose the Debian archive and its security part from all sources."""
    with_main = [source for source in sources if "main" in source.components]
    archives = [s for s in with_main if s.suite in (own, "stable", "testing", "unstable", "sid")]
    security = [s for s in with_main if s.suite in (f"{own}-security", "stable-security")]
    if not archives:
        raise UnableError(f"the apt configuration of this machine names no archive for {own} main")
    return Mirror(archives[0], security[0] if security else None)


def machine_mirror() -> Mirror:
    """Return the mirror that this machine uses."""
    return choose(read_all(), codename())
