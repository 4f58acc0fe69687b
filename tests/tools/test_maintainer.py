# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the maintainer scripts of the Debian packages while modules are loaded or built."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT


def call_maintainer_script(
    script: Path | str, action: str, root: Path, **env: str
) -> subprocess.CompletedProcess[str]:
    """Call a maintainer script with an action, as dpkg does. The script looks for /proc and /sys
    below `root`; `env` are additional environment variables."""
    return subprocess.run(
        ["sh", ROOT / "debian" / script, action],
        env={**os.environ, "KMARKERS_ROOT": str(root), **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("loaded", "version", "warns"),
    [
        ("1.0", "2.0-1", True),
        ("2.0", "2.0-1", False),
        ("2.0", "2.0+deb13u1", False),
        ("2.0", "2.0~bpo13+1", False),
        ("2.0+git1", "2.0+git1", False),
        ("2.0~dev", "2.0~dev", False),
        ("2.0", "2.0~rc1", True),
        ("2.0~rc1", "2.0", True),
        ("2.0", "2.0.1", True),
    ],
)
def test_modules_of_another_version_that_are_loaded_give_a_warning(
    tmp_path: Path, loaded: str, version: str, warns: bool
) -> None:
    record = tmp_path / "sys" / "module" / "kmarkers_patcher" / "version"
    record.parent.mkdir(parents=True)
    record.write_text(f"{loaded}\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("dkms", "kmarkers/2.0, 6.1: installed"), ("dpkg-query", version)):
        (programs / name).write_text(f"#!/bin/sh\necho '{text}'\n")
        (programs / name).chmod(0o755)
    names = {"PATH": f"{programs}:{os.environ['PATH']}"}
    names["DPKG_MAINTSCRIPT_PACKAGE"] = "kmarkers-dkms"
    done = call_maintainer_script("kmarkers-dkms.postinst", "configure", tmp_path, **names)
    remedy = f"are loaded; unload them, or boot again, to use version {version}"
    said = f"kmarkers-dkms: modules of version {loaded} {remedy}\n" if warns else ""
    assert (done.returncode, done.stderr) == (0, said)


@pytest.mark.parametrize("code", [0, 3])
def test_progress_is_printed_during_a_dkms_build(tmp_path: Path, code: int) -> None:
    """The background process that prints progress ends with postinst, also if the build fails."""
    source = tmp_path / "usr" / "src" / "kmarkers-2.0"
    source.mkdir(parents=True)
    for name in ("a", "b", "c"):
        (source / f"{name}.c").touch()
    log = tmp_path / "var" / "lib" / "dkms" / "kmarkers" / "2.0" / "build" / "make.log"
    log.parent.mkdir(parents=True)
    names = ("a", "b", "module.mod", ".module-common")
    lines = [f"  CC [M]  /var/lib/dkms/{name}.o" for name in names]
    log.write_text("nothing is compiled yet\n")
    (tmp_path / "later").write_text("\n".join(lines) + "\n")
    (tmp_path / "bin").mkdir()
    for name, text in (("sleep", "exec /bin/sleep 0.05"), ("dkms", "echo kmarkers: installed")):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    script = (ROOT / "debian" / "kmarkers-dkms.postinst").read_text()
    build = f"/bin/sleep 0.5; cat {tmp_path}/later >>{log}; /bin/sleep 1; (exit {code})"
    (tmp_path / "postinst").write_text(script.replace("#DEBHELPER#", build))
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    said = call_maintainer_script(tmp_path / "postinst", "configure", tmp_path, PATH=path)
    assert said.returncode == code
    counts = (
        "\nkmarkers-dkms: 0 of 3 files are compiled\n",
        "\nkmarkers-dkms: 2 of 3 files are compiled\n",
    )
    assert said.stdout == "".join(counts)
    # Read /proc, because a minimal system lacks pgrep.
    commands = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline")]
    assert not [command for command in commands if bytes(tmp_path / "postinst") in command]


@pytest.mark.parametrize(
    ("modules", "code"),
    [("", 0), ("ext4 1000 1 - Live 0x0\n", 0), ("kmarkers_patcher 9000 0 - Live 0x0\n", 1)],
)
def test_prerm_refuses_to_remove_loaded_modules(tmp_path: Path, modules: str, code: int) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "modules").write_text(modules)
    done = call_maintainer_script("kmarkers-dkms.prerm", "remove", tmp_path)
    assert done.returncode == code
    assert ("nothing is removed" in done.stderr) == bool(code)
    assert call_maintainer_script("kmarkers-dkms.prerm", "upgrade", tmp_path).returncode == 0
    # If a removal fails, dpkg calls postinst, which builds the modules only if prerm removed them.
    script = (ROOT / "debian" / "kmarkers-dkms.postinst").read_text()
    (tmp_path / "postinst").write_text(script.replace("#DEBHELPER#", "echo built"))
    said = call_maintainer_script(tmp_path / "postinst", "abort-remove", tmp_path)
    assert (said.returncode, said.stdout) == (0, "" if code else "built\n")
