# SPDX-License-Identifier: GPL-2.0-only
"""Measures how much sites lengthen the load and unload of a module that consists of many files.

A module with immediate values and markers in each of its files is generated and built for a test
kernel. In a copy of the module, the tables of sites are removed, so that the copy loads as a module
without sites. The guest loads and unloads the two modules alternately. The ratio of their median
times (load plus unload) must be within LIMIT. Most trace events of the module are added
asynchronously after the load, and removed asynchronously after the unload. The guest waits until
this is done; the waiting times are printed, too.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.lab import catalogue, kernels
from kmtools.lab.build import build_modules
from kmtools.lab.machine import Request, boot_guest
from kmtools.lab.result import print_boot_failure
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, make_one_result_tally
from kmtools.suites import kernelsuite, testkernel
from kmtools.suites.kernelsuite import JOBS

WORK = ROOT / "build" / "many-files"
NAME = "kmarkers_many_files"
# The modules that the generated module needs.
SERVERS = ("patcher", "events", "immediate", "markers")
# The kinds of tables of sites in the generated module.
KINDS = ("imv", "settable", "markers")
# The undefined symbols by which the tables of sites make a module depend on other modules.
SYMBOLS = ("imv_tables_need_immediate", "marker_tables_need_markers")
MEASURED = re.compile(r"# (load|unload|events) (with|without): ([0-9.]+) ms")
# The maximum ratio of the times with and without sites.
LIMIT = 3.0
TIMEOUT_SECONDS = 900.0
MARKERS = 2  # number of markers in each file; the other sites of a file are immediate values

# The text of a source file of the generated module, and of the file with its init function.
PART = """// SPDX-License-Identifier: GPL-2.0-only
#include <kmarkers/marker.h>

static DEFINE_IMV(int, value_{part});

int part_{part}(int number);

int part_{part}(int number)
{{
{sites}
	return number;
}}
"""

MAIN = """// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

{prototypes}

static int (*const parts[])(int number) = {{
{names}
}};

/* Never above 0, so no code of the other files runs. */
static int level;
module_param(level, int, 0400);

static int __init many_files_init(void)
{{
	return level > 0 ? parts[0](level) : 0;
}}

static void __exit many_files_exit(void)
{{
}}

module_init(many_files_init);
module_exit(many_files_exit);

MODULE_DESCRIPTION("A module of many files");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
"""


def format_source_file(number: int, sites: int) -> str:
    """Return the text of the source file `number` of the generated module, which has `sites`
    sites."""
    lines = [
        f'\ttrace_mark(many_files_{number}_{i}, "number %d", number);'
        if i < MARKERS
        else f"\tnumber += imv_read(value_{number});"
        for i in range(sites)
    ]
    return PART.format(part=number, sites="\n".join(lines))


def write_module_sources(src: Path, files: int, sites: int) -> None:
    """Write a Kbuild file and sources of a module: `files` files with `sites` sites in all."""
    src.mkdir(parents=True)
    for number in range(files):
        (src / f"part_{number}.c").write_text(
            format_source_file(number, sites // files), encoding="utf-8"
        )
    main = MAIN.format(
        prototypes="\n".join(f"int part_{number}(int number);" for number in range(files)),
        names="\n".join(f"\tpart_{number}," for number in range(files)),
    )
    (src / "main.c").write_text(main, encoding="utf-8")
    objects = " ".join(["main.o", *(f"part_{number}.o" for number in range(files))])
    (src / "Kbuild").write_text(f"obj-m := {NAME}.o\n{NAME}-y := {objects}\n", encoding="utf-8")


def build_modules_with_and_without_sites(kernel: str, files: int, sites: int) -> Path:
    """Build the generated module and the modules that it needs. Copy the generated module, and
    remove the tables of sites from the copy. Return the directory of the modules."""
    tree, modules = WORK / "tree", WORK / f"modules-{kernel}"
    shutil.rmtree(tree, ignore_errors=True)
    for shared in ("include", "base"):
        shutil.copytree(ROOT / shared, tree / shared)
    for needed in SERVERS:
        shutil.copytree(ROOT / needed, tree / needed)
        with (tree / needed / "Kbuild").open("a", encoding="utf-8") as file:
            file.write("ccflags-y += -include $(KMARKERS)/include/compat/compat.h\n")
    directories = " ".join(f"{name}/" for name in (*SERVERS, "many"))
    (tree / "Kbuild").write_text(
        f"export KMARKERS ?= $(KBUILD_EXTMOD)\nobj-m := {directories}\n"
        "subdir-ccflags-y := -I$(KMARKERS)/include -g0\n",
        encoding="utf-8",
    )
    write_module_sources(tree / "many", files, sites)
    if build_modules(kernel, tree, modules, ["-s"], WORK / "build.log"):
        raise FailedError(f"the module of {files} files cannot be built; see {WORK}/build.log")
    without = modules / f"{NAME}.without.ko"
    shutil.copy(modules / f"{NAME}.ko", without)
    sections = [
        f"--remove-section=.discard_kmarkers_{kind}{part}"
        for kind in KINDS
        for part in ("", "_heads")
    ]
    symbols = [f"--strip-symbol={symbol}" for symbol in SYMBOLS]
    subprocess.run(
        ["objcopy", "--remove-section=__param", *sections, *symbols, without], check=True
    )
    return modules


def compute_median_load_times(lines: Iterable[str]) -> dict[str, float]:
    """Return the median time in milliseconds of each kind of measurement (such as "load with") in
    the lines of the guest's output."""
    found: dict[str, list[float]] = {}
    for line in lines:
        if match := MEASURED.fullmatch(line.strip()):
            found.setdefault(f"{match[1]} {match[2]}", []).append(float(match[3]))
    return {kind: statistics.median(times) for kind, times in found.items()}


def judge_load_times(times: dict[str, float]) -> bool:
    """Print the median times with and without sites, and their ratios; return True if the ratio for
    load plus unload is within LIMIT."""
    for way in ("with", "without"):
        times[f"load+unload {way}"] = times[f"load {way}"] + times[f"unload {way}"]
    for what in ("load", "unload", "load+unload"):
        sites, plain = times[f"{what} with"], times[f"{what} without"]
        most = f", at most {LIMIT:.0f}" if what == "load+unload" else ""
        ratio = f"{sites / plain:.2f} times{most}"
        print(f"{what}: {sites:.0f} ms with sites, {plain:.0f} ms without, {ratio}")
    print(f"all trace events are added {times['events with']:.0f} ms after a load")
    print(f"all trace events are removed {times['events without']:.0f} ms after an unload")
    return times["load+unload with"] / times["load+unload without"] <= LIMIT


def measure_load_times(kernel: str, files: int, sites: int, turns: int) -> bool:
    """Build the modules, boot a kernel that loads and unloads each of them `turns` times, and judge
    the times."""
    kernels.ensure_kernel_is_unpacked(catalogue.find_kernel_entry(kernel))
    WORK.mkdir(parents=True, exist_ok=True)
    request = Request(
        kernel=kernel,
        job=JOBS / "manyfiles.sh",
        out=WORK / f"boot-{kernel}",
        modules=build_modules_with_and_without_sites(kernel, files, sites),
        additions=kernelsuite.list_guest_test_files(),
        settings={"KMARKERS_MODULE": NAME, "KMARKERS_TURNS": turns},
        timeout=TIMEOUT_SECONDS,
    )
    result = boot_guest(request)
    if not result.ok:
        print_boot_failure(result)
        raise FailedError(f"the run in kernel {kernel} failed: {result.reason}")
    print(f"in kernel {kernel} under QEMU: a module of {files} files with {sites} sites")
    return judge_load_times(compute_median_load_times(result.status.splitlines()))


def make_requested_many_file_suites(suite_request: SuiteRequest, _: Sequence[str]) -> list[Suite]:
    """Return a list of one suite, which measures the load times of a module of many files in the
    requested kernel."""
    kernel = testkernel.choose_kernel(suite_request)
    numbers = [
        suite_request.get_option_number(*one)
        for one in (("files", 500), ("sites", 10000), ("turns", 7))
    ]
    what = f"the load and unload time of a module of {numbers[0]} files with sites"

    def measure_and_judge_load_times(_: Path) -> Tally:
        return make_one_result_tally(
            measure_load_times(kernel, *numbers),
            f"sites lengthen load and unload by a factor above {LIMIT:.0f}",
        )

    why = kernelsuite.make_boot_obstacle_finder(kernel)
    return [
        Suite("many-files", measure_and_judge_load_times, what, why, 120, modules=kernel, loud=True)
    ]
