# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the comparison of tutorials with the output of their commands."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from kmtools.suites import tutorials

PAGE = """
```console
$ printf 'a 17\\nb 1234 of 2.5\\n'
a 17
b 9999 of 0.1
$ cat >{file} <<'EOF'
> first
> second
> EOF
$ cat {file}
...
second
```
"""


def test_commands_and_output_of_a_tutorial_are_separated() -> None:
    """Each step has all lines of one command and of its output; other text is no command."""
    text = "$ no command\n" + PAGE + "```\n$ no command\n```\n"
    steps = list(tutorials.read_tutorial_steps(text.format(file="f")))
    assert [len(step.typed) for step in steps] == [1, 4, 1]
    assert steps[1].typed[1:] == ["first", "second", "EOF"]
    assert steps[2].printed == ["...", "second"]


def test_files_that_a_tutorial_prints_are_written() -> None:
    """A block whose first line names a path in /tmp becomes a command that writes the file."""
    page = "```c /tmp/one.c\nint one;\n\treturn;\n```\n\n```c\nint two;\n```\n"
    (step,) = tutorials.read_tutorial_steps(page)
    assert step.typed == ["cat >/tmp/one.c <<'EOF'", "int one;", "\treturn;", "EOF"]
    assert step.printed == []


@pytest.mark.parametrize(
    ("printed", "output", "same"),
    [
        (["a 17"], "a 17\n", True),
        (["a 17"], "a 18\n", False),
        (["a 170"], "a 9\n", True),
        (["a 170"], "a b\n", False),
        (["a 1.5"], "a 12.75\n", True),
        (["a   b"], "a b\n", True),
        (["a b"], "ab\n", False),
        (["a ... c"], "a b c\n", True),
        (["a ... c"], "a b d\n", False),
        (["..."], "", True),
        (["a", "...", "d"], "a\nb\nc\nd\n", True),
        (["a", "...", "d"], "a\nb\nc\n", False),
        (["a"], "a\nb\n", False),
        ([], "an error\n", False),
        (["a.c"], "abc\n", False),
    ],
)
def test_output_of_a_command_is_compared_with_the_tutorial(
    printed: list[str], output: str, same: bool
) -> None:
    assert (tutorials.make_output_pattern(printed).fullmatch(output) is not None) == same


def test_a_tutorial_passes_as_printed_and_stops_at_a_difference(tmp_path: Path) -> None:
    """The page passes as printed. If a number of two digits on the page is changed, the page fails
    at the first command."""
    page, log = tmp_path / "page.md", tmp_path / "log"
    text = PAGE.format(file=tmp_path / "file")
    page.write_text(text)
    tally = tutorials.run_tutorial(page, log)
    assert (tally.passed, tally.failed) == (3, [])
    page.write_text(text.replace("a 17\nb 9", "a 18\nb 9"))
    tally = tutorials.run_tutorial(page, log)
    assert tally.passed == 0 and len(tally.failed) == 1
    assert {"-a 18", "+a 17"} <= set(log.read_text().splitlines())


def test_commands_for_the_guest_are_not_typed_on_the_host(tmp_path: Path) -> None:
    """If the host prints the prompt, a command for the guest fails without being run."""
    page, file = tmp_path / "page.md", tmp_path / "file"
    page.write_text(f"```console\n$ true\n/sys # touch {file}\n...\n```\n")
    tally = tutorials.run_tutorial(page, tmp_path / "log")
    assert tally.passed == 1 and len(tally.failed) == 1
    assert "the prompt is '$', not '/sys #'" in (tmp_path / "log").read_text()
    assert not file.exists()


def test_a_tutorial_leaves_no_new_path_in_tmp(tmp_path: Path) -> None:
    """A path in /tmp that the tutorial made is removed. A directory that existed before the
    tutorial is kept, including files that the tutorial made in this directory."""
    page, new = tmp_path / "page.md", Path("/tmp") / f"tutorial-{os.getpid()}"
    page.write_text(f"```console\n$ mkdir {new} {tmp_path}/old\n$ ls {new}\n```\n")
    assert tutorials.run_tutorial(page, tmp_path / "log").passed == 2
    assert not new.exists() and (tmp_path / "old").exists()


@pytest.mark.long
def test_the_keys_that_a_tutorial_prints_are_typed() -> None:
    """Enter is typed where the tutorial prints "press Enter", and Ctrl-Z where it prints ^Z."""
    command = 'sh -c \'printf "press Enter"; read x; printf "press Enter"; read x; echo end\''
    with closing(tutorials.Terminal()) as terminal:
        step = tutorials.Step("$", [command], ["press Enter", "press Enter", "end"])
        assert terminal.type_step_commands(step) == "press Enter\npress Enter\nend\n"
        step = tutorials.Step("$", [command], ["press Enter^Z", "..."])
        assert "Stopped" in terminal.type_step_commands(step)
        assert terminal.type_step_commands(tutorials.Step("$", ["fg"])).endswith("end\n")


def test_every_tutorial_has_commands() -> None:
    pages = sorted(tutorials.PAGES.glob("*.md"))
    assert len(pages) >= 4
    for page in pages:
        assert len(list(tutorials.read_tutorial_steps(page.read_text(encoding="utf-8")))) >= 7, page
