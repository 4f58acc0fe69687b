# SPDX-License-Identifier: GPL-2.0-only
"""Tests of unpacking packages: the contents of trees, and the conditions for using a tree again."""

from __future__ import annotations

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace

import pytest
from fakemirror import ENTRY, NEW, OLD, FakeMirror
from kmtools.base.errors import UnableError
from kmtools.base.files import hold_lock
from kmtools.lab import build, cache, catalogue, kernels, tracers, unpack
from kmtools.lab.apt import FetchError, NotOnMirrorError, PrivateApt
from kmtools.lab.catalogue import Entry

LOADER = "/lib64/ld-linux-x86-64.so.2"


@pytest.fixture(name="mirror")
def make_fake_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMirror:
    """Make a fake mirror with two releases of a kernel."""
    return FakeMirror(tmp_path, monkeypatch)


@pytest.fixture(name="folder")
def make_program_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder for programs, which precedes others in PATH, and an empty cache directory."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("os.mknod", lambda path, *_: Path(path).touch())
    return tmp_path


def test_unpacked_kernel_must_match_its_entry(
    mirror: FakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unpacked kernel is not used if its line of kernels.txt has changed, or if the tree of its
    suite or its emulator is missing."""
    kernel = kernels.ensure_kernel_is_unpacked(ENTRY)
    assert not PrivateApt("s").archives.exists()
    assert unpack.find_complete_kernel(ENTRY) == kernel
    assert unpack.find_complete_kernel(replace(ENTRY, role="matrix")) == kernel
    for changed in ({"suite": "t"}, {"image": "linux-image-6.2.*-amd64"}, {"name": "k2"}):
        assert unpack.find_complete_kernel(replace(ENTRY, **changed)) is None
    monkeypatch.setattr(unpack, "is_qemu_unpacked", lambda entry: False)
    assert unpack.find_complete_kernel(ENTRY) is None
    monkeypatch.setattr(unpack, "is_qemu_unpacked", lambda entry: True)
    shutil.rmtree(unpack.get_distro_suite_dir("s"))
    assert unpack.find_complete_kernel(ENTRY) is None


def test_all_packages_of_an_image_are_unpacked(mirror: FakeMirror) -> None:
    """The packages of the kernel are only in the tree of the kernel, other packages only in the
    tree of the suite. Packages of another release are left out."""
    for release in (OLD, NEW):
        for kind in ("binary", "modules", "base"):
            mirror.add_package(f"linux-{kind}-{release}", "2", f"usr/share/{kind}-{release}")
    (mirror.dir / f"linux-image-{NEW}_2_amd64.deb").unlink()
    mirror.add_package(f"linux-image-{NEW}", "2", f"usr/lib/modules/{NEW}/vmlinuz")
    kernel = kernels.ensure_kernel_is_unpacked(ENTRY)
    assert kernel.vmlinuz == f"usr/lib/modules/{NEW}/vmlinuz"
    share = kernel.tree / "usr/share"
    assert sorted(path.name for path in share.iterdir()) == [
        f"{kind}-{NEW}" for kind in ("base", "binary", "modules")
    ]
    suite = unpack.get_distro_suite_dir("s")
    assert (kernel.tree / f"usr/src/linux-{NEW}/x").is_file()
    assert not (kernel.tree / "usr/bin/make").exists()
    assert not (suite / "usr/src" / f"linux-{NEW}").exists()
    assert (suite / "packages.json").read_text() == '["make"]\n'


def test_ubuntu_kernel_is_unpacked_with_compiler_and_keys(mirror: FakeMirror) -> None:
    """Packages of headers of Ubuntu do not depend on a compiler. The keys of Ubuntu's archive are
    fetched once."""
    mirror.add_package("gcc", "1", "usr/bin/gcc-13")
    mirror.add_package("ubuntu-keyring", "1", "usr/share/keyrings/u.gpg")
    kernels.ensure_kernel_is_unpacked(ENTRY)
    assert not (unpack.get_distro_suite_dir("s") / "usr/bin/gcc-13").exists()
    entry = replace(ENTRY, name="u", suite="ubuntu-noble")
    kernels.ensure_kernel_is_unpacked(entry)
    assert (unpack.get_distro_suite_dir("ubuntu-noble") / "usr/bin/gcc").readlink() == Path(
        "gcc-13"
    )
    keys = unpack.get_distro_suite_dir("trixie-ubuntu-keyring")
    assert (keys / "usr/share/keyrings/u.gpg").is_file()
    (keys / "kept").touch()
    kernels.ensure_kernel_is_unpacked(entry, update=True)
    assert (keys / "kept").exists()


def test_error_about_a_missing_kernel_lists_images_with_headers(mirror: FakeMirror) -> None:
    for kind in ("image", "headers"):
        mirror.add_package(f"linux-{kind}-6.8.0-9-generic", "1", "x/y")
    mirror.add_package("linux-image-6.1.0-2-amd64-dbg", "1", "x/y")
    apt = PrivateApt("s")
    apt.update_package_lists()
    names = f"  linux-image-{OLD}\n  linux-image-{NEW}\n  linux-image-6.8.0-9-generic"
    with pytest.raises(NotOnMirrorError) as caught:
        apt.find_image_candidates(replace(ENTRY, image="linux-image-6.9.*-generic"))
    assert str(caught.value).endswith(f"its image packages with headers are:\n{names}")


def test_kernels_are_listed_with_their_versions(
    mirror: FakeMirror, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without package lists or if apt fails, the version is "?"; without a package on the mirror,
    the version is "gone". For an unpacked kernel, the version is the unpacked version."""
    others = [
        replace(ENTRY, name="gone", image="linux-image-9.*-amd64"),
        replace(ENTRY, name="built", image="make", role="upstream"),
        replace(ENTRY, name="nothing", image="none", role="upstream"),
        replace(ENTRY, name="t", suite="t"),
    ]
    monkeypatch.setattr(catalogue, "load_kernel_entries", lambda: [ENTRY, *others])

    def print_and_read_kernel_list() -> list[list[str]]:
        kernels.print_kernel_table()
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    head = ["NAME", "SUITE", "VERSION", "UNPACKED", "QEMU"]
    assert print_and_read_kernel_list() == [
        *(head, ["k", "s", "?", "no", "emulator"], ["gone", "s", "?", "no", "emulator"]),
        *(["built", "s", "?", "no", "emulator"], ["nothing", "s", "?", "no", "emulator"]),
        ["t", "t", "?", "no", "emulator"],
    ]
    PrivateApt("s").update_package_lists()
    assert [row[2] for row in print_and_read_kernel_list()[1:]] == ["2", "gone", "1", "gone", "?"]
    (mirror.dir.parent / "bin/apt-cache").write_text("#!/bin/sh\nexit 100\n")
    assert [row[2] for row in print_and_read_kernel_list()[1:]] == ["?"] * 5
    tree = catalogue.get_kernel_dir("k")
    tree.mkdir(parents=True)
    catalogue.Kernel("k", "s", "p", "7", "6.1.0-7", "v").save_kernel_record(tree)
    assert print_and_read_kernel_list()[1] == ["k", "s", "7", "6.1.0-7", "emulator"]


def test_kernel_image_is_found_in_boot_or_in_the_module_directory(tmp_path: Path) -> None:
    """The image in /boot is preferred."""
    below = tmp_path / "usr/lib/modules/6.1/vmlinuz"
    with pytest.raises(NotOnMirrorError, match=r"the packages of kernel 6\.1 have no vmlinuz"):
        unpack.find_vmlinuz(tmp_path, "6.1")
    below.mkdir(parents=True)
    with pytest.raises(NotOnMirrorError):
        unpack.find_vmlinuz(tmp_path, "6.1")
    below.rmdir()
    below.touch()
    assert unpack.find_vmlinuz(tmp_path, "6.1") == below
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot/vmlinuz-6.1").touch()
    assert unpack.find_vmlinuz(tmp_path, "6.1") == tmp_path / "boot/vmlinuz-6.1"


def test_tree_of_a_suite_is_unpacked_again_for_more_packages(
    mirror: FakeMirror, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.tag_cache_dir()
    apt = PrivateApt("s")
    apt.update_package_lists()
    mirror.add_package("sed", "1", "usr/bin/sed")
    tree = unpack.get_distro_suite_dir("tools")
    for packages, again in (
        (["sed", "make"], True),
        (["make"], False),
        (["make", "sed"], False),
        (["make", f"linux-headers-{NEW}"], True),
    ):
        if tree.exists():
            (tree / "kept").touch()
        unpack.ensure_suite_tree_is_unpacked(apt, "tools", packages)
        assert (tree / "kept").exists() is not again
    # Other kernels of the suite may need the packages that were unpacked before.
    assert (tree / "usr/bin/sed").exists()
    said = capsys.readouterr().err
    assert "tools: unpacking 3 packages, which are needed for builds\n" in said
    assert (tree / "packages.json").read_text() == f'["linux-headers-{NEW}", "make", "sed"]\n'
    (mirror.dir / "sed_1_amd64.deb").unlink()
    unpack.ensure_suite_tree_is_unpacked(apt, "tools", ["make", f"linux-headers-{OLD}"])
    assert not (tree / "usr/bin/sed").exists()
    assert (tree / f"usr/src/linux-{NEW}/x").exists()
    (tree / "packages.json").write_text("")
    unpack.ensure_suite_tree_is_unpacked(apt, "tools", ["make"])
    assert (tree / "packages.json").read_text() == '["make"]\n'


def test_tree_of_a_suite_is_kept_until_no_command_runs_in_it(
    mirror: FakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.tag_cache_dir()
    apt = PrivateApt("s")
    apt.update_package_lists()
    unpack.ensure_suite_tree_is_unpacked(apt, "tools", ["make"])
    used = unpack.get_distro_suite_dir("tools") / "used"
    used.touch()
    waits = threading.Event()
    monkeypatch.setattr(cache, "print_step", lambda message: waits.set())
    packages = ["make", f"linux-headers-{NEW}"]
    with ThreadPoolExecutor(1) as pool:
        with cache.hold_cache_lock("suite-tools", shared=True):
            replaced = pool.submit(unpack.ensure_suite_tree_is_unpacked, apt, "tools", packages)
            assert waits.wait(20)
            assert used.exists()
        replaced.result(20)
    assert not used.exists()


@pytest.mark.parametrize(
    ("programs", "links"),
    [
        (["gcc-9", "gcc-12"], {"sh": "dash", "awk": "mawk", "gcc": "gcc-12"}),
        (["gcc-12", "gcc-ar-13", "gcc"], {"sh": "dash", "awk": "mawk"}),
        (["sh", "awk"], {}),
        ([], {"sh": "dash", "awk": "mawk"}),
    ],
)
def test_links_that_package_scripts_would_make_are_made(
    folder: Path, programs: list[str], links: dict[str, str]
) -> None:
    """The newest compiler is linked as gcc. Existing programs and device nodes are kept."""
    binaries = folder / "tree/usr/bin"
    binaries.mkdir(parents=True)
    for name in programs:
        (binaries / name).touch()
    unpack._add_missing_chroot_files(folder / "tree")
    made = {path.name: str(path.readlink()) for path in binaries.iterdir() if path.is_symlink()}
    assert made == links
    null = folder / "tree/dev/null"
    assert null.stat().st_mode & 0o777 == 0o666
    null.chmod(0o600)
    unpack._add_missing_chroot_files(folder / "tree")
    assert null.stat().st_mode & 0o777 == 0o600
    assert (folder / "tree/etc/passwd").read_text().startswith("root:x:0:0:")
    assert all((folder / "tree" / name).is_dir() for name in ("proc", "tmp", "src", "usr/src"))


def test_chroot_gets_a_null_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chroot gets the character device 1:3, which everybody may write to."""
    made: list[tuple[int, int, int]] = []

    def record_device(path: Path, mode: int, device: int) -> None:
        made.append((mode, os.major(device), os.minor(device)))
        path.touch()

    monkeypatch.setattr("os.mknod", record_device)
    (tmp_path / "usr/bin").mkdir(parents=True)
    unpack._add_missing_chroot_files(tmp_path)
    assert made == [(0o020666, 1, 3)]


def test_emulator_of_a_suite_is_fetched_once(
    mirror: FakeMirror, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = mirror.cache / "qemu/emulator"
    monkeypatch.setattr(unpack, "is_qemu_unpacked", lambda entry: tree.is_dir())
    mirror.add_package("qemu-system-x86", "1", "usr/bin/qemu-system-x86_64")
    kernels.ensure_kernel_is_unpacked(ENTRY)
    assert (tree / "usr/bin/qemu-system-x86_64").is_file()
    said = capsys.readouterr().err
    assert "QEMU: looking for the newest version in emulator\n" in said
    assert "QEMU: unpacking 1 packages of emulator\n" in said
    unpack.ensure_qemu_is_unpacked(ENTRY)
    assert capsys.readouterr().err == ""


def test_trees_have_a_merged_usr_and_no_documentation(mirror: FakeMirror, tmp_path: Path) -> None:
    """Files in /bin go to /usr/bin. base-files is unpacked before other packages, and may replace
    the links."""
    mirror.add_package("a", "1", "bin/a")
    mirror.add_package("c", "1", "usr/share/doc/c/README")
    mirror.add_package("d", "1", "usr/share/documents/d")
    mirror.add_package("base-files", "1", "etc/debian_version")
    order: list[str] = []
    unpack_package = unpack.unpack_package

    def record_order_of_packages(deb: Path, tree: Path) -> None:
        order.append(deb.name)
        unpack_package(deb, tree)

    debs = [next(mirror.dir.glob(f"{name}_*")) for name in ("a", "c", "d", "base-files")]
    tree = tmp_path / "tree"
    tree.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpack, "unpack_package", record_order_of_packages)
        unpack.unpack_packages(debs, tree)
    assert order[0] == "base-files_1_amd64.deb"
    assert sorted(order) == sorted(deb.name for deb in debs)
    assert (tree / "bin").readlink() == Path("usr/bin")
    assert (tree / "usr/bin/a").read_text() == "a"
    assert (tree / "usr/share/documents/d").is_file()
    assert not (tree / "usr/share/doc").exists()


@pytest.mark.parametrize(
    ("tar", "dpkg", "said"),
    [
        ("cat >/dev/null", "exit 3", "dpkg-deb: exit code 3"),
        ("cat >/dev/null; echo 'tar: a' >&2; exit 2", ":", "tar: a"),
        ("cat >/dev/null; printf 'tar: a\\nNo space left\\n' >&2; exit 2", ":", "tar: a"),
        (
            """cat >/dev/null; [ "$LC_ALL" = C ] && echo 'tar: No space left' >&2; exit 2""",
            ":",
            "tar: No space left; free some space and run the command again",
        ),
    ],
)
def test_failure_of_tar_or_dpkg_deb_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tar: str, dpkg: str, said: str
) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    for name, script in (("tar", tar), ("dpkg-deb", dpkg)):
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bin" / name).chmod(0o755)
    with pytest.raises(UnableError) as caught:
        unpack.unpack_package(folder / "x.deb", folder)
    assert str(caught.value) == f"cannot unpack x.deb: {said}"


@pytest.mark.parametrize(("free", "enough"), [(1000 << 20, True), ((1000 << 20) - 1, False)])
def test_fetch_is_refused_if_the_disk_lacks_the_needed_space(
    folder: Path, monkeypatch: pytest.MonkeyPatch, free: int, enough: bool
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=free))
    if enough:
        with unpack.hold_fetch_lock(1000 << 20):
            assert "fetch.lock" in os.listdir(folder / "cache")
    else:
        said = r"cache has 999 MiB free, .* up to 1000 MiB; .* KMARKERS_CACHE"
        with pytest.raises(UnableError, match=said), unpack.hold_fetch_lock(1000 << 20):
            pass


def test_incomplete_tree_of_a_running_build_is_kept(folder: Path) -> None:
    """A tree with the suffix @old belongs to the same kernel, a tree with another suffix to another
    kernel."""
    cache.tag_cache_dir()
    names = [".new-k", ".new-k@old", ".new-k.old", ".new-k2", ".new-k2@old", "k3"]
    for name in names:
        (folder / "cache/kernels" / name / "usr").mkdir(parents=True)
    with (
        hold_lock(folder / "cache/build-k.lock", "unused"),
        unpack.hold_fetch_lock(0),
    ):
        pass
    assert sorted(os.listdir(folder / "cache/kernels")) == [".new-k", ".new-k@old", "k3"]


def test_replaced_kernel_keeps_files_of_similar_names(folder: Path) -> None:
    """A kernel is added under the name k.old or k.9, and its modules are built, while the kernel k
    is replaced."""
    cache.tag_cache_dir()
    for name in ("k", "k@lint", "k.9", "k.old", "k2"):
        (folder / "cache/objects" / name).mkdir(parents=True)
    with (
        cache.hold_cache_lock(unpack.get_build_lock_name("k.old")),
        unpack.replace_tree(folder / "cache/kernels/k.old") as tree,
    ):
        with unpack.hold_fetch_lock(0):
            pass
        with unpack.replace_kernel_tree(Entry("k", "s", "i", "q", "gates")):
            pass
        assert tree.is_dir()
    assert sorted(os.listdir(folder / "cache/kernels")) == ["k", "k.old"]
    assert sorted(os.listdir(folder / "cache/objects")) == ["k.9", "k.old", "k2"]
    assert build.get_object_dir("k", Path("/a/b"), "lint") == folder / "cache/objects/k@lint/a-b"


def test_replaced_tree_leaves_no_other_trees(tmp_path: Path) -> None:
    """A new tree begins empty, can be read by everybody, and replaces the old tree."""
    for name in ("k", ".new-k", ".new-k@old"):
        (tmp_path / "folder" / name / "old").mkdir(parents=True)
    before = os.umask(0o077)
    try:
        with unpack.replace_tree(tmp_path / "folder/k") as tree:
            assert os.listdir(tree) == []
            assert os.listdir(tmp_path / "folder/k") == ["old"]
            (tree / "new").touch()
    finally:
        os.umask(before)
    assert os.listdir(tmp_path / "folder") == ["k"]
    assert os.listdir(tmp_path / "folder/k") == ["new"]
    assert (tmp_path / "folder/k").stat().st_mode & 0o777 == 0o755


def test_programs_are_fetched_once_and_as_root(
    mirror: FakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = mirror.cache / "suites/s-tools"
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(UnableError, match="unpacking programs needs root"):
        unpack.fetch_programs("s", "tools", ["make"])
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert unpack.fetch_programs("s", "tools", ["make"]) == tree
    assert (tree / "usr/bin/make").is_file()
    asked = mirror.log
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert unpack.fetch_programs("s", "tools", ["make"]) == tree
    assert mirror.log == asked


LISTED = """\
\tlinux-vdso.so.1 (0x00007fff3f5d2000)
\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f1c2a000000)
\t/lib/own.so (0x00007f1c29c00000)
\tlibc.so.6 => /lib/libc.so.6 (0x00007f1c29800000)
\t/lib64/ld-linux-x86-64.so.2 => /lib64/ld-linux-x86-64.so.2 (0x00007f1c2a1)
"""


def test_files_of_a_program_include_loader_and_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file is listed once, with the target of a link in the tree."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libc.so.6").symlink_to("libc-2.41.so")
    asked: list[list[object]] = []

    def record_command(words: list[object]) -> CompletedProcess[str]:
        asked.append(words)
        return CompletedProcess([], 0, LISTED, "")

    monkeypatch.setattr(unpack, "capture_output", record_command)
    libraries = ["/lib/x86_64-linux-gnu/libz.so.1", "/lib/own.so", "/lib/libc.so.6"]
    found = unpack.list_program_files(tmp_path, "/usr/bin/perf")
    assert [where for _, where in found] == ["/usr/bin/perf", LOADER, *libraries]
    assert found[0][0] == tmp_path / "usr/bin/perf"
    assert found[-1][0] == tmp_path / "lib/libc-2.41.so"
    assert asked == [["chroot", tmp_path, LOADER, "--list", "/usr/bin/perf"]]
    failed = CompletedProcess([], 1, "", "no such file\n")
    monkeypatch.setattr(unpack, "capture_output", lambda words: failed)
    with pytest.raises(UnableError, match=r"^/usr/bin/perf cannot run in .*: no such file$"):
        unpack.list_program_files(tmp_path, "/usr/bin/perf")


def test_links_are_resolved_in_a_tree(tmp_path: Path) -> None:
    """Absolute targets begin at the tree, relative targets at the folder of the link. At most 8
    links are followed."""
    for folder in ("usr/bin", "etc"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "usr/bin/awk").symlink_to("/etc/awk")
    (tmp_path / "etc/awk").symlink_to("../usr/bin/mawk")
    (tmp_path / "usr/bin/mawk").touch()
    assert unpack.resolve_path_in_tree(tmp_path, "/etc").samefile(tmp_path / "etc")
    found = unpack.resolve_path_in_tree(tmp_path, "/usr/bin/awk")
    assert found.resolve() == tmp_path / "usr/bin/mawk"
    for number in range(1, 10):
        (tmp_path / f"link{number}").symlink_to(f"link{number - 1}")
    assert unpack.resolve_path_in_tree(tmp_path, "/link8") == tmp_path / "link0"
    with pytest.raises(UnableError, match=r"^/link9 in .* is a chain of more than 8"):
        unpack.resolve_path_in_tree(tmp_path, "/link9")


def test_missing_tracers_are_reported_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of the tracers that can run are returned."""

    def list_files_unless_perf(tree: Path, program: str) -> list[tuple[Path, str]]:
        if program == "/usr/bin/perf":
            raise UnableError("no perf")
        return [(tree / program[1:], program), (tree / "lib/libc", "/lib/libc")]

    asked: list[tuple[str, str, list[str]]] = []

    def record_fetch(suite: str, name: str, packages: list[str]) -> Path:
        asked.append((suite, name, packages))
        return tmp_path

    monkeypatch.setattr(unpack, "list_program_files", list_files_unless_perf)
    monkeypatch.setattr(unpack, "fetch_programs", record_fetch)
    files, missing = tracers.fetch_tracers("trixie")
    assert asked == [("trixie", "tracers", ["trace-cmd", "linux-perf", "bpftrace"])]
    assert sorted(files.values()) == ["/lib/libc", "/usr/bin/bpftrace", "/usr/bin/trace-cmd"]
    assert missing == ["perf: no perf"]

    def raise_fetch_error(*_: object) -> Path:
        raise FetchError("no mirror")

    monkeypatch.setattr(unpack, "fetch_programs", raise_fetch_error)
    assert tracers.fetch_tracers("trixie") == ({}, ["tracers: no mirror"])
