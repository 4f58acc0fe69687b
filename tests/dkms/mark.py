#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Insert markers into the sources of a DKMS package, as an author of modules would, for tests.

usage: mark.py SOURCES KMARKERS

Each C file with a MODULE_LICENSE() gets:

- an inline function with a marker, and two calls of that function;
- a module parameter whose setter hits a marker and reads an immediate value;
- a marker before a return statement of an existing function.

Each makefile of modules gets include lines for kmarkers.mk and entry.mk. Each Perl script of the
package that prints a makefile of modules is changed to print these lines, too. Folders named
configure contain small modules that test the kernel for features, and are not changed.
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
# A makefile sets KMARKERS itself, because some packages run make with an empty environment.
INCLUDES = """
KMARKERS := {kmarkers}
include $(KMARKERS)/kmarkers.mk
include $(KMARKERS)/entry.mk
"""
# Matches the start of a statement of Perl that writes the list of modules into a makefile.
PERL_PRINT = re.compile(r'^print (\$\w+) "(?=obj-m\b)')
# Matches a function: its name, and its body up to the closing brace in the first column.
FUNCTION = re.compile(r"^(?!#)\w[^;{}#]*?\b(\w+)\s*\([^;{}]*\)[^;{}]*\n\{\n(.*?)^\}", re.M | re.S)
# Matches the position before a return statement that is not behind a condition.
RETURN = re.compile(r"(?<=[;}]\n)(?=(?:[ \t]*\n)?\treturn\b)")


def insert_marker_before_return(text: str, stem: str) -> str:
    """Insert a marker into the first suitable function of a file; return the new text.

    A suitable function is called through a pointer, so it is not in init text, where trace_mark()
    is not allowed. Without a suitable function, the text is returned unchanged.
    """
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


def insert_markers_into_file(path: Path) -> None:
    """Insert all markers into a C file."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    stem = re.sub(r"\W", "_", path.stem)[:24]
    includes = list(re.finditer(r"^#\s*include\s*[<\"][^\n]*\n", text, re.M))
    text = insert_marker_before_return(text, stem)
    # Insert the headers before all #include lines of the file, because an #include line may be
    # inside #if.
    at = includes[0].start() if includes else 0
    text = f"{text[:at]}{HEADERS}{text[at:]}\n{OWN.format(stem=stem)}"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


def main() -> None:
    """Insert markers into C files that contain MODULE_LICENSE(), and include lines into the
    makefiles of modules."""
    if len(sys.argv) != 3:
        sys.exit("usage: mark.py SOURCES KMARKERS")
    sources, includes = Path(sys.argv[1]), INCLUDES.format(kmarkers=sys.argv[2])
    own = [path for path in sources.rglob("*") if "configure" not in path.parts]
    for path in sorted(path for path in own if path.suffix == ".c"):
        if "MODULE_LICENSE(" in path.read_text(encoding="utf-8", errors="replace"):
            insert_markers_into_file(path)
    for path in sorted(path for path in own if path.name in ("Kbuild", "Makefile")):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        if re.search(r"obj-(m|y|\$)|-objs\b|-y\s*[:+]?=", text):
            path.write_text(text + includes, encoding="utf-8", errors="surrogateescape")
    perl = includes.replace("$", "\\$")
    for path in sorted(path for path in own if path.suffix == ".pl"):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        marked = "".join(
            f"{line[: found.end()]}{perl}{line[found.end() :]}"
            if (found := PERL_PRINT.match(line))
            else line
            for line in text.splitlines(keepends=True)
        )
        if marked != text:
            path.write_text(marked, encoding="utf-8", errors="surrogateescape")


if __name__ == "__main__":
    main()
