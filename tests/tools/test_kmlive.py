# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the program kmlive without the module kmarkers_bench: FIFOs replace the module's files,
in a mount namespace and a network namespace of their own. The suites packets and bench of test
kernels have tests with the module, by which random mutants of kmlive are judged."""

from __future__ import annotations

import contextlib
import csv
import errno
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from nativeprograms import EXIT_USAGE, NATIVE, build_native_programs, run_program

KMLIVE = NATIVE / "kmlive"
CONTROL = Path("/sys/module/kmarkers_bench/parameters/control")
HITS = Path("/sys/kernel/debug/kmarkers/bench/hits")
# Runs a command in namespaces in which control and hits, two files of the module, are FIFOs in the
# directory $1.
ISOLATED = """
set -e
here=$1
shift
ip link set lo up
mount -t tmpfs tmpfs /sys/module
mount -t tmpfs tmpfs /sys/kernel/debug
mkdir -p /sys/module/kmarkers_bench/parameters /sys/kernel/debug/kmarkers/bench
ln -s "$here/control" /sys/module/kmarkers_bench/parameters/control
ln -s "$here/hits" /sys/kernel/debug/kmarkers/bench/hits
exec "$@"
"""
UNSHARE = ("unshare", "--map-root-user", "--mount", "--net", "--", "sh", "-c", ISOLATED, "sh")
GETPPID = ["compiled-out", "compiled-out-clone", "generic", "immediate", "jump", "original"]
PING = [
    "absent", "absent-clone", "marker-generic", "marker-immediate", "marker-jump",
    "marker-1-probe", "original",
]  # fmt: skip
# The number of operations in which kmlive counts the executions of a hook.
CHECKS = 64
# The clock CLOCK_MONOTONIC_COARSE of Linux, which advances at each tick.
COARSE = 6


def can_make_namespaces() -> bool:
    """Return True if namespaces can be made here, and directories can be mounted in them."""
    if not shutil.which("unshare"):
        return False
    with tempfile.TemporaryDirectory() as here:
        words = [*UNSHARE, here, "true"]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(
    not can_make_namespaces(),
    reason="the programs unshare and ip are missing, or may not make namespaces",
)


@pytest.fixture(scope="module", autouse=True)
def build_kmlive() -> None:
    build_native_programs("kmlive", "deny")


@dataclass
class FakeModule:
    """Fakes of the files control and hits of the module kmarkers_bench. The hook of the selected
    variant counts each packet twice: when sent and when received. `missed` is the number of hook
    executions that each check leaves out. `spans` has the seconds between two readings of the file
    hits, keyed by variant. `sockets` has the numbers of open raw and UDP sockets at each check."""

    folder: Path
    missed: int = 0
    original_hits: int = 0
    commands: str = ""
    hits: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    spans: dict[str, float] = field(default_factory=dict)
    sockets: list[tuple[int, int]] = field(default_factory=list)
    packets: int = 0
    pid: int = 0
    errors: list[Exception] = field(default_factory=list)

    def __post_init__(self) -> None:
        os.mkfifo(self.folder / "control")
        os.mkfifo(self.folder / "hits")
        # Opened for reading and writing, a FIFO does not block, and never reaches its end.
        self.control = os.open(self.folder / "control", os.O_RDWR | os.O_NONBLOCK)

    @property
    def selected(self) -> list[tuple[str, str]]:
        """The benchmarks and variants that were selected so far."""
        try:
            while piece := os.read(self.control, 1 << 16):
                self.commands += piece.decode()
        except BlockingIOError:
            pass
        _, *words = re.split("(getppid-live|packets-live) ", self.commands)
        return [*zip(words[::2], words[1::2], strict=True)]

    def read_network_table(self, name: str) -> list[list[str]]:
        """Return the words in each line of the file `name` in kmlive's /proc/PID/net."""
        lines = Path(f"/proc/{self.pid}/net/{name}").read_text(encoding="utf-8").splitlines()
        return [line.split() for line in lines]

    def count_packets(self) -> int:
        """Return the number of IPv4 packets that the loopback device of kmlive got."""
        names, values = (row for row in self.read_network_table("snmp") if row[0] == "Ip:")
        return int(dict(zip(names, values, strict=True))["InReceives"])

    def report_unread_packets(self, variant: str) -> None:
        """Add a problem for each socket of kmlive with packets that kmlive has not received,
        because these are no replies to kmlive."""
        raw, udp = (self.read_network_table(name)[1:] for name in ("raw", "udp"))
        self.sockets.append((len(raw), len(udp)))
        for row in (*raw, *udp):
            if not row[4].endswith(":00000000"):
                self.problems.append(f"{variant}: a socket has unread packets: {row}")

    def update_and_format_hits(self, reading: int) -> str:
        """Count the packets since the last reading. Return the text of the file hits."""
        packets = self.count_packets()
        _, variant = self.selected[-1]
        if variant != "original":
            self.hits[variant] += 2 * (packets - self.packets)
        if reading % 2:
            self.hits[variant] += self.original_hits if variant == "original" else -self.missed
            self.report_unread_packets(variant)
        self.packets = packets
        names = {name: self.hits[name] for name in [*PING, variant]}
        return "".join(f"packets-live {name} {count}\n" for name, count in names.items())

    def serve_hits(self, process: subprocess.Popen[str]) -> None:
        """Answer each reading of the file hits until kmlive ends. Each reader gets a FIFO of its
        own, which ends when the text was written."""
        self.pid = process.pid
        path, reading, began = self.folder / "hits", 0, 0.0
        while True:
            with path.open("w", encoding="utf-8") as file:
                path.unlink()
                os.mkfifo(path)
                if process.poll() is not None:
                    return
                if reading % 2:
                    self.spans[self.selected[-1][1]] = time.monotonic() - began
                text = self.update_and_format_hits(reading)
                began = time.monotonic()
                file.write(text)
            reading += 1

    def serve_hits_or_kill_kmlive(self, process: subprocess.Popen[str]) -> None:
        """Run serve_hits(). If it fails, end kmlive, which waits for an answer."""
        try:
            self.serve_hits(process)
        except (OSError, LookupError, ValueError) as error:
            self.errors.append(error)
            process.kill()

    def run_kmlive(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run kmlive with this module. From stderr, remove the line that says that core cycles of
        the processor cannot be counted."""
        command = [*UNSHARE, str(self.folder), *map(str, arguments)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
            server = threading.Thread(
                target=self.serve_hits_or_kill_kmlive, args=(process,), daemon=True
            )
            server.start()
            try:
                out, why = process.communicate(timeout=120)
            finally:
                process.kill()
            while server.is_alive():
                # Open the FIFO for reading, so that serve_hits() ends.
                with contextlib.suppress(FileNotFoundError):
                    reader = os.open(self.folder / "hits", os.O_RDONLY | os.O_NONBLOCK)
                    server.join(0.1)
                    os.close(reader)
        assert not self.errors
        why = re.sub("^kmarkers: core cycles are estimated, not counted: .*\n", "", why, flags=re.M)
        return subprocess.CompletedProcess(command, process.returncode, out, why)


@pytest.fixture(name="module")
def make_fake_module(tmp_path: Path) -> FakeModule:
    """Make fakes of the module's files, and the directory raw for samples."""
    (tmp_path / "raw").mkdir()
    return FakeModule(tmp_path)


def read_samples(path: Path) -> list[dict[str, str]]:
    """Return the samples of a benchmark."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [*csv.DictReader(line for line in lines if not line.startswith("#"))]


def check_that_samples_are_complete(path: Path, variants: Sequence[str], blocks: int) -> None:
    """Check that the samples have all variants and blocks, and that the windows ran on CPU 0."""
    rows = read_samples(path)
    assert {row["variant"] for row in rows} == {*variants}
    assert {int(row["block"]) for row in rows} == {*range(blocks)}
    assert all(int(row["value"]) > 0 for row in rows)
    if 0 in os.sched_getaffinity(0):
        assert {row["cpu"] for row in rows} == {"0"}


@pytest.mark.parametrize(("benchmark", "packets"), [("macro-ping", 2), ("macro-hackbench", 1)])
def test_packets_of_each_variant_are_counted_and_measured(
    module: FakeModule, benchmark: str, packets: int
) -> None:
    """The file live has the executions of each hook in an operation and in a second. An operation
    sends a request and gets a reply, or sends one message. In the end the kernel's own code is
    selected."""
    raw = module.folder / "raw"
    start = time.monotonic()
    done = module.run_kmlive(KMLIVE, 2, 1, raw, benchmark)
    elapsed = time.monotonic() - start
    assert (done.returncode, done.stderr) == (0, "")
    assert not module.problems
    assert {name for name, _ in module.selected} == {"packets-live"}
    selected = [variant for _, variant in module.selected]
    assert selected[-1] == "original"
    # kmlive waits for a clock tick after each selection, so that no window contains the tick.
    assert elapsed > (len(selected) - 2) * time.clock_getres(COARSE)
    pattern = rf"^hits:{benchmark}:(\S+)=(\d+) in an operation, (\d+) in a second$"
    found = re.findall(pattern, (raw / "live").read_text(encoding="utf-8"), re.M)
    assert [name for name, _, _ in found] == selected[: len(found)]
    assert {name: int(share) for name, share, _ in found} == {
        name: 0 if name == "original" else 2 * packets for name, _, _ in found
    }
    slower = []
    for name, share, rate in found:
        if name == "original":
            assert rate == "0"
            continue
        # The time that kmlive measures is shorter than the time between two readings of the file
        # hits.
        least = CHECKS * int(share) / module.spans[name]
        assert int(rate) >= int(least)
        slower.append(int(rate) / least)
    # A wrong unit of time would make each rate a thousand times as high.
    assert min(slower) < 100
    if benchmark == "macro-ping":
        assert [name for name, _, _ in found] == PING
    check_that_samples_are_complete(raw / f"{benchmark}.csv", [name for name, _, _ in found], 2)
    assert done.stdout.splitlines()[0] == benchmark
    assert all(re.search(rf"^ *{name} ", done.stdout, re.M) for name, _, _ in found)


def test_sockets_are_closed_after_each_benchmark(module: FakeModule) -> None:
    """macro-hackbench opens two UDP sockets, which are closed before macro-ping opens one raw
    socket."""
    names = ("macro-hackbench", "macro-ping")
    done = module.run_kmlive(KMLIVE, 1, 1, module.folder / "raw", *names)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(dict.fromkeys(module.sockets)) == [(0, 2), (1, 0)]
    assert module.sockets[-len(PING) :] == [(1, 0)] * len(PING)


@pytest.mark.parametrize(
    ("missed", "original_hits", "refused"),
    [(4 * CHECKS - CHECKS, 0, ""), (4 * CHECKS - CHECKS + 1, 0, "absent"), (0, 1, "original")],
)
def test_a_variant_whose_hook_runs_too_rarely_is_refused(
    module: FakeModule, missed: int, original_hits: int, refused: str
) -> None:
    """The hook of each variant must run at least once in an operation, and the hook of `original`
    must not run."""
    module.missed, module.original_hits = missed, original_hits
    done = module.run_kmlive(KMLIVE, 1, 1, module.folder / "raw", "macro-ping")
    assert module.selected[-1][1] == "original"
    if not refused:
        assert (done.returncode, done.stderr) == (0, "")
        return
    count = original_hits or CHECKS - 1
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"kmlive: macro-ping, variant {refused}: the hook ran {count} times in {CHECKS} operations",
        "kmlive: benchmark macro-ping failed: No data available",
    ]
    assert not (module.folder / "raw" / "macro-ping.csv").exists()


@pytest.mark.parametrize("benchmark", ["getppid-quiet", "getppid-pressure"])
def test_getppid_call_is_measured_in_each_variant(module: FakeModule, benchmark: str) -> None:
    raw = module.folder / "raw"
    done = module.run_kmlive(KMLIVE, 3, 1, raw, benchmark)
    assert (done.returncode, done.stderr) == (0, "")
    assert {*module.selected} == {("getppid-live", variant) for variant in GETPPID}
    check_that_samples_are_complete(raw / f"{benchmark}.csv", GETPPID, 3)
    assert done.stdout.splitlines()[0] == benchmark


def test_order_of_variants_depends_on_the_seed(module: FakeModule) -> None:
    """The same seed gives the same order of windows; another seed gives another order."""
    orders = []
    for number, seed in enumerate((5, 5, 6)):
        raw = module.folder / f"raw-{number}"
        raw.mkdir()
        assert module.run_kmlive(KMLIVE, 4, seed, raw, "getppid-quiet").returncode == 0
        rows = read_samples(raw / "getppid-quiet.csv")
        orders.append([(row["block"], row["variant"], row["layout"]) for row in rows])
    assert orders[0] == orders[1] != orders[2]


def test_benchmarks_are_measured_in_the_order_of_their_names(module: FakeModule) -> None:
    """If a benchmark cannot be measured, the benchmarks after it are not measured."""
    raw = module.folder / "raw"
    (raw / "getppid-pressure.csv").mkdir()
    names = ("getppid-quiet", "getppid-pressure", "macro-ping")
    done = module.run_kmlive(KMLIVE, 1, 1, raw, *names)
    assert done.returncode == 1
    assert done.stderr == f"kmlive: cannot create {raw}/getppid-pressure.csv: Is a directory\n"
    assert (raw / "getppid-quiet.csv").is_file()
    assert not (raw / "macro-ping.csv").exists()


def test_kmlive_records_that_the_kernel_has_no_ipv4(module: FakeModule) -> None:
    """The file live has the reason, and the benchmarks that need no IPv4 are measured."""
    raw = module.folder / "raw"
    deny = (NATIVE / "deny", f"socket={errno.EAFNOSUPPORT}", "--", KMLIVE)
    done = module.run_kmlive(*deny, 1, 1, raw, "macro-ping", "macro-hackbench", "getppid-quiet")
    assert (done.returncode, done.stderr) == (0, "")
    why = "the kernel has no IPv4 or no netfilter"
    assert (raw / "live").read_text(encoding="utf-8") == (
        f"lacks:macro-ping={why}\nlacks:macro-hackbench={why}\n"
    )
    assert [path.name for path in raw.glob("*.csv")] == ["getppid-quiet.csv"]


@pytest.mark.parametrize("benchmark", ["macro-ping", "macro-hackbench"])
def test_kmlive_fails_if_a_socket_is_refused(module: FakeModule, benchmark: str) -> None:
    deny = (NATIVE / "deny", f"socket={errno.EPERM}", "--", KMLIVE)
    done = module.run_kmlive(*deny, 1, 1, module.folder / "raw", benchmark)
    assert done.returncode == 1
    assert done.stderr == f"kmlive: benchmark {benchmark} failed: Operation not permitted\n"


def test_kmlive_fails_on_a_full_device(module: FakeModule) -> None:
    """The exit code is 1 if the samples or the file live cannot be written, and the truncated file
    is removed."""
    raw = module.folder / "raw"
    (raw / "getppid-quiet.csv").symlink_to("/dev/full")
    done = module.run_kmlive(KMLIVE, 1, 1, raw, "getppid-quiet")
    assert done.returncode == 1
    assert done.stderr == "kmlive: getppid-quiet: not written: No space left on device\n"
    assert [path.name for path in raw.iterdir()] == ["live"]
    (raw / "live").unlink()
    (raw / "live").symlink_to("/dev/full")
    deny = (NATIVE / "deny", f"socket={errno.EAFNOSUPPORT}", "--", KMLIVE)
    done = module.run_kmlive(*deny, 1, 1, raw, "macro-ping")
    assert done.returncode == 1
    assert done.stderr == "kmlive: live: not written: No space left on device\n"
    assert not [*raw.iterdir()]


@pytest.mark.skipif(CONTROL.exists(), reason="the module kmarkers_bench is loaded")
def test_kmlive_without_the_module_names_the_control_file(tmp_path: Path) -> None:
    done = run_program(KMLIVE, 1, 1, tmp_path, "getppid-quiet")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f'kmlive: cannot write "getppid-live {done.stderr.split()[4][:-1]}" to {CONTROL}: '
        "No such file or directory",
        "kmlive: benchmark getppid-quiet failed: No such file or directory",
    ]


USAGE = "usage: kmlive BLOCKS SEED DIR BENCHMARK... | kmlive attach PID\n"


@pytest.mark.parametrize(
    "words",
    [(), (1, 1), (1, 1, "DIR"), ("attach",), ("attached", 1)],
)
def test_kmlive_refuses_wrong_arguments(words: tuple[object, ...], tmp_path: Path) -> None:
    """The exit code is 2, stderr has the usage, and nothing is written."""
    done = run_program(KMLIVE, *(tmp_path if word == "DIR" else word for word in words))
    assert done.returncode == EXIT_USAGE
    assert done.stderr == USAGE
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("blocks", [0, -1, 100001, "0100001", "", "1x", "4294967297"])
def test_kmlive_refuses_a_wrong_number_of_blocks(blocks: object, tmp_path: Path) -> None:
    done = run_program(KMLIVE, blocks, 1, tmp_path, "getppid-quiet")
    assert done.returncode == EXIT_USAGE
    problem = f"BLOCKS: bad value '{blocks}': give a whole number from 1 to 100000"
    assert done.stderr == f"kmlive: {problem}\n{USAGE}"
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("seed", ["", "-1", "1x", "18446744073709551616"])
def test_kmlive_refuses_a_wrong_seed(seed: str, tmp_path: Path) -> None:
    done = run_program(KMLIVE, 1, seed, tmp_path, "getppid-quiet")
    assert done.returncode == EXIT_USAGE
    assert f"kmlive: SEED: bad value '{seed}': give a whole number" in done.stderr
    assert not [*tmp_path.iterdir()]


def test_kmlive_refuses_an_unknown_benchmark(tmp_path: Path) -> None:
    """No benchmark is measured, not even those named before the unknown benchmark."""
    done = run_program(KMLIVE, 100000, 1, tmp_path, "getppid-quiet", "getppid")
    expected = (EXIT_USAGE, f"kmlive: no benchmark named 'getppid'\n{USAGE}")
    assert (done.returncode, done.stderr) == expected
    assert not [*tmp_path.iterdir()]


def test_kmlive_fails_if_its_directory_is_missing(tmp_path: Path) -> None:
    done = run_program(KMLIVE, 1, 1, tmp_path / "none", "getppid-quiet")
    assert done.returncode == 1
    assert done.stderr == f"kmlive: cannot create {tmp_path}/none/live: No such file or directory\n"


def test_kmlive_attach_refuses_an_unknown_process_id() -> None:
    done = run_program(KMLIVE, "attach", 4194304)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "kmlive: attach: cannot watch process 4194304: No such process\n"


def is_program_running(words: str) -> bool:
    """Return True if the command line of a process has these words."""
    found = False
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found |= words.encode() in path.read_bytes()
    return found


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (">/dev/full", "No space left on device"),
        (">&-", "Bad file descriptor|Invalid argument"),
        ("", "Broken pipe"),
    ],
)
def test_kmlive_keeps_no_process_whose_id_it_cannot_print(output: str, reason: str) -> None:
    """The background process would keep BPF programs attached until this process ends."""
    watched = subprocess.Popen(["sleep", "60"])
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            ["sh", "-c", f"exec {KMLIVE} attach {watched.pid} {output}"],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=20,
        )
        until = time.monotonic() + 5
        while left := is_program_running(f"\0attach\0{watched.pid}\0"):
            if time.monotonic() > until:
                break
            time.sleep(0.05)
    finally:
        os.close(writer)
        watched.kill()
        watched.wait()
    assert (done.returncode, left) == (1, False)
    said = "kmlive: attach: cannot print the process id of the background process: "
    assert re.fullmatch(f"{said}({reason})", done.stderr.splitlines()[-1])


@pytest.mark.parametrize("pid", ["", "0", "-1", "1x", "4294967297"])
def test_kmlive_refuses_a_wrong_process_id(pid: str) -> None:
    done = run_program(KMLIVE, "attach", pid)
    assert (done.returncode, done.stdout) == (EXIT_USAGE, "")
    problem = f"PID: bad value '{pid}': give a whole number from 1 to 2147483647"
    assert done.stderr == f"kmlive: {problem}\n"
