# SPDX-License-Identifier: GPL-2.0-only
"""The commands impact, rates and sites, which print calculations from a run or from compiled
objects."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kmtools.base.errors import BAD, DONE, FailedError, UnableError
from kmtools.base.files import write_file_atomically
from kmtools.base.paths import require_checkout
from kmtools.base.text import align_table
from kmtools.commands import Run
from kmtools.commands.plotting import FORMATS
from kmtools.measure import objects, rundir


def add_impact_command(parser: ArgumentParser) -> Run:
    """Reads summary.json of a run that measured on a CPU with real caches (tier native or metal),
    and prints how much two markers add to a getppid() call."""
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")

    def run_impact_command(args: Namespace) -> None:
        from kmtools.analyse.summary import read_summary
        from kmtools.report.impact import render_impact_section

        text = "\n".join(render_impact_section(read_summary(args.run)["results"]))
        if not text:
            raise FailedError(
                f"{args.run}: no tier with real caches (native or metal) has results of"
                " getppid-pressure and of cold branches"
            )
        print_run_warnings(rundir.read_env(args.run / "env.json"))
        print(text)

    return run_impact_command


def print_run_warnings(env: Mapping[str, Any]) -> None:
    """Print the warnings about a run, such as that it was quick."""
    for line in rundir.list_warnings(env):
        print(f"{line}\n")


def add_rates_command(parser: ArgumentParser) -> Run:
    """Reads summary.json and env.json of a run, and measures nothing. An event is one execution of
    an instrumented place in the code. A table has a row for each mechanism, such as a marker, a
    static key or a kprobe. Its columns are the CPU time in nanoseconds that the mechanism adds to
    an event, the event rate at which this time is 1 % of one CPU, and the share of one CPU at the
    rate of --rate. Below the table, the cheapest mechanism is named: while no probe is connected
    (dormant), and while a probe runs (enabled). The times were measured in hot loops, with code and
    data in the caches, on a real CPU: emulated tiers are left out."""
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")
    parser.add_argument(
        "--rate",
        type=float,
        default=1e6,
        help="event rate, in events per second, for the column CPU share (default: 1000000)",
    )
    parser.add_argument(
        "--figure",
        type=Path,
        metavar="FILE",
        help="also plot the CPU share against the event rate, and write the figure to this file, "
        "whose suffix is .svg, .png or .pdf",
    )

    def run_rates_command(args: Namespace) -> None:
        from kmtools.analyse.summary import read_summary
        from kmtools.report.figures import library
        from kmtools.report.rates import (
            compute_mechanism_costs,
            make_rate_charts,
            render_rates_text,
        )

        env = rundir.read_env(args.run / "env.json")
        found = compute_mechanism_costs(read_summary(args.run), env)
        kind = args.figure.suffix[1:] if args.figure else "svg"
        if kind not in FORMATS:
            raise UnableError(f"{args.figure}: the suffix of a figure must be .svg, .png or .pdf")
        print_run_warnings(env)
        print(render_rates_text(found, args.rate))
        if args.figure:
            if why := library.find_matplotlib_fault():
                raise UnableError(f"the figure cannot be drawn: {why}")
            words = "Share of one CPU over the event rate, for each mechanism"
            write_file_atomically(
                args.figure,
                library.import_canvas_module().render_figure_file(
                    make_rate_charts(found), words, kind
                ),
            )

    return run_rates_command


def add_sites_command(parser: ArgumentParser) -> Run:
    """Without arguments, a table shows the size of each form of site. With FORM, one of the names
    in its first column, the code of that form is also shown. The sizes are read from objects that
    are compiled for this table, with similar flags as the modules and kmbench. The column
    text-likely has the code up to the first return instruction. The sizes do not include code that
    loads the arguments of a site, because the arguments are in registers already.

    With FILE.ko, the sites of that module are listed, and the exit code is 1 if a site would
    prevent the kernel from loading the module.
    """
    parser.add_argument(
        "forms",
        nargs="*",
        metavar="FORM|FILE.ko",
        help="form of site, to show its code, or module file, to list its sites",
    )

    def run_sites_command(args: Namespace) -> int | None:
        if files := [form for form in args.forms if ".ko" in form]:
            return print_module_sites(files)
        require_checkout()
        if unknown := sorted(set(args.forms) - set(objects.SITES)):
            known = ", ".join(objects.SITES)
            raise UnableError(f"{unknown[0]!r} is not one of the forms {known}")
        found = [
            s for s in objects.measure_all_site_forms() if s.form in args.forms or not args.forms
        ]
        lines = [["bytes of a site", *objects.PARTS]]
        lines += [[s.form, *(str(s.sizes[part]) for part in objects.PARTS)] for s in found]
        print("\n".join(align_table(lines, range(1, len(lines[0])))))
        if args.forms:
            print("\n" + "\n\n".join(f"{s.form}:\n{s.code}" for s in found))
        else:
            entries = objects.count_recorded_function_entries()
            print(
                f"\ngcc records {entries} function entries in the sources that modules and kmbench "
                "share, not counting sources with benchmark variants"
            )
        return None

    return run_sites_command


def print_module_sites(files: Sequence[str]) -> int:
    """Print the sites of module files. Returns the exit code: BAD if a site would prevent the
    kernel from loading its module."""
    from kmtools.lab.modulesites import read_module_sites

    code = DONE
    for file in files:
        found = read_module_sites(Path(file))
        lines = [["kind", "name", "flavour", "function", "place"]]
        lines += [[s.kind, s.name, s.flavour, s.function, s.place or "-"] for s in found]
        none = f"{file}: no markers, SDT probes or immediate values"
        print("\n".join([f"{file}:", *align_table(lines)] if found else [none]))
        for fault in filter(None, (site.load_obstacle for site in found)):
            print(f"{file}: error: {fault}", file=sys.stderr)
            code = BAD
    return code
