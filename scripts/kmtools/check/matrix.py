# SPDX-License-Identifier: GPL-2.0-only
"""Runs the tests inside every kernel of kernels.txt, with logs in build/matrix/.

A table of kernels by suites is printed, and written to Documentation/kernels.md.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from kmtools.base.errors import require_root
from kmtools.base.paths import ROOT
from kmtools.base.text import aligned
from kmtools.check import kernelsuite
from kmtools.check.kernelsuite import Outcome
from kmtools.check.ktap import Tally
from kmtools.lab import catalogue
from kmtools.lab.catalogue import Entry

LOGS = ROOT / "build" / "matrix"
PAGE = ROOT / "Documentation" / "kernels.md"
STOCK, DEBUG = "Stock kernels", "Debug kernels"
# Red on every page that shows this file.
RED = "\N{LARGE RED CIRCLE}"
NOT_RUN = f"{RED} **not run**"
# Columns before those of the suites, and behind them.
BEFORE, BEHIND = 3, 5
PAGE_HEAD = """\
<!-- SPDX-License-Identifier: GPL-2.0-only -->
# Kernels

This page lists the results of all tests that run inside a test kernel, for every kernel of
`kernels.txt`. A cell is the number of tests that passed; failed and skipped ones are named as
such. Each kernel log is scanned after every test, and a test during which the kernel complained
has failed. `build` has passed if all modules, tests and examples were built without a warning of
the compiler, objtool or modpost. Seconds are for building, booting and testing.

Two features of newer processors were never run, because neither QEMU nor Bochs has them: FRED,
which delivers breakpoints in another way, and INVLPGB. `make check-cet` runs indirect branch
tracking and shadow stacks. The last table has other processors, mitigations, numbers of CPUs and
preemption models.
"""


def cell(tally: Tally | None) -> str:
    """Return one suite's results in a few characters."""
    if tally is None:
        return "-"
    parts = [str(tally.passed)]
    if tally.failed:
        parts.append(f"{len(tally.failed)} FAILED")
    if tally.skipped:
        parts.append(f"{len(tally.skipped)} skipped")
    return ", ".join(parts)


def rows(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return the table with its head: one line per kernel, one column per suite."""
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.suites))
    table = [
        ["kernel", "version", "QEMU", *names, "passed", "failed", "skipped", "seconds", "retries"]
    ]
    for one in outcomes:
        tally = one.tally
        numbers = (tally.passed, len(tally.failed), len(tally.skipped))
        table.append(
            [
                *(one.kernel, one.version, short_version(one.qemu)),
                *(cell(one.suites.get(name)) for name in names),
                *(str(number) for number in numbers),
                *(f"{one.seconds:.0f}", str(len(one.retries))),
            ]
        )
    return table


def short_version(qemu: str) -> str:
    """Return the number from QEMU's description of its version."""
    match = re.search(r"version ([0-9.]+)", qemu)
    return match[1] if match else qemu


def notes(outcomes: Iterable[Outcome]) -> list[str]:
    """Return a line for every failure, skip, retry and kernel that took long."""
    lines = []
    for one in outcomes:
        for suite, tally in one.suites.items():
            lines += [f"FAILED {one.kernel} {suite}: {why}" for why in tally.failed]
            lines += [f"SKIP {one.kernel} {suite}: {why}" for why in tally.skipped]
        lines += [
            f"RETRIED {one.kernel}: the emulator was at fault, not our code: {why}"
            for why in one.retries
        ]
        if one.short:
            lines.append(f"SHORT {one.kernel}: the storms were short")
        if one.seconds > one.may_take:
            lines.append(f"SLOW {one.kernel}: slower than {one.may_take / 60:g} minutes")
    return lines


def total_time(outcomes: Sequence[Outcome]) -> str:
    """Return the time of all rows together, as a sentence."""
    seconds = sum(one.seconds for one in outcomes)
    return f"Building, booting and testing took {seconds:.0f} s in all."


def as_text(outcomes: Sequence[Outcome]) -> str:
    """Return the table for a terminal."""
    return "\n".join([*aligned(rows(outcomes)), total_time(outcomes), *notes(outcomes)]) + "\n"


def markdown_table(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table for Documentation."""
    head, *body = ("| " + " | ".join(row) + " |" for row in table)
    return [head, "|" + " --- |" * BEFORE + " ---: |" * (len(table[0]) - BEFORE), *body]


def as_markdown(outcomes: Sequence[Outcome], command: str) -> str:
    """Return the table for Documentation, with its command and date."""
    lines = [
        f"`{command}`, {datetime.now(UTC):%Y-%m-%d}:",
        "",
        *markdown_table(rows(outcomes)),
        "",
        total_time(outcomes),
    ]
    if said := notes(outcomes):
        lines += ["", *(f"- {note}" for note in said)]
    return "\n".join(lines) + "\n"


def title_of(entry: Entry) -> str:
    """Return the section of the page that a kernel is in."""
    return DEBUG if entry.debug else STOCK


def never_run(title: str, run: Collection[str]) -> list[str]:
    """Return a paragraph that names the kernels of a section that have no row, if there are any."""
    listed = [entry for entry in catalogue.load() if entry.role != catalogue.ADDED]
    names = [entry.name for entry in listed if title_of(entry) == title and entry.name not in run]
    return ["", f"{NOT_RUN}: {', '.join(names)}"] if names else []


def write_section(page: Path, title: str, text: str) -> None:
    """Replace one section of the page, or add it."""
    content = page.read_text() if page.is_file() else PAGE_HEAD
    head, *sections = re.split(r"^(?=## )", content.rstrip("\n") + "\n\n", flags=re.M)
    titles = [part.split("\n", 1)[0] for part in sections]
    place = titles.index(f"## {title}") if f"## {title}" in titles else len(titles)
    sections[place : place + 1] = [f"## {title}\n\n{text}\n"]
    page.write_text((head + "".join(sections)).rstrip("\n") + "\n")


def update_row(page: Path, one: Outcome) -> bool:
    """Write the row and the notes of a kernel that ran alone; return False if there is no place for
    them."""
    entry = catalogue.find(one.kernel)
    if entry.role == catalogue.ADDED or not page.is_file():
        return False
    head, *sections = re.split(r"^(?=## )", page.read_text(), flags=re.M)
    for number, section in enumerate(sections):
        if section.startswith(f"## {title_of(entry)}\n") and "\n| kernel | version |" in section:
            sections[number] = _with_row(section, one)
            page.write_text((head + "".join(sections)).rstrip("\n") + "\n")
            return True
    return False


def _with_row(section: str, one: Outcome) -> str:
    """Return a section of the page with a new outcome of one of its kernels."""
    lines = section.rstrip("\n").splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("| kernel |"))
    behind = next(at for at, line in enumerate([*lines, ""]) if at > first and line[:1] != "|")
    head, _, *others = ([*map(str.strip, line[1:-1].split(" | "))] for line in lines[first:behind])
    row = dict(zip(*rows([one])))
    table = [row, *(dict(zip(head, other)) for other in others if other[0] != one.kernel)]
    listed = [entry.name for entry in catalogue.load()]
    table.sort(key=lambda kernel: [*listed, kernel["kernel"]].index(kernel["kernel"]))
    suites = _columns(head[BEFORE:-BEHIND], list(row)[BEFORE:-BEHIND])
    known = [name for name in suites if any(kernel.get(name, "-") != "-" for kernel in table)]
    columns = [*head[:BEFORE], *known, *head[-BEHIND:]]
    filled = [columns, *([kernel.get(name, "-") for name in columns] for kernel in table)]
    of_kernel = re.compile(rf"- [A-Z]+ {re.escape(one.kernel)}[ :]")
    after = [line for line in lines[behind:] if not of_kernel.match(line)]
    if after[1:2] and after[1].startswith(NOT_RUN):
        del after[:2]
    if not after[-1:] or not after[-1].startswith("- "):
        after.append("")
    said = [*notes([one]), f"AGAIN {one.kernel}: by itself, {datetime.now(UTC):%Y-%m-%d %H:%M}"]
    left = never_run(lines[0].removeprefix("## "), {kernel["kernel"] for kernel in table})
    notes_of_all = [*after, *(f"- {note}" for note in said)]
    parts = [*lines[:first], *markdown_table(filled), *left, *notes_of_all]
    return "\n".join(parts) + "\n\n"


def _columns(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return all columns of two tables, each new one behind the one that it follows."""
    columns = list(old)
    for before, name in zip(["", *new], new):
        if name not in columns:
            columns.insert(columns.index(before) + 1 if before else 0, name)
    return columns


def run_all(names: list[str], short: bool = False) -> list[Outcome]:
    """Run the kernels one after the other, and print the result of each."""
    settings = kernelsuite.SHORT_SETTINGS if short else None
    outcomes = []
    for number, name in enumerate(names, 1):
        print(f"[{number}/{len(names)}] {name} ...", flush=True)
        outcome = kernelsuite.run_or_say(name, LOGS / name, settings=settings)
        outcome.short = short
        line = outcome.tally.closing_line()
        print(f"[{number}/{len(names)}] {name}: {line} in {outcome.seconds:.0f} s", flush=True)
        outcomes.append(outcome)
    return outcomes


def run(names: Iterable[str], debug: bool, short: bool = False) -> bool:
    """Run the named kernels, or all of one kind; print the table; return whether all passed.

    With `short`, storms are as short as in make check.
    """
    require_root("building and booting test kernels")
    chosen = [catalogue.find(name).name for name in names]
    listed = [entry for entry in catalogue.load() if entry.role != catalogue.ADDED]
    of_kind = [entry.name for entry in listed if bool(entry.debug) == debug]
    outcomes = run_all(chosen or of_kind, short)
    print(as_text(outcomes), end="")
    if not chosen:
        command = "make check-debug" if debug else "make check-matrix"
        write_section(PAGE, DEBUG if debug else STOCK, as_markdown(outcomes, command))
    for outcome in outcomes if chosen else []:
        if update_row(PAGE, outcome):
            print(f"{outcome.kernel}: its row of {PAGE.name} is updated")
    return not any(outcome.tally.failed for outcome in outcomes)
