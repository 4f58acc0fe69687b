# SPDX-License-Identifier: GPL-2.0-only
"""Adds markers to the modules of DKMS packages from Debian's main archive, and tests these modules
in the kernels of the Debian releases.

In a minimal Debian system, tests/dkms/build.sh builds each package unchanged and with markers. If
both builds succeed, tests/vm/jobs/dkms.sh loads the modules in the kernel of the release, traces
them, and enables and disables their markers. A package is skipped, with the reason, if its
unchanged modules cannot be built or loaded.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT, get_cache_dir
from kmtools.lab import catalogue, stock
from kmtools.lab.build import get_object_dir
from kmtools.lab.machine import Request
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import fresh, kernelsuite
from kmtools.suites.fresh import LISTS, SOURCE, RootSession, Step

KERNELS = ("6.1", "6.12", "7.2")
TOOLS = (
    "apt-get install --no-install-recommends"
    " git dkms make gcc libc6-dev python3 kmod libelf1 pahole"
)
USUAL_SECONDS = 1200.0
BOOT_SECONDS = 2400.0
# The memory of the guest in MiB.
MEMORY = 1536
# Modules that are not tested, with the reason.
LEFT_OUT = {
    "xt_CHAOS": "it dereferences an error pointer when it is unloaded, with or without markers"
}
# A pattern of the line that build.sh prints for each package. The line begins with the elapsed
# seconds.
SAID = re.compile(r"^\s*[\d.]+  (SKIP|FAILED|ok) (.*)$", re.MULTILINE)


def find_compiler_package(kernel: catalogue.Kernel) -> str:
    """Return the package of the compiler that a kernel was built with."""
    for path in kernel.tree.glob("usr/src/linux-headers-*/.kernelvariables"):
        if found := re.search(r"gcc-\d+", path.read_text(encoding="utf-8")):
            return found[0]
    raise UnableError(f"kernel {kernel.name}: the headers of this kernel name no compiler")


def translate_path_into_root(path: Path) -> str:
    """Convert the path of a file in the cache directory: return the path that this file has inside
    the root directory of a minimal Debian system."""
    return f"/srv/cache/{path.relative_to(get_cache_dir())}"


def build_dkms_packages(
    kernel: catalogue.Kernel, session: RootSession, out: Path, packages: Sequence[str]
) -> Tally:
    """Build DKMS packages for a kernel in the root directory of `session`, and copy the built
    modules to `out`. If `packages` is empty, build all DKMS packages in the lists of apt."""
    tools = f"{TOOLS} {find_compiler_package(kernel)} && git clone {SOURCE} kmarkers"
    build_all = (
        f"kmarkers/tests/dkms/build.sh {translate_path_into_root(kernel.tree)}"
        f" {translate_path_into_root(get_object_dir(kernel.name, ROOT))} out {' '.join(packages)}"
    )
    shutil.rmtree(out, ignore_errors=True)
    for step in (LISTS, Step("tools", tools), Step("packages", build_all)):
        if not fresh.run_step_in_root(session, step) and step.name != "packages":
            return session.tally
    text = (fresh.WORK / f"{session.name}-packages.log").read_text(
        encoding="utf-8", errors="replace"
    )
    tally = Tally()
    for word, what in SAID.findall(text):
        if word == "ok":
            tally.passed += 1
        else:
            (tally.skipped if word == "SKIP" else tally.failed).append(what)
    # build.sh exits with 1 also if a package fails. If no package failed, the script did not reach
    # its end, so add its failure to the results.
    tally.failed += [] if tally.failed else session.tally.failed
    tally.add_result(tally.passed > 0, "no package builds with markers")
    shutil.copytree(session.root.path / "root" / "out", out)
    return tally


def sort_modules_by_dependency(modules: Sequence[Path]) -> list[Path]:
    """Return modules in an order in which each module follows its dependencies."""
    files = {stock.get_module_name(path): path for path in modules}
    order: list[Path] = []

    def add_module_and_dependencies(name: str) -> None:
        if files[name] in order:
            return
        for needed in stock.list_module_dependencies(files[name].read_bytes()):
            if needed in files:
                add_module_and_dependencies(needed)
        order.append(files[name])

    for name in sorted(files):
        add_module_and_dependencies(name)
    return order


def copy_modules_for_job(
    kernel: catalogue.Kernel, built: Path, job_directory: Path
) -> list[tuple[Path, str]]:
    """Copy the modules that build_dkms_packages() wrote to `built` into `job_directory`, in the
    layout that the job dkms.sh reads; return additions for an initramfs."""
    files: dict[str, Path] = {}
    for marked in sorted((built / "marked").iterdir()):
        package = job_directory / marked.name
        for kind in ("unmarked", "marked"):
            (package / kind).mkdir(parents=True)
            for path in (built / kind / marked.name).iterdir():
                if stock.get_module_name(path) in LEFT_OUT:
                    continue
                target = package / kind / f"{path.name.partition('.ko')[0]}.ko"
                target.write_bytes(stock.read_module_file(path))
        modules = sort_modules_by_dependency(sorted((package / "unmarked").iterdir()))
        (package / "order").write_text(
            "".join(f"{path.name}\n" for path in modules), encoding="utf-8"
        )
        needed = stock.copy_module_dependencies(kernel, modules, job_directory.parent / "stock")
        (package / "stock").write_text(
            "".join(f"{path.name}\n" for path in needed), encoding="utf-8"
        )
        files |= {f"/stock/{path.name}": path for path in needed}
    return [(job_directory, "/dkms"), *((path, name) for name, path in files.items())]


def build_and_load_dkms_packages(kernel_name: str, packages: Sequence[str], log: Path) -> Tally:
    """Build DKMS packages (all, if `packages` is empty) for a kernel, boot this kernel, and test
    the modules of the packages in it."""
    kernel = catalogue.require_unpacked_kernel(kernel_name)
    out = log.with_suffix("")
    modules = kernelsuite.get_modules_dir(kernel_name, "dkms")
    tally = kernelsuite.build_modules_and_kmlive(
        kernel_name, modules, log.with_name(f"{out.name}-build.log")
    )
    if tally.failed:
        return tally
    with fresh.unpack_temporary_root(kernel.suite, False, True, {}) as session:
        tally = build_dkms_packages(kernel, session, out, packages)
    if not (out / "marked").is_dir():
        return tally
    for left, why in LEFT_OUT.items():
        if any((out / "marked").rglob(f"{left}.ko*")):
            tally.skipped.append(f"{left}: {why}")
    with tempfile.TemporaryDirectory(prefix="kmarkers-dkms-") as scratch:
        request = Request(
            kernel=kernel_name,
            job=kernelsuite.JOBS / "dkms.sh",
            out=out / "boot",
            modules=modules,
            additions=[
                *kernelsuite.list_guest_test_files(),
                *copy_modules_for_job(kernel, out, Path(scratch, "dkms")),
            ],
            timeout=BOOT_SECONDS,
            memory=MEMORY,
        )
        tally.add_tally(kernelsuite.boot_and_tally_job(request, log))
    return tally


def make_requested_dkms_suites(suite_request: SuiteRequest, _: Sequence[str]) -> list[Suite]:
    """Return a suite for the requested kernel or, if no kernel is requested, for each kernel of
    KERNELS."""

    packages = suite_request.get_option_words("packages")

    def find_dkms_obstacle(kernel: str) -> str:
        return fresh.find_debian_root_obstacle() or kernelsuite.make_boot_obstacle_finder(kernel)()

    return [
        Suite(
            f"dkms-{kernel}",
            partial(build_and_load_dkms_packages, kernel, packages),
            f"the DKMS packages of Debian main, with markers, in kernel {kernel}",
            partial(find_dkms_obstacle, kernel),
            USUAL_SECONDS,
        )
        for kernel in ([suite_request.kernel] if suite_request.kernel else KERNELS)
    ]
