# SPDX-License-Identifier: GPL-2.0-only
"""The data of figures of costs: rows, each a name, a point with its interval and the number in
words, on the axis of a panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kmtools.report.figures.scales import Scale


@dataclass(frozen=True)
class Row:
    """A value with its interval; `inner` is a second one, drawn thicker. `look` selects its colour
    and shape, `density` is the height of its distribution (0 to 1) at places of the axis. `caveat`
    stands below the name; `blank` is a text whose place is kept empty; `odd` is a value that is
    marked with a cross. A `bar` begins at zero and has no point."""

    name: str
    value: float
    lo: float
    hi: float
    look: str
    words: str
    inner: tuple[float, float] | None = None
    density: Sequence[tuple[float, float]] = ()
    caveat: str = ""
    blank: str = ""
    odd: float | None = None
    bar: bool = False


@dataclass(frozen=True)
class Panel:
    """Rows on one axis. `margin` is dotted and `noise` shaded, both to either side of zero;
    `remark` stands below."""

    title: str
    unit: str
    axis: Scale
    rows: Sequence[Row]
    margin: float | None = None
    noise: float | None = None
    remark: str = ""


@dataclass(frozen=True)
class Pair:
    """Published costs and ours, row by row, each on an axis of its own."""

    title: str
    then: Panel
    now: Panel
