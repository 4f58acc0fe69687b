# SPDX-License-Identifier: GPL-2.0-only
"""Writes Documentation/kernels.md: the results of each module in each kernel, with date and commit.

`kmarkers check matrix` and `check debug` keep their results in build/matrix/; `kmarkers publish
kernels` moves it to results/kernels.json, and writes the page from that. The test `kernels` fails
if the published results lack suites of the tree or are older than them.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.files import write_whole
from kmtools.base.jsonfile import read_json
from kmtools.base.paths import ROOT
from kmtools.base.processes import captured
from kmtools.lab import catalogue
from kmtools.lab.catalogue import Entry
from kmtools.measure import hostenv
from kmtools.runner import registry
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite

KEPT = ROOT / "build" / "matrix"
STORE = ROOT / "results" / "kernels.json"
PAGE = ROOT / "Documentation" / "kernels.md"
TITLE = "Modules by kernel"
# A sign for failures, which is red in every viewer.
RED = "\N{LARGE RED CIRCLE}"
NOT_RUN = f"{RED} **not run**"
PASS, FAIL, SKIP, NEVER = "pass", f"{RED} **fail**", "skip", "*not run*"
# The suites of each module; all other suites test several modules together.
COLUMNS = {
    "patcher": ("core", "handler_path", "kprobes", "landing"),
    "immediate": ("settable",),
    "markers": (
        "typed", "history", "events", "fields", "references", "many", "hundred", "functions",
        "nomem",
    ),
    "sdt": ("sdt", "sdt_events", "notes", "notes_many"),
    "entry": ("entry", "entry_many", "entry_events"),
    "bench": ("bench", "bench_groups", "packets"),
}  # fmt: skip
TOGETHER = "together"
# Suites without a script in tests/vm/suites.
OUTSIDE = ("build", "alarm", "boot")
PAGE_HEAD = """\
<!-- SPDX-License-Identifier: GPL-2.0-only -->
# Kernels

Each row is a kernel of `kernels.txt`, with the date and the commit of its last whole run. A cell is
the result of all tests of a module: pass, fail, skip, or *not run* where any of its suites has no
result. *together* are the build without a warning of the compiler, objtool or modpost, the orders
of loading and unloading, and everything that needs several modules. The kernel's log is scanned
after every test, and a test during which the kernel complained has failed.

Two features of newer processors were never run, because neither QEMU nor Bochs has them: FRED,
which delivers breakpoints in another way, and INVLPGB. `make check-cet` runs indirect branch
tracking and shadow stacks. The last table has other processors, mitigations, numbers of CPUs and
preemption models.
"""


@dataclass
class Kept:
    """The results of one kernel: its suites, the day, and the commit of the tree that was tested,
    which ends in "-dirty" if files were changed."""

    kernel: str
    version: str
    qemu: str
    date: str
    commit: str
    suites: dict[str, Tally] = field(default_factory=dict)


def commit() -> str:
    """Return the commit of this tree, "-dirty" behind it if there are changes; "" without git."""
    source = hostenv.source()
    return (source["commit"] or "")[:8] + ("-dirty" if source["dirty"] else "")


def keep(one: Kept) -> None:
    """Keep the results of a kernel until they are published."""
    KEPT.mkdir(parents=True, exist_ok=True)
    write_whole(KEPT / f"{one.kernel}.json", json.dumps(asdict(one), indent=1) + "\n")


def read(fields: Mapping[str, object]) -> Kept:
    """Return results from their JSON."""
    values = dict(fields)
    suites = values.pop("suites")
    assert isinstance(suites, dict)
    return Kept(**values, suites={name: Tally(**tally) for name, tally in suites.items()})  # type: ignore[arg-type]


SHAPE = {
    "kernel": str, "version": str, "qemu": str, "date": str, "commit": str, "suites": {"*": dict},
}  # fmt: skip


def stored() -> dict[str, Kept]:
    """Return the published results, by kernel."""
    if not STORE.is_file():
        return {}
    return {entry["kernel"]: read(entry) for entry in read_json(STORE, [SHAPE])}


def found() -> list[Kept]:
    """Return the results that are not yet published, in the order of kernels.txt."""
    paths = (KEPT / f"{entry.name}.json" for entry in listed())
    return [read(read_json(path, SHAPE)) for path in paths if path.is_file()]


def listed() -> list[Entry]:
    """Return the kernels of kernels.txt without those that a user added."""
    return [entry for entry in catalogue.load() if entry.role != catalogue.ADDED]


def suites_of_tree() -> list[str]:
    """Return the names of all suites that run inside a kernel."""
    return [name for names in registry.guest_lists() for name in names]


def columns() -> dict[str, list[str]]:
    """Return the suites of each column of the page."""
    own = {name for names in COLUMNS.values() for name in names}
    rest = [*OUTSIDE, *(name for name in suites_of_tree() if name not in own)]
    return {**{name: list(names) for name, names in COLUMNS.items()}, TOGETHER: rest}


def cell(names: Sequence[str], suites: Mapping[str, Tally]) -> str:
    """Return the result of some suites in a word."""
    tallies = [suites[name] for name in names if name in suites]
    if any(tally.failed for tally in tallies):
        return FAIL
    if len(tallies) < len(names):
        return NEVER
    return PASS if any(tally.passed for tally in tallies) else SKIP


def row(entry: Entry, one: Kept | None) -> list[str]:
    """Return the cells of a kernel."""
    parts = columns()
    if one is None:
        return [entry.name, *3 * ["-"], *len(parts) * [NEVER]]
    known = {name for names in parts.values() for name in names}
    # Results outside of the columns: failures of the fetch, of the run, or in the kernel's log.
    strange = {name: tally for name, tally in one.suites.items() if name not in known}
    cells = {name: cell(names, one.suites) for name, names in parts.items()}
    if any(tally.failed for tally in strange.values()):
        cells[TOGETHER] = FAIL
    return [entry.name, one.version, one.date, one.commit, *cells.values()]


def reasons(kept: Iterable[Kept]) -> list[str]:
    """Return a line for each failure, and for each reason why something was skipped or not run."""
    failed, why = [], defaultdict(list)
    wanted = [name for names in columns().values() for name in names]
    for one in kept:
        for name, tally in one.suites.items():
            failed += [f"- FAILED {one.kernel} {name}: {what}" for what in tally.failed]
            for reason in tally.skipped:
                # A reason may follow the name of a test.
                why[f"skip: {reason.partition(': ')[2] or reason}"].append((one.kernel, name))
        absent = [name for name in wanted if name not in one.suites]
        if absent:
            why[f"not run in {one.kernel}"] += [("", name) for name in absent]
    lines = []
    for reason, places in why.items():
        kernels = ", ".join(dict.fromkeys(kernel for kernel, _ in places if kernel))
        suites = ", ".join(dict.fromkeys(name for _, name in places))
        lines.append(f"- {reason} ({suites}{f': {kernels}' if kernels else ''})")
    return [*failed, *lines]


def needs(entry: Entry) -> str:
    """Return what is needed to fill the row of a kernel without results."""
    if entry.suite.startswith("ubuntu-"):
        return "an archive of Ubuntu, which KMARKERS_UBUNTU names"
    if entry.debug or entry.role == catalogue.UPSTREAM:
        return "a build of the kernel"
    return "a whole run"


def without_results(kept: Mapping[str, Kept]) -> list[str]:
    """Return a line for each requirement of rows without results."""
    why = defaultdict(list)
    for entry in listed():
        if entry.name not in kept:
            why[needs(entry)].append(entry.name)
    return [f"- no result, needs {reason}: {', '.join(names)}" for reason, names in why.items()]


def as_markdown(kept: Mapping[str, Kept]) -> str:
    """Return the table and the reasons below it."""
    head = ["kernel", "version", "date", "commit", *columns()]
    body = [row(entry, kept.get(entry.name)) for entry in listed()]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, len(head) * ["---"], *body)]
    some = [kept[entry.name] for entry in listed() if entry.name in kept]
    if said := [*reasons(some), *without_results(kept)]:
        lines += ["", *said]
    return "\n".join(lines) + "\n"


def write_section(page: Path, title: str, text: str) -> None:
    """Replace one section of the page, or add it."""
    content = page.read_text() if page.is_file() else PAGE_HEAD
    head, *sections = re.split(r"^(?=## )", content.rstrip("\n") + "\n\n", flags=re.M)
    titles = [part.split("\n", 1)[0] for part in sections]
    place = titles.index(f"## {title}") if f"## {title}" in titles else len(titles)
    sections[place : place + 1] = [f"## {title}\n\n{text}\n"]
    page.write_text((head + "".join(sections)).rstrip("\n") + "\n")


def publish() -> None:
    """Move kept results to results/kernels.json, and write the page."""
    news, kept = found(), stored()
    if not news and not kept:
        raise UnableError("no results are kept; run make check-matrix first")
    for one in news:
        if not one.commit or one.commit.endswith("-dirty"):
            why = f"the results of {one.kernel} are of no commit ({one.commit or 'no git'})"
            raise UnableError(f"{why}: run them in a clone without changes")
    kept |= {one.kernel: one for one in news}
    ordered = [asdict(kept[entry.name]) for entry in listed() if entry.name in kept]
    STORE.parent.mkdir(parents=True, exist_ok=True)
    write_whole(STORE, json.dumps(ordered, indent=1) + "\n")
    write_section(PAGE, TITLE, as_markdown(kept))
    for one in news:
        (KEPT / f"{one.kernel}.json").unlink()
        print(f"{one.kernel}: its row of {PAGE.name} is written")


def changed(name: str) -> str:
    """Return the day of the last commit that changed a suite; "" where git does not know it."""
    script = registry.GUEST_SUITES / f"{name}.sh"
    done = captured(["git", "-C", str(ROOT), "log", "-1", "--format=%cs", "--", str(script)])
    return done.stdout.strip() if done.returncode == 0 else ""


def judge(kept: Mapping[str, Kept]) -> Tally:
    """Judge the published results: each gating kernel must have all suites of the tree, and no row
    may be older than one of its suites."""
    tally = Tally()
    days = {name: changed(name) for name in suites_of_tree()}
    for entry in listed():
        one = kept.get(entry.name)
        if one is None:
            tally.judge(entry.role != "gates", f"{entry.name} was not run")
            continue
        absent = [name for name in days if name not in one.suites]
        gates = entry.role == "gates" and absent
        tally.judge(not gates, f"{entry.name} has no result of {', '.join(absent)}")
        older = [name for name, day in days.items() if name in one.suites and day > one.date]
        tally.judge(not older, f"{entry.name} was run before {', '.join(older)} changed")
    return tally


def run(log: Path) -> Tally:
    """Judge the published results; `log` gets the failures."""
    tally = judge(stored())
    log.write_text("".join(f"{line}\n" for line in tally.failed))
    return tally


def suites_of(_: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suite that checks the page."""

    def obstacle() -> str:
        return "" if changed("core") else "git knows no dates of suites here: clone with history"

    return [Suite(names[0], run, "results of all kernels are those of today's suites", obstacle, 1)]
