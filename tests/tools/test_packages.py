# SPDX-License-Identifier: GPL-2.0-only
"""Tests of scripts/install and scripts/package: installed files, source archives and packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import nativeprograms
import pytest
from gitrepo import run_git
from kmtools.base.paths import ROOT, read_version
from nativeprograms import LIBRARIES

HEADERS = sorted((ROOT / "include" / "kmarkers").glob("*.h"))
MANUALS = [
    path for path in HEADERS if re.search(r"^ \* (OVERVIEW|EXAMPLE)$", path.read_text(), re.M)
]
PAGES = pytest.mark.skipif(
    not all(map(shutil.which, ("help2man", "pandoc"))),
    reason="man pages need help2man and pandoc: run scripts/setup --packages",
)

# The shell scripts that users start, whose first step is to change to the directory of the tree.
STARTED_SCRIPTS = [
    *(f"scripts/{name}" for name in ("bench", "host", "install", "man", "package", "setup")),
    "ci/test.sh",
    ".ci/run",
]


def run_in_tree(*words: object, **variables: object) -> subprocess.CompletedProcess[str]:
    """Run a command in the source tree with additional environment variables."""
    return subprocess.run(
        [str(word) for word in words],
        cwd=ROOT,
        env={**os.environ, **{name: str(to) for name, to in variables.items()}},
        capture_output=True,
        text=True,
        check=False,
    )


def run_successfully(*words: object, **variables: object) -> str:
    """Run a command that must succeed; return its output."""
    done = run_in_tree(*words, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def list_files_below(root: Path) -> set[str]:
    """Return the files and links below a directory."""
    return {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }


def list_default_modules() -> list[str]:
    """Return the modules that Kbuild builds by default, with their directories."""
    kbuild = (ROOT / "Kbuild").read_text(encoding="utf-8")
    found = []
    for directory in " ".join(re.findall(r"^obj-m \+= (.*)$", kbuild, re.M)).split():
        own = (ROOT / directory / "Kbuild").read_text(encoding="utf-8")
        for line in re.findall(r"^obj-m [:+]= (.*)$", own, re.M):
            found += [f"{directory}{name.removesuffix('.o')}" for name in line.split()]
    return found


def test_rpm_packages_require_no_library_that_nothing_includes() -> None:
    """The sources include no headers but those of the C library, which the package gcc requires."""
    spec = (ROOT / "packaging" / "kmarkers.spec").read_text(encoding="utf-8")
    assert re.findall(r"^(?:Build)?Requires: .*-devel\b", spec, re.M) == []


def test_changelog_command_and_modules_have_the_same_version() -> None:
    changelog = (ROOT / "debian" / "changelog").read_text(encoding="utf-8")
    newest = re.match(r"kmarkers \(([^)]+)\)", changelog)
    assert newest
    assert newest[1] == read_version()
    assert run_successfully("scripts/kmarkers", "--version") == f"kmarkers {read_version()}\n"
    for module in list_default_modules():
        sources = (ROOT / module).parent.glob("*.c")
        assert any("MODULE_VERSION(KMARKERS_VERSION)" in path.read_text() for path in sources)


def make_small_repository(tree: Path) -> Path:
    """Make a git repository with the script `package` and the files that the script reads; return
    it. An archive of this whole tree would take much longer to compress."""
    for name in ("scripts/package", "include/kmarkers/version.h", "README.md", ".gitattributes"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    run_git(tree, "init", "-q")
    run_git(tree, "add", ".")
    run_git(tree, "commit", "-q", "-m", "first")
    return tree


def test_archive_of_a_commit_is_reproducible(tmp_path: Path) -> None:
    archives = []
    source = make_small_repository(tmp_path / "source")
    for name in ("a", "another place"):
        tree = tmp_path / name
        run_successfully("git", "clone", "-q", source, tree)
        # Changed times and modes, and files that are not committed, do not change the archive.
        os.utime(tree / "README.md", (len(name), len(name)))
        (tree / "README.md").chmod(0o600)
        (tree / f"left {name}").touch()
        done = run_in_tree(tree / "scripts" / "package", "dist")
        assert done.returncode == 0, done.stderr
        archive = Path(done.stdout.strip())
        assert archive.name == f"kmarkers-{read_version()}.tar.xz"
        archives.append(archive.read_bytes())
    assert archives[0] == archives[1]
    run_git(tree, "commit", "-q", "--allow-empty", "-m", "next")
    run_successfully(tree / "scripts" / "package", "dist")
    assert archive.read_bytes() != archives[0]


def test_archive_outside_a_git_checkout_is_refused(tmp_path: Path) -> None:
    for name in ("scripts/package", "include/kmarkers/version.h"):
        (tmp_path / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, tmp_path / name)
    done = run_in_tree(tmp_path / "scripts" / "package", "dist")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f"package: {tmp_path} is no git checkout; the archive is made from a commit\n"
    )


DEBIAN = pytest.mark.skipif(
    not shutil.which("dpkg-source"), reason="dpkg-dev is missing: run scripts/setup --packages"
)


@DEBIAN
def test_clean_of_the_debian_package_keeps_tools_and_kernels(tmp_path: Path) -> None:
    made = ("native/kmbench", "man/kmarkers.1", "handbook/index.md", "html/index.html")
    kept = {"lab/kernels/6.1", "venv/bin/python", "lint/bin/ruff", "deb/kmarkers.deb"}
    for name in {*made, *kept}:
        (tmp_path / "build" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "build" / name).touch()
    rules = ROOT / "debian" / "rules"
    run_successfully("make", "-C", tmp_path, "-f", rules, "override_dh_auto_clean")
    assert list_files_below(tmp_path / "build") == kept


@DEBIAN
def test_debian_source_package_has_the_tracked_files(tmp_path: Path) -> None:
    """The source package leaves out what git ignores, and files of git itself."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    tree = tmp_path / "tree"
    tracked = run_successfully("git", "-c", f"safe.directory={ROOT}", "ls-files").splitlines()
    ignored = [
        line.replace("*", "one").strip("/") + ("/one" if line.endswith("/") else "")
        for line in (ROOT / ".gitignore").read_text().splitlines()
        if not line.startswith(("#", "!", "/results/metal/"))
    ]
    modules = (f"patcher/{name}" for name in ignored if "/" not in name)
    for name in (*tracked, *ignored, *modules):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    shutil.copytree(ROOT / "debian", tree / "debian", dirs_exist_ok=True)
    run_successfully("env", "-C", tmp_path, "dpkg-source", "-Zgzip", "-b", "tree")
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        held = {member.name.partition("/")[2] for member in tar if not member.isdir()}
    assert held == {name for name in tracked if not Path(name).name.startswith(".git")}


def test_checkout_behind_a_symbolic_link_is_archived(tmp_path: Path) -> None:
    make_small_repository(tmp_path / "tree")
    (tmp_path / "link").symlink_to("tree")
    script = 'cd "$1" && exec scripts/package dist'
    archive = Path(run_successfully("sh", "-c", script, "sh", tmp_path / "link").strip())
    assert archive.parent == tmp_path / "tree" / "build"
    assert archive.is_file()


@pytest.mark.parametrize("name", STARTED_SCRIPTS)
def test_started_script_changes_to_its_own_tree(tmp_path: Path, name: str) -> None:
    """A script changes to the physical path of its tree, whatever CDPATH is."""
    for tree in (tmp_path / "tree", tmp_path / "other"):
        (tree / name).parent.mkdir(parents=True)
    head, changed, rest = (ROOT / name).read_text(encoding="utf-8").partition("\ncd ")
    assert changed
    path = tmp_path / "tree" / name
    path.write_text(f'{head}{changed}{rest.splitlines()[0]}\necho "$PWD"\n')
    path.chmod(0o755)
    (tmp_path / "link").symlink_to("tree")
    script = 'cd "$1" && export CDPATH="$2" && exec "$3"'
    words = ("sh", "-c", script, "sh", tmp_path / "link", tmp_path / "other", name)
    assert run_successfully(*words) == f"{tmp_path / 'tree'}\n"


def test_every_file_has_a_licence_according_to_reuse() -> None:
    if not shutil.which("reuse"):
        pytest.skip("reuse is missing: run scripts/setup --packages")
    run_successfully("reuse", "--root", ROOT, "lint")
    licence = (ROOT / "LICENSES" / "GPL-2.0-only.txt").read_bytes()
    assert licence == (ROOT / "LICENSE").read_bytes()


def test_changelog_begins_with_the_current_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", text, re.M)
    assert newest
    assert newest[1] == read_version()


@PAGES
def test_uninstall_removes_all_installed_files(tmp_path: Path, programs: None) -> None:
    parts = ("command", "dev", "dkms")
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    (tmp_path / "usr" / "bin" / "other").touch()
    run_successfully("scripts/install", *parts, DESTDIR=tmp_path, PREFIX="/usr")
    there = list_files_below(tmp_path)
    share = "usr/share/kmarkers"
    assert {f"{share}/include/kmarkers/{path.name}" for path in HEADERS} <= there
    assert {f"usr/share/man/man9/kmarkers-{path.stem}.9" for path in MANUALS} <= there
    libraries = [f"lib/{name}" for name in LIBRARIES]
    names = ("bin/kmarkers", "bin/kmbench", *libraries, "lib/pkgconfig/kmarkers.pc")
    assert {f"usr/{name}" for name in names} <= there
    assert not [name for name in there if "__pycache__" in name]
    run_successfully("scripts/install", "--remove", *parts, DESTDIR=tmp_path, PREFIX="/usr")
    assert list_files_below(tmp_path) == {"usr/bin/other"}
    assert not list(tmp_path.rglob("kmarkers*"))


def test_dkms_builds_the_modules_of_kbuild(tmp_path: Path) -> None:
    run_successfully("scripts/install", "dkms", DESTDIR=tmp_path)
    source = tmp_path / "usr" / "src" / f"kmarkers-{read_version()}"
    script = (
        f'. {source}/dkms.conf; echo "$PACKAGE_VERSION"; for n in "${{!BUILT_MODULE_NAME[@]}}"; '
    )
    script += 'do echo "${BUILT_MODULE_LOCATION[$n]}${BUILT_MODULE_NAME[$n]}"; done'
    assert run_successfully("bash", "-c", script).split() == [
        read_version(),
        *list_default_modules(),
    ]
    # The DKMS source has all files that the compiler may read.
    for directory in ("base", "include", *{name.split("/")[0] for name in list_default_modules()}):
        sources = {path.relative_to(ROOT) for path in (ROOT / directory).rglob("*.[ch]")}
        wanted = {str(path) for path in sources if not path.name.endswith(".mod.c")}
        assert wanted <= list_files_below(source)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["modules"],
            "install: no kernel headers in '/nowhere'; set KDIR, or name the parts",
        ),
        (["dkms", "all"], "install: unknown part 'all'"),
        (["dkms", "modules"], "install: no kernel headers in '/nowhere'"),
    ],
)
def test_refused_install_writes_no_files(tmp_path: Path, words: Sequence[str], said: str) -> None:
    done = run_in_tree("scripts/install", *words, DESTDIR=tmp_path, KDIR="/nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith(said)
    assert not list(tmp_path.iterdir())


@PAGES
def test_user_program_builds_with_pkg_config(tmp_path: Path, programs: None) -> None:
    if not shutil.which("pkg-config"):
        pytest.skip("pkg-config is missing: run scripts/setup --packages")
    prefix = tmp_path / "prefix"
    run_successfully("scripts/install", "dev", PREFIX=prefix, DESTDIR="")
    found = {"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}
    flags = run_successfully("pkg-config", "--cflags", "--libs", "kmarkers-user", **found).split()
    program = tmp_path / "flight"
    run_successfully("gcc", "-O2", "-o", program, ROOT / "examples" / "user" / "flight.c", *flags)
    run_successfully(program)
    kmarkers = run_successfully("pkg-config", "--variable=kmarkers", "kmarkers", **found).strip()
    assert Path(kmarkers, "kmarkers.mk").is_file()
    assert (
        run_successfully("pkg-config", "--modversion", "kmarkers", **found).strip()
        == read_version()
    )
    for name in ("kmarkers", "kmarkers-user"):
        assert "License: GPL-2.0-only" in (prefix / f"lib/pkgconfig/{name}.pc").read_text()


@PAGES
def test_symvers_file_is_chosen_by_kernel_release(tmp_path: Path, programs: None) -> None:
    run_successfully("scripts/install", "dev", PREFIX=tmp_path, DESTDIR="")
    mine = tmp_path / "lib" / "kmarkers" / "6.1.0-mine" / "Module.symvers"
    mine.parent.mkdir(parents=True)
    mine.touch()
    share = tmp_path / "share" / "kmarkers"
    (tmp_path / "Makefile").write_text(
        "include $(KMARKERS)/kmarkers.mk\n$(info $(KBUILD_EXTRA_SYMBOLS))\nall:;@:\n"
    )

    def find_symvers(release: str) -> str:
        words = ("make", "-s", "-C", tmp_path, f"KMARKERS={share}", f"KERNELRELEASE={release}")
        return run_successfully(*words).strip()

    assert find_symvers("6.1.0-mine") == str(mine)
    # A release without Module.symvers gets the path of a file that does not exist, so that modpost
    # prints this path in its error message.
    assert find_symvers("6.1.0-other") == str(share / "Module.symvers")


@PAGES
def test_installed_command_needs_no_checkout(tmp_path: Path, programs: None) -> None:
    run_successfully("scripts/install", "command", PREFIX=tmp_path, DESTDIR="")
    command = tmp_path / "bin" / "kmarkers"

    def run_installed_command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, command, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    assert run_installed_command("--version").stdout == f"kmarkers {read_version()}\n"
    reference = str(ROOT / "results" / "reference")
    same = run_installed_command("compare", reference, reference)
    assert same.returncode == 0, same.stderr
    refused = run_installed_command("lab", "list")
    assert refused.returncode == 2
    assert refused.stderr.endswith("and run the command in the clone\n")
    readme = tmp_path / "share" / "doc" / "kmarkers" / "README.Debian"
    readme.parent.mkdir(parents=True, exist_ok=True)
    readme.touch()
    assert f"; {readme} names the repository\n" in run_installed_command("lab", "list").stderr
    (tmp_path / "elftools.py").write_text("raise ModuleNotFoundError(name='elftools')")
    lacking = subprocess.run(
        [sys.executable, command, "sites", "some.ko"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert lacking.returncode == 2
    assert lacking.stderr.endswith("elftools: install it, in Debian as python3-pyelftools\n")
    # The tests of the measurement method are not installed.
    assert not (tmp_path / "share" / "kmarkers" / "scripts" / "kmtools" / "method").exists()
    judge = [sys.executable, str(command), "check", "aa"]
    refused = subprocess.run(judge, cwd=ROOT, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "aa is not installed; run `scripts/kmarkers check` in a checkout" in refused.stderr


COMPLETED = [
    (["kmarkers", "la"], ["lab"]),
    (["kmarkers", "lab", "f"], ["fetch"]),
    (["kmarkers", "vm", "run", "--ker"], ["--kernel"]),
    (["kmarkers", "report", "--no-f"], ["--no-figures"]),
]


@pytest.mark.parametrize(("line", "wanted"), COMPLETED)
def test_bash_completes_commands_and_options(line: list[str], wanted: list[str]) -> None:
    words = " ".join(f"'{word}'" for word in line)
    script = f"PATH={ROOT}/scripts:$PATH; . packaging/kmarkers.bash; COMP_WORDS=({words}); "
    script += f'COMP_CWORD={len(line) - 1}; _kmarkers; printf "%s\\n" "${{COMPREPLY[@]}}"'
    assert run_successfully("bash", "-c", script).split() == wanted


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is missing: run scripts/setup --packages")
@pytest.mark.parametrize(("line", "wanted"), COMPLETED)
def test_zsh_completes_commands_and_options(line: list[str], wanted: list[str]) -> None:
    # Functions that print the completions replace the completion functions of zsh.
    script = 'compadd() { print -l -- ${(P)2} }; _files() { }; words=("$@") CURRENT=$# '
    script += f"PREFIX=${{@[-1]}}; PATH={ROOT}/scripts:$PATH; "
    script += "complete() { . packaging/kmarkers.zsh }; complete"
    offered = run_successfully("zsh", "-f", "-c", script, "zsh", *line).split()
    assert [word for word in offered if word.startswith(line[-1])] == wanted


@PAGES
def test_manual_pages_have_no_warnings(programs: None) -> None:
    if not shutil.which("man"):
        pytest.skip("man is missing: run scripts/setup --packages")
    for page in sorted((ROOT / "build" / "man").glob("*.[1-9]")):
        if page.read_text().startswith(".so "):
            continue
        done = run_in_tree(
            "man", "--warnings", "-E", "UTF-8", "-l", page, LC_ALL="C.UTF-8", MANWIDTH=80
        )
        assert (done.returncode, done.stderr) == (0, ""), page
        assert r"\f[V]" not in page.read_text(), f"{page} needs a font that groff lacks"
        assert "NAME" in done.stdout


@PAGES
def test_manual_pages_refer_to_pages_that_exist(programs: None) -> None:
    folder = ROOT / "build" / "man"
    pages = {path.name: path.read_text() for path in folder.glob("*.[1-9]")}
    known = {"pkg-config.1", *pages}
    for name, text in pages.items():
        if text.startswith(".so "):
            continue
        section = text.replace("\\-", "-").partition('.SH "SEE ALSO"\n')[2]
        found = {f"{page}.{number}" for page, number in re.findall(r"\.BR (\S+) \((\d)\)", section)}
        assert found and found <= known - {name}, name
        assert "kmarkers.7" in found or name == "kmarkers.7"


@PAGES
def test_compiler_command_of_the_manual_works(tmp_path: Path, programs: None) -> None:
    """The command in kmarkers-user(9) compiles and links a program with the installed files."""
    if not shutil.which("pkg-config"):
        pytest.skip("pkg-config is missing: run scripts/setup --packages")
    run_successfully("scripts/install", "dev", PREFIX=tmp_path, DESTDIR="")
    text = (ROOT / "build" / "man" / "kmarkers-user.9").read_text().replace("\\-", "-")
    (command,) = re.findall(r"^gcc .*kmarkers-user\)$", text, re.M)
    (tmp_path / "program.c").write_text(
        "#include <kmarkers/user.h>\n"
        'int main(void) { trace_mark(request, "%d", 1); return kmarkers_start(); }\n'
    )
    run_successfully(
        *("sh", "-c", f"cd {tmp_path} && {command}"), PKG_CONFIG_PATH=tmp_path / "lib/pkgconfig"
    )
    assert (tmp_path / "a.out").exists()


def test_failed_build_leaves_the_earlier_manual_pages(tmp_path: Path) -> None:
    """scripts/install installs all files of build/man, so this folder must never be incomplete."""
    for name in ("scripts/man", "README.md", "Documentation/files.md", "include/kmarkers/version.h",
                 "include/kmarkers/marker.h"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    texts = {"bin/help2man": "exit 0", "bin/pandoc": "cat; exit $CODE", "build/native/kmbench": ""}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    pages = tmp_path / "build" / "man"
    pages.mkdir()
    (pages / "earlier.1").touch()
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    assert run_in_tree(tmp_path / "scripts/man", PATH=path, CODE=1).returncode == 1
    assert [page.name for page in pages.iterdir()] == ["earlier.1"]
    run_successfully(tmp_path / "scripts/man", PATH=path, CODE=0)
    assert "kmarkers-marker.9" in list_files_below(pages) and not (pages / "earlier.1").exists()
    assert {page.name for page in pages.parent.iterdir()} == {"man", "native"}


def test_script_keep_symvers_copies_module_symvers(tmp_path: Path) -> None:
    (tmp_path / "Module.symvers").write_text("0x1\tpatcher_apply\n")
    (tmp_path / "kernel").mkdir()
    script = ROOT / "packaging" / "keep-symvers"
    subprocess.run([script, tmp_path / "kernel"], cwd=tmp_path, check=True)
    assert (tmp_path / "kernel" / "Module.symvers").read_text() == "0x1\tpatcher_apply\n"


def test_source_archive_has_all_compiled_files() -> None:
    """Packages are built from the files that git tracks, so these files must include all files that
    the compiler reads."""
    if not (ROOT / ".git").exists():
        pytest.skip(f"{ROOT} is not a git checkout")
    nativeprograms.build_native_targets("all")
    tracked = run_successfully("git", "-c", f"safe.directory={ROOT}", "ls-files").split()
    native = ROOT / "native"
    read = set()
    for listing in (ROOT / "build" / "native").rglob("*.d"):
        for word in re.findall(r"(\S+\.[ch])\b", listing.read_text()):
            path = (native / word).resolve()
            if path.is_relative_to(ROOT) and path.exists():
                read.add(str(path.relative_to(ROOT)))
    assert {"native/main.c", "patcher/batch.c", "include/kmarkers/marker.h"} <= read
    assert read <= set(tracked)
