# SPDX-License-Identifier: GPL-2.0-only
"""Tests of peers in kmbench: other tracers whose dormant probes are measured, too."""

from __future__ import annotations

import errno
import os
import pty
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT
from kmtools.measure import collect, rundir
from nativeprograms import (
    EXIT_INTERRUPTED,
    KMBENCH,
    NATIVE,
    build_native_targets,
    read_env_of_raw_folder,
    run_kmbench,
    run_program,
)

pytestmark = pytest.mark.usefixtures("native_programs")

PEERS = {
    "lttng-ust": "liblttng-ust-dev",
    "sdt": "systemtap-sdt-dev",
    "uprobe-optimised": "linux-libc-dev",
}


# Variants with only four copies of the code for all layouts, because removing a uprobe takes long.
FOUR_COPIES = {"peer-sdt-on", "peer-uprobe-optimised-on"}


def test_missing_peer_tracer_is_reported(tmp_path: Path) -> None:
    """If a peer (another tracer) is missing, a message names the packages to install, and the other
    variants are still listed."""
    program = tmp_path / "kmbench"
    program.write_bytes(KMBENCH.read_bytes())
    program.chmod(0o755)
    done = run_program(program, "list")
    assert "SKIP peer-sdt" in done.stderr
    assert "systemtap-sdt-dev" in done.stderr
    assert "liblttng-ust-dev" in done.stderr
    raw = tmp_path / "raw"
    run_program(program, "run", "-b", 2, "-o", raw, "empty-loop-peers")
    lacking = rundir.list_unmeasured_benchmarks([collect.load_raw_folder("native", raw).tier])
    for row in (f"peer-{name}-{state}" for name in PEERS for state in ("off", "on")):
        assert any(f"empty-loop-peers {row}: its package is missing" in line for line in lacking)
    own = "marker-jump-off marker-jump-on atomic-load-off atomic-load-on function-pointer-off"
    assert f"empty-loop-peers: none none-clone {own}\n" in done.stdout


def test_peers_are_loaded_only_for_their_benchmark(tmp_path: Path) -> None:
    """A run of other benchmarks prints no message about missing peers."""
    program = tmp_path / "kmbench"
    program.write_bytes(KMBENCH.read_bytes())
    program.chmod(0o755)
    done = run_program(program, "run", "-b", 2, "empty-loop", "memcpy-4096")
    assert done.returncode == 0, done.stderr
    assert "peer-" not in done.stderr


@pytest.fixture(name="peer", params=PEERS)
def build_or_skip_peer(request: pytest.FixtureRequest) -> str:
    """Return the name of a peer. Each test runs with each peer in turn, and is skipped for a peer
    whose package is missing."""
    name: str = request.param
    built = NATIVE / f"peer-{name}.so"
    build_native_targets("peers")
    if not built.exists():
        pytest.skip(f"{built.name} is not built: run scripts/setup, which unpacks {PEERS[name]}")
    return f"peer-{name}"


def test_enabled_and_disabled_variant_of_a_peer_are_listed(peer: str) -> None:
    """Both variants of a peer are listed, and no message says that the peer is missing."""
    done = run_kmbench("list")
    lines = dict(line.split(":", 1) for line in done.stdout.splitlines())
    rows = lines["empty-loop-peers"].split()
    assert rows[rows.index(f"{peer}-off") + 1] == f"{peer}-on"
    assert f"SKIP {peer}:" not in done.stderr


def test_enabled_peer_is_measured_or_has_a_reason(peer: str, tmp_path: Path) -> None:
    """kmbench measures the disabled probe of a peer, and measures the enabled probe or prints the
    reason for leaving out the enabled probe. The env file names variants whose layouts share
    code."""
    raw = tmp_path / "raw"
    done = run_kmbench("run", "-b", 2, "-o", raw, "empty-loop-peers")
    assert done.returncode == 0, done.stderr
    measured = {row.variant for row in collect.load_raw_folder("native", raw).rows}
    assert f"{peer}-off" in measured
    env = read_env_of_raw_folder(raw)
    assert (f"lacks:empty-loop-peers:{peer}-on" in env) == (f"{peer}-on" not in measured)
    few = {key.rpartition(":")[2]: number for key, number in env.items() if "layouts:" in key}
    assert few == dict.fromkeys(FOUR_COPIES & measured, "4")
    skipped = re.search(rf"^kmbench: SKIP {peer}-on: \S.*$", done.stderr, re.MULTILINE)
    assert (f"{peer}-on" in measured) == (skipped is None)


def test_peer_that_cannot_be_enabled_is_reported(peer: str, tmp_path: Path) -> None:
    """If perf_event_open() and wait4() fail, no peer can be enabled: kmbench reports the variant
    with the enabled probe as missing, and measures the variant with the disabled probe."""
    raw = tmp_path / "raw"
    denied = [f"{name}={errno.EACCES}" for name in ("perf_event_open", "wait4")]
    words = [NATIVE / "deny", *denied, "--"]
    done = run_program(*words, KMBENCH, "run", "-b", 2, "-o", raw, "empty-loop-peers")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"kmbench: SKIP {peer}-on: ") == 1
    measured = {row.variant for row in collect.load_raw_folder("native", raw).rows}
    assert f"{peer}-off" in measured
    assert f"{peer}-on" not in measured
    env = read_env_of_raw_folder(raw)
    assert (
        env[f"lacks:empty-loop-peers:{peer}-on"] and f"lacks:empty-loop-peers:{peer}-off" not in env
    )


ARMED_FOR_EVER = """
#include "peers/peer.h"
#include <stdlib.h>
BENCH_OPS(off, (void)0)
BENCH_OPS(on, (void)0)
static const char *switch_on(void) { abort(); }
const struct bench_peer bench_peer = {
	.off = BENCH_ROW("peer-sdt-off", off), .on = BENCH_ROW("peer-sdt-on", on),
	.switch_on = switch_on,
};
"""


def test_peer_that_cannot_be_disabled_is_not_enabled(tmp_path: Path) -> None:
    """If a peer cannot be disabled, kmbench reports the variant with the enabled probe as missing,
    and measures the variant with the disabled probe."""
    program, source = tmp_path / "bin" / "kmbench", tmp_path / "peer.c"
    program.parent.mkdir()
    program.write_bytes(KMBENCH.read_bytes())
    program.chmod(0o755)
    source.write_text(ARMED_FOR_EVER)
    flags = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-fPIC", "-shared"]
    folders = [f"-I{ROOT / name}" for name in ("native", "native/include", "include")]
    built = program.with_name("peer-sdt.so")
    subprocess.run(["gcc", *flags, *folders, "-o", built, source], check=True)
    raw = tmp_path / "raw"
    done = run_program(program, "run", "-b", 2, "-o", raw, "empty-loop-peers")
    assert done.returncode == 0, done.stderr
    measured = {row.variant for row in collect.load_raw_folder("native", raw).rows}
    assert "peer-sdt-off" in measured
    assert "peer-sdt-on" not in measured
    said = read_env_of_raw_folder(raw)["lacks:empty-loop-peers:peer-sdt-on"]
    assert said == "its probe cannot be disabled again"


def test_uprobe_counts_as_optimised_only_if_replaced_by_a_call(tmp_path: Path) -> None:
    """Only a uprobe that the kernel has replaced by a call is measured as an optimised uprobe."""
    raw = tmp_path / "raw"
    done = run_kmbench("run", "-b", 2, "-o", raw, "empty-loop-peers")
    assert done.returncode == 0, done.stderr
    release = tuple(int(word) for word in re.findall(r"\d+", os.uname().release)[:2])
    said = read_env_of_raw_folder(raw).get("lacks:empty-loop-peers:peer-uprobe-optimised-on", "")
    unable = "no permission to create uprobes", "this kernel has no uprobes for perf events"
    if said not in unable:
        assert (said == f"kernel {os.uname().release} does not optimise uprobes") == bool(said)
        assert release >= (6, 18) or said


def interrupt_kmbench(raw: Path, check_process: Callable[[int], object] = int) -> None:
    """Start kmbench, which measures the peers and writes samples to `raw`. When at least 100
    windows are measured, call `check_process` with the process ID of kmbench, and send SIGINT to
    the process group of kmbench, as Ctrl-C does."""
    words = [str(KMBENCH), "run", "-b", "100000", "-o", str(raw), "empty-loop-peers"]
    main, other = pty.openpty()
    with subprocess.Popen(words, stderr=other, start_new_session=True) as process:
        os.close(other)
        shown = b""
        while not re.search(rb": \d{3,} of", shown):
            shown += os.read(main, 4096)
        try:
            check_process(process.pid)
        finally:
            os.killpg(process.pid, signal.SIGINT)
    os.close(main)
    assert process.returncode == EXIT_INTERRUPTED


def is_lttng_command_running(parent_pid: int) -> bool:
    """Return True if a child of the process with the ID `parent_pid` is an lttng command."""
    children = (
        Path(f"/proc/{parent_pid}/task/{parent_pid}/children").read_text(encoding="ascii").split()
    )
    for child in children:
        try:
            command = Path(f"/proc/{child}/cmdline").read_text(encoding="utf-8")
        except OSError:
            continue  # The command has ended.
        if "--no-sessiond" in command:
            return True
    return False


def test_interruption_while_lttng_starts_ends_the_run(tmp_path: Path) -> None:
    """Ctrl-C during an lttng command interrupts kmbench, not the command: no line of the file env
    says that the tracer cannot be enabled."""
    if not (NATIVE / "peer-lttng-ust.so").exists():
        pytest.skip("LTTng-UST is missing: run scripts/setup, which unpacks it")
    words = ["env", "--default-signal", str(KMBENCH)]
    words += ["run", "-b", "2", "-o", str(tmp_path / "raw"), "empty-loop-peers"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True) as process:
        while process.poll() is None and not is_lttng_command_running(process.pid):
            pass
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == EXIT_INTERRUPTED
    assert not [name for name in read_env_of_raw_folder(tmp_path / "raw") if "lttng" in name]


def find_lttng_processes(ancestor_pid: int) -> list[int]:
    """Return the process IDs of the LTTng programs that are descendants of the process with the ID
    `ancestor_pid`."""
    found = []
    for child in (
        Path(f"/proc/{ancestor_pid}/task/{ancestor_pid}/children").read_text("ascii").split()
    ):
        if Path(f"/proc/{child}/comm").read_text("utf-8").startswith("lttng-"):
            found.append(int(child))
        found += find_lttng_processes(int(child))
    return found


def test_lttng_does_not_run_on_the_measured_cpu_only(tmp_path: Path) -> None:
    """The daemons of LTTng, and the threads of LTTng in kmbench, are not pinned to the measured
    CPU, where they would disturb the measurement, but may use all CPUs."""
    if not (NATIVE / "peer-lttng-ust.so").exists():
        pytest.skip("LTTng-UST is missing: run scripts/setup, which unpacks it")

    def require_all_cpus_for_lttng(kmbench_pid: int) -> None:
        processes = find_lttng_processes(kmbench_pid)
        threads = [int(path.name) for path in Path(f"/proc/{kmbench_pid}/task").iterdir()]
        # Only the main thread of kmbench, which measures, is pinned to a CPU.
        assert len(processes) > 1
        assert len(threads) > 1
        for other in {*processes, *threads} - {kmbench_pid}:
            assert os.sched_getaffinity(other) == os.sched_getaffinity(0)

    interrupt_kmbench(tmp_path / "raw", require_all_cpus_for_lttng)


@pytest.mark.long
def test_interruption_keeps_the_tracer_enabled_until_the_end(tmp_path: Path) -> None:
    """If kmbench is interrupted, the tracer stays enabled until the last block is stored: no pass
    is as short as with the tracer disabled."""
    if not (NATIVE / "peer-lttng-ust.so").exists():
        pytest.skip("LTTng-UST is missing: run scripts/setup, which unpacks it")
    for attempt in range(5):
        raw = tmp_path / str(attempt)
        interrupt_kmbench(raw)
        rows = collect.load_raw_folder("native", raw).rows
        on = [row.value / row.size for row in rows if row.variant == "peer-lttng-ust-on"]
        off = [row.value / row.size for row in rows if row.variant == "peer-lttng-ust-off"]
        assert min(on) > 10 * sorted(off)[len(off) // 2]
