# SPDX-License-Identifier: GPL-2.0-only
"""Tests a test kernel as a machine of a fleet: an interrupted measurement must leave no module
loaded, and the Ansible role must measure in the kernel over ssh.

The role also measures on two more machines, only in user space.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.base.paths import ROOT
from kmtools.lab import catalogue, stock, unpack
from kmtools.lab.catalogue import Kernel
from kmtools.lab.kernels import ensure_kernel_is_unpacked
from kmtools.lab.machine import Request
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, run_pytest
from kmtools.suites import kernelsuite, testkernel

SCRIPTS = ROOT / "scripts"
# The files that the Ansible role copies to a machine.
FILES = ("target/measure.sh", "target/machine.sh", "guest/bench.sh")
# The usual times in seconds of the suite that interrupts a measurement, and of the suite with ssh.
SECONDS, REMOTE_SECONDS = 66, 200
# The Debian suite and packages with an SSH server and Python, which Ansible needs in a guest.
SUITE, PACKAGES = "bookworm", ("dropbear-bin", "python3-minimal", "libpython3.11-stdlib")
SERVER, PYTHON, LIBRARY = "/usr/sbin/dropbear", "/usr/bin/python3.11", "usr/lib/python3.11"
# The module that drives the network card of the guest.
DRIVER = "e1000"
# The memory of the guest in MiB.
MEMORY = 2048


def list_initramfs_additions() -> list[tuple[Path, str]]:
    """Return additions to an initramfs: the tests, and the scripts that the Ansible role copies to
    a machine; the guest has these scripts in /target."""
    files = [(SCRIPTS / name, f"/target/{Path(name).name}") for name in FILES]
    return [*kernelsuite.list_guest_test_files(), *files]


def run_measure_interruption_job(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel, and run the job target.sh in it, which interrupts the script measure.sh at
    several points; return the results."""
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "target.sh",
        out=log.with_suffix(""),
        modules=modules,
        additions=list_initramfs_additions(),
        timeout=kernelsuite.TIMEOUT_SECONDS,
    )
    return kernelsuite.boot_and_tally_job(request, log)


def copy_network_driver(kernel: Kernel, out: Path) -> Path:
    """Copy DRIVER from the kernel's package to `out`, decompressed; return `out`."""
    out.write_bytes(stock.read_module_file(stock.find_modules_in_kernel_package(kernel)[DRIVER]))
    return out


def list_ssh_programs() -> list[tuple[Path, str]]:
    """Return additions to an initramfs: an SSH server, and the Python that Ansible starts."""
    tree = unpack.fetch_programs(SUITE, "fleet", PACKAGES)
    library = tree / LIBRARY
    found = {f"/{p.relative_to(tree)}": p for p in library.rglob("*") if p.is_file()}
    own = [f"/{LIBRARY}/lib-dynload/{p.name}" for p in library.glob("lib-dynload/_hashlib.*")]
    for name in (SERVER, PYTHON, *own):
        found |= {file: path for path, file in unpack.list_program_files(tree, name)}
    return [(path, file) for file, path in found.items() if not path.is_symlink()]


def make_ssh_request(kernel: str, modules: Path, scratch: Path, key: Path, port: int) -> Request:
    """Return the request for a guest with an SSH server: `key` is root's public key, `port` the
    port on this machine's loopback interface, and `scratch` a directory for files and logs."""
    files = {
        "passwd": "root:x:0:0:root:/root:/bin/sh\n",
        "group": "root:x:0:\n",
        "shells": "/bin/sh\n",
    }
    for name, text in files.items():
        (scratch / name).write_text(text, encoding="utf-8")
    driver = copy_network_driver(
        ensure_kernel_is_unpacked(catalogue.find_kernel_entry(kernel)), scratch / "e1000.ko"
    )
    return Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "machine.sh",
        out=scratch / "boot",
        modules=modules,
        additions=[
            *list_initramfs_additions(),
            *list_ssh_programs(),
            *((scratch / name, f"/etc/{name}") for name in files),
            (driver, "/e1000.ko"),
            (key, "/root/.ssh/authorized_keys"),
        ],
        timeout=kernelsuite.TIMEOUT_SECONDS,
        memory=MEMORY,
        append="random.trust_cpu=on",
        ssh_port=port,
    )


def run_ansible_tests(kernel: str, modules: Path, log: Path) -> Tally:
    """Run tests/tools/vm_fleet.py: the Ansible role on a test kernel and two other machines."""
    env = {"KMARKERS_KERNEL": kernel, "KMARKERS_MODULES": str(modules)}
    return run_pytest(log, "tests/tools/vm_fleet.py", env=env)


def find_ssh_obstacle(kernel: str) -> str:
    """Return an error text with the remedy if the kernel cannot boot or lacks DRIVER, or if Ansible
    is missing; else ""."""
    if why := kernelsuite.make_boot_obstacle_finder(kernel)():
        return why
    if DRIVER not in stock.find_modules_in_kernel_package(
        catalogue.require_unpacked_kernel(kernel)
    ):
        return f"kernel {kernel} has no module {DRIVER}: choose another kernel"
    if not (Path(sys.prefix) / "bin" / "ansible-playbook").exists():
        return "ansible-playbook is missing: run scripts/setup --fleet"
    return ""


def make_target_suites(kernel: str, modules: Path) -> Sequence[Suite]:
    """Return the suites that boot a guest with a kernel and use this guest as a machine of a
    fleet."""
    return [
        Suite(
            f"target-{kernel}",
            partial(run_measure_interruption_job, kernel, modules),
            "an interrupted measurement leaves no module loaded and no setting changed",
            kernelsuite.make_boot_obstacle_finder(kernel),
            SECONDS,
        ),
        Suite(
            f"fleet-ssh-{kernel}",
            partial(run_ansible_tests, kernel, modules),
            "the Ansible role over ssh on a test kernel and two other machines",
            partial(find_ssh_obstacle, kernel),
            REMOTE_SECONDS,
        ),
    ]


def make_requested_target_suites(suite_request: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return the suites of this file whose names are in `names`, for the requested kernel."""
    return testkernel.make_named_suites_for_kernel(suite_request, names, make_target_suites)
