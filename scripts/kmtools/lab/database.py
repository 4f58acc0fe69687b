# SPDX-License-Identifier: GPL-2.0-only
"""Writes compile_commands.json, from which clangd and other tools know how a file is compiled.

The modules, and those of tests, are built for a test kernel. The commands of that build name files
inside the tree of a suite, so each path is written as this machine sees it. Programs are compiled
in this checkout. A file that is compiled for both has two entries, the kernel's first. Only options
that affect how a file is parsed are kept: clang rejects some other options of gcc.
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
from kmtools.base.processes import captured
from kmtools.lab.build import build_modules, object_dir
from kmtools.lab.catalogue import Kernel, require
from kmtools.lab.unpack import inside

NAME = "compile_commands.json"
# The line with the compile command in the .cmd file that Kbuild writes for an object.
SAVED = re.compile(r"^(?:saved)?cmd_\S+ := +(.*)$", re.M)
# Options whose value is the next word, and the beginnings of options that are one word.
PAIRS = ("-include", "-isystem", "-idirafter")
KEPT = (
    *("-D", "-U", "-I", "-std=", "-nostdinc", "-O", "-m64", "-mcmodel=", "-mno-sse", "-mno-mmx"),
    *("-fshort-wchar", "-funsigned-char", "-fno-strict-aliasing", "-fms-extensions"),
)


class Command(TypedDict):
    """An entry of the file."""

    directory: str
    file: str
    arguments: list[str]


def options(words: Sequence[str]) -> list[str]:
    """Return the options that affect how a file is parsed."""
    kept, rest = [], iter(words)
    for word in rest:
        if word in PAIRS:
            kept += [word, next(rest)]
        elif word.startswith(KEPT):
            kept.append(word)
    return kept


def command_of(line: str) -> tuple[list[str], str] | None:
    """Return the options and the C file of a compiler command, or None for another command."""
    words = shlex.split(re.split(r" +;", line)[0])
    sources = [word for word in words if word.endswith(".c")]
    if "-c" not in words or len(sources) != 1:
        return None
    return options(words[1:]), sources[0]


def on_machine(kernel: Kernel, path: str) -> str:
    """Return a path of the tree of a suite as this machine sees it."""
    if path.startswith("/src/"):
        return str(ROOT / path.removeprefix("/src/"))
    return f"{kernel.tree}{path}" if path.startswith("/usr/src/") else path


def of_modules(kernel: Kernel, objects: Path) -> Iterator[Command]:
    """Yield the commands of a build of modules."""
    headers = inside(kernel.tree, f"/usr/lib/modules/{kernel.release}/build")
    for record in sorted(objects.rglob(".*.o.cmd")):
        match = SAVED.search(record.read_text())
        found = command_of(match[1]) if match else None
        if found is None:
            continue
        kept, source = found
        words = [re.sub(r"/(?:usr/)?src/.*", lambda m: on_machine(kernel, m[0]), x) for x in kept]
        path = Path(on_machine(kernel, source))
        # Since 6.13 Kbuild runs beside the sources.
        beside = not path.is_absolute()
        path = ROOT / path
        if path.is_file():
            directory = str(ROOT if beside else headers)
            yield entry(directory, path, words)


def of_programs(listed: str) -> Iterator[Command]:
    """Yield the commands that make would run in native/."""
    for line in listed.splitlines():
        found = command_of(line) if " -c " in line else None
        if found is not None:
            directory = ROOT / "native"
            yield entry(str(directory), (directory / found[1]).resolve(), found[0])


def entry(directory: str, path: Path, words: Sequence[str]) -> Command:
    """Return the entry of a file."""
    arguments = ["gcc", *words, "-c", str(path)]
    return {"directory": directory, "file": str(path), "arguments": arguments}


def write(name: str) -> Path:
    """Build the modules for a test kernel and write the file; return it."""
    kernel = require(name)
    with tempfile.TemporaryDirectory() as out:
        log = Path(out, "log")
        if build_modules(name, ROOT, Path(out, "modules"), ["KMARKERS_TESTS=m"], log):
            raise FailedError(f"the modules cannot be built for {name}:\n{log.read_text()[-2000:]}")
    done = captured(["make", "-C", ROOT / "native", "-n", "-B", "all"])
    if done.returncode:
        raise FailedError(f"make in native/ fails: {done.stderr.strip()}")
    found = [*of_modules(kernel, object_dir(name, ROOT)), *of_programs(done.stdout)]
    path = ROOT / NAME
    path.write_text(json.dumps(found, indent=1) + "\n")
    return path
