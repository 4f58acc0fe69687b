# SPDX-License-Identifier: GPL-2.0-only
"""Writes Documentation/kernels.md: test results of each module in each kernel, with date and
commit.

`kmarkers check matrix` and `check debug` store their results in build/matrix/; `kmarkers publish
kernels` moves them to results/kernels.json, and writes the page from this file. With the option
missing, the two tests run only the suites that changed after the published results of a kernel, or
that have no result or a failure; the published results of the other suites are kept. The test
`kernels` fails if the published results lack a suite, or if a suite has changed since its run.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.files import write_file_atomically
from kmtools.base.jsonfile import read_json
from kmtools.base.paths import ROOT
from kmtools.base.processes import capture_output
from kmtools.lab import catalogue
from kmtools.lab.catalogue import Entry
from kmtools.measure import hostenv
from kmtools.runner import registry
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite

# The directory of unpublished results, the file of published results, and the page.
KEPT = ROOT / "build" / "matrix"
STORE = ROOT / "results" / "kernels.json"
PAGE = ROOT / "Documentation" / "kernels.md"
TITLE = "Modules by kernel"
# A red character that marks failures and missing results: Markdown cannot colour text.
RED = "\N{LARGE RED CIRCLE}"
NOT_RUN = f"{RED} **not run**"
PASS, FAIL, SKIP, NEVER = "pass", f"{RED} **fail**", "skip", "*not run*"
# The columns of the page: for each module, the suites that test only this module. The column
# TOGETHER has the results of all other suites.
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
# Steps that have no script in tests/vm/suites. The results of these steps are in the column
# TOGETHER.
OUTSIDE = ("build", "alarm", "boot")
PAGE_HEAD = """\
<!-- SPDX-License-Identifier: GPL-2.0-only -->
# Kernels

Each row is a kernel of `kernels.txt`, with the date and the commit of its last whole run. Suites
that changed later were run again, as lines below the table say. A cell is the result of all tests
of a module: pass, fail, skip, or *not run* where any of its suites has no result. The column
*together* has the build without a warning of the compiler, objtool or modpost, the orders of
loading and unloading, and everything that needs several modules. The kernel's log is scanned after
every test, and a test during which the kernel complained has failed.

Two features of newer processors were never run, because neither QEMU nor Bochs has them: FRED,
which delivers breakpoints in another way, and INVLPGB. `make check-cet` runs indirect branch
tracking and shadow stacks. The last table has other processors, mitigations, numbers of CPUs and
preemption models.
"""


@dataclass
class KernelResults:
    """The test results of one kernel, with the date and the commit of the tree at the last whole
    run. The commit ends with "-dirty" if there were uncommitted changes. `repeated` has the date
    and the commit of each suite that was run again later."""

    kernel: str
    version: str
    qemu: str
    date: str
    commit: str
    suites: dict[str, Tally] = field(default_factory=dict)
    repeated: dict[str, list[str]] = field(default_factory=dict)

    @property
    def commits(self) -> set[str]:
        """The commits of the tree at which the results were obtained."""
        return {self.commit, *(commit for _, commit in self.repeated.values())}


def describe_checkout_commit() -> str:
    """Return the commit of this tree, with "-dirty" appended if files are changed; "" without
    git."""
    source = hostenv.describe_source_tree()
    return (source["commit"] or "")[:8] + ("-dirty" if source["dirty"] else "")


def store_kernel_results(results: KernelResults) -> None:
    """Write the results of a kernel to build/matrix/, until they are published."""
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{results.kernel}.json"
    write_file_atomically(path, json.dumps(asdict(results), indent=1) + "\n")


def parse_kernel_results(fields: Mapping[str, object]) -> KernelResults:
    """Convert `fields`, a JSON object with the results of a kernel, to KernelResults."""
    values = dict(fields)
    suites = values.pop("suites")
    assert isinstance(suites, dict)
    return KernelResults(**values, suites={name: Tally(**tally) for name, tally in suites.items()})  # type: ignore[arg-type]


# The types of the fields in the JSON object of a kernel's results.
SHAPE = {
    "kernel": str, "version": str, "qemu": str, "date": str, "commit": str, "suites": {"*": dict},
    "repeated?": {"*": [str]},
}  # fmt: skip


def read_published_results() -> dict[str, KernelResults]:
    """Return the published results by kernel, from results/kernels.json."""
    if not STORE.is_file():
        return {}
    return {entry["kernel"]: parse_kernel_results(entry) for entry in read_json(STORE, [SHAPE])}


def read_unpublished_results() -> list[KernelResults]:
    """Return the results that are not yet published, from build/matrix/, in the order of
    kernels.txt."""
    paths = (KEPT / f"{entry.name}.json" for entry in list_catalogue_kernels())
    return [parse_kernel_results(read_json(path, SHAPE)) for path in paths if path.is_file()]


def list_catalogue_kernels() -> list[Entry]:
    """Return the kernels of kernels.txt, without kernels that the user added with `lab add`."""
    return [entry for entry in catalogue.load_kernel_entries() if entry.role != catalogue.ADDED]


def list_guest_suite_names() -> list[str]:
    """Return the names of all suites that run in a test kernel."""
    return [name for names in registry.read_suite_names_by_guest() for name in names]


def list_suites_by_page_column() -> dict[str, list[str]]:
    """Return the names of the suites in each column of the page."""
    own = {name for names in COLUMNS.values() for name in names}
    rest = [*OUTSIDE, *(name for name in list_guest_suite_names() if name not in own)]
    return {**{name: list(names) for name, names in COLUMNS.items()}, TOGETHER: rest}


def format_suite_cell(names: Sequence[str], suites: Mapping[str, Tally]) -> str:
    """Return one word for the results of the suites `names` of a column: pass, fail, skip or not
    run. `suites` has the results of all suites of a kernel."""
    tallies = [suites[name] for name in names if name in suites]
    if any(tally.failed for tally in tallies):
        return FAIL
    if len(tallies) < len(names):
        return NEVER
    return PASS if any(tally.passed for tally in tallies) else SKIP


def format_kernel_row(entry: Entry, results: KernelResults | None) -> list[str]:
    """Return the cells of a kernel's row. `results` is None if the kernel has no results."""
    parts = list_suites_by_page_column()
    if results is None:
        return [entry.name, *3 * ["-"], *len(parts) * [NEVER]]
    known = {name for names in parts.values() for name in names}
    # Failures that belong to no suite: the kernel was not fetched or run, or its log has a fault.
    strange = {name: tally for name, tally in results.suites.items() if name not in known}
    cells = {name: format_suite_cell(names, results.suites) for name, names in parts.items()}
    if any(tally.failed for tally in strange.values()):
        cells[TOGETHER] = FAIL
    return [entry.name, results.version, results.date, results.commit, *cells.values()]


def list_failures_and_skips(results: Iterable[KernelResults]) -> list[str]:
    """Return a line for each failure, and for each reason why tests were skipped or not run."""
    failed, why = [], defaultdict(list)
    wanted = [name for names in list_suites_by_page_column().values() for name in names]
    for one in results:
        for name, tally in one.suites.items():
            failed += [f"- FAILED {one.kernel} {name}: {what}" for what in tally.failed]
            for reason in tally.skipped:
                # Group by the reason alone: `reason` may begin with "NAME OF TEST: ".
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


def describe_test_requirement(entry: Entry) -> str:
    """Return a text for the page: what one needs to test a kernel that has no results yet."""
    if entry.suite.startswith("ubuntu-"):
        return "an archive of Ubuntu, which KMARKERS_UBUNTU names"
    if entry.debug_kinds or entry.role == catalogue.UPSTREAM:
        return "a build of the kernel"
    return "a whole run"


def list_repeated_suites(results: Iterable[KernelResults]) -> list[str]:
    """Return a line for each date and commit at which suites were run again after the last whole
    run, with the names of the suites and of the kernels."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in results:
        for date, commit in sorted({(when, commit) for when, commit in one.repeated.values()}):
            suites = [name for name, last in one.repeated.items() if last == [date, commit]]
            found[date, commit, *suites].append(one.kernel)
    return [
        f"- run again on {date} at {commit}: {', '.join(suites)} (in {', '.join(kernels)})"
        for (date, commit, *suites), kernels in found.items()
    ]


def list_missing_results(published: Mapping[str, KernelResults]) -> list[str]:
    """List the kernels that have no results, grouped by what one needs to test them: return lines
    with the text of describe_test_requirement() and the names of the kernels."""
    why = defaultdict(list)
    for entry in list_catalogue_kernels():
        if entry.name not in published:
            why[describe_test_requirement(entry)].append(entry.name)
    return [f"- no result, needs {reason}: {', '.join(names)}" for reason, names in why.items()]


def format_kernel_table(published: Mapping[str, KernelResults]) -> str:
    """Return the table of the published results, and below it the lines with failures, skipped
    tests and missing results."""
    head = ["kernel", "version", "date", "commit", *list_suites_by_page_column()]
    body = [
        format_kernel_row(entry, published.get(entry.name)) for entry in list_catalogue_kernels()
    ]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, len(head) * ["---"], *body)]
    some = [published[entry.name] for entry in list_catalogue_kernels() if entry.name in published]
    if said := [
        *list_failures_and_skips(some),
        *list_repeated_suites(some),
        *list_missing_results(published),
    ]:
        lines += ["", *said]
    return "\n".join(lines) + "\n"


def replace_page_section(page: Path, title: str, text: str) -> None:
    """Replace the text of the section `title` of a Markdown page, or append this section."""
    content = page.read_text(encoding="utf-8") if page.is_file() else PAGE_HEAD
    head, *sections = re.split(r"^(?=## )", content.rstrip("\n") + "\n\n", flags=re.M)
    titles = [part.split("\n", 1)[0] for part in sections]
    place = titles.index(f"## {title}") if f"## {title}" in titles else len(titles)
    sections[place : place + 1] = [f"## {title}\n\n{text}\n"]
    write_file_atomically(page, (head + "".join(sections)).rstrip("\n") + "\n")


def publish_kernel_results() -> None:
    """Move the unpublished results to results/kernels.json, and write the page."""
    news, published = read_unpublished_results(), read_published_results()
    if not news and not published:
        raise UnableError("there are no results to publish; run `make check-matrix` first")
    for one in news:
        for commit in one.commits:
            if not commit or commit.endswith("-dirty"):
                why = f"the results of kernel {one.kernel} are of no commit ({commit or 'no git'})"
                raise UnableError(f"{why}: run the tests in a clone without changes")
    published |= {one.kernel: one for one in news}
    ordered = [
        asdict(published[entry.name])
        for entry in list_catalogue_kernels()
        if entry.name in published
    ]
    STORE.parent.mkdir(parents=True, exist_ok=True)
    write_file_atomically(STORE, json.dumps(ordered, indent=1) + "\n")
    replace_page_section(PAGE, TITLE, format_kernel_table(published))
    for one in news:
        (KEPT / f"{one.kernel}.json").unlink()
        print(f"kernel {one.kernel}: the row in {PAGE.name} is written")


def find_last_suite_change(suite: str) -> str:
    """Return the date of the last commit that changed a suite; "" if git has no history here."""
    script = registry.GUEST_SUITES / f"{suite}.sh"
    done = capture_output(["git", "log", "-1", "--format=%cs", "--", script], ROOT)
    return done.stdout.strip() if done.returncode == 0 else ""


@cache
def list_files_changed_since(commit: str) -> frozenset[str] | None:
    """Return the files in tests/vm/suites that have changed since a commit; None if git does not
    know the commit."""
    done = capture_output(["git", "diff", "--name-only", commit, "--", registry.GUEST_SUITES], ROOT)
    return None if done.returncode else frozenset(done.stdout.split())


def has_suite_changed_since_run(one: KernelResults, suite: str) -> bool:
    """Return True if a suite has changed after its last run in a kernel: after the commit of the
    run or, if git does not know this commit, after the day of the run."""
    date, commit = one.repeated.get(suite, (one.date, one.commit))
    changed = list_files_changed_since(commit)
    if changed is None:
        return find_last_suite_change(suite) > date
    return any(Path(file).stem == suite for file in changed)


def list_suites_to_repeat(one: KernelResults) -> list[str]:
    """Return the suites that have no result in a kernel, or a failure, or that changed after their
    last run."""
    return [
        name
        for name in list_guest_suite_names()
        if name not in one.suites
        or one.suites[name].failed
        or has_suite_changed_since_run(one, name)
    ]


def judge_published_results(published: Mapping[str, KernelResults]) -> Tally:
    """Check the published results. A kernel with the role "gates" must have results of all suites.
    A result may not be older than the last change of its suite."""
    tally = Tally()
    for entry in list_catalogue_kernels():
        one = published.get(entry.name)
        if one is None:
            tally.add_result(entry.role != "gates", f"kernel {entry.name} was not run")
            continue
        absent = [name for name in list_guest_suite_names() if name not in one.suites]
        gates = entry.role == "gates" and absent
        tally.add_result(not gates, f"kernel {entry.name} has no results of {', '.join(absent)}")
        older = [
            name
            for name in list_guest_suite_names()
            if name in one.suites and has_suite_changed_since_run(one, name)
        ]
        tally.add_result(not older, f"kernel {entry.name} ran before {', '.join(older)} changed")
    return tally


def judge_and_log_published_results(log: Path) -> Tally:
    """Check the published results, and write the failures to `log`."""
    tally = judge_published_results(read_published_results())
    log.write_text("".join(f"{line}\n" for line in tally.failed), encoding="utf-8")
    return tally


def make_requested_kernel_page_suites(_: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return a list of one suite, named names[0], which checks the published results."""

    def explain_missing_git_history() -> str:
        return (
            ""
            if find_last_suite_change("core")
            else "the dates of suites are unknown: use a git clone with history"
        )

    return [
        Suite(
            names[0],
            judge_and_log_published_results,
            "the published results of all kernels are newer than the suites",
            explain_missing_git_history,
            1,
        )
    ]
