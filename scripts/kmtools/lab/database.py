# SPDX-License-Identifier: GPL-2.0-only
"""Writes compile_commands.json, the compilation database of clangd and other tools.

The modules, including test modules, are built for a test kernel in a chroot, so the paths in the
commands are translated to paths of this machine. User-space programs are compiled in this checkout.
A file that is compiled for a module and for a program has two entries, first the entry of the
module. Only options that affect parsing are kept, because clang rejects some options of gcc.
"""

from __future__ import annotations

import json
import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.base.processes import capture_output
from kmtools.lab.build import build_modules, get_object_dir
from kmtools.lab.catalogue import Kernel, require_unpacked_kernel
from kmtools.lab.unpack import resolve_path_in_tree

NAME = "compile_commands.json"
# The line with the compiler command in a .cmd file. Kbuild writes such a file for each object.
SAVED = re.compile(r"^(?:saved)?cmd_\S+ := +(.*)$", re.M)
# The options that are kept. PAIRS: options whose argument is the next word. KEPT: the beginnings of
# options that are a single word.
PAIRS = ("-include", "-isystem", "-idirafter")
KEPT = (
    *("-D", "-U", "-I", "-std=", "-nostdinc", "-O", "-m64", "-mcmodel=", "-mno-sse", "-mno-mmx"),
    *("-fshort-wchar", "-funsigned-char", "-fno-strict-aliasing", "-fms-extensions"),
)


class Command(TypedDict):
    """An entry of compile_commands.json."""

    directory: str
    file: str
    arguments: list[str]


def select_parser_options(compiler_options: Sequence[str]) -> list[str]:
    """Return the compiler options that affect how a file is parsed."""
    kept, rest = [], iter(compiler_options)
    for word in rest:
        if word in PAIRS:
            kept += [word, next(rest)]
        elif word.startswith(KEPT):
            kept.append(word)
    return kept


def parse_compile_command(line: str) -> tuple[list[str], str] | None:
    """Return the options and the C file of a compiler command; None if the line does not compile
    exactly one C file."""
    words = shlex.split(re.split(r" +;", line)[0])
    sources = [word for word in words if word.endswith(".c")]
    if "-c" not in words or len(sources) != 1:
        return None
    return select_parser_options(words[1:]), sources[0]


def translate_chroot_path_to_host(kernel: Kernel, path: str) -> str:
    """Translate a path of the chroot to a path of this machine."""
    if path.startswith("/src/"):
        return str(ROOT / path.removeprefix("/src/"))
    return f"{kernel.tree}{path}" if path.startswith("/usr/src/") else path


def read_module_compile_commands(kernel: Kernel, objects: Path) -> Iterator[Command]:
    """Yield an entry of compile_commands.json for each C file of the modules, from the .cmd files
    that Kbuild wrote to the directory `objects`."""
    headers = resolve_path_in_tree(kernel.tree, f"/usr/lib/modules/{kernel.release}/build")
    for record in sorted(objects.rglob(".*.o.cmd")):
        match = SAVED.search(record.read_text(encoding="utf-8"))
        found = parse_compile_command(match[1]) if match else None
        if found is None:
            continue
        kept, source = found
        words = [
            re.sub(r"/(?:usr/)?src/.*", lambda m: translate_chroot_path_to_host(kernel, m[0]), x)
            for x in kept
        ]
        path = Path(translate_chroot_path_to_host(kernel, source))
        # Since Linux 6.13, Kbuild runs in the directory of the sources, so a C file has a relative
        # path.
        beside = not path.is_absolute()
        path = ROOT / path
        if path.is_file():
            directory = str(ROOT if beside else headers)
            yield make_compile_database_entry(directory, path, words)


def parse_program_compile_commands(make_output: str) -> Iterator[Command]:
    """Yield an entry of compile_commands.json for each C file of the programs, from the output of
    `make -n` in native/."""
    for line in make_output.splitlines():
        found = parse_compile_command(line) if " -c " in line else None
        if found is not None:
            directory = ROOT / "native"
            yield make_compile_database_entry(
                str(directory), (directory / found[1]).resolve(), found[0]
            )


def make_compile_database_entry(directory: str, path: Path, options: Sequence[str]) -> Command:
    """Return the entry of compile_commands.json for the C file `path`, which is compiled in
    `directory` with the compiler options `options`."""
    arguments = ["gcc", *options, "-c", str(path)]
    return {"directory": directory, "file": str(path), "arguments": arguments}


def write_compile_database(name: str) -> Path:
    """Build the modules for a test kernel, and write compile_commands.json; return its path."""
    kernel = require_unpacked_kernel(name)
    with tempfile.TemporaryDirectory() as out:
        log = Path(out, "log")
        if build_modules(name, ROOT, Path(out, "modules"), ["KMARKERS_TESTS=m"], log):
            said = log.read_text(encoding="utf-8")[-2000:]
            raise FailedError(f"the modules cannot be built for kernel {name}:\n{said}")
    done = capture_output(["make", "-C", ROOT / "native", "-n", "-B", "all"])
    if done.returncode:
        raise FailedError(f"`make -C native` fails: {done.stderr.strip()}")
    found = [
        *read_module_compile_commands(kernel, get_object_dir(name, ROOT)),
        *parse_program_compile_commands(done.stdout),
    ]
    path = ROOT / NAME
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return path
