# SPDX-License-Identifier: GPL-2.0-only
"""Runs a guest under Bochs, which emulates processors with CET: indirect branch tracking and shadow
stacks.

Bochs cannot load a kernel directly, so it boots a CD image with kernel and initramfs. A single
thread emulates all CPUs. The guest has no output except through its serial ports, and Bochs has no
monitor that shows the state of the CPUs.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.base.processes import capture_output
from kmtools.lab import chroot, unpack
from kmtools.lab.emulator import Emulator

PACKAGES = (
    *("bochs", "bochs-term", "bochsbios", "vgabios"),
    *("isolinux", "syslinux-common", "xorriso", "coreutils", "dash"),
)
LOADER = ("usr/lib/ISOLINUX/isolinux.bin", "usr/lib/syslinux/modules/bios/ldlinux.c32")
# The number of instructions, and of TSC ticks, in one second of Bochs's clock.
INSTRUCTIONS_PER_SECOND = 100_000_000
# Kernel parameters: no KASLR; trust the TSC without a watchdog clock; and use the TSC frequency of
# Bochs. CPUID reports the TSC frequency of the real processor. If the kernel used this frequency,
# each timeout would take up to 35 times as long.
APPEND = f"nokaslr tsc=reliable tsc_early_khz={INSTRUCTIONS_PER_SECOND // 1000}"
# The exit code of Bochs when the guest powers off.
POWERED_OFF = 1
# The mount points of the scratch directory and of the log directory in the chroot of Bochs.
WORK, LOGS = "src", "out"

BOOT_MENU = """SERIAL 0 115200
DEFAULT guest
PROMPT 0
TIMEOUT 1
LABEL guest
 KERNEL /kernel
 APPEND initrd=/initrd {cmdline}
"""
MAKE_IMAGE = f"""cd /{WORK} && exec xorriso -as mkisofs -quiet -o image.iso -b isolinux.bin \\
    -c boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table disc"""
SETTINGS = """plugin_ctrl: unmapped=1, biosdev=1, speaker=0, extfpuirq=1, parallel=0, serial=1
config_interface: textconfig
display_library: rfb, options="timeout=0"
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
cpu: model={model}, count={cpus}, ips={ips}, reset_on_triple_fault=0
memory: guest={memory}, host={memory}
ata0: enabled=1
ata0-master: type=cdrom, path=/{work}/image.iso, status=inserted
boot: cdrom
{serial}
log: /{work}/bochs.log
panic: action=fatal
error: action=report
info: action=ignore
debug: action=ignore
clock: sync=none
"""
SERIAL = "com{number}: enabled=1, mode=file, dev=/{logs}/{name}"


def fetch_bochs(distro_suite: str) -> Path:
    """Fetch and unpack Bochs and the programs that write its CD image, unless this was done before;
    return the directory to which they were unpacked. `distro_suite` is the Debian suite."""
    return unpack.fetch_programs(distro_suite, "bochs", PACKAGES)


@dataclass(frozen=True)
class Guest:
    """The settings of a boot under Bochs."""

    model: str  # name of the emulated processor
    kernel: Path
    initramfs: Path
    cmdline: str
    cpus: int
    memory: int  # MiB
    serial: Sequence[Path]  # a file for each serial port, all in one directory


def prepare_bochs_boot(distro_suite: str, guest: Guest, scratch: Path) -> Emulator:
    """Write the CD image and the settings of one boot to `scratch`; return Bochs with its command
    line. `distro_suite` is the Debian suite whose Bochs is used."""
    tree = fetch_bochs(distro_suite)
    binds = [(scratch, WORK), (guest.serial[0].parent.resolve(), LOGS)]
    disc = scratch / "disc"
    disc.mkdir()
    for file in LOADER:
        shutil.copy(tree / file, disc)
    shutil.copy(tree / LOADER[0], scratch)
    shutil.copyfile(guest.kernel, disc / "kernel")
    shutil.copyfile(guest.initramfs, disc / "initrd")
    (disc / "isolinux.cfg").write_text(BOOT_MENU.format(cmdline=guest.cmdline), encoding="utf-8")
    log = scratch / "image.log"
    if chroot.run_in_chroot(tree, binds, ["sh", "-c", MAKE_IMAGE], log):
        raise UnableError(
            f"the CD image for Bochs cannot be made: {log.read_text(encoding='utf-8').strip()}"
        )
    serial = [
        SERIAL.format(number=number, logs=LOGS, name=file.name)
        for number, file in enumerate(guest.serial, 1)
    ]
    settings = SETTINGS.format(
        model=guest.model,
        cpus=guest.cpus,
        ips=INSTRUCTIONS_PER_SECOND,
        memory=guest.memory,
        work=WORK,
        serial="\n".join(serial),
    )
    (scratch / "bochsrc").write_text(settings, encoding="utf-8")
    run = ["env", "TERM=dumb", "bochs", "-q", "-f", f"/{WORK}/bochsrc"]
    # Each Bochs gets a network namespace of its own, because the RFB display of Bochs always
    # listens on the same TCP port.
    words = ["unshare", "--net", *chroot.build_chroot_command(tree, binds, run)]
    return Emulator(
        tuple(words), {}, f"Bochs {read_bochs_version(tree)}, {guest.model}", POWERED_OFF
    )


def read_bochs_version(tree: Path) -> str:
    """Return the version of the Bochs that is unpacked in the directory `tree`."""
    said = capture_output(["chroot", tree, "bochs", "--help"])
    found = re.search(r"Bochs x86 Emulator (\S+)", said.stdout + said.stderr)
    return found[1] if found else "of unknown version"
