# SPDX-License-Identifier: GPL-2.0-only
"""Runs the tests inside every kernel of kernels.txt, with logs in build/matrix/.

A table of kernels by suites is printed, and written to Documentation/kernels.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from kmtools.base.errors import UnableError, require_root
from kmtools.base.paths import ROOT
from kmtools.base.text import aligned
from kmtools.check import kernelsuite
from kmtools.check.kernelsuite import Outcome
from kmtools.check.ktap import Tally
from kmtools.lab import catalogue

LOGS = ROOT / "build" / "matrix"
PAGE = ROOT / "Documentation" / "kernels.md"
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


def as_markdown(outcomes: Sequence[Outcome], command: str) -> str:
    """Return the table for Documentation, with its command and date."""
    head, *body = rows(outcomes)
    lines = [
        f"`{command}`, {datetime.now(UTC):%Y-%m-%d}:",
        "",
        "| " + " | ".join(head) + " |",
        "|" + " --- |" * 3 + " ---: |" * (len(head) - 3),
        *("| " + " | ".join(row) + " |" for row in body),
        "",
        total_time(outcomes),
    ]
    if said := notes(outcomes):
        lines += ["", *(f"- {note}" for note in said)]
    return "\n".join(lines) + "\n"


def write_section(page: Path, title: str, text: str) -> None:
    """Replace one section of the page, or add it."""
    content = page.read_text() if page.is_file() else PAGE_HEAD
    head, *sections = re.split(r"^(?=## )", content.rstrip("\n") + "\n\n", flags=re.M)
    titles = [part.split("\n", 1)[0] for part in sections]
    place = titles.index(f"## {title}") if f"## {title}" in titles else len(titles)
    sections[place : place + 1] = [f"## {title}\n\n{text}\n"]
    page.write_text((head + "".join(sections)).rstrip("\n") + "\n")


def update_row(page: Path, one: Outcome) -> bool:
    """Replace the row and the notes of a kernel that ran alone; return False if it has no row."""
    if not page.is_file():
        return False
    head, *sections = re.split(r"^(?=## )", page.read_text(), flags=re.M)
    for number, section in enumerate(sections):
        if f"\n| {one.kernel} | " in section and "\n| kernel | version |" in section:
            sections[number] = _with_row(section, one)
            page.write_text((head + "".join(sections)).rstrip("\n") + "\n")
            return True
    return False


def _with_row(section: str, one: Outcome) -> str:
    """Return a section of the page with a new outcome of one of its kernels."""
    of_kernel = re.compile(rf"- [A-Z]+ {re.escape(one.kernel)}[ :]")
    row = dict(zip(*rows([one])))
    head: list[str] = []
    lines = []
    for line in section.rstrip("\n").splitlines():
        if line.startswith("| kernel |"):
            head = [field.strip() for field in line.strip("|").split(" | ")]
        if line.startswith(f"| {one.kernel} |"):
            lines.append("| " + " | ".join(row.get(name, "-") for name in head) + " |")
        elif not of_kernel.match(line):
            lines.append(line)
    if missing := set(row) - set(head):
        raise UnableError(f"the page has no column {', '.join(sorted(missing))}: run all kernels")
    if not lines[-1].startswith("- "):
        lines.append("")
    said = [*notes([one]), f"AGAIN {one.kernel}: by itself, {datetime.now(UTC):%Y-%m-%d %H:%M}"]
    return "\n".join([*lines, *(f"- {note}" for note in said)]) + "\n\n"


def run_all(names: list[str]) -> list[Outcome]:
    """Run the kernels one after the other, and print the result of each."""
    outcomes = []
    for number, name in enumerate(names, 1):
        print(f"[{number}/{len(names)}] {name} ...", flush=True)
        outcome = kernelsuite.run_or_say(name, LOGS / name)
        line = outcome.tally.closing_line()
        print(f"[{number}/{len(names)}] {name}: {line} in {outcome.seconds:.0f} s", flush=True)
        outcomes.append(outcome)
    return outcomes


def run(names: Iterable[str], debug: bool) -> bool:
    """Run the named kernels, or all of one kind; print the table; return whether all passed."""
    require_root("building and booting test kernels")
    chosen = [catalogue.find(name).name for name in names]
    listed = [entry for entry in catalogue.load() if entry.role != catalogue.ADDED]
    of_kind = [entry.name for entry in listed if bool(entry.debug) == debug]
    outcomes = run_all(chosen or of_kind)
    print(as_text(outcomes), end="")
    if not chosen:
        title = "Debug kernels" if debug else "Stock kernels"
        command = "make check-debug" if debug else "make check-matrix"
        write_section(PAGE, title, as_markdown(outcomes, command))
    for outcome in outcomes if chosen else []:
        if update_row(PAGE, outcome):
            print(f"{outcome.kernel}: its row of {PAGE.name} is updated")
    return not any(outcome.tally.failed for outcome in outcomes)
