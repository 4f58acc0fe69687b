# SPDX-License-Identifier: GPL-2.0-only
"""Compares the added costs of two runs, each as a share of its own baseline.

Raw numbers of two runs are not compared, because machines, clocks and kernels differ. The compared
number is the added cost divided by the baseline, both from the same run. A cost has changed if the
two intervals do not touch. Both runs need a summary.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kmtools.base.text import aligned
from kmtools.measure.rundir import RunError, tier_order
from kmtools.report.table import terminal_width

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Share:
    """An added cost in percent of the baseline, with its interval; None if it is unbounded."""

    middle: float
    lo: float | None
    hi: float | None
    verdict: str

    def __str__(self) -> str:
        ends = ("?" if end is None else f"{end:+.1f}" for end in (self.lo, self.hi))
        return f"{self.middle:+.1f} [{', '.join(ends)}]"


def shares(entries: Sequence[dict[str, Any]]) -> dict[Key, Share]:
    """Added costs in percent of the baseline, by tier, kernel, benchmark and variant."""
    found: dict[Key, Share] = {}
    bases = {
        (e["tier"], e["kernel"], e["benchmark"]): e["median"]
        for e in entries
        if e["variant"] == e["baseline"]
    }
    for entry in entries:
        key = (entry["tier"], entry["kernel"], entry["benchmark"], entry["variant"])
        base = bases.get(key[:3])
        if not base or entry["delta"] is None:
            continue
        scale = 100 / abs(base)
        ends = [
            None if entry[name] is None else entry[name] * scale
            for name in ("delta_ci_lo", "delta_ci_hi")
        ]
        found[key] = Share(entry["delta"] * scale, ends[0], ends[1], entry["verdict"])
    return found


def pair_up(a: dict[Key, Share], b: dict[Key, Share]) -> list[tuple[Key, Share, Share]]:
    """The costs in both runs: of the same kernel, else of the only kernel of the other run."""
    pairs = []
    for key, share in sorted(a.items(), key=lambda item: (tier_order(item[0][0]), item[0])):
        others = [k for k in b if (k[0], *k[2:]) == (key[0], *key[2:])]
        match = key if key in b else others[0] if len(others) == 1 else None
        if match is not None:
            pairs.append((key, share, b[match]))
    return pairs


def change(a: Share, b: Share) -> str:
    """'more', 'less', or nothing if the intervals touch or are unbounded."""
    if a.hi is not None and b.lo is not None and b.lo > a.hi:
        return "more"
    if a.lo is not None and b.hi is not None and b.hi < a.lo:
        return "less"
    return ""


def render(pairs: Sequence[tuple[Key, Share, Share]], width: int) -> str:
    """The comparison as text; verdicts are left out on a narrow terminal."""
    rows = [("tier", "benchmark", "variant", "A, % of baseline", "B, % of baseline", "", "")]
    for (tier, _, benchmark, variant), a, b in pairs:
        verdicts = "" if a.verdict == b.verdict else f"{a.verdict} -> {b.verdict}"
        rows.append((tier, benchmark, variant, str(a), str(b), change(a, b), verdicts))
    lines = aligned(rows)
    if max(map(len, lines)) > width:
        lines = aligned([row[:6] for row in rows])
    changed = sum(1 for _, a, b in pairs if change(a, b))
    return "\n".join([*lines, "", f"{changed} of {len(pairs)} costs changed beyond both intervals"])


def comparison(a: Sequence[dict[str, Any]], b: Sequence[dict[str, Any]]) -> str:
    """Two runs' costs side by side, as text."""
    pairs = pair_up(shares(a), shares(b))
    if not pairs:
        raise RunError("the runs have no cost in common")
    return render(pairs, terminal_width())
