# SPDX-License-Identifier: GPL-2.0-only
"""Tests of running commands in minimal Debian systems (roots): steps, stored times, and removal."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from kmtools.base.errors import UnableError
from kmtools.cli import main
from kmtools.commands import publish
from kmtools.lab import bareroot
from kmtools.lab.bareroot import Root
from kmtools.suites import dkms, fresh

ROOT = Path(__file__).resolve().parents[2]
README = """\
## Two commands

Words.

    apt-get install git make
    git clone <this repository> kmarkers && cd kmarkers
    make bench
    make check

More words.

    make other

## Next
"""
# A program that starts a command in the root file system argv[1] and waits for the end of the
# command.
HOLD = """
import sys
from pathlib import Path
from kmtools.lab import bareroot
root = bareroot.Root(Path(sys.argv[1]), None, None)
process = bareroot.start_command_in_root(root, "echo in; sleep 600", {})
print(process.stdout.readline().decode(), flush=True)
process.wait()
"""


def test_steps_in_a_root_are_the_commands_of_the_readme() -> None:
    steps = fresh.make_steps_of_root_user(fresh.read_readme_commands(README))
    assert [(step.name, step.command) for step in steps] == [
        ("install", "apt-get install git make"),
        ("clone", f"git clone {fresh.SOURCE} kmarkers && cd kmarkers"),
        ("bench", "cd kmarkers && make bench"),
        ("check", "cd kmarkers && make check"),
    ]
    real = fresh.read_readme_commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [step.name for step in fresh.make_steps_of_root_user(real)] == [
        step.name for step in steps
    ]


def test_contributing_md_has_lines_around_the_table_of_times() -> None:
    text = fresh.TIMES_PAGE.read_text(encoding="utf-8")
    assert text.count(fresh.BEGIN) == text.count(fresh.END) == 1
    assert text.index(fresh.BEGIN) < text.index(fresh.END)


def test_user_steps_run_before_and_after_root_installs_packages() -> None:
    steps = fresh.make_steps_of_ordinary_user(fresh.read_readme_commands(README))
    assert [(step.name, step.user) for step in steps] == [
        *(("install", False), ("clone", True), ("bare-bench", True), ("install-missing", False)),
        *(("bench", True), ("check", True)),
    ]


@pytest.mark.parametrize(
    ("step", "step_output", "good"),
    [
        ("check", "[1/8] native\n99 passed, 0 failed, 2 skipped\nmake: [check] Error 2\n", True),
        ("check", "[1/8] native\n99 passed, 1 failed, 2 skipped\nmake: [check] Error 1\n", False),
        ("check", "[1/8] native\n0 passed, 0 failed, 9 skipped\nmake: [check] Error 2\n", False),
        ("bench", "native: table\nmake: [bench] Error 2\n", True),
        ("bench", "native failed\nmake: [bench] Error 1\n", False),
    ],
)
def test_user_step_may_lack_packages_but_may_not_fail(
    step: str, step_output: str, good: bool
) -> None:
    steps = {
        step.name: step
        for step in fresh.make_steps_of_ordinary_user(fresh.read_readme_commands(README))
    }
    assert bool(re.search(steps[step].says, step_output)) == good


def test_only_times_of_passed_steps_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_command_outside_root(root: Root, command: str, *_: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE)

    monkeypatch.setattr(fresh, "WORK", tmp_path)
    monkeypatch.setattr(bareroot, "start_command_in_root", start_command_outside_root)
    for variables, name in (({}, "a"), ({"QUICK": "1"}, "a-quick")):
        session = fresh.RootSession("a", Root(tmp_path, None, None), variables)
        assert fresh.run_step_in_root(session, fresh.Step("good", "echo setup: ready"))
        assert not fresh.run_step_in_root(session, fresh.Step("bad", "echo setup: ready; exit 1"))
        assert set(session.times) == {"good", "good set-up"}
        assert session.stored_times_key == name


@pytest.mark.parametrize(
    ("script_output", "exit_code", "failed"),
    [
        ("ok a: builds", 0, []),
        ("ok a: builds; FAILED b: error", 1, ["b: error"]),
        ("ok a: builds", 1, ["s-packages: exit code 1, not 0; see LOG"]),
        ("SKIP a: no", 0, ["no package builds with markers"]),
    ],
)
def test_dkms_script_that_ends_early_is_a_failure(
    script_output: str,
    exit_code: int,
    failed: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start_command_outside_root(_: Root, command: str, *__: object) -> subprocess.Popen[bytes]:
        lines = script_output.replace("; ", "\n") if "build.sh" in command else "x"
        words = ["sh", "-c", f"echo '{lines}'; exit {exit_code if 'build.sh' in command else 0}"]
        return subprocess.Popen(words, stdout=subprocess.PIPE)

    monkeypatch.setattr(fresh, "WORK", tmp_path)
    monkeypatch.setattr(bareroot, "start_command_in_root", start_command_outside_root)
    monkeypatch.setattr(dkms, "find_compiler_package", lambda _: "gcc-12")
    monkeypatch.setattr(dkms, "translate_path_into_root", str)
    (tmp_path / "root" / "out").mkdir(parents=True)
    session = fresh.RootSession("s", Root(tmp_path, None, None), {})
    kernel = SimpleNamespace(name="6.1", tree=tmp_path)
    tally = dkms.build_dkms_packages(kernel, session, tmp_path / "out", [])  # type: ignore[arg-type]
    log = str(tmp_path / "s-packages.log")
    assert tally.failed == [why.replace("LOG", log) for why in failed]
    assert (tally.passed > 0) == ("ok" in script_output)


def test_fresh_refuses_a_readme_without_commands() -> None:
    with pytest.raises(UnableError, match="no block of commands"):
        fresh.read_readme_commands("# x\n\n## Two commands\n\nNone.\n\n    make bench\n")


def test_install_command_is_found_in_setup_output() -> None:
    said = "setup: packages are missing; run as root: apt-get install gcc libc6-dev g++\nend\n"
    assert fresh.INSTALL_COMMAND.findall(said) == ["apt-get install gcc libc6-dev g++"]


def test_step_times_are_stored_and_written_to_the_table(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "   1.5  [1/6] building\n"
        "  42.1  setup: ready\n"
        "  80.0  A dormant marker costs 0.1 core cycles in hot code.\n"
        "  99.0  A dormant marker costs 0.1 core cycles in hot code.\n"
    )
    marks = fresh.find_milestone_seconds(log)
    assert marks == {"set-up": 42.1, "native": 80.0}
    record = tmp_path / "times.json"
    fresh.add_step_times(record, "a", {"clone": 2.0, "check": 400.0})
    fresh.add_step_times(record, "a", {"bench": 130.04, "bench set-up": 42.1, "bench native": 80.0})
    assert json.loads(record.read_text())["a"]["bench"] == 130.0
    page = tmp_path / "CONTRIBUTING.md"
    page.write_text(f"before\n{fresh.BEGIN}\nold\n{fresh.END}\nafter\n")
    fresh.replace_times_table(page, record, {"a": "Debian A", "b": "Debian B"})
    text = page.read_text()
    assert "| Debian A | 42 s | 82 s | 2 min 10 s | 6 min 40 s |" in text
    assert "old" not in text and "Debian B" not in text
    assert text.startswith("before\n") and text.endswith("\nafter\n")
    fresh.replace_times_table(page, record, {"a": "Debian A"})
    assert page.read_text() == text
    page.write_text("no table\n")
    with pytest.raises(UnableError, match="has no lines"):
        fresh.replace_times_table(page, record, {})


def test_publish_times_writes_the_table_in_contributing_md(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fresh.TIMES_PAGE == ROOT / "CONTRIBUTING.md"
    page = tmp_path / "CONTRIBUTING.md"
    page.write_text(f"{fresh.BEGIN}\n{fresh.END}\n")
    monkeypatch.setattr(fresh, "TIMES_PAGE", page)
    monkeypatch.setattr(fresh, "WORK", tmp_path)
    fresh.add_step_times(tmp_path / "times.json", "trixie", {"check": 400.0})
    assert main(["publish", "times"]) == 0
    assert "| Debian 13 | - | - | - | 6 min 40 s |" in page.read_text()


def test_every_document_of_publish_has_a_function_that_writes_it() -> None:
    for place in publish.WRITERS.values():
        module, _, function = place.partition(":")
        assert callable(getattr(import_module(module), function))


def test_network_settings_are_passed_to_commands_in_a_root(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("https_proxy", "proxy:1")
    monkeypatch.setenv("PIP_INDEX_URL", "index:1")
    monkeypatch.setenv("PIP_FIND_LINKS", "/of/this/machine")
    found = bareroot.select_network_variables()
    assert found["https_proxy"] == "proxy:1"
    assert found["PIP_INDEX_URL"] == "index:1"
    assert "PIP_FIND_LINKS" not in found
    kept = 'Acquire::http::Proxy "p";', 'Acquire::Check-Date "false";'
    assert all(bareroot.NETWORK.match(line) for line in kept)
    others = 'Acquire::http::Proxy-Auto-Detect "x";', 'DPkg::Post-Invoke "x";'
    assert not any(bareroot.NETWORK.match(line) for line in others)


class FakeDebianMirror:
    """A mirror with one source list, which replaces the result of find_debian_mirror()."""

    def list_apt_source_lists(self, suite: str) -> list[list[str]]:
        """Return the lines of sources.list."""
        return [[f"deb mirror://m {suite} main"]]


@pytest.fixture
def busybox_root(tmp_path: Path) -> Root:
    """Make a root file system that contains only busybox."""
    busybox = shutil.which("busybox")
    if os.geteuid() != 0 or busybox is None:
        pytest.skip("a root file system for tests needs root and busybox-static")
    path = tmp_path / "tiny"
    for name in ("bin", "usr/bin", "proc", "sys", "dev", "root", "srv/cache"):
        (path / name).mkdir(parents=True)
    shutil.copy(busybox, path / "bin/busybox")
    for name in ("bin/sh", "bin/sleep", "bin/cat", "bin/ls", "usr/bin/env"):
        (path / name).symlink_to("/bin/busybox")
    return Root(path, None, None)


def run_in_root(root: Root, command: str) -> str:
    """Run a command in a minimal root file system; return the output of the command."""
    with bareroot.start_command_in_root(root, command, {"QUICK": "1"}) as process:
        assert process.stdout is not None
        return process.stdout.read().decode()


def test_command_in_a_root_sees_only_its_root_and_its_processes(busybox_root: Root) -> None:
    said = run_in_root(busybox_root, "echo $QUICK $HOME; ls -d /proc/[0-9]* | cat; ls /bin")
    assert said.splitlines()[0] == "1 /root"
    assert len([line for line in said.splitlines() if line.startswith("/proc/")]) < 8
    assert "busybox" in said


def test_proxy_password_is_not_on_a_command_line(
    busybox_root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "s3cret")
    said = run_in_root(busybox_root, "echo $https_proxy; cat /proc/[0-9]*/cmdline")
    assert said.count("s3cret") == 1
    assert "s3cret" not in str(busybox_root.make_command_line("true", as_user=False))


def test_writes_of_a_command_in_a_root_do_not_change_the_cache(
    busybox_root: Root, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "kernel").write_text("as it was\n")
    root = Root(busybox_root.path, None, cache)
    said = run_in_root(
        root, "cd $KMARKERS_CACHE; cat kernel; echo changed >kernel; cat kernel; >new"
    )
    assert said == "as it was\nchanged\n"
    assert (cache / "kernel").read_text() == "as it was\n"
    assert [path.name for path in cache.iterdir()] == ["kernel"]
    root.remove_root_and_overlay()
    assert not any(tmp_path.glob("tiny*"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed_command_leaves_no_process_and_mount(
    busybox_root: Root, number: signal.Signals
) -> None:
    # Child processes inherit ignored signals, and pytest may have been started with SIGINT ignored.
    words = ["env", "--default-signal", sys.executable, "-c", HOLD, str(busybox_root.path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    with subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"in\n"
        inside = has_mount_below(busybox_root.path)
        holder.send_signal(number)
    assert inside, f"{busybox_root.path}: nothing was mounted there while the command ran"
    deadline = time.monotonic() + 20
    while has_mount_below(busybox_root.path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not has_mount_below(busybox_root.path)
    assert str(busybox_root.path) not in Path("/proc/self/mountinfo").read_text()
    busybox_root.remove_root_and_overlay()


def has_mount_below(path: Path) -> bool:
    """Return True if a mount below a path is in the mount namespace of any process."""
    for mounts in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            if f"{path.name} " in mounts.read_text() and str(path) in mounts.read_text():
                return True
        except OSError:
            continue
    return False


def test_incomplete_root_of_a_killed_run_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh, "WORK", tmp_path)
    for name in ("half", "half.cache", "busy", "times"):
        (tmp_path / name / "usr").mkdir(parents=True)
    for name in ("half", "busy"):
        (tmp_path / f"{name}.lock").touch()

    def raise_unable_error(suite: str, path: Path, with_cache: bool) -> Root:
        raise UnableError("no root today")

    monkeypatch.setattr(bareroot, "unpack_debian_root", raise_unable_error)
    with (tmp_path / "busy.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with (
            pytest.raises(UnableError, match="no root today"),
            fresh.unpack_temporary_root("new", False, True, {}),
        ):
            pass
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"busy", "times"}


def test_second_suite_waits_until_a_root_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two processes of a test run may run suites in roots of the same Debian release."""
    waits = threading.Event()
    monkeypatch.setattr("builtins.print", lambda *_, **__: waits.set())
    root = Root(tmp_path / "a", None, None)
    monkeypatch.setattr(fresh, "WORK", tmp_path)
    monkeypatch.setattr(fresh, "write_git_bundle", Path.touch)

    def unpack_fake_root(suite: str, path: Path, with_cache: bool) -> Root:
        (path / "srv").mkdir(parents=True)
        (path / "kept").touch()
        return root

    monkeypatch.setattr(bareroot, "unpack_debian_root", unpack_fake_root)

    def is_unpacked_root_unused() -> bool:
        with fresh.unpack_temporary_root("a", False, True, {}):
            return not (root.path / "used").exists()

    with ThreadPoolExecutor(1) as pool:
        with fresh.unpack_temporary_root("a", False, True, {}):
            (root.path / "used").touch()
            second = pool.submit(is_unpacked_root_unused)
            assert waits.wait(20)
            assert (root.path / "used").exists()
        assert second.result(20)
    assert not root.path.exists()


def test_bundle_is_written_while_another_run_removes_leftover_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git writes the bundle to a lock file first, and a killed git leaves this file."""
    (tmp_path / "a" / "srv").mkdir(parents=True)
    monkeypatch.setattr(fresh, "WORK", tmp_path)
    monkeypatch.setattr(bareroot, "unpack_debian_root", lambda *_: Root(tmp_path / "a", None, None))

    def write_bundle(words: list[str]) -> subprocess.CompletedProcess[str]:
        Path(words[-2]).touch()
        lock = Path(f"{words[-2]}.lock")
        lock.write_text("bundle")
        fresh.remove_leftover_roots()
        assert lock.read_text() == "bundle"
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(fresh, "capture_output", write_bundle)
    with fresh.unpack_temporary_root("a", False, True, {}) as session:
        assert (session.root.path / fresh.SOURCE[1:]).exists()


@pytest.mark.parametrize(("age", "anew"), [(60, False), (-86400, True), (8 * 86400, True)])
def test_old_root_tarball_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: int, anew: bool
) -> None:
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path / "cache"))
    made = []

    def make_fake_tarball(suite: str, path: Path, sources: list[str]) -> None:
        path.touch()
        made.append(suite)

    monkeypatch.setattr(bareroot, "_make_debian_root_tarball", make_fake_tarball)
    monkeypatch.setattr(bareroot, "find_debian_mirror", FakeDebianMirror)
    path = bareroot.ensure_debian_root_tarball("a")
    # A tarball that was written while the clock was wrong may have a date in the future.
    os.utime(path, (time.time() - age,) * 2)
    assert bareroot.ensure_debian_root_tarball("a") == path
    assert len(made) == 1 + anew
