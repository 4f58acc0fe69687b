# SPDX-License-Identifier: GPL-2.0-only
"""Runs the README's commands in minimal Debian systems, without any of the packages that they need.

For each suite, a root holds Debian's essential packages and apt. There, exactly the commands of the
README are run as root. In another root they are run as a user: they must do all that is possible
without root, and print a command that installs the missing packages, which is then run as root. The
first root gets no test kernels of this machine; the others may read them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

from kmtools.base.errors import UnableError, require_root
from kmtools.base.files import alone, write_whole
from kmtools.base.paths import ROOT
from kmtools.base.processes import captured
from kmtools.lab import bareroot
from kmtools.lab.bareroot import Root
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, printed

WORK = ROOT / "build" / "fresh"
TIMES_PAGE = ROOT / "CONTRIBUTING.md"
SUITES = {"bookworm": "Debian 12", "trixie": "Debian 13", "testing": "Debian testing"}
# This root downloads everything itself. The others read this machine's test kernels.
ALONE = "bookworm"
PLACEHOLDER = "<this repository>"
SOURCE = "/srv/kmarkers.bundle"
SHOW_SECONDS = 30
# The command by which a program asks root to install packages.
MENDS = re.compile(r"apt-get install [a-z0-9][a-z0-9 .+-]*")
UNABLE = 2
# Output that a user gets. make exits with 2 on any failure, and its last line shows the code.
ABLE = {
    "bench": r"(?s)\bnative\b.* Error 2\s*$",
    "check": r"(?s)\n[1-9]\d* passed, 0 failed.* Error 2\s*$",
}
Times = dict[str, dict[str, float]]
BEGIN, END = "<!-- times: make check-fresh -->", "<!-- end of times -->"
# Log lines at the end of a part: installation, and measurement in user space.
MARKS = {
    "set-up": re.compile(r"setup: ready"),
    "native": re.compile(r"^A dormant marker costs"),
}
COLUMNS = (
    "set-up",
    "first answer, from the clone on",
    "`make bench` in all",
    "`make check` in all",
)


@dataclass(frozen=True)
class Step:
    """A command in a root."""

    name: str
    command: str
    user: bool = False
    code: int = 0
    says: str = ""  # a pattern that its output must contain


# A root may be days old, and its lists of packages out of date.
LISTS = Step("lists", "apt-get update")


@dataclass
class Visit:
    """One root, and the results and times of its steps."""

    name: str
    root: Root
    variables: Mapping[str, str]
    tally: Tally = field(default_factory=Tally)
    times: dict[str, float] = field(default_factory=dict)
    mend: str = ""

    @property
    def timed(self) -> str:
        """The name under which the times of this root are kept; short runs have a separate name."""
        return f"{self.name}-quick" if self.variables.get("QUICK") else self.name


def marks(log: Path) -> dict[str, float]:
    """Return when a command's output first reached each mark, in seconds."""
    found: dict[str, float] = {}
    for line in log.read_text(errors="replace").splitlines():
        second, text = line[:8].strip(), line[8:]
        for name, pattern in MARKS.items():
            if name not in found and pattern.search(text):
                found[name] = float(second)
    return found


def load_times(path: Path) -> Times:
    """Read the times of earlier runs."""
    try:
        times: Times = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return times


def add_times(path: Path, name: str, times: Mapping[str, float]) -> None:
    """Add the times of the steps in one root to the file, which also holds those of other roots."""
    known = load_times(path)
    known[name] = known.get(name, {}) | {step: round(took, 1) for step, took in times.items()}
    write_whole(path, json.dumps(known, indent=1, sort_keys=True) + "\n")


def spoken(seconds: float | None) -> str:
    """Return a time as a table shows it."""
    if seconds is None:
        return "-"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{int(seconds + 5) // 60} min {int(seconds + 5) % 60 // 10 * 10:02d} s"


def times_table(times: Times, suites: Mapping[str, str]) -> str:
    """Return the times as a table, one line for each root."""
    lines = [
        f"| bare system | {' | '.join(COLUMNS)} |",
        "|---" * (len(COLUMNS) + 1) + "|",
    ]
    for suite, title in suites.items():
        own = times.get(suite)
        if own is None:
            continue
        first = (
            own["clone"] + own["bench native"] if {"clone", "bench native"} <= own.keys() else None
        )
        cells = [own.get("bench set-up"), first, own.get("bench"), own.get("check")]
        lines.append(f"| {title} | {' | '.join(map(spoken, cells))} |")
    return "\n".join(lines)


def put_times(readme: Path, path: Path, suites: Mapping[str, str]) -> None:
    """Replace the table of times in a page."""
    text = readme.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise UnableError(f"{readme} has no lines {BEGIN} and {END}")
    head, rest = text.split(BEGIN, 1)
    _, tail = rest.split(END, 1)
    machine = f"Measured by `make check-fresh` on {os.cpu_count()} cores."
    body = f"{BEGIN}\n{times_table(load_times(path), suites)}\n\n{machine}\n{END}"
    readme.write_text(f"{head}{body}{tail}", encoding="utf-8")


def readme_commands(text: str) -> list[str]:
    """Return the lines of the first block of code under the README's heading of commands."""
    section = text.split("\n## Two commands\n", 1)[-1].split("\n## ", 1)[0]
    block = re.search(r"\n\n((?:    .+\n)+)", section)
    lines = [line.strip() for line in block[1].splitlines()] if block else []
    if not lines or PLACEHOLDER not in "".join(lines):
        raise UnableError(f"README.md has no block of commands that clones {PLACEHOLDER}")
    return [line.replace(PLACEHOLDER, SOURCE) for line in lines]


def root_steps(commands: list[str]) -> list[Step]:
    """Return the README's commands, each run in the directory that the one before it entered."""
    steps, place = [], ""
    for command in commands:
        words = command.split()
        steps.append(Step("clone" if words[0] == "git" else words[1], place + command))
        if moved := re.search(r"&& cd (\S+)$", command):
            place = f"cd {moved[1]} && "
    return steps


def user_steps(commands: list[str]) -> list[Step]:
    """Return the steps of a user, before and after root installs what is missing."""
    install, *others = root_steps(commands)
    clone, *makes = others
    first = makes[0]
    bare = Step(f"bare-{first.name}", first.command, True, UNABLE, MENDS.pattern)
    able = [Step(make.name, make.command, True, UNABLE, ABLE[make.name]) for make in makes]
    return [install, Step("clone", clone.command, True), bare, Step("mend", ""), *able]


def make_bundle() -> Path:
    """Write the last commit to a file that git can clone."""
    path = WORK / "kmarkers.bundle"
    words = ["git", "-C", str(ROOT), "bundle", "create", "--quiet", str(path), "HEAD"]
    done = captured(words)
    if done.returncode:
        raise UnableError(f"git cannot bundle the last commit: {done.stderr.strip()}")
    return path


def follow(process: subprocess.Popen[bytes], log: Path, label: str) -> str:
    """Write a command's output to a log, each line with the elapsed seconds; show its progress."""
    assert process.stdout is not None
    began = shown = time.monotonic()
    said = rest = ""
    with log.open("w") as file:
        while True:
            ready, _, _ = select.select([process.stdout], [], [], SHOW_SECONDS)
            now = time.monotonic()
            if ready:
                read = os.read(process.stdout.fileno(), 1 << 16).decode(errors="replace")
                *lines, rest = (rest + read).split("\n")
                lines += [rest] if rest and not read else []
                file.writelines(f"{now - began:6.1f}  {line}\n" for line in lines)
                file.flush()
                said += read
                if not read:
                    return said
            if now - shown > SHOW_SECONDS:
                last = said.rstrip().rsplit("\n", 1)[-1]
                print(f"  {label}: {now - began:.0f} s: {last[:60]}", flush=True)
                shown = now


def take(visit: Visit, step: Step) -> bool:
    """Run one step; return whether exit code and output are as expected."""
    label = f"{visit.name}-{step.name}"
    command = visit.mend if step.name == "mend" else step.command
    known = load_times(WORK / "times.json").get(visit.timed, {}).get(step.name)
    expected = f", {known:.0f} s the last time" if known else ""
    print(f"{label}: {command}{expected}", flush=True)
    log = WORK / f"{label}.log"
    began = time.monotonic()
    with bareroot.run(visit.root, command, visit.variables, step.user) as process:
        try:
            said = follow(process, log, label)
            code = process.wait()
        finally:
            process.kill()
    took = time.monotonic() - began
    if mends := MENDS.findall(said):
        visit.mend = mends[0].strip()
    wrong = [f"exit code {code}, not {step.code}"] if code != step.code else []
    if step.says and not re.search(step.says, said):
        wrong.append(f"the output lacks {step.says!r}")
    if not wrong:
        # Only times of passed steps are kept.
        visit.times[step.name] = took
        visit.times |= {f"{step.name} {what}": at for what, at in marks(log).items()}
        visit.tally.passed += 1
        print(f"{label}: ok in {took:.0f} s", flush=True)
        return True
    visit.tally.failed.append(f"{label}: {' and '.join(wrong)}; see {log}")
    print(f"{label}: FAILED, {' and '.join(wrong)}; {log} ends with", flush=True)
    print("".join(f"    {line}\n" for line in said.splitlines()[-12:]), end="", flush=True)
    return False


def remove_leftovers() -> None:
    """Remove the roots of killed runs, whose locks no process holds."""
    for path in WORK.glob("*.lock"):
        with contextlib.suppress(UnableError), alone(path, "another process works in it"):
            Root(path.with_suffix(""), None, None).remove()


@contextmanager
def visiting(suite: str, user: bool, cache: bool, variables: Mapping[str, str]) -> Iterator[Visit]:
    """Unpack a root for a block, and remove it afterwards."""
    name = f"{suite}-user" if user else suite
    WORK.mkdir(parents=True, exist_ok=True)
    remove_leftovers()
    with alone(WORK / f"{name}.lock", f"another run works in the root {name} of this checkout"):
        root = bareroot.unpack(suite, WORK / name, cache)
        try:
            bundle = make_bundle()
            (root.path / SOURCE[1:]).write_bytes(bundle.read_bytes())
            yield Visit(name, root, variables)
        finally:
            root.remove()


def visit_root(
    suite: str, user: bool, cache: bool, wanted: list[str], variables: Mapping[str, str]
) -> Tally:
    """Run all steps in one root, or the wanted steps and the steps that they need."""
    commands = readme_commands((ROOT / "README.md").read_text(encoding="utf-8"))
    steps = user_steps(commands) if user else root_steps(commands)
    needed = {"install", "clone", *(["bare-bench", "mend"] if user else [])}
    unknown = set(wanted) - {step.name for step in steps}
    if unknown:
        names = ", ".join(step.name for step in steps)
        raise UnableError(f"no step {min(unknown)!r}; there are: {names}")
    with visiting(suite, user, cache, variables) as visit:
        steps.insert(0, LISTS)
        for step in steps:
            if wanted and step.name not in {*needed, *wanted, "lists"}:
                continue
            if not take(visit, step) and step.name in {*needed, "lists"}:
                break
        add_times(WORK / "times.json", visit.timed, visit.times)
        return visit.tally


def compile_in(suite: str) -> Tally:
    """Build every program of user space with the compiler of a bare system: a newer one warns of
    more. Few layouts are built, to save time."""
    install, clone, *_ = root_steps(readme_commands((ROOT / "README.md").read_text("utf-8")))
    build = Step("native", "cd kmarkers && scripts/setup --native && make native")
    with visiting(suite, False, True, {"EXTRA": "-DBENCH_FEW_LAYOUTS"}) as visit:
        for step in (LISTS, install, clone, build):
            if not take(visit, step):
                break
        return visit.tally


def obstacle() -> str:
    """Return why no root can be made here, with the remedy."""
    if os.geteuid() != 0:
        return "unpacking bare systems needs root: run sudo make check-full"
    if shutil.which("mmdebstrap") is None:
        return "mmdebstrap is missing: run scripts/setup --fresh"
    return ""


def suites() -> list[Suite]:
    """Return the suites for continuous integration: a short `make bench` in the oldest system, and
    a build in a newer one."""
    bench = partial(visit_root, "bookworm", False, True, ["bench"], {"QUICK": "1"})
    what = "make bench in a bare Debian 12"
    return [
        Suite("fresh-bench", printed(bench), what, obstacle, 140),
        Suite(
            "fresh-native",
            printed(partial(compile_in, "trixie")),
            "make native in a bare Debian 13",
            obstacle,
            60,
        ),
    ]


def run(
    roots: Iterable[str], who: Iterable[str], steps: list[str], quick: bool, cached: bool
) -> Tally:
    """Run the steps in the roots, as root and as a user; return the sum of the results."""
    require_root("unpacking bare systems")
    variables = {"QUICK": "1"} if quick else {}
    total = Tally()
    for suite, name in product(roots, who):
        cache = cached or suite != ALONE or name == "user"
        total.add(visit_root(suite, name == "user", cache, steps, variables))
    return total


def keep_times() -> None:
    """Write the kept times to CONTRIBUTING.md."""
    put_times(TIMES_PAGE, WORK / "times.json", SUITES)


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suites of these names."""
    found = [suite for suite in suites() if suite.name in names]
    if "fresh" not in names:
        return found
    who = ask.choice("who", ("root", "user")) or ["root", "user"]
    roots = ask.choice("root", SUITES) or list(SUITES)
    quick, readme = ask.flag("quick"), ask.flag("readme")
    if readme and quick:
        raise UnableError("the times written are those of the long forms: not -o quick and readme")

    def whole(_: Path) -> Tally:
        total = run(roots, who, ask.words("step"), quick, ask.flag("cached"))
        if readme and not total.failed:
            keep_times()
        return total

    what = "the README's commands in bare Debian systems"
    return [*found, Suite("fresh", whole, what, obstacle, 3600, loud=True)]
