# SPDX-License-Identifier: GPL-2.0-only
"""Extracts the kernel's checkpatch.pl from Debian's source package, and makes the command lines
that run this script."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.paths import get_cache_dir
from kmtools.lab.apt import PrivateApt, print_step
from kmtools.lab.cache import hold_cache_lock

# The Debian suite and the source package that contain checkpatch, and the files to extract.
SUITE = "bookworm"
PACKAGE = "linux-source-6.1"
FILES = ("checkpatch.pl", "const_structs.checkpatch", "spelling.txt")

# Options for code that lives outside the kernel's tree.
OPTIONS = ("--no-tree", "--no-summary", "--terse", "--show-types", "--max-line-length=100")
# Names that checkpatch must treat as names of types.
TYPEDEFS = ("bench_op", "marker_probe_func", "marker_typed_func", "va_list")

# The disabled types of checkpatch warnings, by path prefix of the checked files. Each comment says
# why the types below it are disabled.
IGNORED = {
    # COMPLEX_MACRO, MULTISTATEMENT_MACRO_USE_DO_WHILE: a macro that defines an object or a table
    # row cannot be enclosed in parentheses or do-while. MACRO_WITH_FLOW_CONTROL: EXPECT() contains
    # a return. EMBEDDED_FUNCTION_NAME: a marker's format may contain the name of its function.
    "": (
        *("COMPLEX_MACRO", "MULTISTATEMENT_MACRO_USE_DO_WHILE", "MACRO_WITH_FLOW_CONTROL"),
        "EMBEDDED_FUNCTION_NAME",
    ),
    # User-space files define substitutes for the kernel macros that checkpatch recommends.
    **dict.fromkeys(
        ("native/", "tests/native/", "examples/user/"),
        (
            *("PREFER_DEFINED_ATTRIBUTE_MACRO", "NEW_TYPEDEFS", "VOLATILE", "EXPORT_SYMBOL"),
            *("MEMORY_BARRIER", "FUNCTION_ARGUMENTS", "TRAILING_STATEMENTS", "AVOID_EXTERNS"),
            *("TRAILING_SEMICOLON", "STRING_FRAGMENTS", "OPEN_BRACE", "SPACING"),
        ),
    ),
    # The formats in the test data are split across lines, or contain %L.
    "tests/native/layout": ("SPLIT_STRING", "PRINTF_L"),
    # MEMORY_BARRIER: barriers in stress tests have no comments. AVOID_EXTERNS: tests declare
    # assembler labels as extern. MSLEEP: tests sleep for a few milliseconds.
    # QUOTED_WHITESPACE_BEFORE_NEWLINE: sets of characters contain a space before a newline.
    "tests/": (*("MEMORY_BARRIER", "AVOID_EXTERNS", "MSLEEP", "QUOTED_WHITESPACE_BEFORE_NEWLINE"),),
    "bench_modules/sites.c": ("AVOID_EXTERNS",),
    # checkpatch mistakes a function-pointer parameter for the definition of a function.
    "patcher/register.c": ("OPEN_BRACE",),
    "patcher/main.c": ("OPEN_BRACE",),
    "entry/modules.c": ("OPEN_BRACE",),
    # The array is not static, because several files use it.
    "entry/registry.c": ("STATIC_CONST_CHAR_ARRAY",),
    # A macro exports an object that another macro defines.
    "include/kmarkers/immediate.h": ("EXPORT_SYMBOL",),
    # A macro exports an object that another macro defines. One macro takes a parameter list as an
    # argument. In a macro, the comment on a barrier is several lines above the barrier.
    "include/kmarkers/typed.h": ("EXPORT_SYMBOL", "FUNCTION_ARGUMENTS", "MEMORY_BARRIER"),
    # checkpatch does not find the exported functions, because a macro defines them.
    "sdt/hit.c": ("EXPORT_SYMBOL",),
    # Some kernels have no macro for the attribute no_caller_saved_registers.
    "bench_modules/ops_entry.c": ("PREFER_DEFINED_ATTRIBUTE_MACRO",),
    # Macros have empty arguments, as in FreeBSD's sources. Macros contain parts of a list, of an
    # inline function and of _Generic. One macro begins a prototype, and another macro completes it.
    "include/kmarkers/sdt": (
        *("SPACING", "TRAILING_SEMICOLON", "SINGLE_STATEMENT_DO_WHILE_MACRO", "INDENTED_LABEL"),
        "FUNCTION_ARGUMENTS",
    ),
    **dict.fromkeys(
        (
            *("tests/common/test_sdt.c", "tests/kernel/sdt", "tests/kernel/noise.c"),
            *("bench_modules/ops_sdt.c", "bench_modules/ops_locks.c"),
            *("tests/common/notes", "tests/kernel/notes"),
        ),
        ("SPACING",),
    ),
    # Macros have empty arguments. Table rows contain every printf conversion, for example %px.
    "tests/kernel/readers": (
        *("SPACING", "TRAILING_SEMICOLON", "PRINTF_L", "VSPRINTF_SPECIFIER_PX", "STRING_FRAGMENTS"),
    ),
    # The macros that define a hundred probes end each definition with a semicolon.
    "tests/kernel/sdt_forms": ("TRAILING_SEMICOLON",),
    # This header is for C and C++ programs, which have no macros of the kernel.
    "include/usdt/": (
        *("SPACING", "TRAILING_SEMICOLON", "SINGLE_STATEMENT_DO_WHILE_MACRO"),
        *("PREFER_DEFINED_ATTRIBUTE_MACRO", "CONSTANT_COMPARISON", "VOLATILE"),
    ),
    # Only these files may check kernel versions.
    "include/compat/": ("LINUX_VERSION_CODE", "CONSTANT_COMPARISON"),
}


def ensure_checkpatch_is_extracted() -> Path:
    """Return the path of checkpatch.pl. If the file is missing, extract it first."""
    tree = get_cache_dir() / "checkpatch"
    script = tree / FILES[0]

    def is_checkpatch_extracted() -> bool:
        return all((tree / name).is_file() for name in FILES)

    if is_checkpatch_extracted():
        return script
    # A fetch of a kernel of this suite uses the same lists, and removes downloaded packages.
    with hold_cache_lock("checkpatch"), hold_cache_lock("fetch"):
        # Look again: another process may have extracted the files while this process waited.
        if is_checkpatch_extracted():
            return script
        apt = PrivateApt(SUITE)
        apt.update_package_lists()
        (deb,) = apt.download_packages([PACKAGE])
        print_step(f"extracting checkpatch from {deb.name}")
        tree.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=tree) as scratch:
            _extract_checkpatch(deb, Path(scratch))
            for name in FILES:
                (found,) = Path(scratch).glob(f"linux-source-*/scripts/{name}")
                shutil.move(found, tree / name)
        deb.unlink()
    return script


def _extract_checkpatch(deb: Path, scratch: Path) -> None:
    """Extract FILES from the source package `deb` to the directory `scratch`."""
    wanted = " ".join(f"'*/scripts/{name}'" for name in FILES)
    command = (
        f"dpkg-deb --fsys-tarfile {deb} | tar -xO --wildcards '*/linux-source-*.tar.xz' |"
        f" tar -xJ -C {scratch} --wildcards {wanted}"
    )
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], check=False)
    if done.returncode != 0:
        raise UnableError(f"cannot extract checkpatch from {deb.name}")


def make_checkpatch_commands(
    script: Path, paths: Iterable[Path], typedefs: Path
) -> Iterator[list[str]]:
    """Yield the commands with which the checkpatch.pl at `script` checks the files `paths`. Files
    with the same disabled warnings share a command, because checkpatch takes long to start. Also
    write TYPEDEFS to the file `typedefs`, which the commands read."""
    typedefs.write_text("".join(f"{name}\n" for name in TYPEDEFS), encoding="utf-8")
    files: dict[str, list[str]] = {}
    for path in paths:
        ignored = [types for prefix, types in IGNORED.items() if str(path).startswith(prefix)]
        names = ",".join(dict.fromkeys(name for types in ignored for name in types))
        files.setdefault(names, []).append(str(path))
    for names, some in files.items():
        options = [*OPTIONS, f"--typedefsfile={typedefs}", f"--ignore={names}"]
        yield ["perl", str(script), *options, "-f", *some]
