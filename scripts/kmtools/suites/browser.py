# SPDX-License-Identifier: GPL-2.0-only
"""Checks HTML reports in headless Chromium on screens of several sizes, and prints the faults of
the reports.

usage: browser.py [--brief] PAGE...
  --brief  check on the first screen only

This program needs the Python of build/page, which scripts/setup --page makes. A page is checked at
each width, in the light and the dark colour scheme: as opened, with all <details> open, and as
printed.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LOOK = HERE / "look.js"
# Widths and heights of the screens, in CSS pixels.
SCREENS = ((360, 740), (768, 1024), (1440, 900))
SCHEMES = ("light", "dark")
# The printable area of A4 with usual margins, in CSS pixels.
PAPER = {"width": 718, "height": 1000}
BROWSERS = ("chromium", "chromium-browser")
# The maximum number of DOM nodes of a page, and the maximum size of its file.
MOST_NODES, MOST_BYTES = 16_000, 1_500_000
# JavaScript that opens all <details> of a page.
UNFOLD = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
# CSS selectors of elements that must be visible without scrolling.
FIRST = (".answer", ".grade", "main figure")


def read_axe_source() -> str:
    """Return the source of the accessibility checker axe-core."""
    spec = find_spec("axe_playwright_python")
    assert spec is not None and spec.submodule_search_locations
    return (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


def find_axe_violations(page: Any, axe: str, colours: bool) -> Iterator[str]:
    """Yield the violations that axe-core finds; `axe` is the source of axe-core. Without `colours`,
    the contrast rule is not checked: on a page with all <details> open, this rule takes minutes,
    and look.js computes contrasts, too."""
    page.evaluate(axe)
    rules = "{}" if colours else "{rules: {'color-contrast': {enabled: false}}}"
    for one in page.evaluate(f"async () => (await axe.run({rules})).violations"):
        yield f"axe: {one['id']}: {one['help']}: {one['nodes'][0]['html'][:120]}"


def find_elements_off_first_screen(page: Any, height: int) -> Iterator[str]:
    """Yield a fault for each element of FIRST that is not visible without scrolling."""
    for words in FIRST:
        box = page.locator(words).first.bounding_box() if page.locator(words).count() else None
        if box is None:
            yield f"first screen: the page has no element {words}"
        elif box["y"] + box["height"] > height:
            end = box["y"] + box["height"]
            yield f"first screen: {words} ends at {end:.0f} px, the screen at {height} px"


def find_keyboard_faults(page: Any) -> Iterator[str]:
    """Yield a fault if the Tab key reaches no link, or if the focused element has no outline."""
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName"))
    if "A" not in reached:
        yield "keyboard: the Tab key reaches no link"
    if page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "none":
        yield "keyboard: the focused element has no outline"


def find_page_faults_on_screen(
    context: Any, path: Path, size: tuple[int, int], axe: str
) -> Iterator[str]:
    """Yield the faults of a page on one screen; `axe` is the source of axe-core."""
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda one: said.append(one.url) if "file:" not in one.url else None)
    page.goto(path.resolve().as_uri())
    yield from find_elements_off_first_screen(page, size[1])
    look = LOOK.read_text(encoding="utf-8")
    look = look[look.index("() =>") :]
    yield from page.evaluate(look)
    if shots := os.environ.get("KMARKERS_SCREENSHOTS"):
        scheme = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        name = f"{path.stem}-{size[0]}-{'dark' if scheme else 'light'}"
        page.screenshot(path=Path(shots) / f"{name}.png")
        page.screenshot(path=Path(shots) / f"{name}-whole.png", full_page=True)
        page.emulate_media(media="print")
        page.screenshot(path=Path(shots) / f"{name}-print.png", full_page=True)
        page.emulate_media(media="screen")
    yield from find_keyboard_faults(page)
    yield from find_axe_violations(page, axe, colours=True)
    page.emulate_media(media="print")
    page.set_viewport_size(PAPER)
    yield from (f"print: {line}" for line in page.evaluate(look))
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate(UNFOLD)
    yield from page.evaluate(look)
    yield from find_axe_violations(page, axe, colours=False)
    if page.evaluate("document.querySelectorAll('*').length") > MOST_NODES:
        yield f"size: the page has more than {MOST_NODES} DOM nodes"
    yield from (f"console: {text}" for text in said)
    page.close()


def find_faults_on_all_screens(
    browser: Any, path: Path, axe: str, one_screen: bool
) -> Iterator[str]:
    """Yield the faults of a page on all screens, or with `one_screen` on the first screen; `axe` is
    the source of axe-core."""
    if path.stat().st_size > MOST_BYTES:
        yield f"size: the file has more than {MOST_BYTES} bytes"
    for width, height in SCREENS:
        for scheme in SCHEMES:
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            for line in find_page_faults_on_screen(context, path, (width, height), axe):
                yield f"{width} {scheme}: {line}"
            context.close()
            if one_screen:
                return


def main(words: Sequence[str]) -> int:
    """Check the pages on the command line and print their faults; return 1 if there are any."""
    pages = [word for word in words if word != "--brief"]
    brief = len(pages) < len(words)
    program = next(path for name in BROWSERS if (path := shutil.which(name)))
    with import_module("playwright.sync_api").sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        axe = read_axe_source()
        found = [
            f"{name}: {line}"
            for name in pages
            for line in find_faults_on_all_screens(browser, Path(name), axe, brief)
        ]
        browser.close()
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
