# SPDX-License-Identifier: GPL-2.0-only
"""Tests of scripts/host, which loads the modules into the running kernel: checks, messages and
interruptions.

These tests load no module; the suite host of tests/vm loads the modules into a test kernel.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from kmtools.base.paths import ROOT


def run_host_script(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/host with `arguments`, by default "load", and with system files below `root`.
    Standard input is empty, so the question whether to load modules gets no answer."""
    return subprocess.run(
        ["scripts/host", *(arguments or ["load"])],
        cwd=ROOT,
        env={**os.environ, "KMARKERS_ROOT": str(root)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="loading modules needs root")
@pytest.mark.parametrize("sign", ["sys/module/lkrg", "sys/module/p_lkrg", "proc/sys/lkrg"])
def test_warning_about_lkrg_is_printed(tmp_path: Path, sign: str) -> None:
    (tmp_path / sign).mkdir(parents=True)
    said = run_host_script(tmp_path)
    assert said.returncode == 2
    assert "LKRG is loaded" in said.stderr
    assert "Documentation/patcher.md" in said.stderr
    assert "### LKRG" in (ROOT / "Documentation" / "patcher.md").read_text(encoding="utf-8")


@pytest.mark.skipif(os.geteuid() != 0, reason="loading modules needs root")
def test_no_warning_without_lkrg(tmp_path: Path) -> None:
    said = run_host_script(tmp_path)
    assert said.returncode == 2
    assert "LKRG" not in said.stderr


REASONS = {
    "sys/kernel/livepatch/fix_of_today/enabled": ("1", "livepatch is active (fix_of_today)"),
    "sys/module/kpatch_fix/refcnt": ("0", "kpatch patches this kernel"),
    "proc/cpuinfo": ("flags : fpu ibt sse", "boot with ibt=off"),
}
NOISE = {
    "sys/class/power_supply/BAT0/status": ("Discharging", "runs on its battery"),
    "proc/loadavg": ("3.10 0.20 0.10 1/100 1", "the machine is busy (load 3.10)"),
}


def write_system_file(root: Path, name: str, text: str) -> None:
    """Write a system file below `root`."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(f"{text}\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="loading modules needs root")
@pytest.mark.parametrize("name", REASONS)
def test_kernel_that_forbids_text_patching_is_refused(tmp_path: Path, name: str) -> None:
    text, reason = REASONS[name]
    write_system_file(tmp_path, name, text)
    said = run_host_script(tmp_path)
    assert said.returncode == 2
    assert reason in said.stderr
    assert said.stderr.endswith(
        "; to continue nevertheless, use make's FORCE=1, or -f of scripts/host\n"
    )
    # With -f the script continues up to the next obstacle: the question whether to load modules, or
    # a missing module.
    forced = run_host_script(tmp_path, "-f", "load")
    assert reason in forced.stderr
    assert "to continue" not in forced.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="loading modules needs root")
@pytest.mark.parametrize("name", NOISE)
def test_noisy_machine_is_refused_for_measuring(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_system_file(tmp_path, "proc/loadavg", "0.20 0.20 0.10 1/100 1")
    write_system_file(tmp_path, "sys/class/power_supply/BAT0/type", "Battery")
    write_system_file(tmp_path, "sys/class/power_supply/BAT0/status", "Full")
    text, reason = NOISE[name]
    write_system_file(tmp_path, name, text)
    # A replacement of sleep: the load does not fall.
    write_system_file(tmp_path, "bin/sleep", "#!/bin/sh")
    (tmp_path / "bin" / "sleep").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    said = run_host_script(tmp_path, "bench")
    assert said.returncode == 2
    assert reason in said.stderr
    write_system_file(tmp_path, "proc/loadavg", "0.20 0.20 0.10 1/100 1")
    write_system_file(tmp_path, "sys/class/power_supply/BAT0/status", "Full")
    mouse = {"type": "Battery", "status": "Discharging", "scope": "Device"}
    for file, content in mouse.items():
        write_system_file(tmp_path, f"sys/class/power_supply/hidpp_battery_0/{file}", content)
    quiet = run_host_script(tmp_path, "bench")
    assert quiet.stderr.endswith("host: nothing done\n")
    assert quiet.stdout.endswith("Continue? [y/N] \n")
    assert "measures for several minutes in user space and in the kernel" in quiet.stdout


# A replacement of sleep that returns at once and sets the load to the next line of the file
# `loads`. The last line is used again.
NEXT_LOAD = """#!/bin/sh
echo "$1" >>"$KMARKERS_ROOT/slept"
head -n 1 "$KMARKERS_ROOT/loads" >"$KMARKERS_ROOT/proc/loadavg"
[ "$(wc -l <"$KMARKERS_ROOT/loads")" = 1 ] || sed -i 1d "$KMARKERS_ROOT/loads"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="loading modules needs root")
@pytest.mark.parametrize(
    ("arguments", "loads", "slept", "busy"),
    [
        ((), ["3.10", "1.90", "0.99"], [105, 90], ""),
        ((), ["0.99"], [], ""),
        ((), ["3.10", "3.10", "3.50"], [105, 90], "3.50"),
        ((), ["12.0", "9.50", "9.40"], list(range(105, -1, -15)), "9.40"),
        (("-f",), ["3.10", "0.50"], [], "3.10"),
    ],
)
def test_benchmark_waits_while_the_load_of_a_build_falls(
    arguments: tuple[str, ...],
    loads: list[str],
    slept: list[int],
    busy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For each wait, `slept` has the seconds that the script may still wait afterwards. With -f,
    the benchmark does not wait. A rising load does not come from a build that has ended, so waiting
    stops."""
    write_system_file(tmp_path, "proc/loadavg", f"{loads[0]} 0.20 0.10 1/100 1")
    later = [f"{load} 0.20 0.10 1/100 1" for load in loads[1:] or loads]
    write_system_file(tmp_path, "loads", "\n".join(later))
    write_system_file(tmp_path, "bin/sleep", NEXT_LOAD)
    (tmp_path / "bin" / "sleep").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    said = run_host_script(tmp_path, *arguments, "bench").stderr
    waits = [
        f"host: the load of the last minute is {load}; waiting until it is below 1,"
        f" at most {left + 15} s\n"
        for load, left in zip((*loads, *loads[-1:] * 10), slept)
    ]
    assert said.startswith("".join(waits)) and said.count("waiting until") == len(waits)
    assert (f"the machine is busy (load {busy})" in said) == bool(busy)
    assert said.endswith("host: nothing done\n") == (not busy or "-f" in arguments)
    log = tmp_path / "slept"
    assert (log.read_text() if log.exists() else "") == "15\n" * len(slept)


@pytest.mark.skipif(os.geteuid() != 0, reason="loading modules needs root")
@pytest.mark.parametrize("state", ["lockdown", "sig_enforce", "none"])
def test_unsigned_modules_are_refused_before_they_are_loaded(tmp_path: Path, state: str) -> None:
    write_system_file(tmp_path, "sys/kernel/security/lockdown", "[none] integrity")
    if state == "lockdown":
        write_system_file(
            tmp_path, "sys/kernel/security/lockdown", "none [integrity] confidentiality"
        )
    enforced = "Y" if state == "sig_enforce" else "N"
    write_system_file(tmp_path, "sys/module/module/parameters/sig_enforce", enforced)
    for name in ("scripts/host", "Kbuild", "patcher/Kbuild"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    module = tmp_path / "patcher" / "kmarkers_patcher.ko"
    module.write_bytes(b"ELF")

    def run_host_load() -> str:
        return subprocess.run(
            ["bash", "scripts/host", "load"],
            cwd=tmp_path,
            env={**os.environ, "KMARKERS_ROOT": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        ).stderr

    assert ("patcher/kmarkers_patcher.ko is not signed" in run_host_load()) == (state != "none")
    module.write_bytes(b"ELF\0~Module signature appended~\n")
    assert "is not signed" not in run_host_load()


SUSE = 'ID="opensuse-leap"\nID_LIKE="suse opensuse"'


@pytest.mark.parametrize(
    ("release", "kernel", "command"),
    [
        ("ID=fedora", "6.8.5-301.fc40", "dnf install kernel-devel-6.8.5-301.fc40"),
        (SUSE, "6.4.0-150600.23-default", "zypper install kernel-default-devel"),
        (SUSE, "6.4.0-150600.8.5-azure", "zypper install kernel-azure-devel"),
        ("ID=arch", "6.6.8-arch1-1", "pacman -S linux-headers"),
        ("ID=arch", "6.6.8-1-lts", "pacman -S linux-lts-headers"),
        ("ID=arch", "6.6.8-zen1-1-zen", "pacman -S linux-zen-headers"),
        ("ID=alpine", "6.6.8-0-virt", "apk add linux-virt-dev"),
        ("ID=strange", "6.6.8", "install the headers of kernel 6.6.8"),
    ],
)
def test_hint_names_the_headers_of_the_running_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, kernel: str, command: str
) -> None:
    write_system_file(tmp_path, "etc/os-release", release)
    write_system_file(tmp_path, "bin/uname", f"#!/bin/sh\necho {kernel}")
    (tmp_path / "bin" / "uname").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    said = run_host_script(tmp_path, "hint")
    assert (said.returncode, said.stdout) == (0, f"{command}\n")


@pytest.mark.parametrize("release", ["ID=debian", 'ID=pop\nID_LIKE="ubuntu debian"'])
@pytest.mark.parametrize(
    ("shows", "lists", "command"),
    [
        ("exit 0", "echo linux-headers-1", "apt-get install linux-headers-"),
        ("exit 1", "echo linux-headers-1", "no package has the headers of kernel "),
        # Without package lists of apt, the hint is to install the headers package.
        ("exit 1", ":", "apt-get install linux-headers-"),
    ],
)
def test_hint_names_an_existing_header_package(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    release: str,
    shows: str,
    lists: str,
    command: str,
) -> None:
    write_system_file(tmp_path, "etc/os-release", release)
    write_system_file(
        tmp_path, "bin/apt-cache", f'#!/bin/sh\n[ "$1" = search ] || {shows}\n{lists}'
    )
    (tmp_path / "bin" / "apt-cache").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    said = run_host_script(tmp_path, "hint")
    assert (said.returncode, said.stdout.startswith(command)) == (0, True), said.stdout


# Replacements of insmod and rmmod: insmod hangs after it has "loaded" kmarkers_markers; rmmod is
# slow, and fails while $KMARKERS_ROOT has a file that is named like the module, which it removes.
TOOLS = {
    "insmod": """#!/bin/sh
name=$(basename "$1" .ko)
echo "$name 1 0 - Live 0x0" >>"$KMARKERS_ROOT/proc/modules"
[ "$name" = kmarkers_markers ] || exit 0
cp "$KMARKERS_ROOT/proc/modules" "$KMARKERS_ROOT/reached"
exec sleep 60
""",
    "rmmod": """#!/bin/sh
sleep 0.1
[ ! -e "$KMARKERS_ROOT/$1" ] || { rm -f "$KMARKERS_ROOT/$1"; exit 1; }
sed -i "/^$1 /d" "$KMARKERS_ROOT/proc/modules"
""",
}
# A replacement of python3 that writes its arguments to the file `words`, "loads" two modules, then
# hangs as during a measurement.
MEASURES = """#!/bin/sh
echo "$*" >"$KMARKERS_ROOT/words"
echo "kmarkers_patcher 1 0 - Live 0x0" >"$KMARKERS_ROOT/proc/modules"
echo "kmarkers_bench 1 0 - Live 0x0" >>"$KMARKERS_ROOT/proc/modules"
cp "$KMARKERS_ROOT/proc/modules" "$KMARKERS_ROOT/reached"
exec sleep 60
"""


def interrupt_host_script(
    root: Path, *arguments: str, number: signal.Signals = signal.SIGINT, lose_output: bool = False
) -> int:
    """Run a copy of scripts/host. After the script has loaded modules, send a signal to the process
    group of the script, as Ctrl-C does, until the script ends. If `lose_output`, the reader of its
    output exits first. Return the exit code."""
    for source in (ROOT / "scripts" / "host", ROOT / "Kbuild", *ROOT.glob("*/Kbuild")):
        copy = root / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
        for names in re.findall(r"^obj-m [:+]= (.*)$", source.read_text(encoding="utf-8"), re.M):
            for name in re.findall(r"(\w+)\.o", names):
                copy.with_name(f"{name}.ko").touch()
    programs = {f"tools/{name}": text for name, text in TOOLS.items()}
    for name, text in {**programs, "build/venv/bin/python": MEASURES}.items():
        write_system_file(root, name, text)
        (root / name).chmod(0o755)
    (root / "proc").mkdir()
    (root / "proc/modules").touch()
    write_system_file(root, "proc/loadavg", "0.20 0.20 0.10 1/100 1")
    path = f"{root}/tools:{os.environ['PATH']}"
    process = subprocess.Popen(
        ["env", "--default-signal", "bash", root / "scripts" / "host", *arguments],
        env={**os.environ, "KMARKERS_ROOT": str(root), "PATH": path},
        stderr=subprocess.PIPE if lose_output else None,
        start_new_session=True,
    )
    end = time.monotonic() + 60
    while not (root / "reached").exists() and time.monotonic() < end:
        time.sleep(0.05)
    if process.stderr:
        process.stderr.close()
    while process.poll() is None and time.monotonic() < end:
        os.killpg(process.pid, number)
        time.sleep(0.05)
    assert "kmarkers_patcher " in (root / "reached").read_text()
    return process.wait(1)


@pytest.mark.skipif(os.geteuid() != 0, reason="loading modules needs root")
def test_interrupted_host_load_unloads_all_modules(tmp_path: Path) -> None:
    code = interrupt_host_script(tmp_path, "-y", "load", "--bench")
    assert (tmp_path / "proc/modules").read_text() == ""
    assert code == 130


@pytest.mark.skipif(os.geteuid() != 0, reason="loading modules needs root")
@pytest.mark.parametrize("arguments", [[], ["--resume=a run"]])
def test_interrupted_host_bench_unloads_all_modules(tmp_path: Path, arguments: list[str]) -> None:
    code = interrupt_host_script(tmp_path, "-y", "bench", *arguments)
    assert (tmp_path / "proc/modules").read_text() == ""
    assert code == 130
    command = " ".join(["scripts/kmarkers bench --host", *arguments])
    assert (tmp_path / "words").read_text() == f"{command}\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="loading modules needs root")
@pytest.mark.parametrize("arguments", [["load", "--bench"], ["bench"]])
def test_lost_connection_unloads_modules_that_are_still_used(
    tmp_path: Path, arguments: list[str]
) -> None:
    """A process that has just ended still uses a module. The script cannot print a message, because
    the reader of its output has exited."""
    (tmp_path / "kmarkers_patcher").touch()
    code = interrupt_host_script(tmp_path, "-y", *arguments, number=signal.SIGHUP, lose_output=True)
    assert (tmp_path / "proc/modules").read_text() == ""
    assert code == 130


@pytest.mark.skipif(os.geteuid() != 0, reason="loading modules needs root")
def test_module_that_stays_in_use_does_not_keep_the_others_loaded(tmp_path: Path) -> None:
    """The script cannot print a message about the module in use, because the reader of its output
    has exited."""
    (tmp_path / "kmarkers_bench" / "in use").mkdir(parents=True)
    code = interrupt_host_script(tmp_path, "-y", "bench", number=signal.SIGHUP, lose_output=True)
    left = (tmp_path / "proc/modules").read_text()
    assert left == "kmarkers_bench 1 0 - Live 0x0\n"
    assert code == 130


@pytest.mark.parametrize(
    "arguments", [["-x", "load"], ["load", "--all"], ["bench", "--resume"], ["begin"], []]
)
def test_host_script_refuses_wrong_arguments(tmp_path: Path, arguments: list[str]) -> None:
    said = run_host_script(tmp_path, *(arguments or ["-y"]))
    assert said.returncode == 2
    assert said.stderr
