# SPDX-License-Identifier: GPL-2.0-only
"""Tests of random programs with SDT probes, built with options that make compilers copy and merge
sites.

The first argument of each site is the number of the site, and a counter beside the site counts the
executions. A program fails if a hit is lost or reported twice, if an argument is wrong, if two
sites are reported at one address, or if kmarkers_start() rejects the program.

KMARKERS_SEED is the seed of the first program, to repeat a run; KMARKERS_PROGRAMS is the number of
programs for each option, by default 1.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from nativeprograms import build_native_programs

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "native" / "libkmarkers.a"
FLAGS = ["-std=gnu11", "-w", "-D_GNU_SOURCE", f"-I{ROOT}/native/include", f"-I{ROOT}/include"]
SEED = int(os.environ.get("KMARKERS_SEED") or random.SystemRandom().randrange(1 << 32))
PROGRAMS = int(os.environ.get("KMARKERS_PROGRAMS", "1"))

NEWER = next((name for n in range(30, 14, -1) if shutil.which(name := f"clang-{n}")), "clang-19")
WAYS = [
    *(("gcc", level) for level in ("-O1", "-O2", "-O3", "-Os", "-O2 -fcf-protection=full")),
    ("gcc", "-O2 -ftracer"),
    ("gcc", "-O2 -fprofile-use"),
    ("gcc", "-O3 -ftracer -funswitch-loops -fcrossjumping -funroll-all-loops"),
    *((name, level) for name in ("clang", NEWER) for level in ("-O1", "-O2", "-O3")),
]

# The maximum number of arguments after the first argument; there is a probe for each number from 0.
MOST = 4
LONG = '"long"'

FRAME = """
#include <stdio.h>
#include <kmarkers/user.h>
#include <kmarkers/sdt.h>

SDT_PROVIDER_DEFINE(r);
%(probes)s
enum { SITES = %(sites)d, MOST = 4096 };
static unsigned long passes[SITES], hits[SITES];
static long passed[SITES][8];
static volatile int g[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
static struct { unsigned long ip; long site; } seen[MOST];
static int nr_seen, bad;

static void fail(const char *what, long site)
{
	if (!bad++)
		printf("%%s: site %%ld\\n", what, site);
}

static void handler(void *private, const struct sdt_hit *hit)
{
	long site = hit->args[0];
	unsigned int i;

	if (site < 0 || site >= SITES) {
		fail("a hit has an invalid site number", site);
		return;
	}
	hits[site]++;
	for (i = 1; i < hit->nr; i++)
		if ((long)hit->args[i] != passed[site][i])
			fail("a hit has a wrong argument", site);
	for (i = 0; i < nr_seen && seen[i].ip != sdt_hit_ip(hit); i++)
		;
	if (i == nr_seen && nr_seen < MOST) {
		seen[nr_seen].ip = sdt_hit_ip(hit);
		seen[nr_seen++].site = site;
	}
	if (i < nr_seen && seen[i].site != site)
		fail("a hit has the address of another site", site);
}

%(functions)s
static __attribute__((noinline)) long run(void)
{
	long sum = 0;
	int i;

	for (i = 0; i < 40; i++) {
%(calls)s
	}
	trace_mark(end, "%%ld", sum);
	return sum;
}

static void compare(const char *when, int on)
{
	int i;

	for (i = 0; i < SITES; i++) {
		if (hits[i] != (on ? passes[i] : 0))
			fail(when, i);
		hits[i] = passes[i] = 0;
	}
}

int main(void)
{
	int err = kmarkers_start();

	if (err)
		return 100;
	run();
	compare("a hit before any probe was switched on", 0);
	if (sdt_attach("r:::", handler, NULL))
		return 101;
	run();
	compare("the number of hits differs from the number of executions", 1);
	if (sdt_promote("r:::b*", true))
		return 102;
	run();
	compare("the number of hits of promoted sites differs from the number of executions", 1);
	if (sdt_detach("r:::", handler, NULL))
		return 103;
	run();
	compare("a hit after all probes were switched off", 0);
	return !!bad;
}
"""


class ProgramGenerator:
    """Generates a random C program with sites of SDT probes."""

    def __init__(self, seed: int) -> None:
        """Initialise the random number generator."""
        self.random = random.Random(seed)
        self.sites = 0
        self.loops = 0
        self.callees: list[str] = []

    def make_expression(self, depth: int = 0) -> str:
        """Return a random integer expression."""
        kind = self.random.randrange(8 if depth < 3 else 3)
        if kind == 0:
            return self.random.choice(["a", "b", "x", "y"])
        if kind == 1:
            return str(self.random.randrange(-5, 100))
        if kind == 2:
            return self.random.choice(["g[x & 7]", "g[y & 7]", "(int)c"])
        left, right = self.make_expression(depth + 1), self.make_expression(depth + 1)
        if kind == 3:
            return f"({self.make_expression(depth + 1)} ? {left} : {right})"
        return f"({left} {self.random.choice('+-^&|*')} {right})"

    def make_site(self) -> str:
        """Return a site, and code that stores its arguments for the comparison in the handler."""
        number, self.sites = self.sites, self.sites + 1
        flavour, probe = self.random.choice([("jump", "p")] * 5 + [("breakpoint", "b")] * 3)
        values = [
            self.random.choice([self.make_expression(2), "c", "(unsigned char)a", "(long)g", "x"])
            for _ in range(self.random.randrange(MOST + 1))
        ]
        kept = "".join(f"passed[{number}][{i}] = (long)({v}); " for i, v in enumerate(values, 1))
        arguments = "".join(f", (long)({value})" for value in values)
        return (
            f"{{ {kept}passes[{number}]++; SDT_PROBE_FLAVOUR({flavour}, r, , , "
            f"{probe}{len(values)}, {number}{arguments}); }}"
        )

    def make_loop(self, depth: int) -> str:
        """Return a loop whose number of iterations is a constant, or unknown to the compiler."""
        self.loops += 1
        name = f"i{self.loops}"
        most = self.random.choice([str(self.random.randrange(1, 6)), "(b & 7)"])
        body = self.make_block(depth + 1, loop=True)
        return f"for (int {name} = 0; {name} < {most}; {name}++) {{ x += {name}; {body} }}"

    def make_statement(self, depth: int, *, loop: bool) -> str:
        """Return a random statement; `loop` is true if the statement is inside a loop."""
        kind = self.random.randrange(13 if depth < 4 else 4)
        if kind == 4:
            return f"{self.random.choice(['x', 'y', 'g[a & 7]'])} = {self.make_expression()};"
        if kind == 5:
            return f"if ({self.make_expression()} & 3) {self.make_block(depth + 1, loop=loop)}"
        if kind == 6:
            then, other = (self.make_block(depth + 1, loop=loop) for _ in range(2))
            return f"if ({self.make_expression()} > {self.make_expression()}) {then} else {other}"
        if kind in (7, 8):
            return self.make_loop(depth)
        if kind == 9:
            cases = [self.make_block(depth + 1, loop=False) for _ in range(3)]
            return (
                f"switch ({self.make_expression()} & 3) {{ case 0: {cases[0]} break; "
                f"case 1: {cases[1]} case 2: {cases[2]} }}"
            )
        if kind == 10 and loop:
            return f"if ({self.make_expression()} & 1) {self.random.choice(['break', 'continue'])};"
        if kind == 11 and self.callees:
            callee = self.random.choice(self.callees)
            return f"x ^= {callee}({self.make_expression()}, {self.make_expression()}, c + x);"
        if kind == 12:
            return f"if ({self.make_expression()} == 77) {{ {self.make_site()} return y; }}"
        return self.make_site()

    def make_block(self, depth: int, *, loop: bool) -> str:
        """Return a block of up to three statements."""
        count = self.random.randrange(1, 4)
        return "{ " + " ".join(self.make_statement(depth, loop=loop) for _ in range(count)) + " }"

    def make_function(self) -> str:
        """Return a function, which may call the functions before it."""
        kind = self.random.choice(["inline", "inline __attribute__((always_inline))", ""])
        name = f"f{len(self.callees)}"
        count = self.random.randrange(2, 5)
        body = "\n\t".join(self.make_statement(0, loop=False) for _ in range(count))
        self.callees.append(name)
        head = f"static {kind} int {name}(int a, int b, long c)"
        return f"{head}\n{{\n\tint x = a, y = b;\n\n\t{body}\n\treturn x + y;\n}}\n"

    def make_program(self) -> str:
        """Return a whole program."""
        probes = "".join(
            f"SDT_PROBE_DEFINE{n}(r, , , {name}{n - 1}, {', '.join(n * [LONG])});\n"
            for name in "pb"
            for n in range(1, MOST + 2)
        )
        functions = "\n".join(self.make_function() for _ in range(self.random.randrange(3, 7)))
        calls = "\n".join(
            f"\t\tsum += {name}(i, i * 7 + 3, i * 1000003L);" for name in self.callees
        )
        return FRAME % {
            "probes": probes,
            "sites": max(1, self.sites),
            "functions": functions,
            "calls": calls,
        }


@pytest.fixture(scope="module")
def build_library() -> None:
    """Build libkmarkers.a."""
    build_native_programs(LIBRARY.name)


@pytest.mark.many
@pytest.mark.usefixtures("build_library")
@pytest.mark.parametrize(("compiler", "options"), WAYS, ids=[" ".join(way) for way in WAYS])
def test_each_sdt_hit_is_reported_once_with_its_arguments(
    compiler: str, options: str, tmp_path: Path
) -> None:
    """Each hit is reported once and with its arguments, although compilers copy and merge sites."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is missing: run scripts/setup --tools")
    for number in range(PROGRAMS):
        seed = SEED + number
        source, program = tmp_path / f"{seed}.c", tmp_path / "program"
        source.write_text(ProgramGenerator(seed).make_program())
        words: list[str | Path] = [compiler, *FLAGS, *options.split(), "-o", program, source]
        words += [LIBRARY, "-lpthread"]
        subprocess.run(words, check=True)
        done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
        said = f"KMARKERS_SEED={seed} {' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
        assert done.returncode == 0, said
