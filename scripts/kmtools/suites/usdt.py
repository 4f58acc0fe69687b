# SPDX-License-Identifier: GPL-2.0-only
"""Builds Debian programs that have USDT probes: once with the <sys/sdt.h> of kmarkers, once with
SystemTap's.

In a minimal Debian 12, apt fetches the sources of programs. tests/usdt/compare.sh builds each
program with both headers and compares probes, arguments and hits; tests/usdt/headers.sh compiles
the probe headers of larger programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, make_run_with_output_in_log
from kmtools.suites import fresh
from kmtools.suites.fresh import SOURCE, Step

# The programs that compare.sh can compare, and their Debian source packages.
PROGRAMS = {"memcached": "memcached", "tcl": "tcl8.6", "perl": "perl"}
# The source packages whose probe headers are compiled.
HEADERS = ["postgresql-15", "python3.11", "libvirt", "qemu"]
# Commands that enable the source packages of the main archive. The security archive's source
# packages stay disabled: the lists of this archive may name sources that no longer exist.
LISTS = (
    "sed -n 's/^deb \\(.* bookworm main.*\\)/deb-src \\1/p' /etc/apt/sources.list "
    "/etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1 >/etc/apt/sources.list.d/sources.list "
    "&& apt-get update"
)
TOOLS = "apt-get install git build-essential dpkg-dev systemtap-sdt-dev gdb python3"


def make_usdt_steps(programs: Sequence[str]) -> list[Step]:
    """Return the steps that build programs in a minimal Debian system, each with the <sys/sdt.h> of
    kmarkers and with SystemTap's, and compare the two builds."""
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


def compare_usdt_programs(programs: Sequence[str]) -> Tally:
    """Build and compare programs in a minimal Debian 12. After a failed step, continue with the
    next step, unless packages cannot be installed."""
    with fresh.unpack_temporary_root("bookworm", False, True, {}) as session:
        for step in make_usdt_steps(programs):
            if not fresh.run_step_in_root(session, step) and step.name in {"lists", "tools"}:
                break
        return session.tally


def make_requested_usdt_suites(suite_request: SuiteRequest, _: Sequence[str]) -> list[Suite]:
    """Return a list of one suite, which builds and compares the requested programs with USDT
    probes."""
    programs = suite_request.get_option_choices("programs", PROGRAMS) or list(PROGRAMS)
    what = "Debian programs with USDT probes, built with <sys/sdt.h> of kmarkers and of SystemTap"
    return [
        Suite(
            "usdt",
            make_run_with_output_in_log(partial(compare_usdt_programs, programs)),
            what,
            fresh.find_debian_root_obstacle,
            1500,
        )
    ]
