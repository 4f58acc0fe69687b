# SPDX-License-Identifier: GPL-2.0-only
"""The command kmarkers: the table of its commands, and the function that runs one of them.

The module of a command is imported only when that command is called, because `bench` must start
before numpy is installed. All commands have the same exit codes: 0 success; 1 a bad result or a
failed step; 2 the command cannot do its work on this machine, and prints the reason; 128 + N after
signal N.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from kmtools.base import streams
from kmtools.base.errors import (
    BAD,
    DONE,
    OBSTACLES,
    UNABLE,
    FailedError,
    UnableError,
    explain_error,
)
from kmtools.base.paths import INSTALLED, read_version, require_checkout
from kmtools.base.processes import raise_interrupt_on_signals
from kmtools.base.text import escape_unprintable_chars, get_terminal_width, wrap_line
from kmtools.commands import Run

# The commands. Values: the module in kmtools.commands that has the function add_NAME_command(), and
# a line of help.
COMMANDS = {
    "bench": (
        "run",
        "install and build what is missing, measure in every environment that works on this "
        "machine, and report",
    ),
    "collect": ("run", "merge raw samples into the folder of a run"),
    "report": ("run", "write summary, figures and HTML page of a run, and print its main result"),
    "table": ("run", "print a table of the results of each benchmark of a run"),
    "compare": ("comparing", "compare the results of runs, row by row"),
    "export": (
        "exporting",
        "export a run as Parquet, as OpenMetrics, or as a trace of when sites were switched",
    ),
    "pack": (
        "exporting",
        "write a run to one file without personal details, so that it can be published",
    ),
    "fleet": ("many", "compare the runs of many machines by CPU model, microcode and kernel"),
    "history": (
        "many",
        "show at which runs the results of a machine changed",
    ),
    "impact": (
        "results",
        "estimate the cost of two markers in getppid(), by the calculation published in 2008",
    ),
    "rates": (
        "results",
        "print the CPU share of each mechanism at an event rate, computed from a run",
    ),
    "plot": (
        "plotting",
        "draw the figures of a run as SVG, PDF or PNG, optionally in a matplotlib style",
    ),
    "sites": (
        "results",
        "print the size and code of each form of instrumentation site, or list a module's sites",
    ),
    "macro": (
        "macro",
        "time a command under several kernels that you boot, or with sites on and off in one boot",
    ),
    "lab fetch": ("lab", "download and unpack test kernels"),
    "lab build": ("lab", "build modules for a test kernel"),
    "lab add": ("lab", "add a kernel from packages or directories of your own"),
    "lab remove": ("lab", "remove a kernel that lab add has added"),
    "lab shell": (
        "lab",
        "boot a test kernel and open a shell in it, with the modules of kmarkers and tracers",
    ),
    "lab compile-commands": ("lab", "write compile_commands.json, for clangd and other editors"),
    "lab list": ("lab", "list the test kernels: version, and whether the kernel is unpacked"),
    "lab clean": (
        "lab",
        "remove all test kernels, emulators and build objects from the cache directory",
    ),
    "vm run": (
        "lab",
        "boot a test kernel, run a script in it, and copy the results to this machine",
    ),
    "vm accel": (
        "lab",
        "print the accelerator (KVM or TCG) with which test kernels run on this machine",
    ),
    "check": ("check", "run tests: the short set, another set, or tests selected by name"),
    "publish": (
        "publish",
        "write a document from stored results, such as the table of supported kernels",
    ),
}

# Commands that need only files of the user. All others need a checkout of kmarkers.
ANYWHERE = {
    *("collect", "report", "table", "compare", "pack", "impact", "plot", "rates", "macro", "sites"),
}

# Python packages of requirements-fleet.txt, which only a few commands need.
EXTRAS = ("duckdb", "ruptures", "scipy")
# Python packages whose names in Debian differ from python3-NAME.
DEBIAN_NAMES = {"elftools": "pyelftools"}


def list_commands(prefix: str = "") -> str:
    """Return a line for each command whose name begins with `prefix`: the name, and the line of
    help in COMMANDS."""
    names = [name for name in COMMANDS if name.startswith(prefix)]
    width = max(map(len, names), default=0)
    lines = (
        wrap_line(
            f"{name:{width}}  {COMMANDS[name][1]}", get_terminal_width(), "  ", " " * (width + 2)
        )
        for name in names
    )
    return "\n".join(line for several in lines for line in several)


def wrap_paragraphs(text: str) -> str:
    """Return paragraphs, wrapped to the width of the terminal."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    filled = (wrap_line(paragraph, get_terminal_width(), hanging="") for paragraph in paragraphs)
    return "\n\n".join("\n".join(lines) for lines in filled)


def find_command(words: Sequence[str]) -> str | None:
    """Return the command whose name is the first two words or, if there is none, the command whose
    name is the first word; None if neither exists."""
    names = (" ".join(words[:count]) for count in (2, 1))
    return next((name for name in names if name in COMMANDS), None)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command that `words` name, by default the words of the command line; return its exit
    code. If an error ends the command, print the error."""
    own = words is None
    words = sys.argv[1:] if words is None else words
    name = find_command(words) or "kmarkers"
    try:
        if own:
            streams.prepare_standard_streams()
        with raise_interrupt_on_signals():
            known = name in COMMANDS
            code = (
                run_command(name, words[len(name.split()) :])
                if known
                else print_version_or_help(words)
            )
            # Flush inside `try`, so that a write error is reported as an error of the command.
            sys.stdout.flush()
            return code
    except FailedError as error:
        print_error(name, str(error))
        return BAD
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package == "kmtools":
            raise
        print_error(
            name, f"needs the Python package {package}: {explain_package_installation(package)}"
        )
        return UNABLE
    except OBSTACLES as error:
        print_error(name, explain_error(error))
        return UNABLE
    except KeyboardInterrupt as error:
        return 128 + int(error.args[0] if error.args else signal.SIGINT)


def explain_package_installation(package: str) -> str:
    """Return a text that tells the user how to install a missing Python package."""
    if INSTALLED:
        return f"install it, in Debian as python3-{DEBIAN_NAMES.get(package, package)}"
    return "run scripts/setup --fleet" if package in EXTRAS else "run scripts/setup"


def print_error(name: str, error: str) -> None:
    """Print the error message of the command `name`. Flush the command's output first, because both
    may go to the same file. Escape unprintable characters, because parts of the message may come
    from another machine."""
    # If standard output is closed, sys.stdout is None, and print() does nothing.
    with contextlib.suppress(OSError):
        print(end="", flush=True)
    lines = [escape_unprintable_chars(line) for line in error.split("\n")]
    print(f"{name}: " + "\n".join(lines), file=sys.stderr)


def print_version_or_help(words: Sequence[str]) -> int:
    """Print the version or the list of commands if `words`, the command line, has --version or
    --help. Otherwise raise UnableError, because `words` names no command."""
    if list(words) == ["--version"]:
        print(f"kmarkers {read_version()}", flush=True)
        return DONE
    asked = [word for word in words if word not in ("-h", "--help")]
    found = list_commands("".join(f"{word} " for word in asked))
    if len(asked) < len(words) and found:
        print(f"usage: kmarkers COMMAND [OPTION...]\n\n{found}", flush=True)
        return DONE
    if len(asked) == 1 and list_commands(f"{asked[0]} "):
        word = asked[0]
        raise UnableError(
            f"{word!r} needs one more word; `kmarkers {word} --help` lists the commands"
        )
    wrong = f"no command {' '.join(asked[:2])!r}" if asked else "which command?"
    raise UnableError(f"{wrong}; `kmarkers --help` lists all commands")


def run_command(name: str, words: Sequence[str]) -> int:
    """Run a command with its arguments; return its exit code."""
    if name not in ANYWHERE:
        require_checkout()
    where, about = COMMANDS[name]
    module = import_module(f"kmtools.commands.{where}")
    function = f"add_{name.replace(' ', '_').replace('-', '_')}_command"
    describe: Callable[[argparse.ArgumentParser], Run] = getattr(module, function)
    more = list_commands(f"{name} ")
    parser = argparse.ArgumentParser(
        prog=f"kmarkers {name}",
        description=wrap_paragraphs("\n\n".join([about, inspect.getdoc(describe) or ""])).rstrip(),
        epilog=f"further commands:\n{more}" if more else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run = describe(parser)
    # parse_intermixed_args() accepts options between positional arguments, but does not support
    # "--".
    parse = parser.parse_args if "--" in words else parser.parse_intermixed_args
    try:
        parsed = parse(words)
    except SystemExit:
        sys.stdout.flush()
        raise
    return run(parsed) or DONE
