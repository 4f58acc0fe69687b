# SPDX-License-Identifier: GPL-2.0-only
"""Prepares a boot under UEFI Secure Boot: a key, firmware that trusts it, and signed files.

The key is a new one, made in the scratch directory of the boot, or a key that DKMS has made. The
firmware is OVMF from the Debian suite of the emulator, because older versions do not verify a
kernel that QEMU passes with -kernel. The only certificate in the firmware's database of trusted
certificates (db) is the certificate of the key. Debian's kernels copy the certificates of db to the
keyring .platform, and accept modules that are signed with these certificates.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kmtools.base.errors import UnableError
from kmtools.lab import chroot, unpack
from kmtools.lab.build import list_kernel_binds
from kmtools.lab.catalogue import Kernel
from kmtools.lab.emulator import quote_option_value

PACKAGES = ("ovmf", "python3-virt-firmware", "openssl", "sbsigntool", "coreutils", "dash")
FIRMWARE = "usr/share/OVMF/OVMF_CODE_4M.secboot.fd"
FIRMWARE_VARIABLES = "/usr/share/OVMF/OVMF_VARS_4M.fd"
# The common name in the certificate.
CERTIFICATE_NAME = "kmarkers test of Secure Boot"
# An arbitrary GUID: the owner of the certificate in the firmware's variables.
CERTIFICATE_OWNER = "6b6d61f1-5e1f-4c1e-9c0e-6b6d61726b65"
# An option that disables the firmware's legacy loader. The legacy loader does not verify
# signatures, and would start a kernel whose verification failed.
DISABLE_LEGACY_LOADER = "name=opt/org.tianocore/EnableLegacyLoader,string=no"
# The firmware's message on the console when it rejects a kernel.
REFUSAL = "Secure boot image verification failed"

# The names of DKMS's key files, and of their copies in the working directory.
DKMS_KEY = {"mok.key": "key.pem", "mok.pub": "certificate.der"}

MAKE_KEY = f"""set -e; cd /src
if [ -e certificate.der ]; then
    openssl x509 -inform DER -in certificate.der -out certificate.pem
else
openssl req -x509 -newkey rsa:2048 -nodes -sha256 -days 3650 \\
    -subj "/CN={CERTIFICATE_NAME}/" -keyout key.pem -out certificate.pem
fi
virt-fw-vars --input {FIRMWARE_VARIABLES} --output variables.fd --secure-boot \\
    --set-pk {CERTIFICATE_OWNER} certificate.pem --add-kek {CERTIFICATE_OWNER} certificate.pem \\
    --add-db {CERTIFICATE_OWNER} certificate.pem
"""
SIGN_KERNEL = "cd /src && sbsign --key key.pem --cert certificate.pem --output kernel kernel"
SIGN_MODULES = """cd /src/modules && for module in *.ko; do
    "/usr/lib/modules/$1/build/scripts/sign-file" sha256 ../key.pem ../certificate.pem "$module" ||
        exit
done"""


@dataclass(frozen=True)
class BootFiles:
    """The kernel image and modules of a boot, and QEMU options for the firmware."""

    image: Path
    modules: list[Path]
    options: list[str] = field(default_factory=list)


def fetch_firmware(distro_suite: str) -> Path:
    """Fetch the firmware and the signing tools of a Debian suite, if they are missing; return the
    directory to which they were unpacked."""
    return unpack.fetch_programs(distro_suite, "secureboot", PACKAGES)


def prepare_secure_boot(
    kernel: Kernel,
    distro_suite: str,
    files: BootFiles,
    scratch: Path,
    log: Path,
    signed: bool,
    key: Path | None = None,
) -> BootFiles:
    """Make firmware variables that trust a signing key. Return copies of the kernel and the
    modules, signed if `signed` is True. The signing key is a new one or, if `key` is given, DKMS's
    key in the directory `key`. The output of the programs is written to `log`."""
    tree = fetch_firmware(distro_suite)
    work = scratch / "secure-boot"
    (work / "modules").mkdir(parents=True)
    image = shutil.copyfile(files.image, work / "kernel")
    modules = [Path(shutil.copy(module, work / "modules")) for module in files.modules]
    if key:
        for source, target in DKMS_KEY.items():
            shutil.copyfile(key / source, work / target)
    binds = [(work, "src")]
    _run_in_chroot(tree, binds, ["sh", "-c", MAKE_KEY], log)
    if signed:
        _run_in_chroot(tree, binds, ["sh", "-c", SIGN_KERNEL], log)
    if signed and modules:
        sign = ["sh", "-c", SIGN_MODULES, "sh", kernel.release]
        _run_in_chroot(
            unpack.get_distro_suite_dir(kernel.suite),
            [*binds, *list_kernel_binds(kernel)],
            sign,
            log,
        )
    return BootFiles(image, modules, make_firmware_options(tree / FIRMWARE, work / "variables.fd"))


def make_firmware_options(firmware: Path, variables: Path) -> list[str]:
    """Return the QEMU options for Secure Boot. Only firmware in system management mode can write
    the variables."""
    if not firmware.is_file():
        raise UnableError(f"{firmware} is missing: the package ovmf has changed")
    flash = "if=pflash,format=raw"
    return [
        *("-machine", "q35,smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on"),
        *("-drive", f"{flash},unit=0,readonly=on,file={quote_option_value(firmware)}"),
        *("-drive", f"{flash},unit=1,file={quote_option_value(variables)}"),
        *("-fw_cfg", DISABLE_LEGACY_LOADER),
    ]


def _run_in_chroot(
    tree: Path, binds: Sequence[tuple[Path, str]], command: Sequence[str], log: Path
) -> None:
    """Run a command in a chroot; raise UnableError if the command fails."""
    if chroot.run_in_chroot(tree, binds, command, log):
        raise UnableError(f"the files for Secure Boot cannot be made, see {log}")
