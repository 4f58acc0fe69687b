# SPDX-License-Identifier: GPL-2.0-only
"""Tests of SDT sites that compilers copy or merge, and of a program whose probes are rejected."""

from __future__ import annotations

import errno
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from nativeprograms import build_native_programs

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "native" / "libkmarkers.a"
INCLUDE = [f"-I{ROOT}/native/include", f"-I{ROOT}/include"]


@pytest.fixture(name="compiler", params=["gcc", "clang"])
def select_copies_compiler(request: pytest.FixtureRequest) -> str:
    """Return the name of a compiler. Each test runs with each compiler in turn, and is skipped for
    a compiler that is not installed."""
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is missing: run scripts/setup --tools")
    return str(request.param)


@pytest.fixture(scope="module")
def build_library() -> None:
    """Build libkmarkers.a."""
    build_native_programs(LIBRARY.name)


# The maximum number of sites that gcc may merge; the program has about 50 sites.
MERGED = 12
LEVELS = ["-Og", "-O1", "-O2", "-O3", "-Os", "-O3 -funroll-loops", "-O2 -fpie -pie"]


def build_program_with_library(compiler: str, level: str, source: Path, where: Path) -> Path:
    """Build a program with libkmarkers.a, as users do."""
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-DNATIVE_BUILD", "-DCOPIES_ALONE", *level.split()]
    words: list[str | Path] = [compiler, *flags, *INCLUDE, "-o", where / "program", source]
    words += [LIBRARY, "-lpthread"]
    subprocess.run(words, check=True)
    return where / "program"


@pytest.mark.usefixtures("build_library")
@pytest.mark.parametrize("level", LEVELS)
def test_each_sdt_hit_is_reported_for_its_own_site(
    compiler: str, level: str, tmp_path: Path
) -> None:
    """Each hit is reported for its own site, although compilers copy functions and could merge
    sites."""
    program = build_program_with_library(
        compiler, level, ROOT / "tests" / "native" / "copies.c", tmp_path
    )
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    assert re.fullmatch(
        r"# \d+ sites, 140 hits, \d+ copied sites, 0 sites with wrong hits\n", done.stdout
    )
    # gcc, with which kernels are built, merges few sites.
    assert compiler != "gcc" or int(done.stdout.split()[5]) <= MERGED
    assert done.returncode == 0


COPIED = """
#include <stdio.h>

#include <kmarkers/user.h>
#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>

SDT_PROVIDER_DEFINE(p);
SDT_PROBE_DEFINE1(p, , , one, "int");

extern struct patcher_site __start_kmarkers_sdt[], __stop_kmarkers_sdt[];
static unsigned long hits, first;
static volatile int sum, thousand = 1000;

static void handler(void *private, const struct sdt_hit *hit)
{
    hits++;
    if (first && first != sdt_hit_ip(hit))
        printf("hits have different addresses\\n");
    first = sdt_hit_ip(hit);
}

/* gcc makes a copy of the site for each branch of the if statement. */
noinline void submit(int n)
{
    for (int i = 0; i < n; i++) {
        if (i & 15)
            sum += i;
        else
            sum ^= i;
        SDT_PROBE_FLAVOUR(FLAVOUR, p, , , one, i);
        sum++;
    }
}

static unsigned long rounds(void)
{
    struct patcher_stats stats;

    patcher_read_stats(&stats);
    return stats.rounds;
}

/* A pattern that matches one copy selects all copies, which are switched together. */
static void listen(const char *pattern)
{
    unsigned long before = rounds();

    hits = 0;
    if (sdt_attach(pattern, handler, NULL))
        printf("sdt_attach() fails for %s\\n", pattern);
    before = rounds() - before;
    submit(thousand);
    sdt_detach(pattern, handler, NULL);
    submit(thousand);
    printf("%lu hits, %lu rounds\\n", hits, before);
}

int main(void)
{
    struct patcher_site *site;
    char pattern[64];

    if (kmarkers_start())
        return 1;
    for (site = __start_kmarkers_sdt; site < __stop_kmarkers_sdt; site++) {
        sprintf(pattern, "submit:one@+%#lx", patcher_site_addr(site) - (unsigned long)submit);
        listen(pattern);
    }
    listen("p:::");
    sdt_promote("p:::", true);
    listen("p:::");
    return 0;
}
"""


@pytest.mark.usefixtures("build_library")
@pytest.mark.parametrize("options", ["-O2 -ftracer", "-O2 -fprofile-use -Wno-missing-profile"])
@pytest.mark.parametrize(("flavour", "rounds"), [("jump", 3), ("breakpoint", 1)])
def test_copies_of_a_site_are_one_site(
    flavour: str, rounds: int, options: str, tmp_path: Path
) -> None:
    """gcc copies a site, but not its out-of-line code: the copies are enabled and reported as one
    site."""
    (tmp_path / "copied.c").write_text(COPIED)
    program = build_program_with_library(
        "gcc", f"{options} -DFLAVOUR={flavour}", tmp_path / "copied.c", tmp_path
    )
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *copies, whole, promoted = done.stdout.splitlines()
    assert len(copies) > 1, "gcc has not copied the site of submit()"
    assert set(copies) == {whole} == {f"1000 hits, {rounds} rounds"}
    assert promoted == "1000 hits, 3 rounds"


ELSEWHERE = """
#include <kmarkers/sdt.h>
SDT_PROVIDER_DECLARE(p);
SDT_PROBE_DECLARE(p, , , one);
void wrong(void) { SDT_PROBE2(p, , , one, 1, 2); }
"""

PARTS = """
#include <stdio.h>
#include <kmarkers/user.h>
#include <kmarkers/sdt.h>
SDT_PROVIDER_DEFINE(p);
SDT_PROBE_DEFINE1(p, , , one, "int");
DEFINE_IMV(int, level) = 3;
static int marks;
static void probe(void *mine, void *call, const char *format, va_list *args)
{
    marks += va_arg(*args, int);
}
void wrong(void);
int main(void)
{
    int first = kmarkers_start(), second = kmarkers_start();

    marker_probe_register("mark", "%d", probe, NULL);
    trace_mark(mark, "%d", 5);
    wrong();
    imv_set(level, imv_read(level) + 1);
    printf("%d %d: %d marks, level %d\\n", first, second, marks, imv_read(level));
    return 0;
}
"""


@pytest.mark.usefixtures("build_library")
def test_rejected_sdt_table_does_not_disable_markers(tmp_path: Path) -> None:
    """If the table of SDT probes is rejected, markers and immediate values still work."""
    (tmp_path / "wrong.c").write_text(ELSEWHERE)
    (tmp_path / "parts.c").write_text(PARTS)
    words: list[str | Path] = ["gcc", "-std=gnu11", "-O2", "-D_GNU_SOURCE", *INCLUDE]
    words += ["-o", tmp_path / "parts", tmp_path / "parts.c", tmp_path / "wrong.c"]
    subprocess.run([*words, LIBRARY, "-lpthread"], check=True)
    done = subprocess.run([tmp_path / "parts"], capture_output=True, text=True, check=False)
    assert done.stdout == f"-{errno.EINVAL} -{errno.EINVAL}: 5 marks, level 4\n"
    assert "SDT probe p:one: a site passes 2 arguments, but the definition has 1" in done.stderr
    assert "cannot register the table of SDT probes" in done.stderr
