# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the installed headers: each header for modules compiles alone in a module, each header
for user space alone in a program. The suite `headers` of `make check-full` runs these tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import nativeprograms
import pytest
from kmtools.base.paths import ROOT
from kmtools.lab import build, catalogue, chroot

# A header with this #error may be included only by another header.
PART = '#error "include <'
PROGRAMS = {"user.h"}
INCLUDED = re.compile(r"^\s*#\s*include <([^>]+)>", re.MULTILINE)
TYPED = """
DECLARE_MARKER(client, MARKER_PROTO(u32 number), MARKER_ARGS(number), "number %u");
DEFINE_MARKER(client);
"""
# Macros, types and functions that kernel drivers define, which must not conflict with our headers.
DRIVER = """
#define MARK() pr_debug("%d\\n", __LINE__)
#define PROBE(x) ((x) + 1)
#define EVENT 1
#define SITE 2
#define RECORD(x) (x)
#define COUNT 3
#define STATE 4
#define HIT 5
#define TRACE(fmt, args...) pr_debug(fmt, ## args)
#define PATTERN "x"
#define NAME "driver"
#define ON 1
#define OFF 0
#define CALL 6
#define NOP 7
#define JMP 8
#define INT3 9
#define WORD 10
#define KIND 11
#define TABLE 12
#define BLOCKS 13
struct probe { int mark; };
struct site { int state; };
struct record { int count; };
static inline int mark(int x) { return x; }
static inline int probe(int x) { return x; }
static inline int hit(int x) { return x; }
static inline int trace(int x) { return x; }
static inline int count(int x) { return x; }
static inline int matches(int x) { return x; }
"""
# Historical names without a prefix, from the markers and probes of 2006 to 2009, from sdt(9) and
# from <sys/sdt.h>. All other public names must match PREFIXED.
HISTORICAL = {
    "MARK", "MARK_NOARGS", "GET_MARKER", "DEFINE_MARKER", "DECLARE_MARKER",
    "DECLARE_MARKER_NOARGS", "EXPORT_MARKER_SYMBOL", "EXPORT_MARKER_SYMBOL_GPL", "trace_mark",
    "trace_mark_tp", "trace_mark_flavour", "_trace_mark", "mark_typed", "DEFINE_IMV",
    "DECLARE_IMV", "EXPORT_IMV_SYMBOL", "EXPORT_IMV_SYMBOL_GPL", "LINUX_MARKER_H",
    "LINUX_IMMEDIATE_H", "marker",
}  # fmt: skip
PREFIXED = re.compile(
    r"_*(KMARKERS|MARKER|IMV|SDT|PATCHER|BENCH|COMPAT|DTRACE_PROBE)[A-Z0-9_]*|"
    r"_*(kmarkers|marker|imv|sdt|patcher|bench|compat|entry)_\w+|__\w*(MARKER|IMV)\w*"
)


@pytest.fixture(name="installed_kmarkers", scope="module")
def install_development_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run `scripts/install dev`; return the directory share/kmarkers of the installation, which has
    the headers."""
    # Build both libraries, because other tests may have built only one.
    nativeprograms.build_native_programs("libkmarkers.a", "libkmbench.a")
    root = tmp_path_factory.mktemp("installed")
    env = {**os.environ, "DESTDIR": str(root), "PREFIX": "/usr"}
    subprocess.run([ROOT / "scripts" / "install", "dev"], env=env, check=True)
    return root / "usr" / "share" / "kmarkers"


def test_all_included_headers_are_installed(installed_kmarkers: Path) -> None:
    headers = list((installed_kmarkers / "include").rglob("*.h"))
    assert len(headers) > 25
    named = {name for path in headers for name in INCLUDED.findall(path.read_text())}
    ours = {name for name in named if (ROOT / "include" / name).is_file()}
    assert "compat/tracepoint.h" in ours
    assert [
        name for name in sorted(ours) if not (installed_kmarkers / "include" / name).is_file()
    ] == []


def list_public_header_names(installed_kmarkers: Path) -> list[str]:
    """Return the public headers as names for #include."""
    found = sorted((installed_kmarkers / "include").glob("[kl]*/*.h"))
    return [str(path.relative_to(installed_kmarkers / "include")) for path in found]


def test_each_header_for_user_space_compiles(installed_kmarkers: Path, tmp_path: Path) -> None:
    flags = ["-std=gnu11", "-O2", "-Wall", "-Werror", "-D_GNU_SOURCE"]
    flags += [
        f"-I{installed_kmarkers}/native/include",
        f"-I{installed_kmarkers}/include",
        "-fsyntax-only",
    ]
    for name in ("kmarkers/user.h", "linux/marker.h", "linux/immediate.h", "kmarkers/sdt.h"):
        source = tmp_path / "program.c"
        source.write_text(f"#include <{name}>\nint main(void) {{ return 0; }}\n")
        subprocess.run(["gcc", *flags, source], check=True)


def list_headers_for_modules(installed_kmarkers: Path) -> list[str]:
    """Return the public headers for modules as names for #include."""
    names = [
        name
        for name in list_public_header_names(installed_kmarkers)
        if Path(name).name not in PROGRAMS
        and PART not in (installed_kmarkers / "include" / name).read_text()
    ]
    assert len(names) > 20
    return names


def build_modules_using_kmarkers(
    installed_kmarkers: Path, tmp_path: Path, source_texts: dict[str, str]
) -> None:
    """Build a module from each source text in `source_texts`, which is keyed by module name; fail
    if the compiler reports an error or a warning."""
    kernel = catalogue.get_default_kernel_name()
    if why := chroot.find_chroot_obstacle():
        pytest.skip(why)
    if not catalogue.find_unpacked_kernel(kernel):
        pytest.skip(f"kernel {kernel} is missing: run scripts/setup {kernel}")
    source = tmp_path / "client"
    shutil.copytree(installed_kmarkers, source / "km")
    for name, text in source_texts.items():
        (source / f"{name}.c").write_text(text)
    objects = " ".join(f"{name}.o" for name in source_texts)
    # The modules of kmarkers are not built, so no Module.symvers has their symbols.
    # KBUILD_MODPOST_WARN, set below, makes modpost only warn about missing symbols.
    place = "KMARKERS := $(src)/km\nKMARKERS_SYMVERS :=\ninclude $(src)/km/kmarkers.mk\n"
    (source / "Kbuild").write_text(f"obj-m := {objects}\n{place}")
    log = tmp_path / "log"
    code = build.build_modules(
        kernel, source, tmp_path / "out", ["-s", "KBUILD_MODPOST_WARN=1"], log
    )
    assert code == 0, log.read_text()
    said = [line for line in log.read_text().splitlines() if "modpost: " not in line]
    assert [line for line in said if re.search(r"(error|warning):", line, re.IGNORECASE)] == []


def test_each_module_header_compiles_in_its_own_module(
    installed_kmarkers: Path, tmp_path: Path
) -> None:
    texts = {}
    for number, name in enumerate(list_headers_for_modules(installed_kmarkers)):
        more = TYPED if name == "kmarkers/typed.h" else ""
        texts[f"client{number}"] = (
            f'#include <{name}>\n#include <linux/module.h>\n{more}MODULE_LICENSE("GPL");\n'
        )
    build_modules_using_kmarkers(installed_kmarkers, tmp_path, texts)


def test_headers_compile_in_a_driver_with_conflicting_names(
    installed_kmarkers: Path, tmp_path: Path
) -> None:
    """Headers for modules compile if they are included before the definitions of DRIVER, and if
    they are included after them. <linux/marker.h> is left out, because it defines MARK(), as DRIVER
    does."""
    names = [
        name for name in list_headers_for_modules(installed_kmarkers) if name != "linux/marker.h"
    ]
    includes = "".join(f"#include <{name}>\n" for name in names)
    end = 'MODULE_LICENSE("GPL");\n'
    head = "#include <linux/module.h>\n"
    texts = {
        "before": f"{head}{DRIVER}{includes}{end}",
        "after": f"{head}{includes}{DRIVER}{end}",
    }
    build_modules_using_kmarkers(installed_kmarkers, tmp_path, texts)


def test_public_names_have_a_prefix_or_are_historical(installed_kmarkers: Path) -> None:
    found = set()
    for name in list_headers_for_modules(installed_kmarkers):
        text = (installed_kmarkers / "include" / name).read_text()
        found |= set(re.findall(r"^#\s*define\s+(\w+)", text, re.MULTILINE))
        found |= set(re.findall(r"^(?:struct|union|enum) (\w+) \{", text, re.MULTILINE))
        found |= set(re.findall(r"^[a-z][\w \*]*?\b([a-z_]\w*)\([^;{]*[;{]", text, re.MULTILINE))
    assert len(found) > 200
    found -= HISTORICAL | {"__attribute__", "__printf"}
    assert [name for name in sorted(found) if not PREFIXED.fullmatch(name)] == []
