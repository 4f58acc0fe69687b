# SPDX-License-Identifier: GPL-2.0-only
"""kmbench as a user meets it: what it prints, writes and says of what is missing."""

from __future__ import annotations

import errno
import os
import pty
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT
from kmtools.measure import collect

NATIVE = ROOT / "build" / "native"
KMBENCH = NATIVE / "kmbench"
EXIT_USAGE, EXIT_SKIP, EXIT_INTERRUPTED = 2, 4, 130


@pytest.fixture(autouse=True, scope="module")
def _built() -> None:
    """Everything these tests run."""
    programs = [str(NATIVE / name) for name in ("kmbench", "kmbench-no-tsc", "test", "deny")]
    subprocess.run(["make", "-s", "-C", str(ROOT / "native"), *programs], check=True)


def run(*words: object, one_cpu: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, on one CPU if so wished."""
    text = [str(word) for word in words]
    if one_cpu:
        text = ["taskset", "1", *text]
    return subprocess.run(text, capture_output=True, text=True, timeout=60, check=False)


def kmbench(*words: object) -> subprocess.CompletedProcess[str]:
    """Run kmbench."""
    return run(KMBENCH, *words)


def denied(what: str, *words: object, one_cpu: bool = False) -> subprocess.CompletedProcess[str]:
    """Run kmbench where something is refused."""
    return run(NATIVE / "deny", what, "--", KMBENCH, *words, one_cpu=one_cpu)


def env_of(directory: Path) -> dict[str, str]:
    """The env file of a run."""
    return collect.read_key_values(directory / "env")


def test_list_names_groups_and_variants() -> None:
    """One line for each benchmark, baseline first."""
    done = kmbench("list")
    assert done.returncode == 0
    lines = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert lines["empty-loop"].split()[:2] == ["none", "none-clone"]
    assert "marker-jump-on" in lines["empty-loop-peers"].split()


def test_a_run_can_be_collected(tmp_path: Path) -> None:
    """Samples and env of every benchmark named, with core cycles in every window."""
    done = kmbench("run", "-b", 8, "-o", tmp_path / "raw", "empty-loop", "memcpy-4096")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    raw = collect.load_raw("native", tmp_path / "raw")
    assert {row.benchmark for row in raw.rows} == {"empty-loop", "memcpy-4096"}
    assert env_of(tmp_path / "raw")["cycles"] in ("counted", "estimated")
    for row in raw.rows:
        assert 0.05 < (row.core_cycles or 0) / row.value < 20


def test_the_order_depends_on_the_seed_alone(tmp_path: Path) -> None:
    """The same seed, the same order of variants."""
    orders = []
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        kmbench("run", "-b", 8, "-s", seed, "-o", tmp_path / name, "empty-loop")
        rows = collect.load_raw("native", tmp_path / name).rows
        orders.append([(row.variant, row.layout, row.loops) for row in rows])
    assert orders[0] == orders[1] != orders[2]


@pytest.mark.parametrize(
    "words",
    [
        ("nothing",),
        (),
        ("run", "no-such-benchmark"),
        ("run", "start"),
        ("run", "-b", "0"),
        ("run", "-b", "100001"),
        ("run", "-b", "ten"),
        ("run", "-c", "-1"),
        ("run", "-c", "1023", "empty-loop"),
        ("run", "--frequently"),
        ("list", "all"),
        ("env", "extra"),
        ("--help", "more"),
    ],
)
def test_wrong_arguments_are_refused(words: tuple[str, ...]) -> None:
    """Exit code 2 and a word on stderr."""
    done = kmbench(*words)
    assert done.returncode == EXIT_USAGE
    assert done.stderr
    assert done.stdout == ""


def test_help_is_no_error() -> None:
    """The usage, where it can be read page by page."""
    done = kmbench("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: kmbench list")
    assert done.stderr == ""


@pytest.mark.parametrize(
    "words", [("--help",), ("list",), ("env",), ("run", "-b", "2", "empty-loop")]
)
def test_a_full_device_is_a_failure(words: tuple[str, ...]) -> None:
    """Exit code 1 and a word on stderr, whatever was to be printed."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [str(KMBENCH), *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert "standard output: not written: No space left on device" in done.stderr


@pytest.mark.parametrize("words", [("list",), ("env",), ("run", "-b", "2", "empty-loop")])
def test_a_closed_output_is_a_failure(words: tuple[str, ...]) -> None:
    """What the program opens for itself does not stand in for it."""
    done = run("sh", "-c", 'exec "$0" "$@" >&-', KMBENCH, *words)
    assert done.returncode == 1
    assert "standard output: not written: Bad file descriptor" in done.stderr


@pytest.mark.parametrize(("name", "blocks"), [("env", 2), ("empty-loop.csv", 2000)])
def test_files_on_a_full_device_are_a_failure(name: str, blocks: int, tmp_path: Path) -> None:
    """Also where more is written than fits a buffer."""
    (tmp_path / name).symlink_to("/dev/full")
    done = kmbench("run", "-b", blocks, "-o", tmp_path, "empty-loop")
    assert done.returncode == 1
    assert f"{name.removesuffix('.csv')}: not written" in done.stderr


def test_where_nothing_can_be_written_nothing_is_measured(tmp_path: Path) -> None:
    """Not even the first benchmark."""
    place = tmp_path / "file"
    place.touch()
    done = kmbench("run", "-b", 2, "-o", place, "empty-loop")
    assert done.returncode == 1
    assert f"{place}/env: Not a directory" in done.stderr
    assert "windows" not in done.stderr


def test_progress_is_shown_on_a_terminal() -> None:
    """A share that grows, on one line."""
    main, other = pty.openpty()
    words = [str(KMBENCH), "run", "-b", "10000", "empty-loop", "memcpy-4096"]
    with subprocess.Popen(words, stderr=other, stdout=subprocess.DEVNULL) as process:
        os.close(other)
        shown = b""
        while True:
            try:
                piece = os.read(main, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    os.close(main)
    assert process.returncode == 0
    done = [int(n) for n in re.findall(rb"\[2/2\] memcpy-4096: (\d+) of \d+ windows", shown)]
    assert len(done) > 2
    assert done == sorted(done)
    assert done[-1] > done[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_keeps_complete_blocks(tmp_path: Path, number: signal.Signals) -> None:
    """Exit code 130, and files that can be collected."""
    words = [str(KMBENCH), "run", "-b", "100000", "-o", str(tmp_path / "raw"), "memcpy-4096"]
    # Whoever runs the tests may have it ignored.
    words = ["env", "--default-signal", *words]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(1)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == EXIT_INTERRUPTED
    assert "interrupted" in said
    assert collect.load_raw("native", tmp_path / "raw").rows


def test_a_lost_terminal_ends_no_run_under_nohup(tmp_path: Path) -> None:
    """An ignored SIGHUP stays ignored."""
    raw = tmp_path / "raw"
    words = ["nohup", str(KMBENCH), "run", "-b", "2000", "-o", str(raw), "memcpy-4096"]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        while not (raw / "env").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
    assert process.returncode == 0


def test_a_directory_with_a_run_is_refused(tmp_path: Path) -> None:
    """Its samples would be taken for the new run's."""
    raw = tmp_path / "raw"
    assert run(KMBENCH, "run", "-b", 2, "-o", raw, "empty-loop").returncode == 0
    before = (raw / "env").read_text()
    done = run(KMBENCH, "run", "-b", 2, "-o", raw, "memcpy-4096")
    assert done.returncode == 1
    assert "holds another run" in done.stderr
    assert (raw / "env").read_text() == before
    assert not list(raw.glob("memcpy*"))


@pytest.mark.parametrize(
    ("what", "named"),
    [
        (f"membarrier={errno.ENOSYS}", "membarrier(2) with sync-core"),
        (f"membarrier={errno.EINVAL}", "membarrier(2) with sync-core"),
        (f"mremap={errno.EPERM}", "shared memory"),
    ],
)
def test_without_live_patching_all_is_skipped(what: str, named: str, tmp_path: Path) -> None:
    """Exit code 4, the reason and what is skipped."""
    done = denied(what, "run", "-b", 2, "-o", tmp_path / "raw", "empty-loop")
    assert done.returncode == EXIT_SKIP
    assert named in done.stderr
    assert "SKIP all benchmarks" in done.stderr
    assert not (tmp_path / "raw").exists()


def test_without_membarrier_the_tests_are_skipped() -> None:
    """As KTAP says it."""
    done = run(NATIVE / "deny", f"membarrier={errno.ENOSYS}", "--", NATIVE / "test", 10)
    assert done.returncode == EXIT_SKIP
    assert "1..0 # SKIP" in done.stdout


def test_refused_affinity_is_named(tmp_path: Path) -> None:
    """Not pinned, and said so; but a CPU that was asked for is an error."""
    what = f"sched_setaffinity={errno.EPERM}"
    done = denied(what, "run", "-b", 2, "-o", tmp_path / "raw", "empty-loop")
    assert done.returncode == 0
    assert "SKIP pinning" in done.stderr
    done = denied(what, "run", "-b", 2, "-c", 0, "empty-loop")
    assert done.returncode == EXIT_USAGE


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (errno.EACCES, "perf_event_paranoid"),
        (errno.ENOENT, "no hardware counter"),
        (errno.ENOSYS, "not implemented"),
    ],
)
def test_without_perf_events_cycles_are_estimated(error: int, why: str, tmp_path: Path) -> None:
    """The reason on stderr, the word in env."""
    raw = tmp_path / "raw"
    done = denied(f"perf_event_open={error}", "run", "-b", 2, "-o", raw, "empty-loop")
    assert done.returncode == 0
    assert "core cycles are estimated" in done.stderr
    assert why in done.stderr
    assert env_of(raw)["cycles"] == "estimated"


def test_without_an_invariant_tsc_its_frequency_is_skipped(tmp_path: Path) -> None:
    """Named once, left out of env, and the samples are as good as ever."""
    raw = tmp_path / "raw"
    done = run(NATIVE / "kmbench-no-tsc", "run", "-b", 2, "-o", raw, "empty-loop")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("SKIP tsc_khz") == 1
    assert "without an invariant TSC" in done.stderr
    env = env_of(raw)
    assert env["invariant_tsc"] == "0"
    assert "tsc_khz" not in env
    assert collect.load_raw("native", raw).rows


def test_an_invariant_tsc_has_a_frequency(tmp_path: Path) -> None:
    """Where /proc/cpuinfo says that there is one."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    if "nonstop_tsc" not in flags:
        pytest.skip("the TSC of this CPU is not invariant")
    done = kmbench("run", "-b", 2, "-o", tmp_path / "raw", "empty-loop")
    assert "SKIP tsc_khz" not in done.stderr
    env = env_of(tmp_path / "raw")
    assert env["invariant_tsc"] == "1"
    assert int(env["tsc_khz"]) > 100_000


def test_a_single_cpu_has_no_bystander() -> None:
    """A benchmark that needs another CPU is passed over; alone it is all there is to skip."""
    done = run(KMBENCH, "run", "-b", 1, "arm-stall", one_cpu=True)
    assert done.returncode == EXIT_SKIP
    assert done.stderr.count("no second CPU") == 1
    assert "arm-stall: SKIP, no second CPU can be had for its bystander\n" in done.stderr
    done = run(KMBENCH, "run", "-b", 1, "empty-loop", "arm-stall", one_cpu=True)
    assert done.returncode == 0
    assert done.stderr.count("no second CPU") == 1


def test_where_nothing_can_be_kept_to_a_cpu_there_is_no_bystander() -> None:
    """However many there are."""
    done = denied(f"sched_setaffinity={errno.EPERM}", "run", "-b", 1, "arm-stall")
    assert done.returncode == EXIT_SKIP
    assert "SKIP pinning" in done.stderr
    assert "no second CPU can be had" in done.stderr


def test_a_single_cpu_has_no_storms() -> None:
    """Each storm is skipped by name."""
    done = run(NATIVE / "test", 10, "storm", one_cpu=True)
    results = [line for line in done.stdout.splitlines() if line.startswith(("ok", "not ok"))]
    assert results
    assert all("# SKIP one CPU" in line for line in results)


def test_a_missing_peer_is_named(tmp_path: Path) -> None:
    """With the package to install; the rows of others stay."""
    program = tmp_path / "kmbench"
    program.write_bytes(KMBENCH.read_bytes())
    program.chmod(0o755)
    done = run(program, "list")
    assert "SKIP peer-sdt" in done.stderr
    assert "systemtap-sdt-dev" in done.stderr
    assert "liblttng-ust-dev" in done.stderr
    assert "empty-loop-peers: none none-clone marker-jump-off marker-jump-on\n" in done.stdout


PEERS = {"lttng-ust": "liblttng-ust-dev", "sdt": "systemtap-sdt-dev"}


@pytest.fixture(params=PEERS)
def peer(request: pytest.FixtureRequest) -> str:
    """The name of a peer whose package is here."""
    name: str = request.param
    built = NATIVE / f"peer-{name}.so"
    subprocess.run(["make", "-s", "-C", str(ROOT / "native"), "peers"], check=True)
    if not built.exists():
        pytest.skip(f"{built.name} is not built: apt-get install {PEERS[name]}")
    return f"peer-{name}"


def test_a_peer_is_listed(peer: str) -> None:
    """With both of its rows, and nothing said to be missing."""
    done = kmbench("list")
    lines = dict(line.split(":", 1) for line in done.stdout.splitlines())
    rows = lines["empty-loop-peers"].split()
    assert rows[rows.index(f"{peer}-off") + 1] == f"{peer}-on"
    assert f"SKIP {peer}:" not in done.stderr


def test_a_peer_is_measured(peer: str, tmp_path: Path) -> None:
    """Off in any case; on, or the reason why not."""
    raw = tmp_path / "raw"
    done = kmbench("run", "-b", 2, "-o", raw, "empty-loop-peers")
    assert done.returncode == 0, done.stderr
    measured = {row.variant for row in collect.load_raw("native", raw).rows}
    assert f"{peer}-off" in measured
    skipped = re.search(rf"^kmbench: SKIP {peer}-on: \S.*$", done.stderr, re.MULTILINE)
    assert (f"{peer}-on" in measured) == (skipped is None)


def test_a_peer_that_cannot_be_on_is_named(peer: str, tmp_path: Path) -> None:
    """Without perf events, and without the tracer's command."""
    raw = tmp_path / "raw"
    words = ["env", "PATH=/nowhere", NATIVE / "deny", f"perf_event_open={errno.EACCES}", "--"]
    done = run(*words, KMBENCH, "run", "-b", 2, "-o", raw, "empty-loop-peers")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"kmbench: SKIP {peer}-on: ") == 1
    measured = {row.variant for row in collect.load_raw("native", raw).rows}
    assert f"{peer}-off" in measured
    assert f"{peer}-on" not in measured


def interrupted_at_a_terminal(raw: Path) -> None:
    """Run the peers until there are samples; then a signal to all of the group, as of Ctrl-C."""
    words = [str(KMBENCH), "run", "-b", "100000", "-o", str(raw), "empty-loop-peers"]
    main, other = pty.openpty()
    with subprocess.Popen(words, stderr=other, start_new_session=True) as process:
        os.close(other)
        shown = b""
        while not re.search(rb": \d{3,} of", shown):
            shown += os.read(main, 4096)
        os.killpg(process.pid, signal.SIGINT)
    os.close(main)
    assert process.returncode == EXIT_INTERRUPTED


def test_an_interruption_leaves_the_tracer_on(tmp_path: Path) -> None:
    """As long as there are blocks that are kept: no window of the peer is as short as when off."""
    if not (NATIVE / "peer-lttng-ust.so").exists() or not shutil.which("lttng-sessiond"):
        pytest.skip("no LTTng-UST to be on (apt-get install liblttng-ust-dev lttng-tools)")
    for attempt in range(5):
        raw = tmp_path / str(attempt)
        interrupted_at_a_terminal(raw)
        rows = collect.load_raw("native", raw).rows
        on = [row.value for row in rows if row.variant == "peer-lttng-ust-on"]
        off = [row.value for row in rows if row.variant == "peer-lttng-ust-off"]
        assert min(on) > 10 * sorted(off)[len(off) // 2]
