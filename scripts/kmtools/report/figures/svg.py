# SPDX-License-Identifier: GPL-2.0-only
"""A drawing in SVG, in CSS pixels, from text, lines and shapes.

Text stays text, and colours are classes: the page's style sheet, or the one in a file of its own,
gives each class a colour for light and one for dark. A file is the same bytes wherever it is made.
Colours follow Okabe and Ito, "Color Universal Design" (2008), darkened until text in them can be
read on white; shapes and words say the same things again.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from kmtools.base.text import shortened as text_shortened

# Widths of a drawing: for a column of a page, and for a telephone.
WIDE, NARROW = 720, 328
# Room for names on the left of a wide drawing.
NAMES = 278
SIZE = 13.0
SMALL = 12.0
# Widths of a letter and of a digit as shares of their height, in the widest of the usual fonts.
LETTER, DIGIT = 0.58, 0.67
COLOURS = Path(__file__).resolve().parents[1] / "colours.css"
FONT = 'font-family: system-ui, "DejaVu Sans", sans-serif'

# Outlines of points, all clockwise: where two parts of an element turn in opposite ways, a hole is.
OUTLINES: dict[str, tuple[tuple[float, float], ...]] = {
    "right": ((-1, -1), (1.2, 0), (-1, 1)),
    "left": ((1, 1), (-1.2, 0), (1, -1)),
    "up": ((-1, 1), (0, -1.2), (1, 1)),
    "diamond": ((-1.2, 0), (0, -1.2), (1.2, 0), (0, 1.2)),
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
}


def escape(value: object) -> str:
    """Text for HTML and SVG, for attributes as well. Characters that no document may hold, such as
    NUL, become question marks."""
    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]|[\ud800-\udfff]", "?", str(value))
    return html.escape(text)


def minus(text: str) -> str:
    """Hyphens before digits as minus signs, unless they join words."""
    return re.sub(r"(?<![\w-])-(?=[\d?])", "\N{MINUS SIGN}", text)


def width_of(text: str, size: float = SIZE) -> float:
    """The width of a text, not less than it is in the usual fonts."""
    return len(text) * size * LETTER


def width_of_label(text: str) -> float:
    """The same of a number at a tick: digits are wider than most letters."""
    return len(text) * SMALL * DIGIT


def shortened(text: str, room: float, size: float = SIZE) -> str:
    """A text that fits; its middle is left out where it is too long."""
    return text_shortened(text, max(5, int(room / (size * LETTER))))


def circle(x: float, y: float, radius: float, clockwise: int) -> str:
    """The steps of a path around a place."""
    turn = f"a{at(radius)} {at(radius)} 0 1 {clockwise}"
    return f"M{at(x - radius)} {at(y)}{turn} {at(2 * radius)} 0{turn} {at(-2 * radius)} 0Z"


def at(value: float) -> str:
    """A coordinate, with a tenth of a pixel."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


class Drawing:
    """Shapes on `width` pixels; the height grows with what is drawn."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.height = 0.0
        # The left and the right end of the axis; names and numbers stand beside it.
        self.frame = (6.0, width - 6.0) if self.narrow else (float(NAMES), width - 162.0)
        self._parts: list[str] = []

    @property
    def narrow(self) -> bool:
        """Whether labels stand above their rows, not beside them."""
        return self.width < 500

    def _add(self, part: str, bottom: float) -> None:
        self._parts.append(part)
        self.height = max(self.height, bottom)

    def text(
        self, x: float, y: float, text: str, look: str = "", anchor: str = "", size: float = SIZE
    ) -> None:
        """A line of text whose base line is at y."""
        classes = f' class="{look}"' if look else ""
        ends = f' text-anchor="{anchor}"' if anchor else ""
        sized = f' font-size="{at(size)}"' if size != SIZE else ""
        words = escape(minus(text))
        self._add(f'<text x="{at(x)}" y="{at(y)}"{classes}{ends}{sized}>{words}</text>', y + 4)

    def lines(self, x: float, y: float, text: str, look: str = "", room: float = 0.0) -> float:
        """A text of several lines; returns the place below."""
        letters = int((room or self.width - x) / (SMALL * 0.56))
        for line in textwrap.wrap(minus(text), max(10, letters)):
            self.text(x, y, line, look, size=SMALL)
            y += SMALL * 1.4
        return y

    def line(
        self, x1: float, y1: float, x2: float, y2: float, look: str, width: float = 1.0
    ) -> None:
        """A straight line."""
        ends = f'x1="{at(x1)}" y1="{at(y1)}" x2="{at(x2)}" y2="{at(y2)}"'
        self._add(f'<line {ends} class="line {look}" stroke-width="{at(width)}"/>', max(y1, y2))

    def segments(self, several: Sequence[tuple[float, float, float, float]], look: str) -> None:
        """Straight thin lines, each from a point to another, as one element."""
        if several:
            steps = "".join(f"M{at(a)} {at(b)}L{at(c)} {at(d)}" for a, b, c, d in several)
            low = max(max(b, d) for _, b, _, d in several)
            self._add(f'<path d="{steps}" class="line thin {look}"/>', low)

    def boxes(self, several: Sequence[tuple[float, float, float, float]], look: str) -> None:
        """Filled boxes, each from a corner to the opposite one, as one element."""
        if several:
            steps = "".join(f"M{at(a)} {at(b)}H{at(c)}V{at(d)}H{at(a)}Z" for a, b, c, d in several)
            self._add(f'<path d="{steps}" class="fill {look}"/>', max(box[3] for box in several))

    def box(self, x: float, y: float, width: float, height: float, look: str) -> None:
        """A filled box."""
        size = f'width="{at(width)}" height="{at(height)}"'
        self._add(f'<rect x="{at(x)}" y="{at(y)}" {size} class="fill {look}"/>', y + height)

    def path(self, points: Sequence[tuple[float, float]], look: str, closed: bool = False) -> None:
        """A line through points, or the shape inside it."""
        steps = " ".join(f"{at(x)} {at(y)}" for x, y in points)
        kind, end = ("fill", "Z") if closed else ("line", "")
        self._add(f'<path d="M{steps}{end}" class="{kind} {look}"/>', max(y for _, y in points))

    def mark(self, x: float, y: float, shape: str, look: str, size: float = 4.5) -> None:
        """A point: a disc, ring, diamond, square, cross, or a triangle (right, left, up)."""
        self.ranged(x, y, shape, look, size=size)

    def ranged(
        self,
        x: float,
        y: float,
        shape: str,
        look: str,
        bars: Sequence[tuple[float, float, float]] = (),
        size: float = 4.5,
    ) -> None:
        """A point upon level bars, each from and to a place and so thick, as one element."""
        if shape == "cross":
            self.line(x - size, y - size, x + size, y + size, look, 1.8)
            self.line(x - size, y + size, x + size, y - size, look, 1.8)
            return
        half = [(low, high, thick / 2) for low, high, thick in bars]
        steps = [f"M{at(a)} {at(y - h)}H{at(b)}V{at(y + h)}H{at(a)}Z" for a, b, h in half]
        if shape == "disc":
            steps.append(circle(x, y, size, 1))
        elif shape == "ring":
            steps += [circle(x, y, size + 0.9, 1), circle(x, y, size - 0.9, 0)]
        elif shape:
            points = (f"{at(x + size * dx)} {at(y + size * dy)}" for dx, dy in OUTLINES[shape])
            steps.append(f"M{' '.join(points)}Z")
        if steps:
            self._add(f'<path d="{"".join(steps)}" class="fill {look}"/>', y + size)

    def inline(self, words: str, look: str = "") -> str:
        """The element for a page, with a short description."""
        view = f'viewBox="0 0 {self.width} {at(self.height)}"'
        size = f'width="{self.width}" height="{at(self.height)}"'
        classes = f' class="{look}"' if look else ""
        label = f'role="img" aria-label="{escape(minus(words))}"'
        return f"<svg {size} {view}{classes} {label}>{''.join(self._parts)}</svg>"

    def whole(self, words: str) -> str:
        """A file of its own, on white or, where dark is asked for, on black."""
        view = f'viewBox="-12 -8 {self.width + 24} {at(self.height + 16)}"'
        size = f'width="{self.width + 24}" height="{at(self.height + 16)}"'
        paper = f'<rect x="-12" y="-8" {size} class="paper"/>'
        style = COLOURS.read_text(encoding="utf-8")
        body = "\n".join(self._parts)
        return (
            '<?xml version="1.0" encoding="utf-8"?>\n'
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} role="img"'
            f' aria-label="{escape(minus(words))}">\n<style>\n{style}</style>\n{paper}\n'
            f'<g style="{escape(FONT)}" font-size="{at(SIZE)}">\n{body}\n</g>\n</svg>\n'
        )
