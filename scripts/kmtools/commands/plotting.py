# SPDX-License-Identifier: GPL-2.0-only
"""The command that draws the figures of a run."""

from __future__ import annotations

import argparse
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kmtools.base.errors import UnableError
from kmtools.base.files import write_whole
from kmtools.commands import Run

if TYPE_CHECKING:
    from kmtools.report.sheets import Sheet

FORMATS = ("svg", "png", "pdf")
# The width of a figure in millimetres: the default on a page, the minimum and the maximum.
WIDTH, LEAST, MOST = 196.85, 60.0, 600.0
PIXELS_PER_MM = 96 / 25.4


def width(text: str) -> float:
    """Parse a width in millimetres."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not LEAST <= value <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not from {LEAST:g} to {MOST:g} millimetres")
    return value


def plot(parser: ArgumentParser) -> Run:
    """Figures are drawn from env.json and summary.json of a run, all of them unless some are named.
    FIGURE is a name, or a name and one of its parts, as in dormant-native:empty-loop.

    A style is a file of matplotlib's parameters, such as font.size and axes.prop_cycle. Sizes grow
    with font.size. Below 132 mm names stand above their rows. An SVG in the default colours
    follows the light or dark scheme of its reader.
    """
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="draw only these figures")
    parser.add_argument("--format", choices=FORMATS, default="svg", help="file format (svg)")
    parser.add_argument("--style", type=Path, metavar="FILE", help="matplotlib style file")
    parser.add_argument(
        "--width", type=width, default=WIDTH, metavar="MM", help="width in millimetres (197)"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="output folder (RUN_DIR/figures)")
    return run_plot


def run_plot(args: Namespace) -> None:
    """Draw the requested figures; no file is written unless all can be drawn."""
    from kmtools.report.figures import library
    from kmtools.report.figures.workers import workers

    wanted = chosen(args.run, args.figures)
    if why := library.fault():
        raise UnableError(f"figures cannot be drawn: {why}")
    canvas = library.canvas()
    style = canvas.read_style(args.style) if args.style else None
    out, how = args.out or args.run / "figures", (args.format, args.width * PIXELS_PER_MM)
    with workers() as several:
        begun = {
            out / f"{name}.{args.format}": several.begin(drawn, sheet, how, args.style, style)
            for name, sheet in wanted.items()
        }
        files = {path: content.result() for path, content in begun.items()}
    out.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        write_whole(path, content)
        print(path)


def chosen(path: Path, names: Sequence[str]) -> dict[str, Sheet]:
    """Return the named figures of a run, or all of them, by the names of their files."""
    from kmtools.report import sheets
    from kmtools.report.sheets import Sheet

    found = sheets.run_of(path).sheets()
    if not found:
        raise UnableError(f"{path}: there is nothing to draw: no result is compared with another")
    if not names:
        return found
    wanted = {}
    for name in names:
        stem, _, title = name.partition(":")
        if stem not in found:
            raise UnableError(f"{path} has no figure {stem!r}; it has {', '.join(found)}")
        sheet = found[stem]
        if title:
            parts = [part for part in sheet.parts if part.title == title]
            if not parts:
                there = ", ".join(dict.fromkeys(part.title for part in sheet.parts))
                raise UnableError(f"{stem} has no part {title!r}; it has {there}")
            stem, sheet = f"{stem}-{sheets.slug(title)}", Sheet(parts, sheets.described(parts[0]))
        wanted[stem] = sheet
    return wanted


def drawn(
    sheet: Sheet, how: tuple[str, float], path: Path | None, style: dict[str, Any] | None
) -> bytes:
    """Return a figure as the bytes of a file, in a format and with a width in pixels. `path` is the
    file of the style, which errors name: a style can demand what matplotlib cannot draw."""
    from kmtools.report.figures import canvas

    kind, pixels = how
    try:
        content: bytes = canvas.file(sheet.parts, sheet.words, kind, round(pixels, 1), style)
    except UnableError:
        raise
    except Exception as error:
        if style is None:
            raise
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnableError(f"{path}: matplotlib cannot draw in this style: {words}") from error
    return content
