# SPDX-License-Identifier: GPL-2.0-only
"""The command that runs tests."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from kmtools.base.errors import BAD, DONE, UNABLE
from kmtools.base.paths import ROOT
from kmtools.base.text import terminal_width, wrapped
from kmtools.commands import Run
from kmtools.runner import registry
from kmtools.runner.ask import Ask
from kmtools.runner.registry import Row


def setting(text: str) -> tuple[str, str]:
    """Parse NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def check(parser: ArgumentParser) -> Run:
    """A PATTERN is the name of a test or of a group of tests, with * for any characters; the tests
    are those that --list shows. Without a pattern a set is run: short (the default), full, which
    continuous integration runs, or weekly, which is for releases. Tests that are named have their
    long form.

    The output of each test is kept in build/check/. The last line is `N passed, N failed`. The exit
    code is 1 if something failed, else 2 if a part could not run on this machine.
    """
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names of tests or groups")
    parser.add_argument("--set", choices=registry.SETS, help="the set to run (short)")
    parser.add_argument("--list", action="store_true", help="list tests, and run none")
    parser.add_argument("--kernel", default="", help="name in kernels.txt")
    parser.add_argument(
        "-o",
        dest="options",
        action="append",
        type=setting,
        default=[],
        metavar="NAME=VALUE",
        help=f"an option of a test: {', '.join(registry.OPTIONS)}",
    )
    parser.add_argument(
        "--setup", action="store_true", help="run scripts/setup for these tests first"
    )

    def run(args: Namespace) -> int:
        rows = registry.chosen(args.patterns, args.set or "short")
        if args.list:
            show(rows if args.patterns or args.set else registry.all_rows())
            return DONE
        options = dict(args.options)
        registry.refuse_unknown(options, rows)
        if args.setup:
            set_up(rows, args.kernel, args.set == "full")
        form = args.set or ("named" if args.patterns else "short")
        return run_rows(rows, Ask(form, args.kernel, options))

    return run


def show(rows: Sequence[Row]) -> None:
    """Print a list of tests, as wide as the terminal."""
    lines = registry.listing(rows)
    widths = [max(map(len, column)) for column in zip(*lines)]
    for cells in lines:
        head = "  ".join(f"{cell:{width}}" for cell, width in zip(cells[:-1], widths))
        indent = " " * (len(head) + 2 if len(head) < terminal_width() - 30 else 4)
        for line in wrapped(f"{head}  {cells[-1]}", terminal_width(), "", indent):
            print(line)


def set_up(rows: Sequence[Row], kernel: str, full: bool) -> None:
    """Run scripts/setup for the tools that tests need, and restart with the Python that it made.
    Print what could not be set up; its tests are skipped."""
    # Some tests of the scripts run only where further tools are installed.
    some = ["--tools", "--fleet"] if full else []
    needs = list(dict.fromkeys([*some, *(row.needs for row in rows if row.needs)]))
    plain = any(not row.needs for row in rows)
    calls = [[need] for need in needs] + ([[kernel] if kernel else []] if plain else [])
    for words in calls:
        if subprocess.run([ROOT / "scripts" / "setup", *words], check=False).returncode:
            print("check: what could not be set up is left out", file=sys.stderr)
    words = [word for word in sys.argv[1:] if word != "--setup"]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, str(ROOT / "scripts" / "kmarkers"), *words])


def say_accelerator(rows: Sequence[Row], ask: Ask) -> None:
    """Print the accelerator of test kernels, if one is unpacked and any test can boot it."""
    from kmtools.lab import catalogue, machine

    kernel = ask.named or catalogue.default_name()
    boots = any(row.where == registry.GUEST and not registry.lacks(row) for row in rows)
    if boots and catalogue.unpacked(kernel):
        print(machine.usable_accel(kernel, print).line, flush=True)


def run_rows(rows: Sequence[Row], ask: Ask) -> int:
    """Run tests; print the totals as the last line, and keep them; returns the exit code."""
    from kmtools.lab import catalogue
    from kmtools.runner import suite
    from kmtools.runner.pace import Clock
    from kmtools.suites.testkernel import with_builds

    if ask.named:
        catalogue.find(ask.named)
    say_accelerator(rows, ask)
    clock = Clock()
    total = suite.run_all(suite.spread(with_builds(registry.suites(rows, ask))), ask.form)
    print(f"all of it took {clock.said()}")
    with contextlib.suppress(OSError):
        (suite.LOGS / "closing").write_text(f"{total.closing_line()}\n")
    print(total.closing_line())
    return BAD if total.failed else UNABLE if total.absent else DONE
