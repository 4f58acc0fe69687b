# SPDX-License-Identifier: GPL-2.0-only
"""A test that the C sources log the words that the suites in test kernels expect in the log.

The suites run in a virtual machine, so a reworded log line would fail there only.
"""

from __future__ import annotations

import re

from kmtools.base.paths import ROOT

# Directories whose C sources log lines in a test kernel.
SOURCES = "base bench_modules entry events examples immediate include markers patcher sdt tests"

# Words of log lines of the kernel itself, which no source of this tree has.
OF_THE_KERNEL = re.compile("failed to find location|ecure boot|unsigned module")


def extract_word_sequences(text: str, argument: str) -> set[tuple[str, ...]]:
    """Return all sequences of four successive words in a text. A sequence is shorter at the end of
    a clause (before a punctuation mark). A word that matches `argument` becomes "%"."""
    sequences = set()
    for clause in re.split(r"[:;,](?: |$)|[|]| ?\.\* ?", text):
        words = [
            "%" if re.search(argument, word) else word.strip(".,()\"'") for word in clause.split()
        ]
        sequences |= {tuple(words[at : at + 4]) for at in range(len(words))}
    return sequences


def can_format_string_print(format_words: tuple[str, ...], pattern_words: tuple[str, ...]) -> bool:
    """Return True if a format string with the successive words `format_words` can print a log line
    that matches the successive words `pattern_words` of a suite's pattern. At most half of the
    words may be arguments, which are "%"."""
    fits = all(
        "%" in (have, want) or have == want
        for have, want in zip(format_words, pattern_words, strict=False)
    )
    return fits and 2 * format_words.count("%") <= len(pattern_words) <= len(format_words)


def test_log_lines_that_suites_expect_occur_in_sources() -> None:
    sources: set[tuple[str, ...]] = set()
    for directory in SOURCES.split():
        for path in (ROOT / directory).rglob("*.[ch]"):
            # Join adjacent string literals, as the compiler does.
            text = re.sub(r'"\s*\n?\s*"', "", path.read_text("utf-8"))
            for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text):
                sources |= extract_word_sequences(literal.replace("\\n", " "), "%")
    patterns = []
    for suite in sorted((ROOT / "tests/vm/suites").glob("*.sh")):
        for match in re.finditer(r"""\blogged (["'])(.*?)(?<!\\)\1""", suite.read_text("utf-8")):
            if not OF_THE_KERNEL.search(match[2]):
                patterns.append((suite.name, match[2]))
    assert len(patterns) > 50
    unknown = []
    for name, pattern in patterns:
        # Names and numbers are arguments of the format.
        for wanted in extract_word_sequences(pattern, r"[][\\*$^|%_():\"0-9-]"):
            if (
                len(wanted) > 1
                and 2 * wanted.count("%") < len(wanted)
                and not any(can_format_string_print(have, wanted) for have in sources)
            ):
                unknown.append(f'{name}: no source logs "{" ".join(wanted)}": {pattern}')
    assert not unknown, "\n".join(unknown)
