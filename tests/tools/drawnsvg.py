# SPDX-License-Identifier: GPL-2.0-only
"""Parses SVG figures of kmarkers, and compares two figures by texts, positions and CSS classes.

Bytes are not compared, because bytes differ between versions of matplotlib. Coordinates may differ
by up to NEAR SVG units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

NEAR = 0.75
NUMBER = re.compile(r"-?[\d.]+")


@dataclass(frozen=True)
class SvgElement:
    """A path or text element: its tag (`kind`), CSS classes, other attributes (`look`), text, path
    commands (`steps`) and coordinates (`places`)."""

    kind: str
    classes: str
    look: tuple[tuple[str, str], ...]
    text: str
    steps: str
    places: tuple[float, ...]

    @property
    def x(self) -> float:
        return self.places[0]

    @property
    def y(self) -> float:
        return self.places[1]


def parse_svg_elements(svg: str) -> list[SvgElement]:
    """Return the path and text elements of an SVG, in document order."""
    found = []
    for element in ElementTree.fromstring(svg).iter():
        kind = element.tag.rpartition("}")[2]
        if kind not in ("path", "text"):
            continue
        path = element.get("d", "")
        places = NUMBER.findall(path) or [element.get("x", "0"), element.get("y", "0")]
        look = {name: value for name, value in element.items() if name not in ("d", "x", "y")}
        classes = look.pop("class", "")
        found.append(
            SvgElement(kind, classes, tuple(sorted(look.items())), element.text or "",
                 "".join(re.findall("[A-Z]", path)), tuple(map(float, places)))
        )  # fmt: skip
    return found


def parse_svg_texts(svg: str) -> list[SvgElement]:
    """Return the text elements of an SVG."""
    return [part for part in parse_svg_elements(svg) if part.kind == "text"]


def sort_svg_elements(drawn: Sequence[SvgElement]) -> list[SvgElement]:
    """Return the elements `drawn`, texts first, then paths, because versions of matplotlib draw
    texts and paths in different orders."""
    return sorted(drawn, key=lambda part: part.kind == "path")


def find_svg_difference(one: str, other: str) -> str:
    """Return a description of the first difference between two SVGs; "" if there is none."""
    first, second = (
        sort_svg_elements(parse_svg_elements(one)),
        sort_svg_elements(parse_svg_elements(other)),
    )
    if len(first) != len(second):
        return f"{len(first)} and {len(second)} elements"
    for a, b in zip(first, second, strict=True):
        if (a.kind, a.classes, a.look, a.text) != (b.kind, b.classes, b.look, b.text):
            return f"{a} and {b}"
        far = [
            (p, q)
            for p, q in zip(
                select_comparable_coordinates(a), select_comparable_coordinates(b), strict=False
            )
            if abs(p - q) > NEAR
        ]
        if far or len(select_comparable_coordinates(a)) != len(select_comparable_coordinates(b)):
            return f"coordinates of {a} and {b}"
    return ""


def select_comparable_coordinates(part: SvgElement) -> tuple[float, ...]:
    """Return the coordinates to compare: all of a text, but only the first point of a path, because
    other points differ between versions of matplotlib."""
    if part.kind == "text":
        return part.places
    return tuple(part.places[:2])
