# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the machine description in env.json, which is read from files of a made-up machine."""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
from pathlib import Path
from typing import Any

import pytest
from kmtools.base.errors import UnableError
from kmtools.measure import hostenv

CPU_INFO = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 1
model name\t: AMD EPYC: 7763
stepping\t: 2
microcode\t: 0xa0011d5
cpu MHz\t\t: 2445.4
flags\t\t: fpu tsc hypervisor

processor\t: 1
vendor_id\t: GenuineIntel
model\t\t: 9
"""
CONFIG = """# Linux/x86 6.1.0 Kernel Configuration
CONFIG_HZ_250=y
CONFIG_HZ=250
# CONFIG_PREEMPT_NONE is not set
CONFIG_PREEMPT_DYNAMIC=y
CONFIG_KPROBES=y
# CONFIG_KASAN is not set
CONFIG_KPROBES_ON_FTRACE=y
CONFIG_EXT4_FS=m
CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE=y
"""
OPTIONS = {
    "CONFIG_HZ_250": "y", "CONFIG_HZ": "250", "CONFIG_PREEMPT_NONE": "n",
    "CONFIG_PREEMPT_DYNAMIC": "y", "CONFIG_KPROBES": "y", "CONFIG_KASAN": "n",
    "CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE": "y",
}  # fmt: skip
HEADER = '#define KMARKERS_VERSION_CODE 3\n#define KMARKERS_VERSION  "1.2.3"\n'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the directory that hostenv reads in place of /."""
    monkeypatch.setattr(hostenv, "Path", lambda name: tmp_path / str(name).lstrip("/"))
    monkeypatch.setattr(hostenv, "ROOT", tmp_path / "tree")
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-made-up")
    monkeypatch.setattr(platform, "python_version", lambda: "3.99")
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    return tmp_path


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file, and make its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def test_cpu_description_is_of_the_first_cpu(root: Path) -> None:
    write_file(root / "proc/cpuinfo", CPU_INFO)
    expected = {
        "vendor_id": "AuthenticAMD", "model_name": "AMD EPYC: 7763", "cpu_family": "25",
        "model": "1", "stepping": "2", "microcode": "0xa0011d5", "cpu_MHz": "2445.4",
        "online": 12, "hypervisor": True,
    }  # fmt: skip
    assert hostenv.describe_cpu() == expected
    write_file(root / "proc/cpuinfo", CPU_INFO.replace("hypervisor", "hypervisors"))
    assert hostenv.describe_cpu() == {**expected, "hypervisor": False}
    (root / "proc/cpuinfo").unlink()
    nothing = {**dict.fromkeys(expected), "online": 12, "hypervisor": False}
    assert hostenv.describe_cpu() == nothing


def test_kernel_configuration_is_read_from_proc_else_from_boot(root: Path) -> None:
    """Options that are not set have the value n. Options that do not affect times are left out. A
    damaged file in /proc is ignored."""
    assert hostenv.describe_kernel_config() is None
    write_file(root / "boot/config-6.1.0-made-up", CONFIG)
    digest = hashlib.sha256(CONFIG.strip().encode()).hexdigest()
    assert hostenv.describe_kernel_config() == {"sha256": digest, "options": OPTIONS}
    other = "CONFIG_HZ=1000\n"
    write_file(root / "proc/config.gz", gzip.compress(other.encode()))
    assert hostenv.describe_kernel_config() == {
        "sha256": hashlib.sha256(other.encode()).hexdigest(),
        "options": {"CONFIG_HZ": "1000"},
    }
    for damaged in (gzip.compress(CONFIG.encode())[:40], b"text", gzip.compress(b"\xff")):
        write_file(root / "proc/config.gz", damaged)
        assert hostenv.describe_kernel_config() == {"sha256": digest, "options": OPTIONS}


def test_only_parameters_that_affect_timing_are_recorded(root: Path) -> None:
    """Besides these parameters of the kernel, only a hash of its command line is recorded. Words
    after -- are for init."""
    line = "root=/dev/sda mitigations=off nopti isolcpus=1 tscx=1 quiet nosmt=force -- idle=poll"
    write_file(root / "proc/cmdline", f"{line}\n")
    assert hostenv.describe_kernel_command_line() == {
        "notable": ["mitigations=off", "nopti", "isolcpus=1", "nosmt=force"],
        "sha256": hashlib.sha256(line.encode()).hexdigest(),
    }
    (root / "proc/cmdline").unlink()
    assert hostenv.describe_kernel_command_line()["notable"] == []


@pytest.mark.parametrize(
    ("status", "dirty"), [(None, None), ("", False), (" M base/control.c", True)]
)
def test_source_tree_with_changes_is_dirty(
    root: Path, monkeypatch: pytest.MonkeyPatch, status: str | None, dirty: bool | None
) -> None:
    """Without git, `dirty` is null, because it is unknown whether the tree has changes."""
    said = {"status": status, "rev-parse": None if status is None else "abc"}
    monkeypatch.setattr(hostenv, "capture_command_output", lambda *words, **_: said[words[1]])
    assert hostenv.describe_source_tree() == {"commit": said["rev-parse"], "dirty": dirty} | {
        "version": None
    }
    write_file(root / "tree/include/kmarkers/version.h", HEADER)
    assert hostenv.describe_source_tree()["version"] == "1.2.3"


@pytest.mark.parametrize(
    ("text", "first"), [(None, None), ("", None), ("one", "one"), ("one\ntwo\n", "one")]
)
def test_take_first_line_drops_further_lines(text: str | None, first: str | None) -> None:
    assert hostenv.take_first_line(text) == first


def test_output_of_a_command_that_fails_is_not_used(tmp_path: Path) -> None:
    assert hostenv.capture_command_output("pwd", cwd=tmp_path) == str(tmp_path)
    assert hostenv.capture_command_output("sh", "-c", "echo x; exit 1") is None
    assert hostenv.capture_command_output("no-such-command") is None


def test_date_of_a_run_is_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86405")
    assert hostenv.get_collection_date() == "1970-01-02T00:00:05Z"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert hostenv.get_collection_date() > "2026"


@pytest.mark.parametrize("epoch", ["yesterday", "1e9", "9" * 12, "9" * 20, "9" * 40])
def test_source_date_epoch_that_is_no_date_is_refused(
    epoch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(UnableError, match=f"^SOURCE_DATE_EPOCH is '{epoch}', not the seconds"):
        hostenv.get_collection_date()


def test_machine_is_described_by_files_of_sysfs(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A property whose file is missing is null."""
    monkeypatch.setattr(hostenv, "capture_command_output", lambda *words, **_: f"{words[0]} 1\nx")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    files = {
        "sys/class/dmi/id/product_name": "A board\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
        "sys/devices/system/cpu/smt/control": "off\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "sys/devices/system/cpu/vulnerabilities/retbleed": "Vulnerable\n",
        "sys/devices/system/cpu/vulnerabilities/mds": "Not affected\n",
    }
    names = ("product", "governor", "smt", "clocksource")
    found = hostenv.describe_host()
    assert [found["machine"][name] for name in names] == [None] * 4
    assert found["mitigations"] == {}
    for name, text in files.items():
        write_file(root / name, text)
    found = hostenv.describe_host()
    assert [found["machine"][name] for name in names] == ["A board", "powersave", "off", "tsc"]
    assert [*found["mitigations"].items()] == [
        ("mds", "Not affected"),
        ("retbleed", "Vulnerable"),
    ]
    tools = {"python": "3.99", "gcc": "gcc 1", "ld": "ld 1", "make": "make 1"}
    assert found["tools"] == tools and found["schema"] == 1
    assert found["date"] == "1970-01-01T00:00:00Z"
    assert found["kernel"]["release"] == "6.1.0-made-up"


def test_machine_of_an_imported_run_is_described_by_its_properties(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the other machine gave no date, the run has the current date."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    monkeypatch.setattr(hostenv, "describe_source_tree", dict)
    told = {
        "cpu_model": "A CPU", "microcode": "0x7", "cpu_family": "6", "architecture": "x86_64",
        "kernel": "6.6", "version": "#1 SMP", "date": "2026-01-02T03:04:05Z",
    }  # fmt: skip
    expected: dict[str, Any] = {
        "schema": 1, "date": told["date"], "mitigations": {}, "tools": {}, "source": {},
        "machine": {
            "architecture": "x86_64",
            "cpu": {"model_name": "A CPU", "microcode": "0x7", "cpu_family": "6"},
        },
        "kernel": {"release": "6.6", "version": "#1 SMP"},
    }  # fmt: skip
    assert hostenv.describe_other_machine(told) == expected
    assert hostenv.describe_other_machine({**told, "date": ""})["date"] == "1970-01-01T00:00:00Z"
