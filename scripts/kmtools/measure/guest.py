# SPDX-License-Identifier: GPL-2.0-only
"""Runs the benchmarks inside a test kernel and copies their samples to the host, or runs them in
the running kernel."""

from __future__ import annotations

import os
import re
import shutil
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kmtools.base import processes
from kmtools.base.errors import FailedError
from kmtools.base.files import sync_and_rename_directory
from kmtools.base.paths import ROOT
from kmtools.lab.machine import Request, boot_guest
from kmtools.lab.result import TIME_UP, print_boot_failure
from kmtools.measure.caches import USUAL_MEMORY
from kmtools.measure.clusters import Show, print_to_stderr

GUEST_JOB = ROOT / "scripts" / "guest" / "bench.sh"
KMLIVE = ROOT / "build" / "native" / "kmlive"
TIMEOUT_SECONDS = 900.0
# The folder in the guest with the files of an external module.
EXTERNAL_MODULES_DIR = "/own"
# Matches the line that the guest prints every two seconds: the benchmark, and the numbers of
# windows done and planned.
RUNNING = re.compile(r"bench: running ([\w-]+) (\d+)/(\d+)")
# The number of the job's last lines that are printed if measuring in the running kernel fails.
PRINTED_LINES = 20
# The word that marks a line of the job about a benchmark or variant that is not measured.
SKIP = "SKIP "
# Matches the line that the guest prints if it measures nothing; the group is the reason.
REFUSED = re.compile(r"bench: not measured: (.+)")


@dataclass(frozen=True)
class LiveBenchmarks:
    """The live benchmarks, which the program kmlive measures in the kernel's own code, and the
    number of their blocks."""

    blocks: int = 0
    benchmarks: Sequence[str] = ()


NO_LIVE_BENCHMARKS = LiveBenchmarks()


def make_guest_settings(
    blocks: int,
    seed: int,
    live: LiveBenchmarks = NO_LIVE_BENCHMARKS,
    benchmarks: Sequence[str] = (),
    external_modules: str = "",
) -> str:
    """Return the configuration that bench.sh reads in the guest. If `benchmarks` is empty, bench.sh
    runs every benchmark. If `external_modules` is the path of a folder, bench.sh runs only the
    benchmarks of the modules in that folder."""
    chosen = f"start {' '.join(benchmarks)}\n" if benchmarks else ""
    words = [str(live.blocks), *live.benchmarks] if live.benchmarks else ["0"]
    modules = f"own {external_modules}\n" if external_modules else ""
    return f"blocks {blocks}\nseed {seed}\nlive {' '.join(words)}\n{modules}{chosen}"


def make_guest_line_reader(show: Show | None, refusals: list[str]) -> Callable[[str], None]:
    """Return a function that is called with each line that the guest prints. If the line shows
    progress, the function calls `show`; if the line has a reason why the guest measures nothing,
    the function appends the reason to `refusals`."""

    def read_line(line: str) -> None:
        if show is not None and (match := RUNNING.fullmatch(line)):
            show(int(match[2]), int(match[3]), match[1])
        elif match := REFUSED.fullmatch(line):
            refusals.append(match[1])

    return read_line


def remove_folders_of_ended_processes(own: Path) -> None:
    """Remove the folders of ended processes next to the folder `own`. The names of these folders
    differ from the name of `own` only in the process ID at the end."""
    stem = own.name.rpartition("-")[0]
    for folder in own.parent.glob(f"{stem}-*"):
        number = folder.name.rpartition("-")[2]
        if not (Path("/proc") / number).exists():
            shutil.rmtree(folder, ignore_errors=True)


def measure_in_test_kernel(
    tier: str,
    kernel: str,
    modules: Path,
    raw: Path,
    *,
    blocks: int,
    seed: int,
    live: LiveBenchmarks = NO_LIVE_BENCHMARKS,
    benchmarks: Sequence[str] = (),
    program: Path = KMLIVE,
    external_modules: Path | None = None,
    seconds: float = TIMEOUT_SECONDS,
    memory: int = USUAL_MEMORY,
    accelerator: str | None = None,
    show: Show | None = None,
    more_env_lines: str = "",
) -> None:
    """Boot the test kernel `kernel`, run benchmarks in it, and write the samples and the files env
    and vm.json to the folder `raw`.

    `live` names the benchmarks that `program` (kmlive) measures in the kernel's own code; if the
    program does not exist, live benchmarks are not measured. If `external_modules` is given, only
    the benchmarks of the modules in this folder are measured. `seconds` is the time limit for
    booting and measuring, `memory` the size of the guest's memory in MiB, `accelerator` the
    accelerator, None for the best usable one. `show` is called with the windows done, the windows
    planned, and the benchmark. `more_env_lines` are appended to the file env. After a panic, a hang
    or a warning in the kernel log, keep no samples and raise FailedError. Each call writes logs to
    its own folder, so that several calls can run at the same time; the folder is kept only after a
    failure.
    """
    out = ROOT / "build" / "vm" / f"bench-{tier}-{os.getpid()}"
    remove_folders_of_ended_processes(out)
    out.mkdir(parents=True, exist_ok=True)
    config = out / "bench.conf"
    if not program.exists():
        live = NO_LIVE_BENCHMARKS
    words = make_guest_settings(
        blocks, seed, live, benchmarks, EXTERNAL_MODULES_DIR if external_modules else ""
    )
    config.write_text(words, encoding="ascii")
    further = [(program, "/kmlive")] if program.exists() else []
    further += [(external_modules, EXTERNAL_MODULES_DIR)] if external_modules else []
    request = Request(
        kernel=kernel,
        job=GUEST_JOB,
        out=out,
        tier=tier,
        modules=modules,
        additions=[(config, "/bench.conf"), *further],
        timeout=seconds,
        memory=memory,
        accel=accelerator,
    )
    refusals: list[str] = []
    result = boot_guest(request, make_guest_line_reader(show, refusals))
    if not result.ok or result.results is None:
        print_boot_failure(result)
        why = refusals[-1] if refusals else result.reason
        if why.startswith(TIME_UP):
            why += "; if other programs used the CPUs, run the command again when the CPUs are idle"
        raise FailedError(f"the {tier} run in kernel {kernel} failed: {why}")
    partial = raw.with_name(f"{raw.name}.partial")
    for stale in (partial, raw):
        shutil.rmtree(stale, ignore_errors=True)
    shutil.copytree(result.results, partial)
    shutil.copy(out / "vm.json", partial / "vm.json")
    append_text(partial / "env", more_env_lines)
    sync_and_rename_directory(partial, raw)
    shutil.rmtree(out, ignore_errors=True)


def append_text(path: Path, text: str) -> None:
    """Append text to a file. A file that does not exist is not created."""
    if text and path.is_file():
        with path.open("a", encoding="utf-8") as stream:
            stream.write(text)


def measure_in_running_kernel(
    modules: Path,
    config: Path,
    raw: Path,
    *,
    show: Show | None = None,
    more_env_lines: str = "",
    say: Callable[[str], None] = print_to_stderr,
) -> None:
    """Load the modules in the folder `modules` into the running kernel, run benchmarks, unload the
    modules, and write the samples and the file env to the folder `raw`.

    `config` is a file with the text of make_guest_settings(). `show` and `more_env_lines` are as in
    measure_in_test_kernel(). `say` prints the lines about what is not measured. After an error,
    print the last lines of the job, keep no samples and raise FailedError.
    """
    partial = raw.with_name(f"{raw.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    env = {
        "MODULES": str(modules),
        "RESULTS": str(partial),
        "CONFIG": str(config),
        "KMLIVE": str(KMLIVE),
    }
    refusals: list[str] = []
    last_lines: deque[str] = deque(maxlen=PRINTED_LINES)
    read_line = make_guest_line_reader(show, refusals)

    def keep_line(line: str) -> None:
        last_lines.append(line)
        if SKIP in line:
            say(line)
        read_line(line)

    code = processes.run_program(["sh", GUEST_JOB], env=env, read_line=keep_line)
    if code:
        print_to_stderr("\n".join(last_lines))
        why = [*last_lines, *refusals][-1] if last_lines else f"exit code {code}"
        raise FailedError(f"measuring in the running kernel failed: {why}")
    append_text(partial / "env", more_env_lines)
    sync_and_rename_directory(partial, raw)
