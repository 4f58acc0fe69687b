# SPDX-License-Identifier: GPL-2.0-only
"""Tests a test kernel as a machine of a fleet: an interrupted measurement must leave nothing in it,
and the Ansible role must measure in it over ssh, together with two machines of user space."""

from __future__ import annotations

import lzma
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kmtools.base.paths import ROOT
from kmtools.lab import catalogue, unpack
from kmtools.lab.catalogue import Kernel
from kmtools.lab.kernels import ensure
from kmtools.lab.machine import Request
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite, scripts
from kmtools.suites import kernelsuite, testkernel

SCRIPTS = ROOT / "scripts"
# The files that the role copies to a machine.
FILES = ("target/measure.sh", "target/machine.sh", "guest/bench.sh")
SECONDS, REMOTE_SECONDS = 120, 200
# The Debian suite and packages with an SSH server and Python, which Ansible needs in a guest.
SUITE, PACKAGES = "bookworm", ("dropbear-bin", "python3-minimal", "libpython3.11-stdlib")
SERVER, PYTHON, LIBRARY = "/usr/sbin/dropbear", "/usr/bin/python3.11", "usr/lib/python3.11"
MEMORY = 2048


def additions() -> list[tuple[Path, str]]:
    """Return the tests, and the scripts that the role copies, in /target, as additions to an
    initramfs."""
    files = [(SCRIPTS / name, f"/target/{Path(name).name}") for name in FILES]
    return [(kernelsuite.TESTS, "/tests"), *files]


def interrupted(kernel: str, modules: Path, log: Path) -> Tally:
    """Boot a kernel in which the script of a machine is interrupted at several points."""
    request = Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "target.sh",
        out=log.with_suffix(""),
        modules=modules,
        additions=additions(),
        timeout=kernelsuite.TIMEOUT_SECONDS,
    )
    return kernelsuite.run_alone(request, log)


def network_driver(kernel: Kernel, out: Path) -> Path:
    """Write the kernel's driver of the guest's network card; returns the file."""
    (packed,) = kernel.tree.glob("usr/lib/modules/*/kernel/drivers/net/ethernet/intel/*/e1000.ko*")
    content = packed.read_bytes()
    out.write_bytes(lzma.decompress(content) if packed.suffix == ".xz" else content)
    return out


def programs() -> list[tuple[Path, str]]:
    """Return an SSH server, and the Python that Ansible starts, as additions to an initramfs."""
    tree = unpack.fetch_programs(SUITE, "fleet", PACKAGES)
    library = tree / LIBRARY
    found = {f"/{p.relative_to(tree)}": p for p in library.rglob("*") if p.is_file()}
    own = [f"/{LIBRARY}/lib-dynload/{p.name}" for p in library.glob("lib-dynload/_hashlib.*")]
    for name in (SERVER, PYTHON, *own):
        found |= {file: path for path, file in unpack.with_libraries(tree, name)}
    return [(path, file) for file, path in found.items() if not path.is_symlink()]


def machine(kernel: str, modules: Path, scratch: Path, key: Path, port: int) -> Request:
    """Return the boot of a machine that can be reached over ssh, with a public key for root, a port
    of the loopback interface, and a scratch directory for files and logs."""
    files = {
        "passwd": "root:x:0:0:root:/root:/bin/sh\n",
        "group": "root:x:0:\n",
        "shells": "/bin/sh\n",
    }
    for name, text in files.items():
        (scratch / name).write_text(text)
    driver = network_driver(ensure(catalogue.find(kernel)), scratch / "e1000.ko")
    return Request(
        kernel=kernel,
        job=kernelsuite.JOBS / "machine.sh",
        out=scratch / "boot",
        modules=modules,
        additions=[
            *additions(),
            *programs(),
            *((scratch / name, f"/etc/{name}") for name in files),
            (driver, "/e1000.ko"),
            (key, "/root/.ssh/authorized_keys"),
        ],
        timeout=kernelsuite.TIMEOUT_SECONDS,
        memory=MEMORY,
        append="random.trust_cpu=on",
        ssh_port=port,
    )


def remote(kernel: str, modules: Path, log: Path) -> Tally:
    """Measure with the Ansible role on a test kernel and two machines of user space."""
    env = {"KMARKERS_KERNEL": kernel, "KMARKERS_MODULES": str(modules)}
    return scripts(log, "tests/tools/vm_fleet.py", env=env)


def no_remote(kernel: str) -> str:
    """Return a text with the remedy if machines cannot be reached over ssh here."""
    if why := kernelsuite.obstacle(kernel)():
        return why
    if not (Path(sys.prefix) / "bin" / "ansible-playbook").exists():
        return "ansible-playbook is missing: run scripts/setup --fleet"
    return ""


def suites(kernel: str, modules: Path) -> Sequence[Suite]:
    """Return the suites of one kernel."""
    return [
        Suite(
            f"target-{kernel}",
            partial(interrupted, kernel, modules),
            "an interrupted measurement leaves no module and no change of the kernel",
            kernelsuite.obstacle(kernel),
            SECONDS,
        ),
        Suite(
            f"fleet-ssh-{kernel}",
            partial(remote, kernel, modules),
            "a test kernel and two machines of user space, measured over ssh",
            partial(no_remote, kernel),
            REMOTE_SECONDS,
        ),
    ]


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suites of these names."""
    return testkernel.of_kernel(ask, names, suites)
