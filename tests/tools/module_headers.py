# SPDX-License-Identifier: GPL-2.0-only
"""The headers that are installed: each compiles alone, in a module and in a program; for the row
`headers` of make check-full."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import nativeprograms
import pytest
from kmtools.base.paths import ROOT
from kmtools.lab import build, catalogue, chroot

# A header that is part of another one says so.
PART = '#error "include <'
PROGRAMS = {"user.h"}
INCLUDED = re.compile(r"^\s*#\s*include <([^>]+)>", re.MULTILINE)
TYPED = """
DECLARE_MARKER(client, MARKER_PROTO(u32 number), MARKER_ARGS(number), "number %u");
DEFINE_MARKER(client);
"""


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install what developers get; returns the folder of the headers."""
    # All of it: other tests may have built some of the libraries alone.
    nativeprograms.build("libkmarkers.a", "libkmbench.a")
    root = tmp_path_factory.mktemp("installed")
    env = {**os.environ, "DESTDIR": str(root), "PREFIX": "/usr"}
    subprocess.run([ROOT / "scripts" / "install", "dev"], env=env, check=True)
    return root / "usr" / "share" / "kmarkers"


def test_what_an_installed_header_includes_is_installed(share: Path) -> None:
    headers = list((share / "include").rglob("*.h"))
    assert len(headers) > 25
    named = {name for path in headers for name in INCLUDED.findall(path.read_text())}
    ours = {name for name in named if (ROOT / "include" / name).is_file()}
    assert "compat/tracepoint.h" in ours
    assert [name for name in sorted(ours) if not (share / "include" / name).is_file()] == []


def headers(share: Path) -> list[str]:
    """Return the public headers, as they are included."""
    found = sorted((share / "include").glob("[kl]*/*.h"))
    return [str(path.relative_to(share / "include")) for path in found]


def test_each_header_compiles_in_a_program(share: Path, tmp_path: Path) -> None:
    flags = ["-std=gnu11", "-O2", "-Wall", "-Werror", "-D_GNU_SOURCE"]
    flags += [f"-I{share}/native/include", f"-I{share}/include", "-fsyntax-only"]
    for name in ("kmarkers/user.h", "linux/marker.h", "linux/immediate.h", "kmarkers/sdt.h"):
        source = tmp_path / "program.c"
        source.write_text(f"#include <{name}>\nint main(void) {{ return 0; }}\n")
        subprocess.run(["gcc", *flags, source], check=True)


def test_a_module_for_each_header_builds(share: Path, tmp_path: Path) -> None:
    kernel = catalogue.default_name()
    if why := chroot.obstacle():
        pytest.skip(why)
    if not catalogue.unpacked(kernel):
        pytest.skip(f"kernel {kernel} is missing: run scripts/setup {kernel}")
    source = tmp_path / "client"
    shutil.copytree(share, source / "km")
    names = [
        name
        for name in headers(share)
        if Path(name).name not in PROGRAMS and PART not in (share / "include" / name).read_text()
    ]
    assert len(names) > 20
    for number, name in enumerate(names):
        more = TYPED if name == "kmarkers/typed.h" else ""
        text = f'#include <{name}>\n#include <linux/module.h>\n{more}MODULE_LICENSE("GPL");\n'
        (source / f"client{number}.c").write_text(text)
    objects = " ".join(f"client{number}.o" for number in range(len(names)))
    # Modules of ours are not built: modpost warns of each symbol.
    place = "KMARKERS := $(src)/km\nKMARKERS_SYMVERS :=\ninclude $(src)/km/kmarkers.mk\n"
    (source / "Kbuild").write_text(f"obj-m := {objects}\n{place}")
    log = tmp_path / "log"
    code = build.build_modules(
        kernel, source, tmp_path / "out", ["-s", "KBUILD_MODPOST_WARN=1"], log
    )
    assert code == 0, log.read_text()
    said = [line for line in log.read_text().splitlines() if "modpost: " not in line]
    assert [line for line in said if re.search(r"(error|warning):", line, re.IGNORECASE)] == []
