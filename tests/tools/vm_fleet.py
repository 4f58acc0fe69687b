# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the Ansible role on three machines: a test kernel that loads modules, and two machines
that measure in user space. The suite fleet-ssh sets KMARKERS_KERNEL and KMARKERS_MODULES."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import loopback
import pytest
from kmtools.cli import main
from kmtools.lab.machine import boot_guest
from kmtools.lab.result import Result
from kmtools.runner import ktap
from kmtools.suites import target
from test_ansible import AnsibleFleet, server  # noqa: F401  a fixture

WAIT_SECONDS = 300.0
LOAD = "patcher events immediate markers sdt bench_sites bench"


@dataclass
class Guest:
    """A booted test kernel with an SSH server, and the options of ssh to connect to it."""

    port: int
    options: list[str]
    said: list[str] = field(default_factory=list)
    result: Result | None = None

    def run_command(self, text: str) -> subprocess.CompletedProcess[str]:
        """Run a shell command in the guest over ssh."""
        words = ["ssh", *self.options, "-p", str(self.port), "root@127.0.0.1", text]
        return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(name="guest", scope="module")
def run_ssh_guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Boot the guest. After the tests of this file, require that the guest's own checks passed."""
    path = tmp_path_factory.mktemp("guest")
    key = path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    words = ["BatchMode=yes", "StrictHostKeyChecking=accept-new", "IdentitiesOnly=yes",
             f"UserKnownHostsFile={path}/known"]  # fmt: skip
    options = [word for option in words for word in ("-o", option)]
    one = Guest(loopback.find_free_port(), [*options, "-i", str(key)])
    modules = Path(os.environ["KMARKERS_MODULES"])
    kernel = os.environ["KMARKERS_KERNEL"]
    request = target.make_ssh_request(kernel, modules, path, key.with_suffix(".pub"), one.port)

    def run_guest() -> None:
        one.result = boot_guest(request, one.said.append)

    thread = threading.Thread(target=run_guest)
    thread.start()
    try:
        until = time.monotonic() + WAIT_SECONDS
        while not loopback.is_ssh_server_answering(one.port):
            assert thread.is_alive() and time.monotonic() < until, "\n".join(one.said)
            time.sleep(1)
        yield one
    finally:
        one.run_command(": >/tmp/over")
        thread.join()
    assert one.result is not None and one.result.ok, one.result and one.result.reason
    assert ktap.parse_ktap(one.said).failed == []


@pytest.fixture(name="fleet")
def make_fleet_of_three(tmp_path: Path, server: loopback.Server, guest: Guest) -> AnsibleFleet:  # noqa: F811
    """Return an inventory of the guest and two machines that measure in user space."""
    modules = tmp_path / "modules"
    modules.mkdir()
    for name in LOAD.split():
        shutil.copy(Path(os.environ["KMARKERS_MODULES"]) / f"kmarkers_{name}.ko", modules)
    found = AnsibleFleet(tmp_path, server)
    found.add_machine("user-1")
    found.add_machine("user-2", kmarkers_seed=7)
    found.hosts["guest"] = {
        "kmarkers_folder": "/var/tmp/kmarkers",
        "kmarkers_kind": "modules",
        "kmarkers_tier": "vm",
        "kmarkers_modules": str(modules),
        "ansible_port": guest.port,
        "ansible_ssh_common_args": " ".join(guest.options),
        # "piped", because the guest has no SFTP server. The empty ssh_args disable persistent
        # connections, so that all connections end with the playbook.
        "ansible_ssh_transfer_method": "piped",
        "ansible_ssh_args": "",
        "ansible_pipelining": True,
        "kmarkers_seconds": 600,
    }
    return found


def test_ansible_role_measures_on_three_machines(
    fleet: AnsibleFleet, guest: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    done = fleet.run_playbook()
    assert done.returncode == 0, done.stdout + done.stderr
    env = json.loads((fleet.runs / "guest" / "env.json").read_text())
    assert [(tier["tier"], tier["unit"]) for tier in env["tiers"]] == [("vm", "ticks (emulated)")]
    assert env["kernel"]["release"] == guest.run_command("uname -r").stdout.strip()
    names = fleet.path / "names"
    names.write_text("\n".join(fleet.hosts))
    # `fleet` lists the groups, and does not compare numbers of different tiers (measurement
    # environments).
    assert main(["fleet", str(fleet.runs), "--by", "cpu", "--machines", str(names)]) == 1
    said = capsys.readouterr()
    assert "       2  " in said.out and "       1  QEMU" in said.out
    assert "have no row in common" in " ".join(said.out.split())
    assert guest.run_command("ls /var/tmp; grep ^kmarkers_ /proc/modules").stdout == ""
