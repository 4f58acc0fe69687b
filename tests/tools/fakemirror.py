# SPDX-License-Identifier: GPL-2.0-only
"""A fake package mirror: shell scripts replace apt-get and apt-cache, for tests of kmtools.lab."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from kmtools.lab import apt, unpack
from kmtools.lab.catalogue import Entry
from kmtools.lab.sources import Mirror, Source

ENTRY = Entry("k", "s", "linux-image-6.1.*-amd64", "emulator", "gates")
OLD, NEW = "6.1.0-1-amd64", "6.1.0-2-amd64"
NOT_FOUND = "E: Failed to fetch mirror://m/x.deb  404  Not Found [IP: ::1 80]"
BROKEN = "E: Failed to fetch mirror://m/x.deb  Connection failed [IP: ::1 80]"
FULL = "E: Failed to fetch mirror://m/x.deb  Error writing to file - write (28: No space left)"
CHANGED = "E: Failed to fetch mirror://m/x.deb  Hash Sum mismatch"
NO_SUITE = "E: The repository 'mirror://m s-security Release' does not have a Release file."

# A script that replaces apt-get and apt-cache. If a control file exists in $MIRROR, a download
# fails with the error message in this file. NAME.refused is for the package NAME, `stale` for all
# package lists, `no-security` for the lists of a security suite. If NAME.cut exists, the downloaded
# package NAME is truncated.
FAKE_APT = r"""#!/bin/sh
program=${0##*/}
while :; do
    case $1 in
    -oDir::Etc::sourcelist=*) list=${1#*=} ;;
    --print-uris) print=1 ;;
    -o) shift ;;
    -*) ;;
    *) break ;;
    esac
    shift
done
verb=$1
shift
say_and_fail() { cat "$1" >&2; exit 100; }
cd_out=$PWD
cd "$MIRROR" || exit
case $program.$verb in
apt-cache.pkgnames) ls | sed -n "s/_.*//; /^$1/p" ;;
apt-cache.show)
    for name; do
        [ "$name" = --no-all-versions ] && continue
        version=$(ls "$name"_*.deb) || { echo "E: No packages found" >&2; exit 100; }
        version=${version#*_}
        printf 'Package: %s\nVersion: %s\n\n' "$name" "${version%%_*}"
    done ;;
apt-get.update)
    echo update >>log
    [ ! -e stale ] || say_and_fail stale
    ! grep -q -e -security "$list" || [ ! -e no-security ] || say_and_fail no-security ;;
apt-get.install | apt-get.download)
    [ -n "$print" ] || echo "$verb" >>log
    for name; do
        file=$(ls "$name"_*.deb 2>/dev/null) || continue
        if [ -n "$print" ]; then
            digest=$(sha256sum <"$file")
            echo "'mirror://m/$file' $file $(stat -c %s "$file") SHA256:${digest%% *}"
        elif [ -e "$name.refused" ]; then
            say_and_fail "$name.refused"
        elif [ -e "$name.cut" ]; then
            head -c 100 "$file" >"$cd_out/$file"
            kill -KILL $$
        else
            cp "$file" "$cd_out"
        fi
    done ;;
esac
"""


class FakeMirror:
    """A mirror with the package `make` and two releases of a kernel package."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.dir = root / "mirror"
        self.cache = root / "cache"
        programs = root / "bin"
        for directory in (self.dir, programs):
            directory.mkdir()
        for name in ("apt-get", "apt-cache"):
            (programs / name).write_text(FAKE_APT)
            (programs / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(programs), prepend=":")
        monkeypatch.setenv("MIRROR", str(self.dir))
        monkeypatch.setenv("KMARKERS_CACHE", str(self.cache))
        source = Source("mirror://m", "s", ("main",))
        monkeypatch.setattr(apt, "find_mirror", lambda suite: Mirror(source, source))
        # Pretend to be root and to make device nodes: fetching a kernel needs both.
        monkeypatch.setattr("os.geteuid", lambda: 0)
        monkeypatch.setattr("os.mknod", lambda path, *_: Path(path).touch())
        monkeypatch.setattr(unpack, "NEEDED_BYTES", 1 << 20)
        monkeypatch.setattr(unpack, "is_qemu_unpacked", lambda entry: True)
        for number, release in enumerate((OLD, NEW), 1):
            self.add_package(f"linux-image-{release}", str(number), f"boot/vmlinuz-{release}")
            self.add_package(f"linux-headers-{release}", str(number), f"usr/src/linux-{release}/x")
        self.add_package("make", "1", "usr/bin/make")

    def add_package(self, name: str, version: str, file: str, content: bytes = b"") -> None:
        """Add to the mirror a package with the single file `file`."""
        tree = self.dir.parent / "package"
        (tree / "DEBIAN").mkdir(parents=True)
        fields = {"Package": name, "Version": version, "Architecture": "amd64"}
        fields |= {"Maintainer": "a <a@b>", "Description": "x"}
        control = "".join(f"{field}: {to}\n" for field, to in fields.items())
        (tree / "DEBIAN/control").write_text(control)
        (tree / file).parent.mkdir(parents=True)
        (tree / file).write_bytes(content or name.encode())
        deb = self.dir / f"{name}_{version}_amd64.deb"
        words = ["dpkg-deb", "--root-owner-group", "-Znone", "-b", str(tree), str(deb)]
        subprocess.run(words, check=True, capture_output=True)
        shutil.rmtree(tree)

    def make_apt_fail(self, file: str, text: str) -> None:
        """Make apt fail with the message `text`: write the control file `file`, for example
        NAME.refused."""
        (self.dir / file).write_text(f"{text}\n")

    def let_apt_succeed(self) -> None:
        """Remove all control files, so that apt succeeds again."""
        for path in self.dir.iterdir():
            if path.suffix != ".deb":
                path.unlink()

    @property
    def log(self) -> list[str]:
        """Return the logged downloads: "update" for package lists, "install" or "download" for
        packages."""
        return (self.dir / "log").read_text().split()
