# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the linters of `kmarkers check lint`: which files each linter checks, and how the
kernel's checkpatch.pl is extracted."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from fakemirror import FakeMirror
from kmtools.base.errors import UnableError
from kmtools.lint import checkpatch, linters

CHECKPATCH_FILES = ["checkpatch.pl", "const_structs.checkpatch", "spelling.txt"]


def test_shell_scripts_are_found_by_suffix_and_by_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scripts that other scripts source are left out: shellcheck reads them with the others."""
    monkeypatch.setattr(linters, "ROOT", tmp_path)
    shell = {"a.sh": "# shellcheck source=lib/common.sh\n. ./common.sh\n", "b.sh": ""}
    shell |= {"sh": "#!/bin/sh\n", "bash": "#!/usr/bin/env bash\n", "dash": "#! /bin/dash -e\n"}
    others = {"lib/common.sh": "", "python": "#!/usr/bin/env python3\n", "LICENSE": "the sh\n"}
    others |= {"a.c": "#!/bin/sh\n", "b.py": "#!/bin/sh\n", "a.txt": "", "fish": "#!/bin/fish\n"}
    (tmp_path / "lib").mkdir()
    for name, text in (shell | others).items():
        (tmp_path / name).write_text(text)
    tree = linters.Sources([Path(name) for name in sorted(shell | others)])
    assert [str(path) for path in tree.list_shell_scripts()] == sorted(shell)


def test_files_without_a_licence_in_the_first_three_lines_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linters, "ROOT", tmp_path)
    licence = f"# {linters.LICENCE}\n"
    licensed = {"a.c": licence, "b.py": f"#!\n\n{licence}", "tool": f"#!/bin/sh\n{licence}"}
    exempt = {"a.csv": "", "a.svg": "", "LICENSE": "", "LICENSES/a.txt": ""}
    faulty = {"c.c": "", "d.py": f"\n\n\n{licence}", "script": "#!/bin/sh\n"}
    (tmp_path / "LICENSES").mkdir()
    files = licensed | exempt | faulty
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = linters.find_unlicensed_files(linters.Sources([Path(name) for name in files]))
    assert found == [f"{name}: no {linters.LICENCE}" for name in faulty]


def make_kernel_source(names: list[str]) -> bytes:
    """Return a compressed archive of kernel sources that has these files in the folder scripts."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:xz") as tar:
        for name in (*(f"scripts/{name}" for name in names), "scripts/other.pl", "init/main.c"):
            member = tarfile.TarInfo(f"linux-source-6.1/{name}")
            member.size = len(name)
            tar.addfile(member, io.BytesIO(name.encode()))
    return archive.getvalue()


def test_checkpatch_is_extracted_once_from_the_kernel_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache directory has the script and the files that it reads. The large source package is
    deleted. If a file is missing later, all are extracted again."""
    mirror = FakeMirror(tmp_path, monkeypatch)
    source = make_kernel_source(CHECKPATCH_FILES)
    mirror.add_package("linux-source-6.1", "1", "usr/src/linux-source-6.1.tar.xz", source)
    folder = mirror.cache / "checkpatch"
    for downloads, missing in ((1, ""), (1, "spelling.txt"), (2, "")):
        assert checkpatch.ensure_checkpatch() == folder / "checkpatch.pl"
        texts = {path.name: path.read_text() for path in folder.iterdir()}
        assert texts == {name: f"scripts/{name}" for name in CHECKPATCH_FILES}
        assert not [*mirror.cache.rglob("*.deb")]
        assert len([each for each in mirror.log if each != "update"]) == downloads
        if missing:
            (folder / missing).unlink()


def test_damaged_kernel_source_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = FakeMirror(tmp_path, monkeypatch)
    mirror.add_package("linux-source-6.1", "1", "usr/src/linux-source-6.1.tar.xz", b"no archive")
    with pytest.raises(UnableError, match=r"cannot extract checkpatch from linux-source-6.1_1"):
        checkpatch.ensure_checkpatch()
    assert not (mirror.cache / "checkpatch" / "checkpatch.pl").exists()
