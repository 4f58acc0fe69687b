# SPDX-License-Identifier: GPL-2.0-only
"""Tests the Debian packages: installs the packages in minimal Debian systems, where DKMS builds the
modules, and loads these modules into test kernels.

In the root directory of a minimal system, tests/packages/root.sh installs, upgrades and removes the
packages. The packages for the upgrade have a later version, and are built from the same sources.
The modules that DKMS built in this directory are loaded in three boots of the kernel of the same
Debian release: without Secure Boot, with firmware that has DKMS's key, and with a kernel that
requires signatures and lacks this key. The fourth boot uses a kernel that was installed after the
packages.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import FailedError
from kmtools.base.files import hold_lock
from kmtools.base.paths import ROOT, list_sources, read_version
from kmtools.lab import bareroot, cache, catalogue, unpack
from kmtools.lab.bareroot import Root
from kmtools.lab.catalogue import Entry
from kmtools.lab.kernels import ensure_kernel_is_unpacked
from kmtools.lab.machine import Request
from kmtools.lab.tracers import TRACERS_MEMORY
from kmtools.runner import ktap
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import fresh, kernelsuite, secureboot

WORK = ROOT / "build" / "packages"
SCRIPT = ROOT / "tests" / "packages" / "root.sh"
SUITES = {"bookworm": "Debian 12", "trixie": "Debian 13"}
MODPROBE, BASH = "/usr/sbin/modprobe", "/usr/bin/bash"
USUAL_SECONDS = 600
# The names of the boots: without Secure Boot; with DKMS's key in the firmware; with a kernel that
# requires signed modules and lacks this key; with a kernel that was installed after the packages.
PLAIN, ENROLLED, REFUSED, LATER = "plain", "enrolled", "refused", "later"
# The boot parameter that makes the kernel refuse unsigned modules.
ENFORCE = "module.sig_enforce=1"


def increase_version(version: str) -> str:
    """Return a version that is higher than `version`, for the test of upgrades."""
    return f"{version}.1"


def replace_package_version(tree: Path, new_version: str) -> None:
    """Replace the version of kmarkers in the two files of a source tree that contain the
    version."""
    for name in ("include/kmarkers/version.h", "debian/changelog"):
        path = tree / name
        text = path.read_text(encoding="utf-8")
        old = f'"{read_version()}"' if path.suffix == ".h" else f"({read_version()})"
        if text.count(old) != 1 and path.suffix == ".h":
            raise FailedError(f"{name} does not have the version {read_version()}")
        path.write_text(
            text.replace(old, old.replace(read_version(), new_version), 1), encoding="utf-8"
        )


def build_packages(tree: Path, log: Path, profiles: str = "") -> list[Path]:
    """Build the Debian packages of a source tree with the build profiles `profiles`; return the
    paths of the packages."""
    env = {"DEB_BUILD_PROFILES": profiles}
    if processes.run_program([tree / "scripts" / "package", "deb"], log, env):
        raise FailedError(f"the packages cannot be built, see {log}")
    return sorted((tree / "build" / "deb").glob("*.deb"))


def build_packages_of_later_version(log: Path) -> list[Path]:
    """Build Debian packages of a later version from the same sources, without the handbook; return
    the paths of the packages."""
    tree = WORK / "next"
    shutil.rmtree(tree, ignore_errors=True)
    for path in list_sources(ROOT):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tree / path)
    # results/ is not in list_sources(), because other builds do not read it.
    shutil.copytree(ROOT / "results", tree / "results", ignore=shutil.ignore_patterns("local"))
    replace_package_version(tree, increase_version(read_version()))
    return build_packages(tree, log, "nodoc")


@contextmanager
def unpack_package_test_root(suite: str) -> Iterator[Root]:
    """Unpack the root directory of a minimal system of a Debian release, and remove this directory
    at the end of the `with` block."""
    WORK.mkdir(parents=True, exist_ok=True)
    with hold_lock(
        WORK / f"{suite}.lock",
        f"another test run uses the root directory {suite} of this checkout",
    ):
        root = bareroot.unpack_debian_root(suite, WORK / suite, True)
        try:
            yield root
        finally:
            root.remove_root_and_overlay()


def run_lintian(packages: Iterable[Path], log: Path) -> Tally:
    """Check packages with lintian; any error, warning or information is a failure."""
    words = ("--allow-root", "--display-info", "--fail-on", "error,warning,info")
    tally = Tally()
    code = processes.run_program(["lintian", *words, *packages], log)
    tally.add_result(code == 0, f"lintian finds faults in the packages, see {log}")
    return tally


def copy_packages_to_root(root: Root, log: Path) -> list[Path]:
    """Build the packages; copy the packages, the examples and tests/packages/root.sh into a root
    directory; return the paths of the packages that are installed there."""
    # The suites of two Debian releases may run in parallel, but both build in the same directory.
    with cache.hold_cache_lock(f"build-packages-{cache.flatten_path(ROOT)}"):
        places = {
            "packages": build_packages(ROOT, log),
            "next": build_packages_of_later_version(log),
        }
        for name, packages in places.items():
            (root.path / "srv" / name).mkdir()
            for package in packages:
                shutil.copy(package, root.path / "srv" / name)
    shutil.copytree(ROOT / "examples", root.path / "srv" / "examples")
    shutil.copy(SCRIPT, root.path / "srv" / "root.sh")
    return sorted((root.path / "srv" / "packages").glob("*.deb"))


def run_package_root_script(root: Root, suite: str, log: Path) -> Tally:
    """Run tests/packages/root.sh in the root directory of a Debian release; return the results."""
    command = f"sh /srv/root.sh {read_version()} {increase_version(read_version())}"
    with bareroot.start_command_in_root(root, command, {}) as process:
        try:
            said = fresh.log_output_lines(process, log.with_suffix(".root.log"), suite)
            code = process.wait()
        finally:
            process.kill()
    tally = ktap.parse_ktap(said.splitlines())
    if code:
        tally.failed.append(f"{suite}: exit code {code} of the script root.sh")
    return tally


def find_debian_release_kernel(suite: str, boot_name: str = PLAIN) -> Entry:
    """Return the kernel of a Debian release. For the boot LATER, return the release's rt kernel."""
    entry = next(
        e for e in catalogue.load_kernel_entries() if e.suite == suite and e.role == "gates"
    )
    return catalogue.find_kernel_entry(f"{entry.name}-rt") if boot_name == LATER else entry


def list_host_script_files(root: Root) -> list[tuple[Path, str]]:
    """Return scripts/host and the files that it reads, as additions to an initramfs."""
    kbuilds = [ROOT / "Kbuild", *ROOT.glob("*/Kbuild")]
    files = [ROOT / "scripts" / "host", *kbuilds]
    own = [(path, f"/host/{path.relative_to(ROOT)}") for path in files]
    return [*own, *unpack.list_program_files(root.path, BASH)]


def boot_and_load_packaged_modules(root: Root, suite: str, boot_name: str, log: Path) -> Tally:
    """Boot a kernel of a Debian release and load the modules that DKMS built for this kernel in the
    root directory `root`. `boot_name` is one of PLAIN, ENROLLED, REFUSED and LATER."""
    modules = root.path / "srv" / ("modules-later" if boot_name == LATER else "modules")
    entry, record = find_debian_release_kernel(suite, boot_name), modules / "release"
    if not record.is_file():
        return Tally(failed=[f"boot {boot_name}: DKMS built no modules for the kernel"])
    kernel, release = ensure_kernel_is_unpacked(entry), record.read_text(encoding="utf-8").strip()
    if kernel.release != release:
        why = f"the test kernel is {kernel.release}, the headers are for {release}: "
        advice = f"run scripts/kmarkers lab fetch --update {entry.name}"
        return Tally(skipped=[f"boot {boot_name}: {why}{advice}"])
    request = Request(
        kernel=entry.name,
        job=kernelsuite.JOBS / "packages.sh",
        out=log.with_suffix("") / boot_name,
        additions=[
            *kernelsuite.list_guest_test_files(),
            (modules, f"/lib/modules/{release}"),
            (modules / "kmarkers-dkms.prerm", "/prerm"),
            *unpack.list_program_files(root.path, MODPROBE),
            *(list_host_script_files(root) if boot_name == PLAIN else []),
        ],
        settings={"KMARKERS_PART": boot_name},
        append=ENFORCE if boot_name in (ENROLLED, REFUSED) else "",
        timeout=kernelsuite.TIMEOUT_SECONDS,
        memory=TRACERS_MEMORY,
        secure_boot=boot_name == ENROLLED,
        key=modules,
    )
    return kernelsuite.boot_and_tally_job(request, log.with_suffix(f".{boot_name}.log"))


def run_package_tests(suite: str, log: Path) -> Tally:
    """Test the packages in a minimal system of a Debian release, and the modules in the kernels of
    this release."""
    log.write_text("", encoding="utf-8")
    with unpack_package_test_root(suite) as root:
        tally = run_lintian(copy_packages_to_root(root, log), log.with_suffix(".lintian.log"))
        tally.add_tally(run_package_root_script(root, suite, log))
        for boot_name in (PLAIN, ENROLLED, REFUSED, LATER):
            tally.add_tally(boot_and_load_packaged_modules(root, suite, boot_name, log))
    return tally


def find_packages_obstacle(suite: str) -> str:
    """Return the reason why this machine cannot test the packages in a Debian release, with the
    remedy; "" if this machine can."""
    if why := fresh.find_debian_root_obstacle():
        return why
    if shutil.which("dh_dkms") is None:
        return "packages cannot be built: run scripts/setup --packages"
    return secureboot.make_firmware_obstacle_finder(find_debian_release_kernel(suite).name)()


def make_package_suites(debian_suites: Iterable[str]) -> list[Suite]:
    """Return a test suite for each of the Debian releases."""
    return [
        Suite(
            f"packages-{name}",
            partial(run_package_tests, name),
            f"the packages in a minimal {SUITES[name]}, and their modules in its kernels",
            partial(find_packages_obstacle, name),
            USUAL_SECONDS,
        )
        for name in debian_suites
    ]


def make_requested_package_suites(suite_request: SuiteRequest, _: Sequence[str]) -> list[Suite]:
    """Return a suite for each requested Debian release, by default for all releases of SUITES."""
    return make_package_suites(suite_request.get_option_choices("root", SUITES) or SUITES)
