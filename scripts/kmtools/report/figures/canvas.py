# SPDX-License-Identifier: GPL-2.0-only
"""Figures as files and as parts of the page: the place of each part, the style, the formats."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kmtools.base.errors import UnableError
from kmtools.base.text import clean, minus
from kmtools.report.figures import costs, lines, look, svgfile
from kmtools.report.figures.charts import Chart
from kmtools.report.figures.rows import Pair, Panel
from kmtools.report.figures.svgfile import Drawing

STYLE = Path(__file__).with_name("kmarkers.mplstyle")
# Parameters that no style changes: text stays text without formulas, the layout is ours, and output
# is reproducible.
FIXED: dict[str, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "kmarkers", "text.usetex": False,
    "figure.autolayout": False, "figure.constrained_layout.use": False,
    "savefig.bbox": None, "axes.xmargin": 0.0, "axes.ymargin": 0.0, "lines.scale_dashes": True,
}  # fmt: skip
FORMATS = ("svg", "png", "pdf")
# Metadata without the time and the version of a program, so that files are reproducible.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
# The least and the largest font of a style, in points, and the most pixels of a PNG.
FONTS, MOST_PIXELS = (3.0, 36.0), 200e6
MILLIMETRES = 96 / 25.4
EDGE = 6.0
# Space between parts of a figure, around a file, for a title, and above a remark.
GAP, AROUND, TITLE, REMARK = 22.0, 12.0, 24.0, 18.0

Part = Panel | Pair | Chart
Box = tuple[float, float, float, float]


class LogLines(logging.Handler):
    """Keeps the log messages of matplotlib while it reads a style."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage().strip().splitlines()[0])


def read_style(path: Path) -> dict[str, Any]:
    """The parameters of a style file; UnableError if it is none."""
    if not path.is_file():
        raise UnableError(f"{path}: no such style file")
    lines, logger = LogLines(), logging.getLogger("matplotlib")
    logger.addHandler(lines)
    before = logger.propagate, logger.level
    logger.propagate = False
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = matplotlib.rc_params_from_file(
                path, fail_on_error=True, use_default_template=False
            )
    except (ValueError, KeyError, OSError, TypeError) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise UnableError(f"{path} is no style of matplotlib: {why}") from error
    finally:
        logger.removeHandler(lines)
        logger.propagate = before[0]
        logger.setLevel(before[1])
    if lines.lines:
        raise UnableError(f"{path} is no style of matplotlib: {lines.lines[0]}")
    size = float(found.get("font.size", 10))
    if not FONTS[0] <= size <= FONTS[1]:
        raise UnableError(f"{path}: font.size is {size:g}, not from {FONTS[0]:g} to {FONTS[1]:g}")
    return {name: value for name, value in found.items() if name not in ("backend", "toolbar")}


@contextmanager
def style(user: dict[str, Any] | None = None) -> Iterator[None]:
    """Apply the style of kmarkers and, on top of it, that of a user to figures in the context; any
    matplotlibrc is ignored."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A letter that the font lacks, for example, is a box in the figure and no message.
        warnings.simplefilter("ignore")
        matplotlib.rcdefaults()
        own = matplotlib.rc_params_from_file(STYLE, use_default_template=False)
        for parameters in (own, user or {}, FIXED):
            look.PARAMETERS.update(parameters)
        yield


def lines_of(part: Part, width: float) -> list[str]:
    """The remark of a part in lines."""
    remark = part.remark if isinstance(part, Panel) else ""
    return look.lines_of(remark, width) if remark else []


def panels_of(part: Part, narrow: bool) -> list[Part]:
    """The parts of a part: a pair is two panels below each other in a narrow figure."""
    return [part.then, part.now] if isinstance(part, Pair) and narrow else [part]


def size_of(part: Part, width: float, margins: tuple[float, float]) -> tuple[float, float, float]:
    """The space above the axes of a part, their height, and the space below them, in units."""
    narrow = width < look.NARROW_BELOW
    if isinstance(part, Chart):
        whole = lines.height(part, narrow)
        return lines.ABOVE, lines.HEIGHT, whole - lines.ABOVE - lines.HEIGHT
    if isinstance(part, Pair):
        return TITLE, *costs.pair_height(part, width)
    if not part.rows:
        return 0.0, 0.0, 0.0
    left = margins[0]
    room = width if narrow else left - 12
    unit_room = width - EDGE if narrow else width - left
    return 0.0, *costs.height(part, narrow, room, unit_room)


def draw_part(axes_box: Box, figure: Figure, part: Part, top: float) -> Axes | None:
    """Draw one part; the box of its axes is in shares of the figure."""
    if isinstance(part, Pair):
        costs.draw_pair(figure, part, top)
        return None
    axes = figure.add_axes(axes_box)
    if isinstance(part, Chart):
        lines.draw_chart(axes, part)
    else:
        costs.draw_costs(axes, part)
    return axes


def figure_of(parts: Sequence[Part], pixels: float = 720.0, titled: bool = True) -> Figure:
    """A figure of several parts below each other, `pixels` CSS pixels wide (720 are 190.5 mm).
    `titled`: with the title of each part and with its remark."""
    unit = look.unit()
    width = pixels * 0.75 / unit
    narrow = width < look.NARROW_BELOW
    own = [one for part in parts for one in panels_of(part, narrow)]
    margins = costs.margins([one for one in own if isinstance(one, Panel)], width)
    sizes = [size_of(part, width, margins) for part in own]
    titles = [TITLE if titled or (narrow and isinstance(parts[0], Pair)) else 0.0] * len(own)
    remarks = [lines_of(part, width) if titled else [] for part in own]
    below = [REMARK + look.LINE * len(words) if words else 0.0 for words in remarks]
    inner = sum(titles) + sum(below) + sum(sum(size) for size in sizes)
    whole = max(inner + GAP * (len(own) - 1), 20.0)
    figure = Figure(figsize=(pixels / 96, whole * unit / 72))
    y = 0.0
    for part, (over, tall, under), title, words in zip(own, sizes, titles, remarks, strict=True):
        if title and part.title:
            write(figure, part.title, y + 14, whole, width, strong=True)
        y += title
        if tall:
            box = axes_of(part, narrow, width, margins)
            bottom = 1 - (y + over + tall) / whole
            place = (box[0] / width, bottom, (box[1] - box[0]) / width, tall / whole)
            draw_part(place, figure, part, y)
        y += over + tall + under
        for number, line in enumerate(words):
            write(figure, line, y + REMARK + look.LINE * number, whole, width)
        y += (REMARK + look.LINE * len(words) if words else 0.0) + GAP
    return figure


def axes_of(
    part: Part, narrow: bool, width: float, margins: tuple[float, float]
) -> Sequence[float]:
    """The left and the right end of the axes of a part, in units."""
    if isinstance(part, Chart):
        return lines.LEFT, width - (12.0 if narrow else lines.names_room(part))
    return (EDGE, width - EDGE) if narrow else (margins[0], width - margins[1])


def write(
    figure: Figure, text: str, y: float, whole: float, width: float, *, strong: bool = False
) -> None:
    """Write a line of text at the left edge of a figure."""
    text = clean(minus(look.shortened(text, width, look.SIZE) if strong else text))
    figure.text(
        0, 1 - y / whole, text, va="baseline", color=look.colour("ink" if strong else "soft"),
        fontsize=(look.SIZE if strong else look.SMALL) * look.unit(),
        parse_math=False,
        fontweight="bold" if strong else "normal",
    )  # fmt: skip


def framed(figure: Figure) -> Figure:
    """The same figure with an empty edge around it, as a file has."""
    edge = AROUND * look.unit() / 72
    wide, tall = figure.get_figwidth(), figure.get_figheight()
    more_wide, more_tall = wide + 2 * edge, tall + 2 * edge
    for axes in figure.axes:
        box = axes.get_position()
        axes.set_position(
            ((box.x0 * wide + edge) / more_wide, (box.y0 * tall + edge) / more_tall,
             box.width * wide / more_wide, box.height * tall / more_tall)
        )  # fmt: skip
    for text in figure.texts:
        x, y = text.get_position()
        text.set_position(((x * wide + edge) / more_wide, (y * tall + edge) / more_tall))
    figure.set_size_inches(more_wide, more_tall)
    return figure


def drawing(figure: Figure, paper: bool) -> Drawing:
    """A figure in SVG, with a background if `paper`."""
    figure.patch.set_visible(paper)
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=METADATA["svg"])
    return svgfile.read(file.getvalue())


def inline(part: Part, pixels: int, words: str, classes: str = "") -> str:
    """A part as an element of the page, `pixels` wide."""
    with style():
        return drawing(figure_of([part], pixels, titled=False), paper=False).inline(words, classes)


def file(
    parts: Sequence[Part],
    words: str,
    kind: str = "svg",
    pixels: float = 744.0,
    user: dict[str, Any] | None = None,
) -> bytes:
    """The bytes of a file of a figure, `pixels` CSS pixels wide; `words` describe it."""
    with style(user):
        around = 2 * AROUND * look.unit() / 0.75
        figure = framed(figure_of(parts, pixels - around))
        if kind == "svg":
            return drawing(figure, paper=True).whole(words).encode()
        dots = look.PARAMETERS["savefig.dpi"]
        dots = figure.dpi if dots == "figure" else float(dots)
        if kind == "png" and dots**2 * figure.get_figwidth() * figure.get_figheight() > MOST_PIXELS:
            raise UnableError(f"savefig.dpi is {dots:g}: a picture would be too large")
        out = io.BytesIO()
        metadata = METADATA[kind] | {"Title": clean(minus(words))}
        figure.savefig(out, format=kind, metadata=metadata)
        return out.getvalue()
