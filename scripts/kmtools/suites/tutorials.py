# SPDX-License-Identifier: GPL-2.0-only
"""Runs the commands of the tutorials in Documentation/tutorials, and compares their output with the
output that the tutorials print.

A tutorial's commands are in blocks of the kind ``console``. A block of another kind whose first
line names a path in /tmp is a file, which is written before the commands that follow. A line that
begins with a prompt is typed: ``$ `` is the prompt of the host, ``> `` continues a command, and
``DIRECTORY # `` is the prompt of the guest in `lab shell`. All other lines are output. The output
must be equal, with two exceptions. A number in the tutorial with a fraction, or with three or more
digits, stands for any number. ``...`` stands for any text; a line of only ``...`` stands for any
number of lines.
"""

from __future__ import annotations

import difflib
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kmtools.base.paths import ROOT
from kmtools.lab import catalogue
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite
from kmtools.suites.shell import open_pseudoterminal

PAGES = ROOT / "Documentation" / "tutorials"
LINES, COLUMNS = 50, 200
SECONDS = 1800.0  # time limit of one command; the first commands download and build
QUIET_SECONDS = 0.5  # a prompt that nothing follows for this long ends a command's output
BLOCK = re.compile(r"^```(?:console|\w+ (/tmp/\S+))\n(.*?)^```$", re.M | re.S)
INPUT = re.compile(r"(\$|>|/\S* #)(?: (.*))?")
PROMPT = re.compile(r"(?:^|\n)(\$|>|/\S* #) \Z")
# Matches output at whose end a program waits for Enter: the program printed "press Enter", or the
# command fg continued the program after Ctrl-Z.
ENTER = re.compile(r"(?:press Enter|\Afg\n.*\n)\Z")
# A path in /tmp.
TMP_NAME = re.compile(r"/tmp/([\w-]+)")
STOP = "press Enter^Z"  # the output that a tutorial shows where it types Ctrl-Z
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
ANY_NUMBER = re.compile(r"\d*\\\.\d+|\d{3,}")


@dataclass
class Step:
    """A command of a tutorial: the prompt before the command, the lines to type, and the output
    that the tutorial shows."""

    prompt: str
    typed: list[str]
    printed: list[str] = field(default_factory=list)


def read_tutorial_steps(text: str) -> Iterator[Step]:
    """Yield the commands of a tutorial in their order."""
    for path, block in BLOCK.findall(text):
        step: Step | None = None
        if path:
            yield Step("$", [f"cat >{path} <<'EOF'", *block.splitlines(), "EOF"])
            continue
        for line in block.splitlines():
            found = INPUT.fullmatch(line)
            if found and line.startswith(">") and step and not step.printed:
                step.typed.append(found[2] or "")
            elif found and not line.startswith(">"):
                if step:
                    yield step
                step = Step(found[1], [found[2] or ""])
            elif step:
                step.printed.append(line)
        if step:
            yield step


def make_output_pattern(printed: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern that the output of a command must match, line ends included; `printed` are
    the lines of output in the tutorial."""
    pattern = ""
    for line in printed:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
            continue
        parts = (ANY_NUMBER.sub(r"[0-9.]+", re.escape(part)) for part in line.rstrip().split("..."))
        pattern += re.sub(r"(?:\\ )+", r"[ \\t]+", ".*".join(parts)) + r"[ \t]*\n"
    return re.compile(pattern)


class Terminal:
    """A shell of the host on a pseudoterminal, in the root of the tree. `prompt` is the last prompt
    that was printed, by this shell or by the shell of a guest."""

    def __init__(self) -> None:
        self.prompt = ""
        self._ours, theirs = open_pseudoterminal(LINES, COLUMNS)
        self._shell = subprocess.Popen(
            ["bash", "--norc", "--noediting", "-i"],
            cwd=ROOT,
            env={**os.environ, "PS1": "$ ", "PS2": "> ", "TERM": "dumb"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.read_output_until_prompt(iter(()))

    def close(self) -> None:
        """End the shell, and the programs that run in it."""
        os.close(self._ours)  # a hangup of the terminal
        try:
            self._shell.wait(30)
        except subprocess.TimeoutExpired:
            self._shell.kill()
            self._shell.wait()

    def read_output_until_prompt(self, keys: Iterator[bytes]) -> str:
        """Return the output up to the next prompt, without the prompt. Type the next of `keys` each
        time a program waits for Enter. Raise TimeoutError if no prompt is printed."""
        text = ""
        typed = 0  # length of the output when a key was typed; the terminal then echoes it
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if select.select([self._ours], [], [], QUIET_SECONDS)[0]:
                read = os.read(self._ours, 65536).decode(errors="replace")
                text = ESCAPE.sub("", text + read).replace("\r", "")
            elif found := PROMPT.search(text):
                self.prompt = found[1]
                return text[: text.rfind("\n") + 1]
            elif ENTER.search(text) and len(text) > typed:
                os.write(self._ours, next(keys, b"\n"))
                typed = len(text)
        raise TimeoutError(
            f"no prompt within {SECONDS:.0f} s; the end of the output is {text[-500:]!r}"
        )

    def type_step_commands(self, step: Step) -> str:
        """Type the lines of a command, and the keys that its output asks for; return its output. If
        the last prompt differs from the prompt of the step, raise RuntimeError and type nothing,
        because commands for the guest must not run on the host."""
        if self.prompt != step.prompt:
            raise RuntimeError(f"the prompt is '{self.prompt}', not '{step.prompt}'")
        keys = [
            b"\x1a" if line.endswith(STOP) else b"\n"
            for line in step.printed
            if ENTER.search(line.removesuffix("^Z"))
        ]
        output = ""
        for line in step.typed:
            os.write(self._ours, f"{line}\n".encode())
            output = self.read_output_until_prompt(iter(keys)).partition("\n")[2]
        return output


def list_tmp_paths(text: str) -> set[Path]:
    """Return the paths directly in /tmp that a tutorial names and that exist."""
    return {path for name in TMP_NAME.findall(text) if (path := Path("/tmp") / name).exists()}


def remove_paths(paths: Iterable[Path]) -> None:
    """Remove files, and directories with what they contain."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def run_tutorial(page: Path, log: Path) -> Tally:
    """Run the commands of a tutorial; each command is a result. Stop at the first command whose
    output differs. Remove the files that the tutorial created in /tmp, so that the tutorial can be
    run again."""
    tally = Tally()
    text = page.read_text(encoding="utf-8")
    before = list_tmp_paths(text)
    with closing(Terminal()) as terminal, log.open("w", encoding="utf-8") as out:
        for step in read_tutorial_steps(text):
            out.write(f"{step.prompt} {step.typed[0]}\n")
            try:
                output = terminal.type_step_commands(step)
                same = make_output_pattern(step.printed).fullmatch(output) is not None
            except (OSError, RuntimeError) as error:
                output, same = f"{error}\n", False
            out.write(output)
            out.flush()
            tally.add_result(
                same, f"{page.stem}: '{step.typed[0]}' does not print the output in the tutorial"
            )
            if not same:
                out.writelines(
                    f"{line}\n"
                    for line in difflib.unified_diff(
                        step.printed, output.splitlines(), "tutorial", "output", lineterm=""
                    )
                )
                break
        out.write(f"{tally.format_summary()}\n")
    remove_paths(list_tmp_paths(text) - before)
    return tally


def make_requested_tutorial_suites(_: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return a suite for each tutorial in Documentation/tutorials."""
    return [
        Suite(
            f"tutorial-{page.stem}",
            partial(run_tutorial, page),
            f"the commands of the tutorial {page.stem}, as printed",
            kernelsuite.make_boot_obstacle_finder(catalogue.get_default_kernel_name()),
            120,
            # Run no two tutorials in parallel: all tutorials build modules into the same folders.
            calm=True,
        )
        for page in sorted(PAGES.glob("*.md"))
    ]
