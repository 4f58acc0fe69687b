# SPDX-License-Identifier: GPL-2.0-only
"""Parses options of `bench`: patterns that select benchmarks and variants, the number of blocks,
the seed and the time limit.

Patterns are shell patterns, such as `marker-*`. If the user selects a variant, the samples of the
baseline and of the A/A clone are kept, too, because the verdict on the variant depends on both.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from time import monotonic

from kmtools.base.errors import UnableError
from kmtools.measure import benchmark_names
from kmtools.measure.native import read_pipe_lines
from kmtools.measure.samples import Sample

CLONE_SUFFIX = "-clone"
MOST_BLOCKS, MOST_SEED = 100_000, 2**32 - 1
# The characters of a pattern: characters of names of benchmarks and variants, and wildcards.
PATTERN = re.compile(r"[\w.*?\[\]!-]+")
# Limits for the output of `list`, the command of a program that prints its benchmarks: the time in
# seconds, and the number of lines.
LIST_SECONDS = 30
MOST_LINES = 10_000
DURATION = re.compile(r"(\d{1,6})(s|m|h|)")
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def parse_patterns(text: str) -> list[str]:
    """Parse a list of patterns of names, separated by commas."""
    found = text.split(",")
    for one in found:
        if not PATTERN.fullmatch(one):
            raise argparse.ArgumentTypeError(f"{one!r} is not a pattern of names such as marker-*")
    return found


def parse_whole_number(text: str, maximum: int, minimum: int) -> int:
    """Parse a whole number from `minimum` to `maximum`."""
    if not (text.isascii() and text.isdecimal() and minimum <= int(text) <= maximum):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number from {minimum} to {maximum}"
        )
    return int(text)


def parse_block_count(text: str) -> int:
    """Parse a number of blocks, from 1 to MOST_BLOCKS."""
    return parse_whole_number(text, MOST_BLOCKS, 1)


def parse_seed(text: str) -> int:
    """Parse the seed of the first process; each later process has the next whole number as its
    seed."""
    return parse_whole_number(text, MOST_SEED, 0)


def parse_time_budget(text: str) -> int:
    """Parse a time limit such as 90, 90s, 5m or 1h; return seconds."""
    match = DURATION.fullmatch(text)
    if not match or not int(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 90, 90s, 5m or 1h")
    return int(match[1]) * SECONDS[match[2]]


def parse_benchmark_list(text: str) -> dict[str, list[str]]:
    """Return the benchmarks in the output of `kmbench list`, and the variants of each."""
    found = {}
    for line in text.splitlines():
        name, _, variants = line.partition(":")
        found[name] = variants.split()
    return found


def select_matching_benchmarks(
    program: object, benchmarks: Sequence[str], variants: Sequence[str], require_all: bool = True
) -> list[str]:
    """Return the benchmarks of `program` that match a pattern in `benchmarks` and have a variant
    that matches a pattern in `variants`, in the order of the program. Raise UnableError with the
    pattern if no benchmark matches, or if `require_all` is True and a pattern matches no name."""
    if not benchmarks and not variants:
        return []
    words = [str(program), "list"]
    until = monotonic() + LIST_SECONDS
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            lines = list(islice(read_pipe_lines(process.stdout, lambda: until), MOST_LINES))
        except TimeoutError:
            raise UnableError(
                f"{program} list still runs after {LIST_SECONDS} s: this program must accept the"
                " same command line as kmbench"
            ) from None
        finally:
            process.kill()
    there = parse_benchmark_list("\n".join(lines))
    chosen = benchmark_names.select_benchmark_names(there, benchmarks, variants)
    if require_all or not chosen:
        benchmark_names.require_patterns_match(there, benchmarks, variants, "user space")
    return chosen


def select_samples_of_variants(samples: Iterable[Sample], patterns: Sequence[str]) -> list[Sample]:
    """Return the samples of the variants that match a pattern in `patterns`, and of the baselines
    and A/A clones of their benchmarks."""
    groups: dict[str, list[Sample]] = defaultdict(list)
    for row in samples:
        groups[row.benchmark].append(row)
    kept = []
    for own in groups.values():
        there = {row.variant for row in own}
        wanted = {name for name in there if benchmark_names.matches_any_pattern(name, patterns)}
        if wanted:
            baselines = {name for name in there if f"{name}{CLONE_SUFFIX}" in there}
            wanted |= baselines | {f"{name}{CLONE_SUFFIX}" for name in baselines}
        kept += [row for row in own if row.variant in wanted]
    return kept
