# SPDX-License-Identifier: GPL-2.0-only
"""Describes the machine, the running kernel and the tools, for env.json of a run."""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT
from kmtools.base.processes import capture_output

NOTABLE_OPTIONS = re.compile(
    r"^(?:# )?(CONFIG_(?:PREEMPT\w*|HZ_\d+|HZ|JUMP_LABEL|HAVE_STATIC_CALL_INLINE|X86_KERNEL_IBT"
    r"|STRICT_MODULE_RWX|KPROBES|OPTPROBES|FUNCTION_TRACER|DYNAMIC_FTRACE|TRACEPOINTS|MODVERSIONS"
    r"|CALL_DEPTH_TRACKING|CALL_THUNKS|LOCKDEP|KASAN|DEBUG_PAGEALLOC|NO_HZ_FULL|UNWINDER_\w+"
    r"|RETPOLINE|MITIGATION_RETPOLINE|CC_OPTIMIZE_FOR_\w+))(?:=(\S+)| is not set)$"
)
# Kernel parameters that affect timing. The rest of the command line is not recorded, because it may
# be private.
NOTABLE_PARAMETERS = re.compile(
    r"^(?:mitigations|nopti|pti|spectre_v\w+|nospectre_\w+|spec_\w+|retbleed|mds|l1tf|tsx\w*|srbds|mmio_\w+"
    r"|gather_data_sampling|ibt|clocksource|tsc|nosmt|maxcpus|nr_cpus|isolcpus|nohz\w*|rcu_nocb\w*"
    r"|irqaffinity|idle|nohlt|cpuidle\.\w+|intel_idle\.\w+|processor\.\w+|intel_pstate|amd_pstate"
    r"|preempt|lockdown|transparent_hugepage|nmi_watchdog|nowatchdog|icount|lpj|no_?kaslr|threadirqs)(?:=.*)?$"
)
TOOLS = {"gcc": ("gcc", "--version"), "ld": ("ld", "--version"), "make": ("make", "--version")}


def read_stripped_text(path: Path) -> str | None:
    """Return the text of a file, stripped; None if the file cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def capture_command_output(*command: str, cwd: Path | None = None) -> str | None:
    """Return the output of a command, stripped; None if the command is missing or fails."""
    if shutil.which(command[0]) is None:
        return None
    done = capture_output(command, cwd)
    return done.stdout.strip() if done.returncode == 0 else None


def take_first_line(text: str | None) -> str | None:
    """Return the first line of a text."""
    return text.splitlines()[0] if text else None


def describe_cpu() -> dict[str, Any]:
    """Return model, family, stepping and microcode of the first CPU in /proc/cpuinfo, and the
    number of online CPUs."""
    fields: dict[str, str] = {}
    for line in (read_stripped_text(Path("/proc/cpuinfo")) or "").split("\n\n")[0].splitlines():
        key, _, value = line.partition(":")
        fields[key.strip()] = value.strip()
    wanted = ("vendor_id", "model name", "cpu family", "model", "stepping", "microcode", "cpu MHz")
    values: dict[str, Any] = {key.replace(" ", "_"): fields.get(key) for key in wanted}
    values["online"] = os.cpu_count()
    values["hypervisor"] = "hypervisor" in fields.get("flags", "").split()
    return values


def describe_kernel_config() -> dict[str, Any] | None:
    """Return the SHA-256 of the running kernel's configuration, and the options that affect times
    (NOTABLE_OPTIONS); None if the configuration cannot be read."""
    try:
        text: str | None = gzip.decompress(Path("/proc/config.gz").read_bytes()).decode()
    except (OSError, EOFError, UnicodeDecodeError):
        text = read_stripped_text(Path(f"/boot/config-{platform.release()}"))
    if text is None:
        return None
    matches = filter(None, map(NOTABLE_OPTIONS.match, text.splitlines()))
    options = {match[1]: match[2] or "n" for match in matches}
    return {"sha256": hashlib.sha256(text.encode()).hexdigest(), "options": options}


def read_mitigations() -> dict[str, str]:
    """Return the text of each file in /sys/devices/system/cpu/vulnerabilities, by the name of the
    file."""
    directory = Path("/sys/devices/system/cpu/vulnerabilities")
    return {file.name: read_stripped_text(file) or "" for file in sorted(directory.glob("*"))}


def describe_kernel_command_line() -> dict[str, Any]:
    """Return the kernel parameters that affect timing, and a hash of the whole command line."""
    text = read_stripped_text(Path("/proc/cmdline")) or ""
    words = [word for word in text.split(" -- ")[0].split() if NOTABLE_PARAMETERS.match(word)]
    return {"notable": words, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def describe_source_tree() -> dict[str, Any]:
    """Return commit and version of the source tree, and whether the tree has local changes."""
    header = read_stripped_text(ROOT / "include" / "kmarkers" / "version.h") or ""
    version = re.search(r'KMARKERS_VERSION\s+"([^"]+)"', header)
    here = Path(__file__).resolve().parent
    status = capture_command_output("git", "status", "--porcelain", cwd=here)
    return {
        "commit": capture_command_output("git", "rev-parse", "HEAD", cwd=here),
        "dirty": None if status is None else bool(status),
        "version": version[1] if version else None,
    }


def get_collection_date() -> str:
    """Return the current time, or SOURCE_DATE_EPOCH if it is set, in UTC; raise UnableError if
    SOURCE_DATE_EPOCH is no time in seconds."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        raise UnableError(
            f"SOURCE_DATE_EPOCH is {epoch!r}, not the seconds from 1970 to a date before the year"
            " 10000: correct or unset it"
        ) from None
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def describe_other_machine(properties: dict[str, str]) -> dict[str, Any]:
    """Return the part of env.json about another machine, from the properties in the file `machine`
    that scripts/target/machine.sh wrote on that machine."""
    cpu = {"model_name": properties.get("cpu_model"), "microcode": properties.get("microcode")}
    return {
        "schema": 1,
        "date": properties.get("date") or get_collection_date(),
        "machine": {
            "architecture": properties.get("architecture"),
            "cpu": {**cpu, "cpu_family": properties.get("cpu_family")},
        },
        "kernel": {"release": properties.get("kernel"), "version": properties.get("version")},
        "mitigations": {},
        "tools": {},
        "source": describe_source_tree(),
    }


def describe_host() -> dict[str, Any]:
    """Return the part of env.json about this machine."""
    tools = {
        name: take_first_line(capture_command_output(*command)) for name, command in TOOLS.items()
    }
    return {
        "schema": 1,
        "date": get_collection_date(),
        "machine": {
            "architecture": platform.machine(),
            "product": read_stripped_text(Path("/sys/class/dmi/id/product_name")),
            "cpu": describe_cpu(),
            "governor": read_stripped_text(
                Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
            ),
            "smt": read_stripped_text(Path("/sys/devices/system/cpu/smt/control")),
            "clocksource": read_stripped_text(
                Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            ),
        },
        "kernel": {
            "release": platform.release(),
            "version": platform.version(),
            "cmdline": describe_kernel_command_line(),
            "config": describe_kernel_config(),
        },
        "mitigations": read_mitigations(),
        "tools": {"python": platform.python_version(), **tools},
        "source": describe_source_tree(),
    }
