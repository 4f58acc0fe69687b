# SPDX-License-Identifier: GPL-2.0-only
"""Tests of debug kernels: their required options, and the conditions for building them again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kmtools.base.errors import UnableError
from kmtools.lab import catalogue, debugkernel
from kmtools.lab.catalogue import Entry
from kmtools.suites import kernelsuite


def test_missing_config_option_of_a_debug_kernel_is_reported() -> None:
    wanted = {"CONFIG_A": "y", "CONFIG_B": "16", "CONFIG_C": "y", "CONFIG_D": "n"}
    config = "CONFIG_A=y\nCONFIG_B=8\n# CONFIG_C is not set\n"
    assert debugkernel.find_missing_config_options(wanted, config) == ["CONFIG_B=16", "CONFIG_C=y"]


@pytest.mark.parametrize(
    ("built_for", "final", "usable"),
    [
        ("CONFIG_A=y\n", "CONFIG_A=y\n", True),
        ("", "CONFIG_A=y\n", True),
        ("CONFIG_A=y\n", "", False),
        ("CONFIG_A=y\nCONFIG_B=y\n", "CONFIG_A=y\nCONFIG_B=y\n", False),
    ],
)
def test_debug_kernel_is_rebuilt_after_a_change_of_options_or_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built_for: str, final: str, usable: bool
) -> None:
    monkeypatch.setenv("KMARKERS_CACHE", str(tmp_path))
    (tmp_path / "suites/s").mkdir(parents=True)
    (tmp_path / "qemu/emulator").mkdir(parents=True)
    wanted = tmp_path / "wanted"
    wanted.write_text("CONFIG_A=y\n")
    monkeypatch.setattr(debugkernel, "list_config_fragment_files", lambda entry: [wanted])
    tree = catalogue.get_kernel_dir("k")
    (tree / "boot").mkdir(parents=True)
    catalogue.Kernel("k", "s", "linux-source-1", "1", "1-k", "vmlinuz").save_kernel_record(tree)
    (tree / "vmlinuz").touch()
    (tree / debugkernel.RECORD).write_text(built_for)
    (tree / "boot/config-1-k").write_text(final)
    entry = Entry("k", "suite", "linux-source-1", "emulator", "debug:kasan")
    assert (debugkernel.find_complete_kernel(entry) is not None) == usable
    for image in ("linux-source-0", "linux-source-2"):
        assert debugkernel.find_complete_kernel(replace(entry, image=image)) is None


DEBUG_KERNELS = [entry for entry in catalogue.load_kernel_entries() if entry.debug_kinds]
UPSTREAM_KERNELS = [
    entry for entry in catalogue.load_kernel_entries() if entry.role == catalogue.UPSTREAM
]
# The options that each configuration fragment must set; without one of them, a debug kernel finds
# fewer faults.
REQUIRED = {
    "base": """SMP PREEMPT HOTPLUG_CPU RANDOMIZE_BASE MODULES MODULE_UNLOAD KALLSYMS KALLSYMS_ALL
        JUMP_LABEL KPROBES FTRACE FUNCTION_TRACER DYNAMIC_FTRACE KPROBE_EVENTS PERF_EVENTS BUG
        DEBUG_FS STRICT_KERNEL_RWX STRICT_MODULE_RWX UNWINDER_ORC PRINTK PRINTK_TIME""",
    "kasan": """KASAN KASAN_GENERIC KASAN_VMALLOC PROVE_LOCKING PROVE_RCU DEBUG_ATOMIC_SLEEP
        DEBUG_PREEMPT DEBUG_OBJECTS DEBUG_OBJECTS_FREE DEBUG_OBJECTS_TIMERS DEBUG_OBJECTS_WORK
        DEBUG_OBJECTS_RCU_HEAD DEBUG_OBJECTS_PERCPU_COUNTER DEBUG_KMEMLEAK DEBUG_LIST
        DEBUG_NOTIFIERS SCHED_STACK_END_CHECK DEBUG_WX PTDUMP_DEBUGFS""",
    "kcsan": "KCSAN DEBUG_LIST",
    "clang": "CC_IS_CLANG LD_IS_LLD",
    "upstream": """MODULES MODULE_UNLOAD KALLSYMS_ALL KPROBES FTRACE FUNCTION_TRACER
        DYNAMIC_FTRACE KPROBE_EVENTS HIST_TRIGGERS BPF_SYSCALL BPF_EVENTS DEBUG_FS LIVEPATCH""",
}


@pytest.mark.parametrize("part", REQUIRED)
def test_each_configuration_fragment_sets_its_required_options(part: str) -> None:
    wanted = debugkernel.read_config_options([debugkernel.FRAGMENTS / f"{part}.config"])
    missing = [name for name in REQUIRED[part].split() if wanted.get(f"CONFIG_{name}") != "y"]
    assert missing == []


def test_every_debug_kind_has_kernel_parameters_and_a_fragment() -> None:
    used = {part for entry in DEBUG_KERNELS for part in entry.debug_kinds}
    assert used == set(kernelsuite.APPEND) == set(REQUIRED) - {"base", "upstream"}
    assert {file.stem for file in debugkernel.FRAGMENTS.glob("*.config")} == set(REQUIRED)
    assert {"kasan", "kcsan", "clang"} <= used


def test_every_debug_kernel_has_its_configuration_fragments() -> None:
    for entry in DEBUG_KERNELS + UPSTREAM_KERNELS:
        wanted = debugkernel.read_config_options(debugkernel.list_config_fragment_files(entry))
        assert wanted["CONFIG_MODULES"] == "y"


def test_every_gating_kernel_has_an_upstream_build() -> None:
    stable = {entry.name for entry in catalogue.load_kernel_entries() if entry.role == "gates"}
    assert {entry.name for entry in UPSTREAM_KERNELS} == {f"{name}-upstream" for name in stable}
    assert all(
        debugkernel.list_config_fragment_files(entry)[1:] == [] for entry in UPSTREAM_KERNELS
    )


def test_invalid_source_archive_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "usr/src").mkdir(parents=True)
    (tmp_path / "usr/src/linux-source-1.tar.xz").write_text("no archive")
    with pytest.raises(UnableError, match=r"cannot unpack linux-source-1.tar.xz: .*tar: "):
        debugkernel._unpack_source(tmp_path)
