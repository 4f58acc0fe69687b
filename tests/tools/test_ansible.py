# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the Ansible role over ssh. Every machine of the inventory is this host, with a directory
of its own. Of six machines, one is unreachable, one is too slow, one sends wrong data, one has a
directory with foreign files, and two succeed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import loopback
import nativeprograms
import pytest
from kmtools.base.paths import ROOT
from kmtools.cli import main

PLAYBOOK = Path(sys.prefix) / "bin" / "ansible-playbook"
PROGRAM = ROOT / "build" / "native" / "kmbench"
# A script that runs kmbench, then replaces the unit of one sample by a unit that is not allowed.
WRONG_UNIT = f"""#!/bin/sh
"{PROGRAM}" "$@" || exit
for out; do :; done
while [ "$1" != --out ]; do shift; done
sed -i '9s/,ticks,/,ns,/' "$2/empty-loop.csv"
"""
SLOW = "#!/bin/sh\nexec sleep 1000\n"
SECONDS_OF_SLOW = 8


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loopback.Server]:
    """Run an SSH server for all tests of this file."""
    if not PLAYBOOK.exists():
        pytest.skip(f"ansible-playbook is missing: {loopback.REMEDY}")
    nativeprograms.build_native_programs()
    with loopback.run_ssh_server(tmp_path_factory.mktemp("ssh")) as one:
        yield one


class AnsibleFleet:
    """An Ansible inventory, and the directory to which the playbook fetches runs."""

    def __init__(self, path: Path, server: loopback.Server) -> None:
        self.path, self.runs = path, path / "runs"
        self.hosts: dict[str, dict[str, object]] = {}
        self.common = {
            "ansible_host": "127.0.0.1",
            "ansible_user": "root",
            "ansible_port": server.port,
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_ssh_common_args": " ".join(server.options),
            "kmarkers_checkout": str(ROOT),
            "kmarkers_runs": str(self.runs),
            "kmarkers_blocks": 8,
            "kmarkers_processes": 2,
            "kmarkers_benchmarks": ["empty-loop"],
        }

    def get_machine_directory(self, name: str) -> Path:
        """Return the directory of the machine `name`."""
        return self.path / "folders" / name

    def add_machine(self, name: str, program: str = "", **variables: object) -> None:
        """Add a machine to the inventory; `program` is a shell script that replaces kmbench."""
        (self.path / "folders").mkdir(exist_ok=True)
        if program:
            file = self.path / f"program-{name}"
            file.write_text(program)
            file.chmod(0o755)
            variables["kmarkers_program"] = str(file)
        self.hosts[name] = {"kmarkers_folder": str(self.get_machine_directory(name)), **variables}

    def start_playbook(self, *arguments: str) -> subprocess.Popen[str]:
        """Start ansible-playbook with the playbook of the collection, in a session of its own."""
        inventory = self.path / "inventory.json"
        inventory.write_text(json.dumps({"all": {"vars": self.common, "hosts": self.hosts}}))
        env = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT),
            "ANSIBLE_HOME": str(self.path / "ansible"),
            "ANSIBLE_LOCALHOST_WARNING": "0",
            "LC_ALL": "C.UTF-8",
        }
        command = [PLAYBOOK, "kmarkers.fleet.measure", "-i", inventory, *arguments]
        return subprocess.Popen(
            [str(word) for word in command],
            cwd=self.path,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run_playbook(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the playbook, and wait until it ends."""
        with self.start_playbook(*arguments) as playing:
            out, error = playing.communicate(timeout=500)
            return subprocess.CompletedProcess(playing.args, playing.returncode, out, error)


@pytest.fixture
def fleet(tmp_path: Path, server: loopback.Server) -> AnsibleFleet:
    """Return an empty inventory."""
    return AnsibleFleet(tmp_path, server)


def test_unreachable_slow_and_faulty_machines_do_not_stop_other_machines(
    fleet: AnsibleFleet, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb", reason=f"duckdb is missing: {loopback.REMEDY}")
    fleet.add_machine("well-1")
    fleet.add_machine("well-2", kmarkers_seed=7)
    fleet.add_machine("liar", WRONG_UNIT)
    fleet.add_machine("slow", SLOW, kmarkers_seconds=SECONDS_OF_SLOW)
    fleet.add_machine("dead", ansible_port=loopback.find_free_port())
    fleet.add_machine("stranger")
    precious = fleet.get_machine_directory("stranger") / "precious"
    precious.parent.mkdir()
    precious.write_text("x")
    done = fleet.run_playbook()
    assert done.returncode != 0, done.stdout
    for name, sums in (("well-1", "unreachable=0    failed=0"), ("dead", "unreachable=1")):
        line = next(line for line in done.stdout.splitlines() if line.startswith(f"{name} "))
        assert sums in line, done.stdout
    # The role has removed the directory of each machine, except the directory with a foreign file.
    assert list((fleet.path / "folders").iterdir()) == [precious.parent]
    assert list(precious.parent.iterdir()) == [precious]
    listed = fleet.path / "machines"
    listed.write_text("\n".join(fleet.hosts))
    assert main(["fleet", str(fleet.runs), "--by", "cpu", "--machines", str(listed)]) == 1
    out = capsys.readouterr().out
    assert "dead: dead: this machine has no run" in out
    assert "refused: liar: Check every line of the samples: " in out
    assert "empty-loop.csv:9: unit is 'ns', not ticks or rounds" in out
    assert "refused: slow: Load modules, run benchmarks, unload: " in out
    said = (
        "refused: stranger: Make the working folder, which must be new, empty, or from an earlier"
    )
    assert f"{said} try: " in " ".join(out.split())
    assert "       2  " in out and "all runs are in one group: " in out
    runs = [str(fleet.runs / name) for name in ("well-1", "well-2")]
    assert main(["compare", *runs, "--fail-on", "missing"]) == 0


def test_ansible_check_mode_changes_nothing(fleet: AnsibleFleet) -> None:
    fleet.add_machine("well")
    done = fleet.run_playbook("--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not fleet.runs.exists() and not list((fleet.path / "folders").iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="giving folders to another user needs root")
def test_folder_of_another_user_is_refused_and_no_file_in_it_is_run(fleet: AnsibleFleet) -> None:
    """The folder that another user made is empty or contains a script. On a third machine, the
    folder is a symbolic link."""
    target, executed = fleet.path / "target", fleet.path / "executed"
    target.mkdir(mode=0o755)
    for name in ("empty", "script", "link"):
        fleet.add_machine(name)
        if name == "link":
            fleet.get_machine_directory(name).symlink_to(target)
            continue
        fleet.get_machine_directory(name).mkdir(mode=0o755)
        os.chown(fleet.get_machine_directory(name), 65534, 65534)
    (fleet.get_machine_directory("script") / "measure.sh").write_text(f"touch {executed}\n")
    done = fleet.run_playbook()
    assert done.returncode != 0, done.stdout
    for name in fleet.hosts:
        reason = (fleet.runs / name / "refused").read_text()
        assert "is a link or belongs to another user; set kmarkers_folder to a new" in reason
        assert fleet.get_machine_directory(name).stat().st_mode & 0o777 == 0o755
    assert not executed.exists() and not list(target.iterdir())
