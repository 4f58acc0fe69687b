# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's checkpatch.pl, taken out of the distribution's source package once."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from lablib import LabError, cache_dir
from lablib.apt import PrivateApt, progress
from lablib.unpack import locked

SUITE = "bookworm"
PACKAGE = "linux-source-6.1"
FILES = ("checkpatch.pl", "const_structs.checkpatch", "spelling.txt")

# Options for code that lives outside the kernel's tree.
OPTIONS = ("--no-tree", "--no-summary", "--terse", "--show-types", "--max-line-length=100", "-f")
IGNORED: tuple[str, ...] = ()
# Files that must do what checkpatch warns of.
EXCEPTIONS = {
    "include/compat/compat.h": "LINUX_VERSION_CODE",
}


def ensure() -> Path:
    """Return the script, unpacking it if it is not there."""
    tree = cache_dir() / "checkpatch"
    script = tree / FILES[0]
    if all((tree / name).is_file() for name in FILES):
        return script
    with locked("checkpatch"):
        apt = PrivateApt(SUITE)
        apt.update()
        (deb,) = apt.download([PACKAGE])
        progress(f"taking checkpatch out of {deb.name}")
        tree.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=tree) as scratch:
            _extract(deb, Path(scratch))
            for name in FILES:
                (found,) = Path(scratch).glob(f"linux-source-*/scripts/{name}")
                shutil.move(found, tree / name)
        deb.unlink(missing_ok=True)
    return script


def _extract(deb: Path, scratch: Path) -> None:
    """Unpack the wanted files of a source package."""
    wanted = " ".join(f"'*/scripts/{name}'" for name in FILES)
    command = (
        f"dpkg-deb --fsys-tarfile {deb} | tar -xO --wildcards '*/linux-source-*.tar.xz' |"
        f" tar -xJ -C {scratch} --wildcards {wanted}"
    )
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], check=False)
    if done.returncode != 0:
        raise LabError(f"cannot take checkpatch out of {deb.name}")


def command(script: Path) -> list[str]:
    """Return the command that checks one file, which is to follow."""
    ignored = [f"--ignore={','.join(IGNORED)}"] if IGNORED else []
    return ["perl", str(script), *OPTIONS[:-1], *ignored]


def exceptions(path: Path) -> list[str]:
    """Return what is ignored in one file only, and that it is a file that follows."""
    types = EXCEPTIONS.get(str(path))
    return [*([f"--ignore={types}"] if types else []), OPTIONS[-1]]
