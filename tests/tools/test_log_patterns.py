# SPDX-License-Identifier: GPL-2.0-only
"""A test of the log lines that the suites of the test kernel expect: the sources have their words.

The suites run in a virtual machine, so a reworded log line would fail there only.
"""

from __future__ import annotations

import re

from kmtools.base.paths import ROOT

# Directories whose C sources log lines in a test kernel.
SOURCES = "base bench_modules entry events examples immediate include markers patcher sdt tests"

# Lines of the kernel itself, of which no source of this tree has the words.
OF_THE_KERNEL = re.compile("failed to find location|ecure boot|unsigned module")


def runs_of(text: str, argument: str) -> set[tuple[str, ...]]:
    """Return up to four successive words from each word on, within a clause (what is between
    punctuation marks). A word with a match of `argument` becomes "%"."""
    runs = set()
    for clause in re.split(r"[:;,](?: |$)|[|]| ?\.\* ?", text):
        words = [
            "%" if re.search(argument, word) else word.strip(".,()\"'") for word in clause.split()
        ]
        runs |= {tuple(words[at : at + 4]) for at in range(len(words))}
    return runs


def can_print(source: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Return whether a run of a format can print a run of a pattern. Arguments are at most half of
    the words."""
    fits = all(
        "%" in (have, want) or have == want for have, want in zip(source, wanted, strict=False)
    )
    return fits and 2 * source.count("%") <= len(wanted) <= len(source)


def test_sources_have_the_words_of_the_log_lines_that_suites_expect() -> None:
    sources: set[tuple[str, ...]] = set()
    for directory in SOURCES.split():
        for path in (ROOT / directory).rglob("*.[ch]"):
            # Successive string literals are one.
            text = re.sub(r'"\s*\n?\s*"', "", path.read_text("utf-8"))
            for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text):
                sources |= runs_of(literal.replace("\\n", " "), "%")
    patterns = []
    for suite in sorted((ROOT / "tests/vm/suites").glob("*.sh")):
        for match in re.finditer(r"""\blogged (["'])(.*?)(?<!\\)\1""", suite.read_text("utf-8")):
            if not OF_THE_KERNEL.search(match[2]):
                patterns.append((suite.name, match[2]))
    assert len(patterns) > 50
    unknown = []
    for name, pattern in patterns:
        # Names and numbers are arguments of the format.
        for wanted in runs_of(pattern, r"[][\\*$^|%_():\"0-9-]"):
            if (
                len(wanted) > 1
                and 2 * wanted.count("%") < len(wanted)
                and not any(can_print(have, wanted) for have in sources)
            ):
                unknown.append(f'{name}: no source logs "{" ".join(wanted)}": {pattern}')
    assert not unknown, "\n".join(unknown)
