# SPDX-License-Identifier: GPL-2.0-only
"""Draws the floors of the sources, from their includes and imports, into Documentation/floors.svg.

An arrow leads from a floor to each other floor of which its files include or import a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from kmtools.check.floors import Edge, Floor, Pair, Plan, between, facts

INK, MUTED = "#24292f", "#7d858d"
# Okabe and Ito, "Color Universal Design" (2008).
BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY = "#e69f00", "#56b4e9"
STYLE: Any = {
    "svg.hashsalt": "kmarkers",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "text.color": INK,
    "figure.facecolor": "white",
    "axes.facecolor": "none",
    "savefig.dpi": 120,
}
HEIGHT, STEP, WIDTH = 0.62, 1.0, 4.0
LANES = (BLUE, GREEN, PURPLE, ORANGE, SKY, MUTED, INK)
SIDE = 1.75  # width of a floor that is beside the others
Box = tuple[float, float, float, float]  # left, bottom, width, height


def places(floors: Sequence[Floor], pairs: Sequence[Pair]) -> dict[str, Box]:
    """Return where each floor is drawn: one above the other, or beside those that it uses."""
    stacked = [floor.name for floor in floors if not floor.beside]
    found = {name: (0.0, row * STEP, WIDTH, HEIGHT) for row, name in enumerate(stacked)}
    for floor in floors:
        if floor.beside:
            used = [found[name] for user, name in pairs if user == floor.name and name in found]
            low = min(box[1] for box in used)
            found[floor.name] = (
                -SIDE - 0.75,
                low,
                SIDE,
                max(box[1] for box in used) + HEIGHT - low,
            )
    return found


def draw_box(axes: Axes, box: Box, floor: Floor, colour: str) -> None:
    """Draw a floor: its name and its purpose."""
    left, bottom, width, height = box
    shape = "round,pad=0,rounding_size=0.07"
    axes.add_patch(
        FancyBboxPatch(
            (left, bottom), width, height, boxstyle=shape, fc=colour, ec=colour, alpha=0.16, lw=0
        )
    )
    axes.add_patch(
        FancyBboxPatch((left, bottom), width, height, boxstyle=shape, fc="none", ec=colour, lw=1.1)
    )
    middle, centre = left + width / 2, bottom + height / 2
    axes.text(middle, centre + 0.03, floor.name, weight="bold", size=9.5, ha="center", va="bottom")
    axes.text(middle, centre - 0.03, floor.what, size=8, ha="center", va="top")


def draw_arrow(axes: Axes, points: Sequence[tuple[float, float]], colour: str) -> None:
    """Draw a line through points, with a head at the last of them."""
    axes.plot(*zip(*points[:-1]), color=colour, lw=1.1, solid_joinstyle="round")
    axes.annotate(
        "",
        xy=points[-1],
        xytext=points[-2],
        arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.1, "shrinkA": 0, "shrinkB": 0},
    )


def draw_arrows(axes: Axes, boxes: dict[str, Box], pairs: Sequence[Pair]) -> None:
    """Draw an arrow for each use: straight to the next floor, or in a lane past other floors."""
    lanes: list[str] = []
    for user, used in pairs:
        above, below = boxes[user], boxes[used]
        middle = below[1] + HEIGHT / 2
        if above[0] < 0:
            draw_arrow(axes, [(above[0] + above[2], middle), (0, middle)], INK)
        elif below[0] < 0:
            corner = (below[0] + below[2] / 2, above[1] + HEIGHT / 2)
            draw_arrow(axes, [(0, corner[1]), corner, (corner[0], below[1] + below[3])], INK)
        elif abs(above[1] - below[1] - STEP) < STEP / 2:
            draw_arrow(axes, [(WIDTH / 2, above[1]), (WIDTH / 2, below[1] + HEIGHT)], INK)
        else:
            lanes += [user] if user not in lanes else []
            lane = lanes.index(user)
            x = WIDTH + 0.45 + 0.3 * lane
            leaves, enters = above[1] + HEIGHT - 0.08, below[1] + 0.08 + 0.07 * lane
            colour = LANES[lane] if above[1] > below[1] else VERMILLION
            draw_arrow(axes, [(WIDTH, leaves), (x, leaves), (x, enters), (WIDTH, enters)], colour)


def draw_house(
    axes: Axes, title: str, floors: Sequence[Floor], edges: Sequence[Edge], colour: str, rows: int
) -> None:
    """Draw the floors of one language. The last floor, the tests, is drawn without arrows."""
    pairs = [pair for pair in between(edges, floors) if pair[0] != floors[-1].name]
    boxes = places(floors, pairs)
    for floor in floors:
        draw_box(axes, boxes[floor.name], floor, MUTED if floor is floors[-1] else colour)
    draw_arrows(axes, boxes, pairs)
    axes.text(0, rows * STEP - 0.15, title, weight="bold")
    axes.set_xlim(min(box[0] for box in boxes.values()) - 0.1, WIDTH + 2.0)
    axes.set_ylim(-0.1, rows * STEP + 0.1)
    axes.set_aspect("equal", anchor="SW")
    axes.axis("off")


def draw(plan: Plan, path: Path) -> None:
    """Draw the floors of C and of Python into a file."""
    rows = max(len(plan.c_floors), len(plan.python_floors))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(10, 5.4), width_ratios=(8.6, 6.1))
        draw_house(axes[0], "C: arrows are includes", plan.c_floors, plan.includes, BLUE, rows)
        draw_house(
            axes[1], "Python: arrows are imports", plan.python_floors, plan.imports, GREEN, rows
        )
        figure.tight_layout(w_pad=3)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
    if path.suffix == ".svg":
        text = re.sub(
            r"<metadata>.*?</metadata>", f"<desc>{facts(plan)}</desc>", path.read_text(), flags=re.S
        )
        path.write_text(text)
