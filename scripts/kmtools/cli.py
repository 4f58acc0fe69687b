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

from kmtools.base.errors import BAD, DONE, OBSTACLES, UNABLE, FailedError, UnableError, explain
from kmtools.base.paths import CATALOGUE, ROOT, version
from kmtools.base.processes import interruptible
from kmtools.base.text import printable, terminal_width, wrapped
from kmtools.commands import Run

# Each command: its module in kmtools.commands, which has a function of its name, and its help.
COMMANDS = {
    "bench": ("run", "set up, build, measure in every tier that this machine can, report"),
    "collect": ("run", "merge raw samples into the folder of a run"),
    "report": ("run", "statistics, table, figures and page of a run"),
    "compare": ("comparing", "what has changed from one run to others, row by row"),
    "export": ("exporting", "a run as Parquet, OpenMetrics or a trace of its switches"),
    "fleet": ("many", "the runs of many machines, by CPU model, microcode and kernel"),
    "history": ("many", "the rows of many runs by date, and where they changed for good"),
    "impact": ("results", "what two markers cost a system call, as computed in 2008"),
    "rates": ("results", "at which rate of events each mechanism takes 1 % of a CPU"),
    "sites": ("results", "bytes of a site in each form, and what the compiler makes of it"),
    "macro": ("macro", "what a kernel of your own costs a whole program, boot by boot"),
    "reference": ("results", "make a run the one in results/reference"),
    "lab fetch": ("lab", "download and unpack test kernels"),
    "lab build": ("lab", "build modules for a test kernel"),
    "lab add": ("lab", "add a kernel from packages or directories of your own"),
    "lab remove": ("lab", "remove a kernel that was added"),
    "lab shell": ("lab", "a shell in a test kernel with the modules loaded, and tracers"),
    "lab commands": ("lab", "write compile_commands.json, for clangd and other editors"),
    "lab list": ("lab", "show the supported kernels and their state"),
    "lab clean": ("lab", "remove everything that the laboratory made"),
    "vm run": ("lab", "boot a test kernel, run a job in it, bring back its results"),
    "vm accel": ("lab", "say which accelerator this machine can use"),
    "check": ("check", "all tests that a machine without special hardware can run"),
    "check native": ("check", "the C cases in user space, also under three sanitizers"),
    "check alone": ("check", "the modules' cases in a test kernel with one CPU"),
    "check coexist": ("check", "changes of text beside everyone else who changes it"),
    "check soak": ("check", "everything that changes text at once, for an hour or longer"),
    "check still": ("check", "guests that stand still are found and told apart"),
    "check target": ("check", "what an interrupted measurement leaves on a machine"),
    "check tracers": ("check", "our trace events as trace-cmd, perf and bpftrace show them"),
    "check module": ("check", "the benchmark of a module outside this tree, in a test kernel"),
    "check shell": ("check", "a shell in a test kernel, with somebody who types into it"),
    "check secureboot": ("check", "signed modules, and unsigned ones, under UEFI Secure Boot"),
    "check cet": ("check", "control-flow enforcement: indirect branch tracking, shadow stacks"),
    "check matrix": ("check", "the tests inside every kernel of kernels.txt"),
    "check processors": ("check", "kernels on models of processors, in rows of a table"),
    "check mutants": ("check", "the code broken on purpose, and the test that notices"),
    "check fuzz": ("check", "every fuzz target for a while"),
    "check coverage": ("check", "line coverage of the pure parts; 1 below 90 %"),
    "check lint": ("check", "every tool that reads the sources"),
    "check house": ("house", "floors, circles, names and sizes of the sources"),
    "check fresh": ("check", "the README's commands in bare Debian systems"),
    "check packages": ("check", "the packages in bare Debian systems and in their kernels"),
    "check aa": ("check", "how often two copies of the same code come out different"),
    "check estimators": ("check", "the estimator, by simulated runs whose truth is known"),
    "check fleet": ("check", "what comparing the runs of 10,000 machines costs"),
    "check many-files": ("check", "what the sites of a module of many files cost at load"),
}

# These work on results alone; the others need a checkout.
ANYWHERE = {"collect", "report", "compare", "impact", "rates", "macro"}

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
    """Run the command that the first words name, and print the error that ends it early; returns
    its exit code."""
    words = sys.argv[1:] if words is None else words
    name = named(words) or "kmarkers"
    try:
        with interruptible():
            if name in COMMANDS:
                return execute(name, words[len(name.split()) :])
            return usage(words)
    except FailedError as error:
        tell(name, str(error))
        return BAD
    except BrokenPipeError:
        sys.stderr.close()
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
    if name not in ANYWHERE and not (ROOT / CATALOGUE).is_file():
        raise UnableError(
            f"{ROOT} is no checkout of kmarkers: clone it, and call this in the clone"
        )
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
    return run(parse(words)) or DONE
