# SPDX-License-Identifier: GPL-2.0-only
"""Commands that test."""

from __future__ import annotations

import contextlib
import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from kmtools.base.errors import BAD, DONE, UNABLE, positive
from kmtools.check import (
    boots,
    cet,
    coverage,
    everything,
    fleet,
    fresh,
    fuzz,
    kernelsuite,
    lint,
    manyfiles,
    matrix,
    mutants,
    native,
    ownmodule,
    packages,
    processors,
    secureboot,
    shell,
    soak,
    still,
    target,
)
from kmtools.check.ktap import Tally
from kmtools.check.suites import LOGS, Suite, run_all
from kmtools.commands import Run
from kmtools.lab import catalogue
from kmtools.measure import choice
from kmtools.measure.aa import Plan
from kmtools.measure.bench import BUDGET_SECONDS, FULL


def ended(total: Tally) -> int:
    """Print the totals of a run as its last line; returns its exit code."""
    print(total.closing_line())
    return BAD if total.failed else UNABLE if total.absent else DONE


def judged(good: bool) -> int:
    """The exit code of a result."""
    return DONE if good else BAD


def add_kernel(parser: ArgumentParser) -> None:
    """Add the option of all commands that boot a test kernel."""
    parser.add_argument("--kernel", default=catalogue.default_name(), help="name in kernels.txt")


def check(parser: ArgumentParser) -> Run:
    """In user space: the C cases on the real CPU, also under sanitizers, and the tests of the
    tools. In a test kernel: the modules' own cases and all of their files, with short storms. Under
    instruction counting: two runs, which must agree to the instruction. The output of each suite is
    kept in build/check/. The last line of the output is `N passed, N failed`. The exit code is 1 if
    something failed, else 2 if a part could not run on this machine.
    """
    add_kernel(parser)
    parser.add_argument("--full", action="store_true", help="also the tests that take long")

    def run(args: Namespace) -> int:
        catalogue.find(args.kernel)
        form = "full" if args.full else "short"
        total = run_all(everything.suites(args.kernel, args.full), form)
        with contextlib.suppress(OSError):
            (LOGS / "closing").write_text(f"{total.closing_line()}\n")
        return ended(total)

    return run


def check_native(parser: ArgumentParser) -> Run:
    """Each build also runs examples/user/flight, a program that uses the library, and compares
    emulated instructions with executed ones. Without sanitizers the storm on every kind of
    instruction lasts ten seconds at least.
    """
    parser.add_argument(
        "--long",
        action="store_true",
        help="a million batches, ten minutes of storm and ten million instructions instead",
    )
    return lambda args: ended(
        run_all(native.long_suites()) if args.long else run_all(native.suites(), "full")
    )


def in_kernel(parser: ArgumentParser, suites: Callable[[str, Path], Sequence[Suite]]) -> Run:
    """Suites that run for one kernel."""
    add_kernel(parser)
    return lambda args: ended(kernelsuite.check_one(args.kernel, suites))


def check_alone(parser: ArgumentParser) -> Run:
    return in_kernel(parser, boots.alone)


def check_coexist(parser: ArgumentParser) -> Run:
    names = [part.name for part in boots.COEXIST]
    parser.add_argument("--part", choices=names, help="only this one")
    add_kernel(parser)

    def run(args: Namespace) -> int:
        parts = [part for part in boots.COEXIST if args.part in (None, part.name)]
        suites = partial(boots.suites, batches=boots.BATCHES, parts=parts)
        return ended(kernelsuite.check_one(args.kernel, suites))

    return run


def check_still(parser: ArgumentParser) -> Run:
    return in_kernel(parser, still.suites)


def check_soak(parser: ArgumentParser) -> Run:
    """A fault of each kind is made first, to see that the checks find it. Then modules, CPUs,
    kprobes, ftrace and live patches come and go, two processes arm probes, and memory is short. The
    text, the counts, the memory and the log are checked after each minute.
    """
    parser.add_argument("--seconds", type=positive, default=soak.SECONDS, help="how long (3600)")
    parser.add_argument("--part", choices=soak.PARTS, help="only this one")
    add_kernel(parser)
    return lambda args: ended(
        kernelsuite.check_one(
            args.kernel, partial(soak.suites, seconds=args.seconds, part=args.part)
        )
    )


def check_tracers(parser: ArgumentParser) -> Run:
    return in_kernel(parser, boots.tracers)


def check_shell(parser: ArgumentParser) -> Run:
    return in_kernel(parser, lambda kernel, _: shell.suites(kernel))


def check_module(parser: ArgumentParser) -> Run:
    return in_kernel(parser, ownmodule.suites)


def check_target(parser: ArgumentParser) -> Run:
    return in_kernel(parser, target.suites)


def check_secureboot(parser: ArgumentParser) -> Run:
    return in_kernel(parser, secureboot.suites)


def check_cet(parser: ArgumentParser) -> Run:
    """Bochs emulates the processor. The kernel needs CONFIG_X86_KERNEL_IBT."""
    parser.add_argument(
        "--part", choices=cet.NAMES, metavar="PART", help=f"only one: {', '.join(cet.NAMES)}"
    )
    parser.add_argument("--kernel", default=cet.KERNEL, help=f"name in kernels.txt ({cet.KERNEL})")
    return lambda args: ended(
        kernelsuite.check_one(args.kernel, partial(cet.suites, only=args.part))
    )


def check_matrix(parser: ArgumentParser) -> Run:
    """The logs of each kernel are in build/matrix/. A run of all kernels also writes their table to
    Documentation/kernels.md; a run of named kernels writes the rows of these.
    """
    parser.add_argument("names", nargs="*", metavar="NAME", help="in kernels.txt (default: all)")
    parser.add_argument("--debug", action="store_true", help="the kernels that look for faults")
    parser.add_argument("--short", action="store_true", help="short storms, as in make check")
    return lambda args: judged(matrix.run(args.names, args.debug, args.short))


def check_processors(parser: ArgumentParser) -> Run:
    """The logs of each row are in build/processors/. Their table in Documentation/kernels.md is
    written after each row; a row that is not run keeps its last result.
    """
    parser.add_argument("numbers", nargs="*", type=positive, metavar="ROW", help="numbers of rows")
    parser.add_argument("--kernel", action="append", default=[], help="only rows of this kernel")
    parser.add_argument("--missing", action="store_true", help="only rows that were never run")
    parser.add_argument("--table", action="store_true", help="run nothing, write the table anew")

    def run(args: Namespace) -> int:
        if args.table:
            processors.keep({})
            return DONE
        return ended(processors.run(processors.wanted(args.kernel, args.numbers, args.missing)))

    return run


def check_mutants(parser: ArgumentParser) -> Run:
    parser.add_argument("names", nargs="*", metavar="MUTANT", help="only these")
    parser.add_argument("--no-kernel", action="store_true", help="leave out what needs a boot")
    parser.add_argument("--model", action="store_true", help="ask the model checker, too")
    add_kernel(parser)

    def run(args: Namespace) -> int:
        started = time.monotonic()
        wanted = mutants.chosen(args.names, args.no_kernel)
        survived = [v for v in mutants.run_all(wanted, args.kernel, args.model) if v.survived]
        seconds = time.monotonic() - started
        caught = len(wanted) - len(survived)
        print(f"{caught} caught, {len(survived)} survived in {seconds:.0f} s")
        return judged(not survived)

    return run


def check_fuzz(parser: ArgumentParser) -> Run:
    """Inputs that reach new code stay in build/fuzz/corpus/ for the next run. An input that fails
    is left in build/fuzz/; `build/sanitize/fuzz/fuzz-TARGET FILE` repeats it without a fuzzer.
    """
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(fuzz.TARGETS))
    # A fuzzer takes 0 seconds to mean no limit.
    seconds = os.environ.get("FUZZ_SECONDS") or str(fuzz.SECONDS)
    parser.add_argument("--seconds", type=positive, default=seconds, help="for each target")

    def run(args: Namespace) -> int:
        known(parser, "target", args.targets, fuzz.TARGETS)
        return ended(fuzz.fuzz(args.targets or fuzz.TARGETS, args.seconds))

    return run


def known(
    parser: ArgumentParser, what: str, names: Sequence[str], all_names: Sequence[str]
) -> None:
    """Refuse a name that is not in the list."""
    for name in names:
        if name not in all_names:
            parser.error(f"no {what} {name!r}; there are: {', '.join(all_names)}")


def check_coverage(parser: ArgumentParser) -> Run:
    """Pure parts are the files that are compiled both for modules and for programs, without the
    operations of the benchmarks.
    """
    parser.add_argument("--missing", action="store_true", help="list the lines that never ran")
    return lambda args: judged(coverage.measure(args.missing))


def check_lint(parser: ArgumentParser) -> Run:
    """The findings of a tool are shown below its line."""
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=", ".join(lint.TOOLS))

    def run(args: Namespace) -> int:
        known(parser, "tool", args.tools, list(lint.TOOLS))
        return judged(not lint.run_all(args.tools).failed)

    return run


def check_fresh(parser: ArgumentParser) -> Run:
    """The output of each step is in build/fresh/. The last line is `N passed, N failed`."""
    parser.add_argument("--root", choices=fresh.SUITES, help="only this release of Debian")
    parser.add_argument("--step", action="append", default=[], help="only this step (repeatable)")
    parser.add_argument("--who", choices=("root", "user"), help="only as root, or only as a user")
    parser.add_argument("--quick", action="store_true", help="run every command with QUICK=1")
    help_cached = "every root uses the test kernels of this machine"
    parser.add_argument("--cached", action="store_true", help=help_cached)
    parser.add_argument("--readme", action="store_true", help="write the times into the README")

    def run(args: Namespace) -> int:
        if args.readme and args.quick:
            parser.error("the README's times are those of the long forms: --readme without --quick")
        roots = [args.root] if args.root else fresh.SUITES
        who = [args.who] if args.who else ("root", "user")
        total = fresh.run(roots, who, args.step, args.quick, args.cached)
        if args.readme and not total.failed:
            fresh.keep_times()
        return ended(total)

    return run


def check_packages(parser: ArgumentParser) -> Run:
    """In a bare root the packages are installed, used, upgraded, downgraded, removed and purged.
    The kernel of the same Debian is then booted with the modules that DKMS built there.
    """
    parser.add_argument("--root", choices=packages.SUITES, help="only this release of Debian")

    def run(args: Namespace) -> int:
        return ended(run_all(packages.suites([args.root] if args.root else packages.SUITES)))

    return run


def check_aa(parser: ArgumentParser) -> Run:
    parser.add_argument("--runs", type=positive, default=20, help="how many (20)")
    blocks = FULL["native"]
    parser.add_argument(
        "--blocks", type=positive, default=blocks, help=f"in each process ({blocks})"
    )
    parser.add_argument(
        "--budget",
        type=choice.budget,
        default=BUDGET_SECONDS,
        metavar="TIME",
        help=f"the longest that a run measures: 90, 90s or 5m ({BUDGET_SECONDS}s)",
    )
    parser.add_argument(
        "--bursts", action="store_true", help="beside a process that uses a core in bursts"
    )
    parser.add_argument("benchmarks", metavar="BENCHMARK", nargs="*", help="a pattern (all)")

    def run(args: Namespace) -> int:
        from kmtools.check import aa  # noqa: PLC0415  the others need no numpy

        plan = Plan(args.blocks, args.budget, tuple(args.benchmarks), args.bursts)
        return judged(aa.judge(args.runs, plan))

    return run


def check_estimators(parser: ArgumentParser) -> Run:
    """The simulations always have the same seeds. They use one CPU, and leave no files."""
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="of noise (default: all)")
    parser.add_argument("--runs", type=positive, default=2000, help="of each kind (2000)")

    def run(args: Namespace) -> int:
        from kmtools.check import estimators, noises  # noqa: PLC0415  the others need no numpy

        known(parser, "kind of noise", args.kinds, list(noises.KINDS))
        return judged(estimators.judge(args.kinds or list(noises.KINDS), args.runs))

    return run


def check_fleet(parser: ArgumentParser) -> Run:
    """It fails if that takes more than 60 seconds or 2 GB. If others use more than a tenth of the
    machine meanwhile, the seconds of all processors are judged, not those of the clock.
    """
    parser.add_argument("--runs", type=positive, default=10000, help="how many (10000)")
    return lambda args: judged(fleet.judge(args.runs))


def check_many_files(parser: ArgumentParser) -> Run:
    parser.add_argument("--files", type=positive, default=500, help="C files of the module (500)")
    parser.add_argument("--sites", type=positive, default=10000, help="sites in all files (10000)")
    parser.add_argument("--turns", type=positive, default=7, help="loads of each module (7)")
    add_kernel(parser)
    return lambda args: judged(manyfiles.run(args.kernel, args.files, args.sites, args.turns))
