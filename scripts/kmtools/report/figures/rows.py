# SPDX-License-Identifier: GPL-2.0-only
"""Defines the data of figures of costs: rows (a name, a point with its interval, the number as
text) on the axis of a panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kmtools.report.figures.scales import Scale


@dataclass(frozen=True)
class Row:
    """A value with its interval; `inner` is the interval from the variance over time alone, drawn
    thicker. `look` selects colour and shape, `density` has pairs of a value on the axis and the
    height of the distribution there (0 to 1). `caveat` is a text below the name; `blank` is a text
    that only reserves space; `odd` is a value that is marked with a cross. A `bar` starts at zero
    and has no point."""

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
    """Rows on one axis. `margin` is drawn dotted and `noise` shaded, both on either side of zero;
    `remark` is a text below the rows."""

    title: str
    unit: str
    axis: Scale
    rows: Sequence[Row]
    margin: float | None = None
    noise: float | None = None
    remark: str = ""


@dataclass(frozen=True)
class Pair:
    """Published costs and the costs of this run, row by row, on two axes."""

    title: str
    then: Panel
    now: Panel
