# SPDX-License-Identifier: GPL-2.0-only
"""Tests of scripts/setup with failures: messages, remaining files, and the next run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from kmtools.lab import build

ROOT = Path(__file__).resolve().parents[2]
USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

# A script that replaces apt-get, dpkg, dpkg-deb and dpkg-query. If $STATE/PACKAGE exists, this
# package is installed. If $STATE/STEP.kill exists, setup is killed during this step. If
# $STATE/STEP.fail exists, the step fails with the error message in this file, which is translated
# unless the locale is C. If the FIFO $STATE/STEP.wait exists, the step waits until it is closed.
FAKE = r"""#!/bin/bash
program=${0##*/}
cd "$STATE" || exit
go() {
    echo "$*" >>log
    [ ! -e "$1.wait" ] || cat "$1.wait"
    [ ! -e "$1.fail" ] || { [ "$LC_ALL" = C ] && cat "$1.fail" || echo 'E: Fehler'; exit 100; } >&2
}
case $program in
dpkg-query) [ -e "${!#}" ] && printf installed ;;
dpkg) go configure; rm -f install.fail ;;
dpkg-deb) mkdir -p "$OLDPWD/${!#}/usr/lib" ;;
apt-get)
    would=
    while [ "${1#-}" != "$1" ]; do [ "$1" != -o ] || shift; [ "$1" != -s ] || would=1; shift; done
    verb=$1
    shift
    [ ! "$would" ] || { printf 'Inst %s (1)\n' "$@"; exit; }
    go "$verb" "$@"
    [ "$verb" != download ] || { cd "$OLDPWD" && touch "${@/%/_1_amd64.deb}"; exit; }
    for name; do
        [ ! -e "$verb.kill" ] || [ "$name" != make ] || kill -KILL $PPID $$
        [ "${name#-}" != "$name" ] || touch "$name"
    done
    [ ! -e "$verb.kill" ] || kill -KILL $PPID ;;
esac
"""
LAB = """
import os, signal, sys
from pathlib import Path
state = Path(os.environ["STATE"])
with (state / "log").open("a") as log:
    print("lab", *sys.argv[1:], file=log)
if (state / "lab.kill").exists():
    os.kill(os.getppid(), signal.SIGKILL)
"""


PEERS = "setup: unpacking the tracers that markers are compared with into build/peers\n"


class Checkout:
    """A directory with scripts/setup, on a fake machine without any package."""

    def __init__(self, root: Path) -> None:
        self.dir = root / "a directory"
        self.state = root / "state"
        programs = root / "bin"
        for path in (self.dir / "scripts", self.state, programs):
            path.mkdir(parents=True)
        shutil.copy(ROOT / "scripts/setup", self.dir / "scripts/setup")
        (self.dir / "scripts/kmarkers").write_text(LAB)
        for name in ("apt-get", "dpkg-query", "dpkg", "dpkg-deb"):
            (programs / name).write_text(FAKE)
            (programs / name).chmod(0o755)
        where = f"{programs}:{os.environ['PATH']}"
        clean = {name: value for name, value in os.environ.items() if name != "LC_ALL"}
        self.env = {**clean, "PATH": where, "STATE": str(self.state), "LANG": "de_DE.UTF-8"}

    def start_setup(self, *words: str, who: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """Start scripts/setup; `who` is a command that starts the script as another user."""
        return subprocess.Popen(
            [*who, str(self.dir / "scripts/setup"), *words],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run_setup(self, *words: str, who: tuple[str, ...] = ()) -> tuple[int, str]:
        """Run scripts/setup; return its exit code and its output."""
        with self.start_setup(*words, who=who) as process:
            said, _ = process.communicate()
        return process.returncode, said

    @property
    def log(self) -> list[str]:
        """Return the names of the steps that were executed."""
        return [line.split()[0] for line in (self.state / "log").read_text().splitlines()]


@pytest.fixture(name="checkout")
def make_fake_checkout(tmp_path: Path) -> Checkout:
    """Make a checkout; skip the test unless it runs as root."""
    if os.geteuid() != 0 or not Path("/usr/bin/python3").exists():
        pytest.skip("scripts/setup needs root and /usr/bin/python3")
    return Checkout(tmp_path)


def test_missing_packages_are_installed_once(checkout: Checkout) -> None:
    assert checkout.run_setup("--bench") == (
        0,
        "setup: installing gcc libc6-dev make python3 python3-numpy"
        f" mount busybox-static xz-utils python3-matplotlib\n{PEERS}setup: ready\n",
    )
    assert checkout.run_setup("--bench") == (0, "setup: ready\n")
    assert checkout.log == ["update", "install", "download"]
    assert checkout.run_setup("6.1")[0] == 0
    assert checkout.log[3:] == ["update", "install", "lab"]


def test_each_option_installs_only_missing_packages(checkout: Checkout) -> None:
    first = "setup: installing gcc libc6-dev make python3 python3-numpy\n"
    assert checkout.run_setup("--native") == (0, f"{first}{PEERS}setup: ready\n")
    rest = "setup: installing mount busybox-static xz-utils python3-matplotlib\n"
    assert checkout.run_setup("--bench") == (0, f"{rest}setup: ready\n")
    assert checkout.run_setup("--native") == (0, "setup: ready\n")


def test_programs_that_strip_modules_are_installed_for_tests(checkout: Checkout) -> None:
    """The tests in test kernels load modules that strip, objcopy and eu-strip have stripped. The
    package elfutils has eu-strip, and is installed only for tests. The other two programs are in
    binutils, which gcc needs, too."""
    assert checkout.run_setup("--bench")[0] == 0
    assert not (checkout.state / "elfutils").exists()
    assert checkout.run_setup()[0] == 0
    packages = {"strip": "gcc", "objcopy": "gcc", "eu-strip": "elfutils"}
    for command in build.STRIPPERS.values():
        assert (checkout.state / packages[command[0]]).exists()


@pytest.mark.parametrize("step", ["update", "install", "lab"])
def test_next_setup_completes_a_killed_setup(checkout: Checkout, step: str) -> None:
    kill = checkout.state / f"{step}.kill"
    kill.touch()
    assert checkout.run_setup()[0] == -9
    kill.unlink()
    code, said = checkout.run_setup()
    assert (code, said.splitlines()[-1]) == (0, "setup: ready")
    assert (checkout.state / "xz-utils").exists()
    before = checkout.log
    assert checkout.run_setup() == (0, "setup: ready\n")
    assert checkout.log == [*before, "lab"]


def test_incomplete_python_environment_is_rebuilt(checkout: Checkout) -> None:
    assert checkout.run_setup("--bench")[0] == 0
    (checkout.dir / "build/venv/.base").unlink()
    shutil.rmtree(checkout.dir / "build/venv/lib")
    assert checkout.run_setup("--bench") == (0, "setup: ready\n")
    python = checkout.dir / "build/venv/bin/python"
    found = subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False)
    assert found.returncode == 0


def test_environment_of_a_moved_checkout_is_rebuilt(checkout: Checkout) -> None:
    assert checkout.run_setup("--bench")[0] == 0
    checkout.dir = checkout.dir.rename(checkout.dir.with_name("moved"))
    assert checkout.run_setup("--bench") == (0, "setup: ready\n")
    activate = checkout.dir / "build/venv/bin/activate"
    assert str(checkout.dir / "build/venv") in activate.read_text()
    # A Python environment whose removal was interrupted is rebuilt, too.
    (checkout.dir / "build/venv/pyvenv.cfg").unlink()
    assert checkout.run_setup("--bench") == (0, "setup: ready\n")
    assert (checkout.dir / "build/venv/pyvenv.cfg").exists()


@pytest.mark.skipif(Path("/usr/sbin/sshd").exists(), reason="an SSH server is installed")
def test_incomplete_ssh_server_is_unpacked_again(checkout: Checkout) -> None:
    """The first of three packages has the program sshd, the others have its other files. pip has
    nothing to install."""
    assert checkout.run_setup("--bench")[0] == 0
    for name in ("requirements-fleet.txt", "build/venv/.fleet"):
        (checkout.dir / name).touch()
    program = f"""#!/bin/sh
mkdir -p "$3/usr/sbin"
: >"$3/usr/sbin/${{2##*/}}"
cp /bin/true "$3/usr/sbin/sshd"
[ ! -e "{checkout.state}/unpack.fail" ]
"""
    (checkout.state.parent / "bin" / "dpkg-deb").write_text(program)
    (checkout.state / "unpack.fail").touch()
    assert checkout.run_setup("--fleet")[0] == 1
    (checkout.state / "unpack.fail").unlink()
    assert checkout.run_setup("--fleet")[0] == 0
    server = checkout.dir / "build/fleet/sshd/usr/sbin"
    assert len(list(server.glob("openssh-*.deb"))) == 2
    assert checkout.run_setup("--fleet") == (0, "setup: ready\n")


@pytest.mark.long
def test_linters_are_reinstalled_for_another_path_or_python(checkout: Checkout) -> None:
    pytest.importorskip("ensurepip", reason="needs python3-venv")
    (checkout.dir / "requirements.txt").write_text("# nothing\n")
    installing = "setup: installing linters into build/lint\n"
    assert installing in checkout.run_setup("--lint")[1]
    assert checkout.run_setup("--lint") == (0, "setup: ready\n")
    checkout.dir = checkout.dir.rename(checkout.dir.with_name("moved"))
    assert checkout.run_setup("--lint") == (0, f"{installing}setup: ready\n")
    assert checkout.run_setup("--lint") == (0, "setup: ready\n")
    # The linters of another checkout are used through a link if they fit, and are never changed.
    lint, other = checkout.dir / "build/lint", checkout.dir.with_name("lint")
    lint.rename(other)
    lint.symlink_to(other)
    marker = other / ".requirements"
    marker.write_text(marker.read_text().replace(str(lint), str(other)))
    assert checkout.run_setup("--lint") == (0, "setup: ready\n")
    script = checkout.dir / "scripts/setup"
    script.write_text(script.read_text().replace("*sys.version_info[:2]", "2, 7"))
    assert checkout.run_setup("--lint") == (0, f"{installing}setup: ready\n")
    assert checkout.run_setup("--lint") == (0, "setup: ready\n")
    assert (other / "bin/python").exists() and not lint.is_symlink()


def test_an_interrupted_dpkg_is_completed(checkout: Checkout) -> None:
    said = "E: dpkg was interrupted, you must manually run 'dpkg --configure -a'"
    (checkout.state / "install.fail").write_text(f"{said}\n")
    assert checkout.run_setup("--bench")[0] == 0
    assert checkout.log == ["update", "install", "configure", "install", "download"]


def test_full_disk_error_of_apt_is_printed(checkout: Checkout) -> None:
    full = "E: You don't have enough free space in /var/cache/apt/archives/."
    (checkout.state / "install.fail").write_text(f"reading\n{full}\n")
    code, said = checkout.run_setup("--bench")
    assert code == 1
    assert f"failed: {full}\n" in said
    assert "ready" not in said


def test_unreadable_package_lists_give_only_a_warning(checkout: Checkout) -> None:
    (checkout.state / "update.fail").write_text("E: x  404  Not Found\n")
    code, said = checkout.run_setup("--bench")
    assert code == 0
    assert "some package lists could not be read: E: x  404  Not Found" in said


def test_setup_succeeds_without_peers(checkout: Checkout) -> None:
    """If the peers (other tracers) cannot be downloaded, setup prints the reason and succeeds. The
    next run downloads the peers."""
    fail = checkout.state / "download.fail"
    fail.write_text("E: Unable to fetch some archives\n")
    code, said = checkout.run_setup("--bench")
    assert (code, said.splitlines()[-1]) == (0, "setup: ready")
    out = "LTTng-UST and sys/sdt.h are left out of the comparison: E: Unable to fetch some archives"
    assert f"setup: {out}\n" in said
    assert not list((checkout.dir / "build").glob("peers*"))
    fail.unlink()
    assert checkout.run_setup("--bench") == (0, f"{PEERS}setup: ready\n")
    assert (checkout.dir / "build/peers/usr/lib").is_dir()
    assert checkout.run_setup("--bench") == (0, "setup: ready\n")


def test_installed_peers_are_not_unpacked(checkout: Checkout) -> None:
    for name in ("liblttng-ust-dev", "lttng-tools", "systemtap-sdt-dev"):
        (checkout.state / name).touch()
    code, said = checkout.run_setup("--bench")
    assert code == 0 and PEERS not in said
    assert not (checkout.dir / "build/peers").exists()


def test_a_second_setup_waits_for_the_first(checkout: Checkout) -> None:
    gate = checkout.state / "install.wait"
    os.mkfifo(gate)
    with checkout.start_setup("--bench") as first:
        with gate.open("w"):  # open() returns when the first setup opens the FIFO
            second = checkout.start_setup("--bench")
            assert second.stdout is not None
            assert "waiting until another scripts/setup" in second.stdout.readline()
            gate.unlink()
        said, _ = second.communicate()
        first.communicate()
    assert (first.returncode, second.returncode) == (0, 0)
    assert said == "setup: ready\n"
    assert checkout.log == ["update", "install", "download"]


def test_without_root_missing_packages_are_listed(checkout: Checkout) -> None:
    (checkout.dir / "build").mkdir()
    (checkout.dir / "build").chmod(0o777)
    for path in checkout.dir.parents[:3]:
        path.chmod(path.stat().st_mode | 0o055)
    for name in ("gcc", "libc6-dev", "make", "python3"):
        (checkout.state / name).touch()
    code, said = checkout.run_setup("--native", who=tuple(USER))
    asked = "apt-get install python3-numpy python3-matplotlib"
    assert (code, said) == (2, f"setup: packages are missing; run as root: {asked}\n")
    assert not (checkout.state / "log").exists()
    assert (checkout.dir / "build/venv/.base").exists()


def test_setup_reports_an_unwritable_directory(checkout: Checkout) -> None:
    for path in checkout.dir.parents[:3]:
        path.chmod(path.stat().st_mode | 0o055)
    code, said = checkout.run_setup("--bench", who=tuple(USER))
    assert code == 2
    assert said.startswith(f"setup: {checkout.dir}/build cannot be written to:")
    assert not (checkout.dir / "build").exists()


def test_setup_on_a_full_disk_prints_one_line(checkout: Checkout) -> None:
    for name in ("gcc", "libc6-dev", "make", "python3", "python3-numpy"):
        (checkout.state / name).touch()
    for name in ("mount", "busybox-static", "xz-utils", "python3-matplotlib"):
        (checkout.state / name).touch()
    script = (
        'mkdir "$1/build" && mount -t tmpfs -o size=64k tmpfs "$1/build" || exit 77\n'
        'cat /dev/zero >"$1/build/fill" 2>/dev/null\n"$1/scripts/setup" --bench'
    )
    words = ("unshare", "--mount", "sh", "-c", script, "sh", str(checkout.dir))
    done = subprocess.run(words, env=checkout.env, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("this environment does not permit mounting a tmpfs")
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    shutil.rmtree(checkout.dir / "build")
    assert checkout.run_setup("--bench") == (0, f"{PEERS}setup: ready\n")


def test_setup_refuses_an_unknown_option(checkout: Checkout) -> None:
    assert checkout.run_setup("--brench") == (2, "setup: unknown option '--brench'\n")
    assert not (checkout.dir / "build").exists()
