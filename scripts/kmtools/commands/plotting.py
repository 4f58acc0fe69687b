# SPDX-License-Identifier: GPL-2.0-only
"""The command plot, which draws the figures of a run."""

from __future__ import annotations

import argparse
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kmtools.base.errors import UnableError
from kmtools.base.files import write_file_atomically
from kmtools.commands import Run

if TYPE_CHECKING:
    from kmtools.report.sheets import Sheet

FORMATS = ("svg", "png", "pdf")
# The width of a figure in millimetres: default (the width in report.html), minimum and maximum.
WIDTH, LEAST, MOST = 196.85, 60.0, 600.0
PIXELS_PER_MM = 96 / 25.4


def parse_figure_width(text: str) -> float:
    """Parse a width in millimetres."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not LEAST <= value <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not from {LEAST:g} to {MOST:g} millimetres")
    return value


def add_plot_command(parser: ArgumentParser) -> Run:
    """Draws figures of a run from its env.json and summary.json: the named figures, or all figures.
    FIGURE is the name of a figure, or NAME:PART for one part of the figure NAME, as in
    dormant-native:empty-loop.

    A style is a file of matplotlib parameters, such as font.size and axes.prop_cycle. Sizes scale
    with font.size. In figures narrower than 132 mm the names of rows are above the rows. An SVG in
    the default colours follows the light or dark colour scheme of its viewer.
    """
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")
    parser.add_argument(
        "figures", nargs="*", metavar="FIGURE", help="names of the figures to draw (default: all)"
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="svg", help="file format (default: svg)"
    )
    parser.add_argument(
        "--style", type=Path, metavar="FILE", help="file with matplotlib parameters"
    )
    parser.add_argument(
        "--width",
        type=parse_figure_width,
        default=WIDTH,
        metavar="MM",
        help="width of each figure in millimetres (default: 197)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder to write the figures to (default: RUN_DIR/figures)",
    )
    return run_plot_command


def run_plot_command(args: Namespace) -> None:
    """Draw the requested figures; write no file unless all of them can be drawn."""
    from kmtools.report.figures import library
    from kmtools.report.figures.workers import start_workers

    wanted = select_figures(args.run, args.figures)
    if why := library.find_matplotlib_fault():
        raise UnableError(f"figures cannot be drawn: {why}")
    canvas = library.import_canvas_module()
    style = canvas.read_figure_style(args.style) if args.style else None
    out, how = args.out or args.run / "figures", (args.format, args.width * PIXELS_PER_MM)
    with start_workers() as several:
        begun = {
            out / f"{name}.{args.format}": several.start_drawing(
                draw_figure, sheet, how, args.style, style
            )
            for name, sheet in wanted.items()
        }
        files = {path: content.result() for path, content in begun.items()}
    out.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        write_file_atomically(path, content)
        print(path)


def select_figures(run: Path, names: Sequence[str]) -> dict[str, Sheet]:
    """Return the figures of the run in the folder `run`: the figures in `names`, or all if `names`
    is empty. Each key is the name of the file to write, without a suffix."""
    from kmtools.report import sheets
    from kmtools.report.sheets import Sheet

    found = sheets.load_run(run).make_sheets()
    if not found:
        raise UnableError(f"{run}: no figure can be drawn: the run has no comparison of results")
    if not names:
        return found
    wanted = {}
    for name in names:
        stem, _, title = name.partition(":")
        if stem not in found:
            raise UnableError(f"{run} has no figure {stem!r}; choose from: {', '.join(found)}")
        sheet = found[stem]
        if title:
            titles = list(dict.fromkeys(part.title for part in sheet.parts))
            if title not in titles:
                there = ", ".join(titles)
                raise UnableError(f"figure {stem} has no part {title!r}; choose from: {there}")
            parts = [part for part in sheet.parts if part.title == title]
            stem = f"{stem}-{sheets.make_slugs(titles)[titles.index(title)]}"
            sheet = Sheet(parts, sheets.describe_figure_part(parts[0]))
        wanted[stem] = sheet
    return wanted


def draw_figure(
    sheet: Sheet,
    format_and_width: tuple[str, float],
    style_file: Path | None,
    style: dict[str, Any] | None,
) -> bytes:
    """Return a figure as the bytes of a file; `format_and_width` is the format and the width in
    pixels, `style` are the parameters of the style. If matplotlib fails on the parameters, raise
    UnableError, which names the style file `style_file`."""
    from kmtools.report.figures import canvas

    kind, pixels = format_and_width
    try:
        content: bytes = canvas.render_figure_file(
            sheet.parts, sheet.words, kind, round(pixels, 1), style
        )
    except UnableError:
        raise
    except Exception as error:
        if style is None:
            raise
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnableError(f"{style_file}: matplotlib cannot draw in this style: {words}") from error
    return content
