# SPDX-License-Identifier: GPL-2.0-only
"""Reads an SVG that the tools wrote, and compares two of them by texts, positions and classes.

Versions of matplotlib differ in bytes; a tenth of a pixel is what they may differ in places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

NEAR = 0.75
NUMBER = re.compile(r"-?[\d.]+")


@dataclass(frozen=True)
class Part:
    """A shape or a text: what it is, its classes and the rest of its look, its text, its places."""

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


def parts(svg: str) -> list[Part]:
    """The shapes and texts of a figure, in their order."""
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
            Part(kind, classes, tuple(sorted(look.items())), element.text or "",
                 "".join(re.findall("[A-Z]", path)), tuple(map(float, places)))
        )  # fmt: skip
    return found


def texts(svg: str) -> list[Part]:
    """The texts alone."""
    return [part for part in parts(svg) if part.kind == "text"]


def order(drawn: Sequence[Part]) -> list[Part]:
    """Parts in an order that does not depend on how lines are joined: texts, then shapes."""
    return sorted(drawn, key=lambda part: part.kind == "path")


def difference(one: str, other: str) -> str:
    """What differs between two figures beyond the width of a line, or "" for nothing."""
    first, second = order(parts(one)), order(parts(other))
    if len(first) != len(second):
        return f"{len(first)} and {len(second)} parts"
    for a, b in zip(first, second, strict=True):
        if (a.kind, a.classes, a.look, a.text) != (b.kind, b.classes, b.look, b.text):
            return f"{a} and {b}"
        far = [(p, q) for p, q in zip(ends(a), ends(b), strict=False) if abs(p - q) > NEAR]
        if far or len(ends(a)) != len(ends(b)):
            return f"places of {a} and {b}"
    return ""


def ends(part: Part) -> tuple[float, ...]:
    """The places of a part; of a shape those of its moves, as lines may be level in one version
    and not quite so in the other."""
    if part.kind == "text":
        return part.places
    return tuple(part.places[:2])
