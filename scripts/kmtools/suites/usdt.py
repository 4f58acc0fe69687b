# SPDX-License-Identifier: GPL-2.0-only
"""Builds Debian programs with USDT probes, once with our <sys/sdt.h> and once with SystemTap's.

In a bare Debian 12, sources of programs are fetched with apt. tests/usdt/compare.sh builds each
program twice and compares probes, arguments and hits; tests/usdt/headers.sh compiles the probe
headers of larger programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, printed
from kmtools.suites import fresh
from kmtools.suites.fresh import SOURCE, Step

# The name that compare.sh knows, and the source package.
PROGRAMS = {"memcached": "memcached", "tcl": "tcl8.6", "perl": "perl"}
HEADERS = ["postgresql-15", "python3.11", "libvirt", "qemu"]
# The package lists of the suite itself: lists of the security archive may name sources that no
# longer exist.
LISTS = (
    "sed -n 's/^deb \\(.* bookworm main.*\\)/deb-src \\1/p' /etc/apt/sources.list "
    "/etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1 >/etc/apt/sources.list.d/sources.list "
    "&& apt-get update"
)
TOOLS = "apt-get install git build-essential dpkg-dev systemtap-sdt-dev gdb python3"


def steps(programs: Sequence[str]) -> list[Step]:
    """Return the steps in the root."""
    found = [
        Step("lists", LISTS),
        Step("tools", f"{TOOLS} && git clone {SOURCE} kmarkers"),
    ]
    for name in programs:
        package = PROGRAMS[name]
        found += [
            Step(f"sources of {name}", f"apt-get build-dep {package} && apt-get source {package}"),
            Step(name, f"kmarkers/tests/usdt/compare.sh {name} {package}-*/"),
        ]
    found += [
        Step(f"headers of {name}", f"kmarkers/tests/usdt/headers.sh {name}") for name in HEADERS
    ]
    return found


def compare(programs: Sequence[str]) -> Tally:
    """Run all steps; a step that needs a failed one fails as well."""
    with fresh.visiting("bookworm", False, True, {}) as visit:
        for step in steps(programs):
            if not fresh.take(visit, step) and step.name in {"lists", "tools"}:
                break
        return visit.tally


def suites_of(ask: Ask, _: Sequence[str]) -> list[Suite]:
    """Return the suite of programs with USDT probes."""
    programs = ask.choice("programs", PROGRAMS) or list(PROGRAMS)
    what = "programs of Debian with USDT probes, built with our header and with SystemTap's"
    return [Suite("usdt", printed(partial(compare, programs)), what, fresh.obstacle, 1500)]
