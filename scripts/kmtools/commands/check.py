# SPDX-License-Identifier: GPL-2.0-only
"""The command check, which runs tests."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial

from kmtools.base.errors import BAD, DONE, UNABLE
from kmtools.base.paths import ROOT
from kmtools.base.text import get_terminal_width, wrap_line
from kmtools.commands import Run
from kmtools.runner import registry
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.registry import Test


def parse_name_and_value(text: str) -> tuple[str, str]:
    """Parse an argument of the form NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def make_test_option_pair(name: str, value: str) -> tuple[str, str]:
    """Return an option of a test as a pair: its name NAME, and the value of the argument --NAME."""
    return name, value


def add_check_command(parser: ArgumentParser) -> Run:
    """A PATTERN is the name of a test or of a group of tests, with * for any characters; --list
    shows all tests. Without a pattern a set of tests is run: short (the default), full (for
    continuous integration) or weekly (for releases). Tests selected by a pattern run in their long
    form.

    The output of each test is kept in build/check/. The last line is `N passed, N failed`. The exit
    code is 1 if a test failed, else 2 if a part could not run on this machine.
    """
    parser.add_argument(
        "patterns", nargs="*", metavar="PATTERN", help="name of a test or of a group of tests"
    )
    parser.add_argument("--set", choices=registry.SETS, help="set of tests (default: short)")
    parser.add_argument("--list", action="store_true", help="list the tests, but do not run them")
    parser.add_argument(
        "--kernel",
        default="",
        help="test kernel: a name in kernels.txt (default: the usual kernel of each test)",
    )
    parser.add_argument(
        "-o",
        dest="options",
        action="append",
        type=parse_name_and_value,
        default=[],
        metavar="NAME=VALUE",
        help="set an option of a test; scripts/kmtools/runner/registry.py describes the options, "
        f"which are {', '.join(registry.OPTIONS)}",
    )
    for name, metavar in (("random", "N"), ("seed", "N"), ("where", "WHERE")):
        parser.add_argument(
            f"--{name}",
            dest="options",
            action="append",
            type=partial(make_test_option_pair, name),
            metavar=metavar,
            help=f"{registry.OPTIONS[name]}; the same as -o {name}={metavar}",
        )
    parser.add_argument(
        "--setup",
        action="store_true",
        help="first run scripts/setup, which installs what these tests need",
    )

    def run_check_command(args: Namespace) -> int:
        tests = registry.select_tests(args.patterns, args.set or "short")
        if args.list:
            print_test_table(tests if args.patterns or args.set else registry.list_tests())
            return DONE
        options = dict(args.options)
        registry.refuse_unknown_test_options(options, tests)
        if args.setup:
            install_tools_and_restart(tests, args.kernel, args.set == "full")
        form = args.set or ("named" if args.patterns else "short")
        return run_tests(tests, SuiteRequest(form, args.kernel, options))

    return run_check_command


def print_test_table(tests: Sequence[Test]) -> None:
    """Print a table of tests, wrapped to the width of the terminal."""
    lines = registry.format_test_list(tests)
    widths = [max(map(len, column)) for column in zip(*lines)]
    for cells in lines:
        head = "  ".join(f"{cell:{width}}" for cell, width in zip(cells[:-1], widths))
        indent = " " * (len(head) + 2 if len(head) < get_terminal_width() - 30 else 4)
        for line in wrap_line(f"{head}  {cells[-1]}", get_terminal_width(), "", indent):
            print(line)


def install_tools_and_restart(tests: Sequence[Test], kernel: str, full: bool) -> None:
    """Run scripts/setup to install the tools that the tests need, and restart this command with the
    Python of build/venv. Tests whose tools could not be installed are skipped."""
    # Tests of the full set in tests/tools use packages that scripts/setup installs with --tools and
    # --fleet.
    some = ["--tools", "--fleet"] if full else []
    needs = list(dict.fromkeys([*some, *(test.needs for test in tests if test.needs)]))
    plain = any(not test.needs for test in tests)
    calls = [[need] for need in needs] + ([[kernel] if kernel else []] if plain else [])
    for words in calls:
        if subprocess.run([ROOT / "scripts" / "setup", *words], check=False).returncode:
            print(
                "check: scripts/setup failed; tests that lack their tools are skipped",
                file=sys.stderr,
            )
    # Leave out --setup, so that the new process does not install again. argparse also accepts the
    # beginning of this option, such as --setu, but --set is another option.
    words = [w for w in sys.argv[1:] if not ("--setup".startswith(w) and len(w) > len("--set"))]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, str(ROOT / "scripts" / "kmarkers"), *words])


def print_accelerator_of_tests(tests: Sequence[Test], suite_request: SuiteRequest) -> None:
    """Print the accelerator (KVM or TCG) with which the requested or default kernel boots, if the
    kernel is unpacked and at least one of the tests boots a kernel that need not be emulated."""
    from kmtools.lab import catalogue, machine
    from kmtools.lab.apt import print_step

    kernel = suite_request.kernel or catalogue.get_default_kernel_name()
    boots = any(
        registry.can_use_kvm(test, suite_request) and not registry.find_test_obstacle(test)
        for test in tests
    )
    if boots and catalogue.find_unpacked_kernel(kernel):
        found = machine.find_usable_accel(kernel, print_step)
        print(f"kernel {kernel}: {found.description}", flush=True)


def run_tests(tests: Sequence[Test], suite_request: SuiteRequest) -> int:
    """Run tests; print the totals as the last line. Returns the exit code."""
    from kmtools.lab import catalogue
    from kmtools.runner import suite
    from kmtools.runner.pace import Clock
    from kmtools.suites.testkernel import insert_build_suites

    if suite_request.kernel:
        catalogue.find_kernel_entry(suite_request.kernel)
    print_accelerator_of_tests(tests, suite_request)
    clock = Clock()
    total = suite.run_all_suites(
        insert_build_suites(registry.make_suites_of_tests(tests, suite_request)),
        suite_request.form,
    )
    print(f"all tests took {clock.format_elapsed_and_cpu_time()}")
    print(total.format_summary())
    return BAD if total.failed else UNABLE if total.absent else DONE
