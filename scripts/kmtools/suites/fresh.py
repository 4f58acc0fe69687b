# SPDX-License-Identifier: GPL-2.0-only
"""Runs the README's commands in minimal Debian systems, which lack the packages that the commands
need.

Each system is a root directory with Debian's essential packages and apt. Each Debian release has
two root directories: in one, root runs the commands; in the other, an ordinary user runs the
commands. For the ordinary user, the commands must do all that is possible without root privileges,
and print the command that installs missing packages; root then runs the printed command. Only the
commands that root runs in Debian 12 download everything; all other commands may read the test
kernels of this machine.
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
from kmtools.base.files import hold_lock, write_file_atomically
from kmtools.base.paths import ROOT
from kmtools.base.processes import capture_output
from kmtools.lab import bareroot
from kmtools.lab.apt import print_step
from kmtools.lab.bareroot import Root
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, make_run_with_output_in_log

WORK = ROOT / "build" / "fresh"
TIMES_PAGE = ROOT / "CONTRIBUTING.md"
SUITES = {"bookworm": "Debian 12", "trixie": "Debian 13", "testing": "Debian testing"}
# The Debian release in which the commands of the user root download everything. All other commands
# (of the ordinary user, and in other releases) may read the test kernels of this machine.
DOWNLOADING_SUITE = "bookworm"
# The text in the README that stands for the URL of the repository.
PLACEHOLDER = "<this repository>"
# The path of the git bundle of this checkout inside each root directory.
SOURCE = "/srv/kmarkers.bundle"
# The interval of progress lines.
SHOW_SECONDS = 30
# Matches the install command for root, which `make bench` must print if an ordinary user runs this
# command and packages are missing.
INSTALL_COMMAND = re.compile(r"apt-get install [a-z0-9][a-z0-9 .+-]*")
# The exit code of make if a command of its rule fails.
MAKE_FAILED = 2
# Patterns for the output of `make bench` and `make check`, run by an ordinary user: results of the
# user-space part, and in the last line the exit code 2 of the script, which make prints.
USER_OUTPUTS = {
    "bench": r"(?s)\bnative\b.* Error 2\s*$",
    "check": r"(?s)\n[1-9]\d* passed, 0 failed.* Error 2\s*$",
}
# The times of steps in seconds, by the name of the root directory and the name of the step.
Times = dict[str, dict[str, float]]
# The lines before and after the table of times in CONTRIBUTING.md.
BEGIN, END = "<!-- times: make check-fresh -->", "<!-- end of times -->"
# Log lines of a command at which the time is stored: the end of the installation, and the end of
# the measurement in user space.
MILESTONES = {
    "set-up": re.compile(r"setup: ready"),
    "native": re.compile(r"^A dormant marker costs"),
}
# The column headings of the times table, without the first column.
COLUMNS = (
    "set-up",
    "from the clone to the first result",
    "`make bench` in all",
    "`make check` in all",
)


@dataclass(frozen=True)
class Step:
    """A command that is run in a minimal Debian system, its expected exit code, and a pattern of
    its output. With `user`, an ordinary user runs the command, else root."""

    name: str
    command: str
    user: bool = False
    code: int = 0
    says: str = ""  # a regular expression that must match in its output


# The name of the step that runs RootSession.install_command.
INSTALL_STEP = "install-missing"
# The package lists in the root directory may be days old, so this step is the first.
LISTS = Step("lists", "apt-get update")


@dataclass
class RootSession:
    """A root directory in use, and the results and times of the steps that were run there.

    `variables` are environment variables of the commands. `install_command` is the last install
    command that a step printed.
    """

    name: str
    root: Root
    variables: Mapping[str, str]
    tally: Tally = field(default_factory=Tally)
    times: dict[str, float] = field(default_factory=dict)
    install_command: str = ""

    @property
    def stored_times_key(self) -> str:
        """The name under which the times of the steps are stored. Runs with QUICK=1 have another
        name."""
        return f"{self.name}-quick" if self.variables.get("QUICK") else self.name


def find_milestone_seconds(log: Path) -> dict[str, float]:
    """Return the seconds from the start of a command to each of its MILESTONES, by name. `log` is
    the log of the command."""
    found: dict[str, float] = {}
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        second, text = line[:8].strip(), line[8:]
        for name, pattern in MILESTONES.items():
            if name not in found and pattern.search(text):
                found[name] = float(second)
    return found


def load_step_times(path: Path) -> Times:
    """Return the times of earlier runs from the file `path`; an empty dictionary if there is no
    such file."""
    try:
        times: Times = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return times


def add_step_times(path: Path, name: str, times: Mapping[str, float]) -> None:
    """Store the times in seconds of the steps that ran in the root directory `name`, in the file
    `path`, which has the times of all root directories."""
    with hold_lock(path.with_suffix(".lock"), f"waiting for {path}", print_step):
        known = load_step_times(path)
        known[name] = known.get(name, {}) | {step: round(took, 1) for step, took in times.items()}
        write_file_atomically(path, json.dumps(known, indent=1, sort_keys=True) + "\n")


def format_seconds(seconds: float | None) -> str:
    """Return a time as text in seconds, or in minutes and seconds; "-" for None."""
    if seconds is None:
        return "-"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{int(seconds + 5) // 60} min {int(seconds + 5) % 60 // 10 * 10:02d} s"


def format_times_table(times: Times, suites: Mapping[str, str]) -> str:
    """Return the times as a Markdown table, one line for each root directory."""
    lines = [
        f"| minimal system | {' | '.join(COLUMNS)} |",
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
        lines.append(f"| {title} | {' | '.join(map(format_seconds, cells))} |")
    return "\n".join(lines)


def replace_times_table(page: Path, times_file: Path, suites: Mapping[str, str]) -> None:
    """Replace the table of times in a Markdown page by the times in a JSON file. `suites` has the
    title of each Debian release."""
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise UnableError(f"{page} has no lines {BEGIN} and {END}")
    head, rest = text.split(BEGIN, 1)
    _, tail = rest.split(END, 1)
    machine = f"Measured by `make check-fresh` on {os.cpu_count()} cores."
    body = f"{BEGIN}\n{format_times_table(load_step_times(times_file), suites)}\n\n{machine}\n{END}"
    page.write_text(f"{head}{body}{tail}", encoding="utf-8")


def read_readme_commands(text: str) -> list[str]:
    """Return the lines of the first code block below the README's heading "Two commands"."""
    section = text.split("\n## Two commands\n", 1)[-1].split("\n## ", 1)[0]
    block = re.search(r"\n\n((?:    .+\n)+)", section)
    lines = [line.strip() for line in block[1].splitlines()] if block else []
    if not lines or PLACEHOLDER not in "".join(lines):
        raise UnableError(f"README.md has no block of commands that clones {PLACEHOLDER}")
    return [line.replace(PLACEHOLDER, SOURCE) for line in lines]


def make_steps_of_root_user(commands: list[str]) -> list[Step]:
    """Return the steps in which the user root runs the commands. If a command ends with `cd`, the
    later commands run in that directory."""
    steps, cd = [], ""
    for command in commands:
        words = command.split()
        steps.append(Step("clone" if words[0] == "git" else words[1], cd + command))
        if moved := re.search(r"&& cd (\S+)$", command):
            cd = f"cd {moved[1]} && "
    return steps


def make_steps_of_ordinary_user(commands: list[str]) -> list[Step]:
    """Return the steps for an ordinary user: root runs the first command, which installs git and
    make, and the user runs all other commands. The first make command fails because packages are
    missing; in the next step, root installs these packages; then the user runs all make
    commands."""
    install, *others = make_steps_of_root_user(commands)
    clone, *makes = others
    first = makes[0]
    bare = Step(f"bare-{first.name}", first.command, True, MAKE_FAILED, INSTALL_COMMAND.pattern)
    able = [
        Step(make.name, make.command, True, MAKE_FAILED, USER_OUTPUTS[make.name]) for make in makes
    ]
    return [install, Step("clone", clone.command, True), bare, Step(INSTALL_STEP, ""), *able]


def write_git_bundle(path: Path) -> None:
    """Write the last commit to the git bundle `path`, which git can clone."""
    words = ["git", "-C", str(ROOT), "bundle", "create", "--quiet", str(path), "HEAD"]
    done = capture_output(words)
    if done.returncode:
        raise UnableError(f"git cannot bundle the last commit: {done.stderr.strip()}")


def log_output_lines(process: subprocess.Popen[bytes], log: Path, label: str) -> str:
    """Copy the output of a command to a log, each line with the elapsed seconds, and print the
    progress of the command; return the output."""
    assert process.stdout is not None
    began = shown = time.monotonic()
    said = rest = ""
    with log.open("w", encoding="utf-8") as file:
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


def run_step_in_root(session: RootSession, step: Step) -> bool:
    """Run one step in the root directory of `session`; add the result and the time of the step to
    `session`. Return True if the exit code and the output are as expected."""
    label = f"{session.name}-{step.name}"
    command = session.install_command if step.name == INSTALL_STEP else step.command
    known = load_step_times(WORK / "times.json").get(session.stored_times_key, {}).get(step.name)
    expected = f", {known:.0f} s the last time" if known else ""
    print(f"{label}: {command}{expected}", flush=True)
    log = WORK / f"{label}.log"
    began = time.monotonic()
    with bareroot.start_command_in_root(
        session.root, command, session.variables, step.user
    ) as process:
        try:
            said = log_output_lines(process, log, label)
            code = process.wait()
        finally:
            process.kill()
    took = time.monotonic() - began
    if printed := INSTALL_COMMAND.findall(said):
        session.install_command = printed[0].strip()
    wrong = [f"exit code {code}, not {step.code}"] if code != step.code else []
    if step.says and not re.search(step.says, said):
        wrong.append(f"the output lacks {step.says!r}")
    if not wrong:
        # Only the times of passed steps are stored.
        session.times[step.name] = took
        session.times |= {
            f"{step.name} {what}": at for what, at in find_milestone_seconds(log).items()
        }
        session.tally.passed += 1
        print(f"{label}: ok in {took:.0f} s", flush=True)
        return True
    session.tally.failed.append(f"{label}: {' and '.join(wrong)}; see {log}")
    print(f"{label}: FAILED, {' and '.join(wrong)}; {log} ends with", flush=True)
    print("".join(f"    {line}\n" for line in said.splitlines()[-12:]), end="", flush=True)
    return False


def remove_leftover_roots() -> None:
    """Remove the root directories that killed runs left, except directories whose lock a process
    holds."""
    for path in WORK.glob("*.lock"):
        with contextlib.suppress(UnableError), hold_lock(path, "another process works in it"):
            Root(path.with_suffix(""), None, None).remove_root_and_overlay()


@contextmanager
def unpack_temporary_root(
    suite: str, as_user: bool, with_cache: bool, variables: Mapping[str, str]
) -> Iterator[RootSession]:
    """Unpack the root directory of a Debian release, with a git bundle of this checkout. At the end
    of the `with` block, remove this directory. With `as_user`, an ordinary user runs the commands
    in this directory. With `with_cache`, the commands may read this machine's test kernels.
    `variables` are environment variables of the commands."""
    name = f"{suite}-user" if as_user else suite
    WORK.mkdir(parents=True, exist_ok=True)
    remove_leftover_roots()
    # Another suite of the same test run may use the same root directory: wait for the suite to end.
    busy = f"waiting until another suite has left the root directory {name}"
    with hold_lock(WORK / f"{name}.lock", busy, print_step):
        root = bareroot.unpack_debian_root(suite, WORK / name, with_cache)
        try:
            # Do not write the bundle to WORK: git makes a lock file next to the bundle, which
            # another process would take for the lock of a root directory.
            write_git_bundle(root.path / SOURCE[1:])
            yield RootSession(name, root, variables)
        finally:
            root.remove_root_and_overlay()


def run_readme_in_root(
    suite: str, as_user: bool, with_cache: bool, step_names: list[str], variables: Mapping[str, str]
) -> Tally:
    """Run the README's commands in one root directory. If `step_names` is not empty, run only the
    named steps, and the steps on which the named steps depend. For the other arguments see
    unpack_temporary_root()."""
    commands = read_readme_commands((ROOT / "README.md").read_text(encoding="utf-8"))
    steps = make_steps_of_ordinary_user(commands) if as_user else make_steps_of_root_user(commands)
    needed = {"install", "clone", *(["bare-bench", INSTALL_STEP] if as_user else [])}
    unknown = set(step_names) - {step.name for step in steps}
    if unknown:
        names = ", ".join(step.name for step in steps)
        raise UnableError(f"-o step: {min(unknown)!r} is not one of {names}")
    with unpack_temporary_root(suite, as_user, with_cache, variables) as session:
        steps.insert(0, LISTS)
        for step in steps:
            if step_names and step.name not in {*needed, *step_names, "lists"}:
                continue
            if not run_step_in_root(session, step) and step.name in {*needed, "lists"}:
                break
        add_step_times(WORK / "times.json", session.stored_times_key, session.times)
        return session.tally


def run_make_native_in_root(suite: str) -> Tally:
    """Run `make native` in the root directory of a Debian release, with the compiler of this
    release, because newer compilers print more warnings. To save time, each variant of a benchmark
    is compiled as one function, not as one function for each code layout."""
    install, clone, *_ = make_steps_of_root_user(
        read_readme_commands((ROOT / "README.md").read_text("utf-8"))
    )
    build = Step("native", "cd kmarkers && scripts/setup --native && make native")
    with unpack_temporary_root(suite, False, True, {"EXTRA": "-DBENCH_UNTIMED"}) as session:
        for step in (LISTS, install, clone, build):
            if not run_step_in_root(session, step):
                break
        return session.tally


def find_debian_root_obstacle() -> str:
    """Return the reason why the root directory of a minimal Debian system cannot be made on this
    machine, with the remedy; else ""."""
    if os.geteuid() != 0:
        return "unpacking minimal Debian systems needs root: run the test with sudo"
    if shutil.which("mmdebstrap") is None:
        return "mmdebstrap is missing: run scripts/setup --fresh"
    return ""


def make_ci_suites() -> list[Suite]:
    """Return the suites for continuous integration: `make bench QUICK=1` in Debian 12, and `make
    native` in Debian 13."""
    bench = partial(run_readme_in_root, "bookworm", False, True, ["bench"], {"QUICK": "1"})
    what = "`make bench` in a minimal Debian 12"
    return [
        Suite(
            "fresh-bench", make_run_with_output_in_log(bench), what, find_debian_root_obstacle, 140
        ),
        Suite(
            "fresh-native",
            make_run_with_output_in_log(partial(run_make_native_in_root, "trixie")),
            "`make native` in a minimal Debian 13",
            find_debian_root_obstacle,
            60,
        ),
    ]


def run_readme_in_roots(
    suites: Iterable[str], users: Iterable[str], step_names: list[str], quick: bool, cached: bool
) -> Tally:
    """Run the README's commands, or only the steps `step_names`, in root directories of several
    Debian releases. `users` has "root", "user" (an ordinary user) or both."""
    require_root("unpacking minimal Debian systems")
    variables = {"QUICK": "1"} if quick else {}
    total = Tally()
    for suite, name in product(suites, users):
        cache = cached or suite != DOWNLOADING_SUITE or name == "user"
        total.add_tally(run_readme_in_root(suite, name == "user", cache, step_names, variables))
    return total


def publish_times_in_contributing_md() -> None:
    """Write the stored times of the README's commands to the table in CONTRIBUTING.md."""
    replace_times_table(TIMES_PAGE, WORK / "times.json", SUITES)


def make_requested_fresh_suites(suite_request: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return the suites of this file whose names are in `names`."""
    found = [suite for suite in make_ci_suites() if suite.name in names]
    if "fresh" not in names:
        return found
    users = suite_request.get_option_choices("who", ("root", "user")) or ["root", "user"]
    roots = suite_request.get_option_choices("root", SUITES) or list(SUITES)
    quick, readme = suite_request.is_option_set("quick"), suite_request.is_option_set("readme")
    if readme and quick:
        raise UnableError("-o readme needs the times without QUICK=1: omit -o quick")

    def run_readme_commands(_: Path) -> Tally:
        total = run_readme_in_roots(
            roots,
            users,
            suite_request.get_option_words("step"),
            quick,
            suite_request.is_option_set("cached"),
        )
        if readme and not total.failed:
            publish_times_in_contributing_md()
        return total

    what = "the README's commands in minimal Debian systems"
    return [
        *found,
        Suite("fresh", run_readme_commands, what, find_debian_root_obstacle, 3600, loud=True),
    ]
