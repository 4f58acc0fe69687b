# SPDX-License-Identifier: GPL-2.0-only
"""Makes runs whose HTML reports are tested: the reference run, a run with hostile names, and a run
with all benchmarks."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import shutil
from pathlib import Path
from unittest import mock

import rawdata
from kmtools.base.paths import ROOT
from kmtools.cli import main

REFERENCE = ROOT / "results" / "reference"
EVIL = "<script>alert('1')</script>&<b>"
NAMES = {"none": 1.0, "none-clone": 1.0, EVIL: 9.0, "-": 2.0, "é\u05d0": 3.0}
HOSTILE = rawdata.Bench("empty-loop", NAMES)


def make_reference_run(root: Path) -> Path:
    """Copy the reference run, and make its report from its samples; return the copy. The printed
    lines, for a terminal of 80 columns, are in the file `printed` of the copy."""
    run = root / "reference"
    run.mkdir()
    shutil.copy(REFERENCE / "env.json", run)
    (run / "samples.csv").write_bytes(gzip.decompress((REFERENCE / "samples.csv.gz").read_bytes()))
    printed = io.StringIO()
    with mock.patch.dict(os.environ, COLUMNS="80"), contextlib.redirect_stdout(printed):
        assert main(["report", str(run)]) == 0
    (run / "printed").write_text(printed.getvalue())
    return run


def make_run_with_hostile_names(root: Path) -> Path:
    """Make a run whose names contain HTML, are very long, or have special characters."""
    one, other = "a-long-name" * 9, "and-another" * 9
    long = rawdata.Bench("getppid-quiet", {one: 1.0, f"{one}-clone": 1.0, other: 9.0})
    raw = rawdata.write_raw_folder(
        root / "raw", 12, 1, [HOSTILE, long], emulated="0", cpu_model=EVIL
    )
    assert main(["collect", str(root / "run"), f"--raw=native={raw}"]) == 0
    assert main(["report", str(root / "run")]) == 0
    return root / "run"


# Benchmarks and variants that are measured only in a kernel, not in user space.
KERNEL_ONLY = {
    "marker-enabled": (
        "kprobe-on-probe tracepoint tracepoint-2-probes tracepoint-8-probes marker-event"
        " trace-event"
    ),
    "macro-ping": (
        "absent absent-clone marker-generic marker-immediate marker-jump marker-1-probe original"
    ),
    "macro-hackbench": "absent absent-clone jmp-2 jmp-5 nop-3-2 nop-66x4 nop-p6 original",
    "peers-dormant": "none none-clone marker-jump flag static-key static-call tracepoint",
    "peers-enabled": (
        "none none-clone call static-key static-call kprobe-int3 kprobe-ftrace ftrace-hook"
        " tracepoint marker-jump"
    ),
    "peer-kprobe-optimised": "call call-clone kprobe-optimised",
    "getppid-copy-quiet": "compiled-out compiled-out-clone generic immediate",
    "getppid-copy-pressure": "compiled-out compiled-out-clone generic immediate",
    "lock-pair-rwsem-read": "no-probes no-probes-clone sdt-func-ptr sdt-breakpoint sdt-jump",
    "lock-pair-rwsem-write": "no-probes no-probes-clone sdt-func-ptr sdt-breakpoint sdt-jump",
}


def parse_benchmark_variants(kmbench_list: str) -> dict[str, list[str]]:
    """Parse the output of `kmbench list`; return the variants of each benchmark. Benchmarks of
    switching sites (arm-*) are left out."""
    lines = (line.split(": ") for line in kmbench_list.splitlines())
    return {name: own.split() for name, own in lines if not name.startswith("arm-")}


def make_run_of_all_benchmarks(root: Path, kmbench_list: str) -> Path:
    """Make a run with all benchmarks in the tiers (measurement environments) of `make bench`;
    `kmbench_list` is the output of `kmbench list`. Only clones cost the same as their baseline."""
    programs, kernels = (
        parse_benchmark_variants(kmbench_list),
        parse_benchmark_variants(kmbench_list),
    )
    for name, more in KERNEL_ONLY.items():
        kernels.setdefault(name, []).extend(more.split())

    def write_raw_folder_and_make_option(
        tier: str, names: dict[str, list[str]], exact: bool, **env: str
    ) -> str:
        benches = []
        for name, variants in names.items():
            costs = {v: 40.0 if v.endswith("-clone") or n == 0 else 50.0 + n
                     for n, v in enumerate(variants)}  # fmt: skip
            benches.append(rawdata.Bench(name, costs))
        path = rawdata.write_raw_folder(root / tier, 24, 1, benches, exact=exact, **env)
        return f"--raw={tier}={path}"

    tiers = [
        write_raw_folder_and_make_option("native", programs, False, emulated="0"),
        write_raw_folder_and_make_option("vm", kernels, False, emulated="1"),
        write_raw_folder_and_make_option("icount", kernels, True, emulated="1"),
    ]
    assert main(["collect", str(root / "run"), *tiers]) == 0
    assert main(["report", str(root / "run")]) == 0
    return root / "run"
