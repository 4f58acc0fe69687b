#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write markers into the modules of a DKMS package, as their author would, for tests.

usage: mark.py SOURCES

Each file with a MODULE_LICENSE() gets an inline function with a marker that is used twice, a
marker and an immediate value on a path that a parameter of the module runs, and a marker before a
return of one of its own functions. Each makefile of modules includes kmarkers.mk and entry.mk.
Folders named configure hold small modules that test the kernel for features: they stay as they are.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HEADERS = "#include <linux/moduleparam.h>\n#include <kmarkers/marker.h>\n"
OWN = """
static inline void km_{stem}_twice(int number)
{{
	trace_mark(km_{stem}_inline, "number %d", number);
}}

static DEFINE_IMV(int, km_{stem}_limit) = 3;

static int km_{stem}_set(const char *value, const struct kernel_param *param)
{{
	km_{stem}_twice(1);
	km_{stem}_twice(2);
	trace_mark(km_{stem}_runs, "limit %d", imv_read(km_{stem}_limit));
	return 0;
}}

static const struct kernel_param_ops km_{stem}_ops = {{ .set = km_{stem}_set }};
module_param_cb(km_{stem}, &km_{stem}_ops, NULL, 0200);
"""
INCLUDES = "\ninclude $(KMARKERS)/kmarkers.mk\ninclude $(KMARKERS)/entry.mk\n"
# A function: its name, and its body up to the brace in the first column.
FUNCTION = re.compile(r"^(?!#)\w[^;{}#]*?\b(\w+)\s*\([^;{}]*\)[^;{}]*\n\{\n(.*?)^\}", re.M | re.S)
# A return that no condition precedes.
RETURN = re.compile(r"(?<=[;}]\n)(?=(?:[ \t]*\n)?\treturn\b)")


def own_marker(text: str, stem: str) -> str:
    """Return the text with a marker in a function that is called through a pointer, so that it is
    in no text that is freed; unchanged without such a function."""
    for found in FUNCTION.finditer(text):
        name = found[1]
        place = RETURN.search(found[2])
        head = text[found.start() : found.start(2)]
        if not place or re.search(r"__init|__exit|\binline\b", head):
            continue
        if not re.search(rf"=\s*&?{name}\s*[,;\n}}]", text):
            continue
        at = found.start(2) + place.start()
        return f'{text[:at]}\ttrace_mark(km_{stem}_own, "in %s", __func__);\n{text[at:]}'
    return text


def mark(path: Path) -> None:
    """Mark a file."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    stem = re.sub(r"\W", "_", path.stem)[:24]
    includes = list(re.finditer(r"^#\s*include\s*[<\"][^\n]*\n", text, re.M))
    text = own_marker(text, stem)
    # Before its own headers, because an include may stand under a condition.
    at = includes[0].start() if includes else 0
    text = f"{text[:at]}{HEADERS}{text[at:]}\n{OWN.format(stem=stem)}"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


def main() -> None:
    """Mark all files of a package."""
    sources = Path(sys.argv[1])
    own = [path for path in sources.rglob("*") if "configure" not in path.parts]
    for path in sorted(path for path in own if path.suffix == ".c"):
        if "MODULE_LICENSE(" in path.read_text(encoding="utf-8", errors="replace"):
            mark(path)
    for path in sorted(path for path in own if path.name in ("Kbuild", "Makefile")):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        if re.search(r"obj-(m|y|\$)|-objs\b|-y\s*[:+]?=", text):
            path.write_text(text + INCLUDES, encoding="utf-8", errors="surrogateescape")


if __name__ == "__main__":
    main()
