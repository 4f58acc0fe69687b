# SPDX-License-Identifier: GPL-2.0-only
"""Installing from the tree, and what archives and packages are made of."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT, version

LIBRARIES = ("libkmarkers.a", "libkmbench.a")
HEADERS = sorted((ROOT / "include" / "kmarkers").glob("*.h"))
MANUALS = [
    path for path in HEADERS if re.search(r"^ \* (OVERVIEW|EXAMPLE)$", path.read_text(), re.M)
]
# What a package is compiled from does not change which files it has.
QUICKER = "-DBENCH_FEW_LAYOUTS"
PAGES = pytest.mark.skipif(
    not all(map(shutil.which, ("help2man", "pandoc"))),
    reason="man pages need help2man and pandoc: run scripts/setup --packages",
)


def run(*words: object, **variables: object) -> subprocess.CompletedProcess[str]:
    """Run a command in the tree with further variables."""
    return subprocess.run(
        [str(word) for word in words],
        cwd=ROOT,
        env={**os.environ, **{name: str(to) for name, to in variables.items()}},
        capture_output=True,
        text=True,
        check=False,
    )


def good(*words: object, **variables: object) -> str:
    """Run a command that must succeed; return its output."""
    done = run(*words, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def files(root: Path) -> set[str]:
    """Return the files and links below a directory."""
    return {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }


def built_modules() -> list[str]:
    """Return the modules that Kbuild always builds, with their directories."""
    kbuild = (ROOT / "Kbuild").read_text(encoding="utf-8")
    found = []
    for directory in " ".join(re.findall(r"^obj-m \+= (.*)$", kbuild, re.M)).split():
        own = (ROOT / directory / "Kbuild").read_text(encoding="utf-8")
        for line in re.findall(r"^obj-m [:+]= (.*)$", own, re.M):
            found += [f"{directory}{name.removesuffix('.o')}" for name in line.split()]
    return found


@pytest.fixture(scope="session")
def programs() -> None:
    """Build what is installed, except for the modules."""
    good("make", "-s", "native")
    libraries = [ROOT / "build" / "native" / f"lib{name}.a" for name in ("kmarkers", "kmbench")]
    good("make", "-s", "-C", "native", *libraries)
    good("scripts/man")


def test_version_is_one() -> None:
    changelog = (ROOT / "debian" / "changelog").read_text(encoding="utf-8")
    newest = re.match(r"kmarkers \(([^)]+)\)", changelog)
    assert newest
    assert newest[1] == version()
    assert good("scripts/kmarkers", "--version") == f"kmarkers {version()}\n"
    for module in built_modules():
        sources = (ROOT / module).parent.glob("*.c")
        assert any("MODULE_VERSION(KMARKERS_VERSION)" in path.read_text() for path in sources)


def git(tree: Path, *words: str) -> None:
    """Run git in a clone."""
    subprocess.run(
        ["git", "-C", tree, "-c", "user.name=n", "-c", "user.email=n@n", *words],
        check=True,
        capture_output=True,
    )


def test_archives_of_a_commit_are_equal(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    archives = []
    for name in ("a", "another place"):
        tree = tmp_path / name
        source = ["git", "-c", f"safe.directory={ROOT}", "clone", "-q", str(ROOT), str(tree)]
        subprocess.run(source, check=True, capture_output=True)
        # Times and modes of the files, and files of no commit, do not count.
        os.utime(tree / "README.md", (len(name), len(name)))
        (tree / "README.md").chmod(0o600)
        (tree / f"left {name}").touch()
        shutil.copy(ROOT / "scripts" / "package", tree / "scripts" / "package")
        done = run(tree / "scripts" / "package", "dist")
        assert done.returncode == 0, done.stderr
        archive = Path(done.stdout.strip())
        assert archive.name == f"kmarkers-{version()}.tar.xz"
        archives.append(archive.read_bytes())
    assert archives[0] == archives[1]
    git(tree, "commit", "-q", "--allow-empty", "-m", "next")
    good(tree / "scripts" / "package", "dist")
    assert archive.read_bytes() != archives[0]


def test_archives_are_made_of_commits(tmp_path: Path) -> None:
    for name in ("scripts/package", "include/kmarkers/version.h"):
        (tmp_path / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, tmp_path / name)
    done = run(tmp_path / "scripts" / "package", "dist")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "package: this is no checkout: archives are made of commits\n"


def test_reuse_finds_a_licence_for_every_file() -> None:
    if not shutil.which("reuse"):
        pytest.skip("reuse is missing: run scripts/setup --packages")
    good("reuse", "--root", ROOT, "lint")
    licence = (ROOT / "LICENSES" / "GPL-2.0-only.txt").read_bytes()
    assert licence == (ROOT / "LICENSE").read_bytes()


def test_changelog_ends_with_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", text, re.M)
    assert newest
    assert newest[1] == version()


@PAGES
def test_what_is_installed_is_removed(tmp_path: Path, programs: None) -> None:
    parts = ("command", "dev", "dkms")
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    (tmp_path / "usr" / "bin" / "other").touch()
    good("scripts/install", *parts, DESTDIR=tmp_path, PREFIX="/usr")
    there = files(tmp_path)
    share = "usr/share/kmarkers"
    assert {f"{share}/include/kmarkers/{path.name}" for path in HEADERS} <= there
    assert {f"usr/share/man/man9/kmarkers-{path.stem}.9" for path in MANUALS} <= there
    libraries = [f"lib/{name}" for name in LIBRARIES]
    names = ("bin/kmarkers", "bin/kmbench", *libraries, "lib/pkgconfig/kmarkers.pc")
    assert {f"usr/{name}" for name in names} <= there
    assert not [name for name in there if "__pycache__" in name]
    good("scripts/install", "--remove", *parts, DESTDIR=tmp_path, PREFIX="/usr")
    assert files(tmp_path) == {"usr/bin/other"}
    assert not list(tmp_path.rglob("kmarkers*"))


def test_dkms_builds_the_modules_of_kbuild(tmp_path: Path) -> None:
    good("scripts/install", "dkms", DESTDIR=tmp_path)
    source = tmp_path / "usr" / "src" / f"kmarkers-{version()}"
    script = (
        f'. {source}/dkms.conf; echo "$PACKAGE_VERSION"; for n in "${{!BUILT_MODULE_NAME[@]}}"; '
    )
    script += 'do echo "${BUILT_MODULE_LOCATION[$n]}${BUILT_MODULE_NAME[$n]}"; done'
    assert good("bash", "-c", script).split() == [version(), *built_modules()]
    # Everything that the compiler may read is there.
    for directory in ("base", "include", *{name.split("/")[0] for name in built_modules()}):
        sources = {path.relative_to(ROOT) for path in (ROOT / directory).rglob("*.[ch]")}
        wanted = {str(path) for path in sources if not path.name.endswith(".mod.c")}
        assert wanted <= files(source)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["modules"], "install: no kernel headers in '/nowhere'; set KDIR, or name the parts"),
        (["dkms", "all"], "install: unknown part 'all'"),
        (["dkms", "modules"], "install: no kernel headers in '/nowhere'"),
    ],
)
def test_refusal_installs_nothing(tmp_path: Path, words: Sequence[str], said: str) -> None:
    done = run("scripts/install", *words, DESTDIR=tmp_path, KDIR="/nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith(said)
    assert not list(tmp_path.iterdir())


@PAGES
def test_program_of_a_user_builds_by_pkg_config(tmp_path: Path, programs: None) -> None:
    if not shutil.which("pkg-config"):
        pytest.skip("pkg-config is missing: run scripts/setup --packages")
    prefix = tmp_path / "prefix"
    good("scripts/install", "dev", PREFIX=prefix, DESTDIR="")
    found = {"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}
    flags = good("pkg-config", "--cflags", "--libs", "kmarkers-user", **found).split()
    program = tmp_path / "flight"
    good("gcc", "-O2", "-o", program, ROOT / "examples" / "user" / "flight.c", *flags)
    good(program)
    kmarkers = good("pkg-config", "--variable=kmarkers", "kmarkers", **found).strip()
    assert Path(kmarkers, "kmarkers.mk").is_file()
    assert good("pkg-config", "--modversion", "kmarkers", **found).strip() == version()
    for name in ("kmarkers", "kmarkers-user"):
        assert "License: GPL-2.0-only" in (prefix / f"lib/pkgconfig/{name}.pc").read_text()


@PAGES
def test_symbol_versions_are_those_of_the_kernel(tmp_path: Path, programs: None) -> None:
    good("scripts/install", "dev", PREFIX=tmp_path, DESTDIR="")
    mine = tmp_path / "lib" / "kmarkers" / "6.1.0-mine" / "Module.symvers"
    mine.parent.mkdir(parents=True)
    mine.touch()
    share = tmp_path / "share" / "kmarkers"
    (tmp_path / "Makefile").write_text(
        "include $(KMARKERS)/kmarkers.mk\n$(info $(KBUILD_EXTRA_SYMBOLS))\nall:;@:\n"
    )

    def symvers(release: str) -> str:
        words = ("make", "-s", "-C", tmp_path, f"KMARKERS={share}", f"KERNELRELEASE={release}")
        return good(*words).strip()

    assert symvers("6.1.0-mine") == str(mine)
    # A file that is missing is named by modpost.
    assert symvers("6.1.0-other") == str(share / "Module.symvers")


@PAGES
def test_installed_command_needs_no_checkout(tmp_path: Path, programs: None) -> None:
    good("scripts/install", "command", PREFIX=tmp_path, DESTDIR="")
    command = tmp_path / "bin" / "kmarkers"

    def called(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, command, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    assert called("--version").stdout == f"kmarkers {version()}\n"
    reference = str(ROOT / "results" / "reference")
    same = called("compare", reference, reference)
    assert same.returncode == 0, same.stderr
    refused = called("lab", "list")
    assert refused.returncode == 2
    assert "is no checkout of kmarkers" in refused.stderr
    # What judges the instrument stays in a checkout, also if the installed command is called there.
    assert not (tmp_path / "share" / "kmarkers" / "scripts" / "kmtools" / "method").exists()
    judge = [sys.executable, str(command), "check", "aa"]
    refused = subprocess.run(judge, cwd=ROOT, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "aa is not installed; call scripts/kmarkers of a checkout" in refused.stderr


COMPLETED = [
    (["kmarkers", "la"], ["lab"]),
    (["kmarkers", "lab", "f"], ["fetch"]),
    (["kmarkers", "vm", "run", "--ker"], ["--kernel"]),
    (["kmarkers", "report", "--no-f"], ["--no-figures"]),
]


@pytest.mark.parametrize(("line", "wanted"), COMPLETED)
def test_bash_completes(line: list[str], wanted: list[str]) -> None:
    words = " ".join(f"'{word}'" for word in line)
    script = f"PATH={ROOT}/scripts:$PATH; . packaging/kmarkers.bash; COMP_WORDS=({words}); "
    script += f'COMP_CWORD={len(line) - 1}; _kmarkers; printf "%s\\n" "${{COMPREPLY[@]}}"'
    assert good("bash", "-c", script).split() == wanted


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is missing: run scripts/setup --packages")
@pytest.mark.parametrize(("line", "wanted"), COMPLETED)
def test_zsh_completes(line: list[str], wanted: list[str]) -> None:
    # In the place of what offers words, functions that print them.
    script = 'compadd() { print -l -- ${(P)2} }; _files() { }; words=("$@") CURRENT=$# '
    script += f"PREFIX=${{@[-1]}}; PATH={ROOT}/scripts:$PATH; "
    script += "complete() { . packaging/kmarkers.zsh }; complete"
    offered = good("zsh", "-f", "-c", script, "zsh", *line).split()
    assert [word for word in offered if word.startswith(line[-1])] == wanted


@PAGES
def test_pages_have_no_fault(programs: None) -> None:
    if not shutil.which("man"):
        pytest.skip("man is missing: run scripts/setup --packages")
    for page in sorted((ROOT / "build" / "man").glob("*.[1-9]")):
        if page.read_text().startswith(".so "):
            continue
        done = run("man", "--warnings", "-E", "UTF-8", "-l", page, LC_ALL="C.UTF-8", MANWIDTH=80)
        assert (done.returncode, done.stderr) == (0, ""), page
        assert "NAME" in done.stdout


def test_symbol_versions_are_kept(tmp_path: Path) -> None:
    (tmp_path / "Module.symvers").write_text("0x1\tpatcher_apply\n")
    (tmp_path / "kernel").mkdir()
    script = ROOT / "packaging" / "keep-symvers"
    subprocess.run([script, tmp_path / "kernel"], cwd=tmp_path, check=True)
    assert (tmp_path / "kernel" / "Module.symvers").read_text() == "0x1\tpatcher_apply\n"


def clone(place: Path) -> Path:
    """Make a clone of the last commit that has the programs and pages which are built here."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    tree = place / "tree"
    subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "clone", "-q", str(ROOT), str(tree)], check=True
    )
    for name in ("native/kmbench", *(f"native/{name}" for name in LIBRARIES), "man"):
        (tree / "build" / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", ROOT / "build" / name, tree / "build" / name], check=True)
    return tree


def installed_by(tree: Path, libdir: str) -> set[str]:
    """Return the files that scripts/install puts into a system; pages without their suffix .gz."""
    root = tree.parent / "root"
    words = (tree / "scripts" / "install", "command", "dev", "dkms")
    zsh = "/usr/share/zsh/site-functions"
    good(*words, DESTDIR=root, PREFIX="/usr", LIBDIR=libdir, ZSHDIR=zsh)
    return {f"/{name}" for name in files(root)}


def without(tools: Sequence[str]) -> str:
    """Return which of some programs is missing, with the remedy; empty if none is."""
    missing = [tool for tool in tools if not shutil.which(tool)]
    return f"{missing[0]} is missing: run scripts/setup --packages" if missing else ""


@PAGES
@pytest.mark.skipif(bool(without(["rpmbuild"])), reason=without(["rpmbuild"]))
def test_rpm_packages_hold_what_is_installed(tmp_path: Path, programs: None) -> None:
    tree = clone(tmp_path)
    packages = good(tree / "scripts" / "package", "rpm", EXTRA=QUICKER).split()
    assert len(packages) == 3
    # Licences and links for debuggers are added by rpmbuild.
    query = "[%{FILEMODES:perms} %{FILENAMES}\n]"
    listed = good("rpm", "-qp", "--qf", query, *packages).splitlines()
    paths = [line.partition(" ")[2] for line in listed if not line.startswith("d")]
    added = ("/usr/share/licenses/", "/usr/lib/.build-id/")
    held = [path.removesuffix(".gz") for path in paths if not path.startswith(added)]
    assert len(held) == len(set(held))
    assert set(held) == installed_by(tree, "/usr/lib64")


@PAGES
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user for makepkg")
@pytest.mark.skipif(bool(without(["makepkg", "pacman"])), reason=without(["makepkg", "pacman"]))
def test_arch_packages_hold_what_is_installed(programs: None) -> None:
    with tempfile.TemporaryDirectory() as name:
        tree = clone(Path(name))
        wanted = installed_by(tree, "/usr/lib")
        subprocess.run(["chown", "-R", "nobody", name], check=True)
        script = tree / "scripts" / "package"
        as_nobody = ("setpriv", "--reuid=nobody", "--clear-groups")
        packages = good(*as_nobody, script, "arch", HOME=name, EXTRA=QUICKER).split()
        assert len(packages) == 2
        held = []
        for package in packages:
            with tarfile.open(package) as tar:
                found = [f"/{member.name}" for member in tar if not member.isdir()]
            held += [path.removesuffix(".gz") for path in found if not path.startswith("/.")]
        assert sorted(held) == sorted(wanted)
