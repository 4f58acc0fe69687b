# SPDX-License-Identifier: GPL-2.0-only
"""Converts the SVG of matplotlib to a smaller one that follows light and dark colour schemes.

Text stays text. The default colours become CSS classes, which colours.css defines for both schemes;
other colours of a user's style are kept. Groups, metadata and definitions are removed: shapes are
placed where they are used, and neighbouring shapes with the same attributes are merged into one
element.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from kmtools.base.text import replace_chars_forbidden_in_html, use_minus_signs

COLOURS = Path(__file__).resolve().parents[1] / "colours.css"
FAMILY = "DejaVu Sans"
FONT = f'font-family: system-ui, "{FAMILY}", sans-serif'
# The default colours, as defined in kmarkers.mplstyle, and their CSS classes.
CLASSES = {
    "#24292f": "ink", "#57606a": "soft", "#e2e6ea": "noise", "#ffffff": "paper",
    "#0065a3": "faster", "#a84300": "slower", "#00694a": "same", "#8f3d77": "then",
    "#7a5c00": "ochre",
}  # fmt: skip
# Pixels of the page per point of matplotlib.
PIXELS = 4 / 3
# Font size in pixels.
SIZE = 13.0
NAMESPACE = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
# Patterns for attributes of SVG elements: a step of a path (a letter and coordinates), a
# translation, and a font size.
STEP = re.compile(r"([MLQCz])([-+\d.e\s]*)")
MOVED = re.compile(r"translate\(([-\d.e]+)[ ,]+([-\d.e]+)\)")
FONT_SIZE = re.compile(r"([\d.]+)px")


@dataclass
class Element:
    """An element of a drawing: text, or a path, whose steps can be merged with the steps of a
    neighbouring path."""

    attributes: str
    steps: str = ""
    text: str = ""

    def render_svg(self) -> str:
        """Return the element as SVG."""
        if self.steps:
            return f'<path d="{self.steps}"{self.attributes}/>'
        return f"<text{self.attributes}>{html.escape(self.text)}</text>"


@dataclass
class Drawing:
    """The elements of a figure and its size in pixels, without the surrounding <svg>."""

    width: float
    height: float
    elements: list[Element] = field(default_factory=list)

    def render_size_attributes(self) -> str:
        """Return the width, height and viewBox attributes."""
        width, height = format_coordinate(self.width), format_coordinate(self.height)
        return f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'

    def render_inline_svg(self, description: str, classes: str = "") -> str:
        """Return the <svg> element for a page, with a short description."""
        attribute = f' class="{classes}"' if classes else ""
        text = html.escape(replace_chars_forbidden_in_html(use_minus_signs(description)))
        label = f'role="img" aria-label="{text}"'
        body = "".join(element.render_svg() for element in self.elements)
        return f"<svg {self.render_size_attributes()}{attribute} {label}>{body}</svg>"

    def render_svg_file(self, description: str) -> str:
        """Return the text of an SVG file, with the colours of both schemes."""
        style = COLOURS.read_text(encoding="utf-8")
        body = "\n".join(element.render_svg() for element in self.elements)
        label = html.escape(replace_chars_forbidden_in_html(use_minus_signs(description)))
        return (
            '<?xml version="1.0" encoding="utf-8"?>\n'
            f'<svg xmlns="http://www.w3.org/2000/svg" {self.render_size_attributes()} role="img"'
            f' aria-label="{label}">\n<style>\n{style}</style>\n'
            f'<g style="{html.escape(FONT)}" font-size="{format_coordinate(SIZE)}">\n{body}\n'
            "</g>\n</svg>\n"
        )


def format_coordinate(value: float) -> str:
    """Return a coordinate in pixels with one decimal."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def parse_css_style(element: ElementTree.Element) -> dict[str, str]:
    """Return the CSS declarations in the style attribute of an element."""
    parts = (part.partition(":") for part in element.get("style", "").split(";"))
    return {name.strip(): value.strip() for name, _, value in parts if value}


def convert_svg_path(path: str, x: float = 0.0, y: float = 0.0) -> str:
    """Return the steps of a path, moved by (x, y) and converted to pixels."""
    found, at = [], ("", "")
    for letter, digits in STEP.findall(path):
        places = [float(digit) for digit in digits.split()]
        pairs = [
            (format_coordinate((a + x) * PIXELS), format_coordinate((b + y) * PIXELS))
            for a, b in zip(places[::2], places[1::2], strict=True)
        ]
        if letter == "L" and at[1] == pairs[0][1]:
            found.append(f"H{pairs[0][0]}")
        elif letter == "L" and at[0] == pairs[0][0]:
            found.append(f"V{pairs[0][1]}")
        else:
            found.append(letter.upper() + " ".join(f"{a} {b}" for a, b in pairs))
        at = pairs[-1] if pairs else at
    return "".join(found)


def make_shape_attributes(style: Mapping[str, str]) -> str | None:
    """Return the attributes of a shape: its class, and the properties that no class defines; None
    if the shape is invisible."""
    fill, stroke = style.get("fill", "#000000"), style.get("stroke", "none")
    lined = stroke != "none" and float(style.get("stroke-width", "1")) > 0
    if fill == "none" and not lined:
        return None
    ring = lined and fill not in ("none", stroke)
    kind, colour = ("ring" if ring else "line", stroke) if lined else ("fill", fill)
    classes = [kind, CLASSES[colour]] if colour in CLASSES else [kind]
    if style.get("stroke-dasharray", "none") != "none":
        classes.append("dots")
    see = style.get("fill-opacity") or style.get("opacity") or "1"
    if see == "0.4":
        classes.append("pale")
    attributes = f' class="{" ".join(classes)}"'
    thick = format_coordinate(float(style.get("stroke-width", "1")) * PIXELS)
    if lined and thick != "1":
        attributes += f' stroke-width="{thick}"'
    if colour not in CLASSES:
        attributes += f' style="color:{html.escape(colour)}"'
    return attributes + (f' opacity="{html.escape(see)}"' if see not in ("1", "0.4") else "")


def convert_text_element(element: ElementTree.Element) -> Element:
    """Convert a text element of matplotlib's SVG to an element of a drawing."""
    style = parse_css_style(element)
    font = style.get("font", "")
    x, y = float(element.get("x", "0")), float(element.get("y", "0"))
    if moved := MOVED.search(element.get("transform", "")):
        x, y = x + float(moved[1]), y + float(moved[2])
    fill = style.get("fill", "#000000")
    classes = [CLASSES[fill]] if fill in CLASSES and CLASSES[fill] != "ink" else []
    if re.search(r"\b(?:bold|[6-9]00)\b", style.get("font-weight", font)):
        classes.append("strong")
    attributes = f' x="{format_coordinate(x * PIXELS)}" y="{format_coordinate(y * PIXELS)}"'
    attributes += f' class="{" ".join(classes)}"' if classes else ""
    anchor = style.get("text-anchor", "start")
    attributes += f' text-anchor="{anchor}"' if anchor != "start" else ""
    sized = FONT_SIZE.search(style.get("font-size", font))
    size = format_coordinate(float(sized[1]) * PIXELS) if sized else format_coordinate(SIZE)
    attributes += f' font-size="{size}"' if size != format_coordinate(SIZE) else ""
    own = [] if fill in CLASSES else [f"fill:{fill}"]
    family = style.get("font-family") or font.partition("px ")[2]
    if family and FAMILY not in family:
        own.append(f"font-family:{family}")
    if own:
        attributes += f' style="{html.escape(";".join(own))}"'
    return Element(attributes, text="".join(element.itertext()).strip())


def list_drawn_shapes(
    parent: ElementTree.Element, definitions: dict[str, ElementTree.Element], inside: bool = False
) -> Iterator[Element]:
    """Yield the shapes and texts in the element `parent` in document order. Definitions are added
    to `definitions` by their ids; `inside` is true below an element <defs>."""
    for element in parent:
        tag = str(element.tag).removeprefix(NAMESPACE)
        if tag == "defs" or (inside and tag in ("g", "path")):
            if name := element.get("id"):
                definitions[name] = element
            yield from list_drawn_shapes(element, definitions, inside=True)
        elif tag == "g":
            yield from list_drawn_shapes(element, definitions)
        elif tag == "text":
            yield convert_text_element(element)
        elif tag in ("path", "use"):
            source, x, y = element, 0.0, 0.0
            if tag == "use":
                source = definitions[element.get(LINK, element.get("href", ""))[1:]]
                x, y = float(element.get("x", "0")), float(element.get("y", "0"))
            attributes = make_shape_attributes(parse_css_style(source) | parse_css_style(element))
            if attributes is not None:
                yield Element(attributes, convert_svg_path(source.get("d", ""), x, y))


def merge_adjacent_shapes(elements: Sequence[Element]) -> list[Element]:
    """Return the elements, merging shapes with equal attributes if there is only text in
    between."""
    found: list[Element] = []
    last: Element | None = None
    for one in elements:
        if last is not None and one.steps and last.attributes == one.attributes:
            last.steps += one.steps
        elif one.steps or one.text:
            found.append(one)
            last = one if one.steps else last
    return found


def parse_matplotlib_svg(text: str) -> Drawing:
    """Convert an SVG text of matplotlib to a drawing."""
    root = ElementTree.fromstring(text)
    _, _, width, height = (float(part) * PIXELS for part in root.get("viewBox", "").split())
    return Drawing(width, height, merge_adjacent_shapes(list(list_drawn_shapes(root, {}))))
