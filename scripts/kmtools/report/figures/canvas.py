# SPDX-License-Identifier: GPL-2.0-only
"""Renders figures as files and as elements of the page: position of the parts, style, file
formats."""

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
from kmtools.base.text import replace_chars_forbidden_in_html, use_minus_signs
from kmtools.report.figures import costs, lines, look, svgfile
from kmtools.report.figures.charts import Chart
from kmtools.report.figures.rows import Pair, Panel
from kmtools.report.figures.svgfile import Drawing

STYLE = Path(__file__).with_name("kmarkers.mplstyle")
# Parameters that a style cannot change: an SVG file has text elements, not paths; TeX is not used;
# canvas.py computes the layout; the output is reproducible.
FIXED: dict[str, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "kmarkers", "text.usetex": False,
    "figure.autolayout": False, "figure.constrained_layout.use": False,
    "savefig.bbox": None, "axes.xmargin": 0.0, "axes.ymargin": 0.0, "lines.scale_dashes": True,
}  # fmt: skip
FORMATS = ("svg", "png", "pdf")
# Metadata to omit, by format: without time and program version the files are reproducible.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
# (minimum, maximum) font size of a style in points, and maximum number of pixels of a PNG.
FONT_SIZES, MOST_PIXELS = (3.0, 36.0), 200e6
# Distance from the ends of a panel's axis to the edges of a narrow figure, in units of font.size /
# 13.
EDGE = 6.0
# Space between parts of a figure, around the figure in a file, for a title, and above a remark, in
# units of font.size / 13.
GAP, AROUND, TITLE, REMARK = 22.0, 12.0, 24.0, 18.0

# A part of a figure, which has axes of its own.
Part = Panel | Pair | Chart
# A rectangle: the left and the lower edge, the width and the height.
Box = tuple[float, float, float, float]


class LogLines(logging.Handler):
    """Collects the messages that matplotlib logs while a style is read."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage().strip().splitlines()[0])


def read_figure_style(path: Path) -> dict[str, Any]:
    """Return the parameters of a matplotlib style file; UnableError if the file is invalid."""
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
        raise UnableError(f"{path} is not a style of matplotlib: {why}") from error
    finally:
        logger.removeHandler(lines)
        logger.propagate = before[0]
        logger.setLevel(before[1])
    if lines.lines:
        raise UnableError(f"{path} is not a style of matplotlib: {lines.lines[0]}")
    size = float(found.get("font.size", 10))
    if not FONT_SIZES[0] <= size <= FONT_SIZES[1]:
        raise UnableError(
            f"{path}: font.size is {size:g}, not from {FONT_SIZES[0]:g} to {FONT_SIZES[1]:g}"
        )
    return {name: value for name, value in found.items() if name not in ("backend", "toolbar")}


@contextmanager
def apply_style(user: dict[str, Any] | None = None) -> Iterator[None]:
    """Apply the style of kmarkers, then the user's style, to the figures made in the `with` block;
    matplotlibrc files are ignored."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        # Suppress warnings, for example about a letter that the font lacks: such a letter is drawn
        # as a box.
        warnings.simplefilter("ignore")
        matplotlib.rcdefaults()
        own = matplotlib.rc_params_from_file(STYLE, use_default_template=False)
        for parameters in (own, user or {}, FIXED):
            look.PARAMETERS.update(parameters)
        yield


def wrap_remark(part: Part, width: float) -> list[str]:
    """Return the remark below a part as lines."""
    remark = part.remark if isinstance(part, Panel) else ""
    return look.wrap_text(remark, width) if remark else []


def split_part_if_narrow(part: Part, narrow: bool) -> list[Part]:
    """Return `part` in a list. In a narrow figure, return the two panels of a Pair instead, which
    are drawn one below the other."""
    return [part.then, part.now] if isinstance(part, Pair) and narrow else [part]


def measure_figure_part(
    part: Part, width: float, margins: tuple[float, float]
) -> tuple[float, float, float]:
    """Return the space above the axes of a part, the height of the axes, and the space below them,
    in units of font.size / 13."""
    narrow = width < look.NARROW_BELOW
    if isinstance(part, Chart):
        whole = lines.compute_chart_height(part, narrow)
        return lines.ABOVE, lines.HEIGHT, whole - lines.ABOVE - lines.HEIGHT
    if isinstance(part, Pair):
        return TITLE, *costs.measure_panel_pair(part, width)
    if not part.rows:
        return 0.0, 0.0, 0.0
    left = margins[0]
    room = width if narrow else left - 12
    unit_room = width - EDGE if narrow else width - left
    return 0.0, *costs.measure_panel(part, narrow, room, unit_room)


def draw_figure_part(axes_box: Box, figure: Figure, part: Part, top: float) -> Axes | None:
    """Draw one part in the rectangle `axes_box`, in fractions of the figure's size. A Pair ignores
    `axes_box` and is drawn `top` units of font.size / 13 below the upper edge of the figure."""
    if isinstance(part, Pair):
        costs.draw_panel_pair(figure, part, top)
        return None
    axes = figure.add_axes(axes_box)
    if isinstance(part, Chart):
        lines.draw_chart(axes, part)
    else:
        costs.draw_costs(axes, part)
    return axes


def make_figure(parts: Sequence[Part], pixels: float = 720.0, titled: bool = True) -> Figure:
    """Return a figure of several parts below each other, `pixels` CSS pixels wide (720 pixels are
    190.5 mm). If `titled`, each part has its title and its remark."""
    unit = look.get_points_per_unit()
    width = pixels * 0.75 / unit
    narrow = width < look.NARROW_BELOW
    own = [one for part in parts for one in split_part_if_narrow(part, narrow)]
    margins = costs.measure_margins([one for one in own if isinstance(one, Panel)], width)
    sizes = [measure_figure_part(part, width, margins) for part in own]
    titles = [TITLE if titled or (narrow and isinstance(parts[0], Pair)) else 0.0] * len(own)
    remarks = [wrap_remark(part, width) if titled else [] for part in own]
    below = [REMARK + look.LINE * len(words) if words else 0.0 for words in remarks]
    inner = sum(titles) + sum(below) + sum(sum(size) for size in sizes)
    whole = max(inner + GAP * (len(own) - 1), 20.0)
    figure = Figure(figsize=(pixels / 96, whole * unit / 72))
    y = 0.0
    for part, (over, tall, under), title, words in zip(own, sizes, titles, remarks, strict=True):
        if title and part.title:
            write_figure_line(figure, part.title, y + 14, whole, width, strong=True)
        y += title
        if tall:
            box = compute_axes_ends(part, narrow, width, margins)
            bottom = 1 - (y + over + tall) / whole
            place = (box[0] / width, bottom, (box[1] - box[0]) / width, tall / whole)
            draw_figure_part(place, figure, part, y)
        y += over + tall + under
        for number, line in enumerate(words):
            write_figure_line(figure, line, y + REMARK + look.LINE * number, whole, width)
        y += (REMARK + look.LINE * len(words) if words else 0.0) + GAP
    return figure


def compute_axes_ends(
    part: Part, narrow: bool, width: float, margins: tuple[float, float]
) -> Sequence[float]:
    """Return the left and the right end of the axes of a part, in units of font.size / 13."""
    if isinstance(part, Chart):
        return lines.LEFT, width - (12.0 if narrow else lines.measure_curve_names_width(part))
    return (EDGE, width - EDGE) if narrow else (margins[0], width - margins[1])


def write_figure_line(
    figure: Figure, text: str, y: float, height: float, width: float, *, strong: bool = False
) -> None:
    """Write a line of text at the left edge of a figure, `y` units below the upper edge. `height`
    and `width` are the size of the figure. All lengths are in units of font.size / 13."""
    text = replace_chars_forbidden_in_html(
        use_minus_signs(look.shorten_to_width(text, width, look.SIZE) if strong else text)
    )
    figure.text(
        0, 1 - y / height, text, va="baseline", color=look.get_colour("ink" if strong else "soft"),
        fontsize=(look.SIZE if strong else look.SMALL) * look.get_points_per_unit(),
        parse_math=False,
        fontweight="bold" if strong else "normal",
    )  # fmt: skip


def add_file_margin(figure: Figure) -> Figure:
    """Add the empty margin that a figure has in a file; return the figure."""
    edge = AROUND * look.get_points_per_unit() / 72
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


def convert_figure_to_svg(figure: Figure, paper: bool) -> Drawing:
    """Convert a figure to SVG, with a background if `paper` is true."""
    figure.patch.set_visible(paper)
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=METADATA["svg"])
    return svgfile.parse_matplotlib_svg(file.getvalue())


def render_part_as_inline_svg(part: Part, pixels: int, description: str, classes: str = "") -> str:
    """Return a part as an SVG element for the page, `pixels` wide."""
    with apply_style():
        return convert_figure_to_svg(
            make_figure([part], pixels, titled=False), paper=False
        ).render_inline_svg(description, classes)


def render_figure_file(
    parts: Sequence[Part],
    description: str,
    kind: str = "svg",
    pixels: float = 744.0,
    user: dict[str, Any] | None = None,
) -> bytes:
    """Return the bytes of a figure as a file, `pixels` CSS pixels wide. `description` is the text
    for screen readers in an SVG file, and the title in the metadata of other files."""
    with apply_style(user):
        around = 2 * AROUND * look.get_points_per_unit() / 0.75
        figure = add_file_margin(make_figure(parts, pixels - around))
        if kind == "svg":
            return convert_figure_to_svg(figure, paper=True).render_svg_file(description).encode()
        dots = look.PARAMETERS["savefig.dpi"]
        dots = figure.dpi if dots == "figure" else float(dots)
        if kind == "png" and dots**2 * figure.get_figwidth() * figure.get_figheight() > MOST_PIXELS:
            raise UnableError(
                f"savefig.dpi is {dots:g}: the picture would have more than {MOST_PIXELS:g} pixels"
            )
        out = io.BytesIO()
        metadata = METADATA[kind] | {
            "Title": replace_chars_forbidden_in_html(use_minus_signs(description))
        }
        figure.savefig(out, format=kind, metadata=metadata)
        return out.getvalue()
