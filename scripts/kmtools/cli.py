# SPDX-License-Identifier: GPL-2.0-only
"""The command kmarkers: the list of its commands, and the function of each.

The module of a command is imported when the command is called, because `bench` begins where numpy
is not installed yet. The exit codes of all commands are the same: 0 all is done; 1 a result is bad
or a step failed; 2 it cannot be done here, and a message says why; after a signal, 128 and its
number.
"""

from __future__ import annotations

import argparse
import inspect
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from kmtools.base import streams
from kmtools.base.errors import BAD, DONE, OBSTACLES, UNABLE, FailedError, UnableError, explain
from kmtools.base.paths import require_checkout, version
from kmtools.base.processes import interruptible
from kmtools.base.text import printable, terminal_width, wrapped
from kmtools.commands import Run

# Each command: its module in kmtools.commands, which has a function of its name, and its help.
COMMANDS = {
    "bench": ("run", "set up, build, measure in every tier that this machine can, report"),
    "collect": ("run", "merge raw samples into the folder of a run"),
    "report": ("run", "write the answer, figures and page of a run"),
    "table": ("run", "print the tables of a run"),
    "compare": ("comparing", "compare runs row by row"),
    "export": ("exporting", "export a run as Parquet, OpenMetrics or a trace of its switches"),
    "fleet": ("many", "compare the runs of many machines by CPU model, microcode and kernel"),
    "history": ("many", "show rows over the runs of a machine, and where they changed for good"),
    "impact": ("results", "repeat the estimate of 2008: the cost of two markers in a getppid()"),
    "rates": ("results", "event rate at which each mechanism costs 1 % of a CPU"),
    "plot": (
        "plotting",
        "draw the figures of a run as SVG, PDF or PNG, optionally in a matplotlib style",
    ),
    "sites": (
        "results",
        "print the size and code of a site in each form, or the sites of a module",
    ),
    "macro": ("macro", "time a command under kernels that you boot yourself"),
    "lab fetch": ("lab", "download and unpack test kernels"),
    "lab build": ("lab", "build modules for a test kernel"),
    "lab add": ("lab", "add a kernel from packages or directories of your own"),
    "lab remove": ("lab", "remove a kernel that was added"),
    "lab shell": ("lab", "open a shell in a test kernel with the modules and tracers"),
    "lab compile-commands": ("lab", "write compile_commands.json, for clangd and other editors"),
    "lab list": ("lab", "show the supported kernels and their state"),
    "lab clean": ("lab", "remove all kernels, emulators and objects that the laboratory made"),
    "vm run": ("lab", "boot a test kernel, run a job in it, bring back its results"),
    "vm accel": ("lab", "say which accelerator this machine can use"),
    "check": ("check", "run tests: the short set, another one, or those that are named"),
    "publish": ("publish", "write a document from results: kernels, processors, times, reference"),
}

# These work on files of users alone; the others need a checkout.
ANYWHERE = {"collect", "report", "table", "compare", "impact", "plot", "rates", "macro", "sites"}

# Packages that few commands need; requirements-fleet.txt names them.
EXTRAS = ("duckdb", "ruptures", "scipy")


def listing(prefix: str = "") -> str:
    """The commands whose names begin with a word, a line for each."""
    names = [name for name in COMMANDS if name.startswith(prefix)]
    width = max(map(len, names), default=0)
    lines = (
        wrapped(f"{name:{width}}  {COMMANDS[name][1]}", terminal_width(), "  ", " " * (width + 2))
        for name in names
    )
    return "\n".join(line for several in lines for line in several)


def description(text: str) -> str:
    """Paragraphs, filled for the terminal."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    filled = (wrapped(paragraph, terminal_width(), hanging="") for paragraph in paragraphs)
    return "\n\n".join("\n".join(lines) for lines in filled)


def named(words: Sequence[str]) -> str | None:
    """The command that the first words name."""
    names = (" ".join(words[:count]) for count in (2, 1))
    return next((name for name in names if name in COMMANDS), None)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command that the first words name, or those of the command line, and print the error
    that ends it early; returns its exit code."""
    own = words is None
    words = sys.argv[1:] if words is None else words
    name = named(words) or "kmarkers"
    try:
        if own:
            streams.prepare()
        with interruptible():
            known = name in COMMANDS
            code = execute(name, words[len(name.split()) :]) if known else usage(words)
            # What cannot be written is an error of the command, and not of Python that ends.
            sys.stdout.flush()
            return code
    except FailedError as error:
        tell(name, str(error))
        return BAD
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package == "kmtools":
            raise
        setup = "scripts/setup --fleet" if package in EXTRAS else "scripts/setup"
        print(f"{name}: needs the Python package {package}: run {setup}", file=sys.stderr)
        return UNABLE
    except OBSTACLES as error:
        tell(name, explain(error))
        return UNABLE
    except KeyboardInterrupt as error:
        return 128 + int(error.args[0] if error.args else signal.SIGINT)


def tell(name: str, error: str) -> None:
    """Print an error, which may hold what another machine sent."""
    lines = [printable(line) for line in error.split("\n")]
    print(f"{name}: " + "\n".join(lines), file=sys.stderr)


def usage(words: Sequence[str]) -> int:
    """Show the version or the list of commands if it was asked for; else raise UnableError: no such
    command."""
    if list(words) == ["--version"]:
        print(f"kmarkers {version()}", flush=True)
        return DONE
    asked = [word for word in words if word not in ("-h", "--help")]
    found = listing("".join(f"{word} " for word in asked))
    if len(asked) < len(words) and found:
        print(f"usage: kmarkers COMMAND [OPTION...]\n\n{found}", flush=True)
        return DONE
    if len(asked) == 1 and listing(f"{asked[0]} "):
        word = asked[0]
        raise UnableError(f"{word!r} needs one more word; kmarkers {word} --help lists them")
    wrong = f"no command {' '.join(asked[:2])!r}" if asked else "which command?"
    raise UnableError(f"{wrong}; kmarkers --help lists them all")


def execute(name: str, words: Sequence[str]) -> int:
    """Run a command; returns its exit code."""
    if name not in ANYWHERE:
        require_checkout()
    where, about = COMMANDS[name]
    module = import_module(f"kmtools.commands.{where}")
    describe: Callable[[argparse.ArgumentParser], Run] = getattr(
        module, name.replace(" ", "_").replace("-", "_")
    )
    more = listing(f"{name} ")
    parser = argparse.ArgumentParser(
        prog=f"kmarkers {name}",
        description=description("\n\n".join([about, inspect.getdoc(describe) or ""])).rstrip(),
        epilog=f"further commands:\n{more}" if more else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run = describe(parser)
    # Names may stand behind options. Only parse_args() can read words behind "--".
    parse = parser.parse_args if "--" in words else parser.parse_intermixed_args
    try:
        parsed = parse(words)
    except SystemExit:
        sys.stdout.flush()
        raise
    return run(parsed) or DONE
