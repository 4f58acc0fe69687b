# SPDX-License-Identifier: GPL-2.0-only
"""The commands of the groups lab and vm: test kernels, and modules built for them."""

from __future__ import annotations

import argparse
import contextlib
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from kmtools.base.errors import BAD, DONE, parse_positive_int
from kmtools.base.paths import ROOT
from kmtools.commands import Run
from kmtools.lab import added, build, cache, catalogue, database, kernels, shell, tracers
from kmtools.lab.apt import print_step
from kmtools.lab.emulator import TIERS
from kmtools.lab.machine import Request, boot_guest, find_usable_accel
from kmtools.lab.result import print_boot_failure


def add_lab_fetch_command(parser: ArgumentParser) -> Run:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="name of a kernel in kernels.txt (default: the first)",
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="replace unpacked kernels by newer versions, if the mirror has any",
    )
    return lambda args: kernels.fetch_kernels(args.names, args.update)


def add_lab_build_command(parser: ArgumentParser) -> Run:
    """Before a module outside this tree is built, the modules of kmarkers are built for the same
    kernel. The variable KMARKERS of make is set for such a module, so that its Kbuild file can
    include $(KMARKERS)/kmarkers.mk. The argument W=1 makes the compiler warn more, but does not
    check comments with kernel-doc, which is not installed for test kernels."""
    parser.add_argument("name", metavar="NAME", help="name of a kernel in kernels.txt")
    parser.add_argument(
        "--src", type=Path, required=True, help="source directory with a Kbuild file"
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder to which the built modules are copied"
    )
    parser.add_argument("make_args", nargs="*", metavar="ARG", help="further arguments of make")

    def run_lab_build_command(args: Namespace) -> int:
        ours = args.src.resolve() == ROOT
        # Not the folder of `lab shell`, from which a shell that is starting may read modules.
        out = shell.MODULES / f"{args.name}-build"
        if not ours and shell.build_kmarkers_modules(args.name, out):
            return BAD
        kmarkers_source = None if ours else ROOT
        failed = build.build_modules(
            args.name, args.src, args.out, args.make_args, kmarkers_source=kmarkers_source
        )
        return BAD if failed else DONE

    return run_lab_build_command


def add_lab_add_command(parser: ArgumentParser) -> Run:
    """The image, the modules and the headers of the kernel are each taken from .deb files or from a
    directory that has boot, lib/modules and usr/src, such as the root of a system. Modules for the
    kernel are built with the compiler of a suite in kernels.txt. All commands with the option
    --kernel then accept NAME."""
    parser.add_argument(
        "name", metavar="NAME", help="name of the new kernel; must not be in kernels.txt"
    )
    kind: dict[str, Any] = {"type": Path, "nargs": "+", "metavar": "DEB|DIR"}
    parser.add_argument(
        "--image",
        required=True,
        help="packages or directory with the image and the modules of the kernel",
        **kind,
    )
    parser.add_argument(
        "--headers",
        default=[],
        help="packages or directory with the headers (default: the packages or the directory of "
        "--image)",
        **kind,
    )
    suite = catalogue.load_kernel_entries()[0].suite
    parser.add_argument(
        "--suite",
        default=suite,
        help="suite in kernels.txt whose compiler builds modules for the kernel (default: "
        f"{suite})",
    )

    def run_lab_add_command(args: Namespace) -> None:
        kernel = added.add_kernel(args.name, [*args.image, *args.headers], args.suite)
        print(f"kernel {kernel.name} is added; its release is {kernel.release}")

    return run_lab_add_command


def add_lab_remove_command(parser: ArgumentParser) -> Run:
    parser.add_argument("name", metavar="NAME", help="name under which the kernel was added")
    return lambda args: added.remove_kernel(args.name)


def add_lab_compile_commands_command(parser: ArgumentParser) -> Run:
    """Builds the modules for a test kernel, and writes the compiler commands of this build (with
    paths of this machine) and of the user-space programs to compile_commands.json in this
    checkout."""
    parser.add_argument(
        "--kernel",
        default=catalogue.get_default_kernel_name(),
        help="test kernel: a name in kernels.txt (default: the first)",
    )
    return lambda args: print(database.write_compile_database(args.kernel))


def add_lab_list_command(_: ArgumentParser) -> Run:
    return lambda _: kernels.print_kernel_table()


def add_lab_clean_command(_: ArgumentParser) -> Run:
    return lambda _: cache.clean_cache()


def parse_source_and_destination(text: str) -> tuple[Path, str]:
    """Parse SRC:DEST, a file to copy into the guest."""
    source, _, destination = text.rpartition(":")
    if not source or not destination.startswith("/"):
        raise argparse.ArgumentTypeError(f"{text!r} is not SRC:DEST with an absolute DEST")
    if not Path(source).exists():
        raise argparse.ArgumentTypeError(f"{source} does not exist")
    return Path(source), destination


def parse_existing_file(text: str) -> Path:
    """Parse the path of a file that must exist."""
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text} is not a file")
    return path


def parse_nonnegative_number(text: str) -> float:
    """Parse a number that is not negative."""
    with contextlib.suppress(ValueError):
        if (number := float(text)) >= 0:
            return number
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")


def add_vm_run_command(parser: ArgumentParser) -> Run:
    # Each option is passed to Request() as an argument, so each `dest` must be a field of Request.
    add = parser.add_argument
    add(
        "--kernel",
        default=catalogue.get_default_kernel_name(),
        help="test kernel: a name in kernels.txt (default: the first)",
    )
    add(
        "--tier",
        choices=TIERS,
        default="vm",
        help="environment of measurement (tier): vm measures times; in icount the emulator counts "
        "instructions (default: vm)",
    )
    add("--modules", type=Path, help="directory of *.ko files, copied to /modules in the guest")
    add_guest_options(parser, 1024)
    add(
        "--job",
        type=parse_existing_file,
        required=True,
        help="script that busybox sh runs in the guest; files in /results are copied to --out",
    )
    add(
        "--out",
        type=Path,
        default=ROOT / "build" / "vm",
        help="folder to which logs and results are written (default: build/vm)",
    )
    add(
        "--timeout",
        type=parse_nonnegative_number,
        default=300.0,
        metavar="SECONDS",
        help="time limit for the boot and the job, in seconds (default: 300)",
    )
    add("--append", default="", help="parameters to append to the kernel command line")
    add(
        "--nmi",
        type=parse_nonnegative_number,
        default=0.0,
        metavar="HZ",
        help="number of NMIs to inject per second (default: 0)",
    )
    add(
        "--secure-boot",
        action="store_true",
        help="boot under UEFI Secure Boot, with kernel and modules signed",
    )
    add(
        "--accel",
        choices=("tcg", "kvm"),
        help="accelerator (default: kvm if the kernel boots under it, else tcg)",
    )

    def run_vm_run_command(args: Namespace) -> int:
        if not args.accel and args.tier != "icount":
            said = find_usable_accel(args.kernel, print_step).boot_message
            print(said, file=sys.stderr, flush=True)
        result = boot_guest(Request(**vars(args)), lambda line: print(line, flush=True))
        if not result.ok:
            print_boot_failure(result)
        return DONE if result.ok else BAD

    return run_vm_run_command


def add_lab_shell_command(parser: ArgumentParser) -> Run:
    """Builds and loads the modules of this tree except the benchmarks, then the modules of the
    folders DIR, in this order; the kernel's own modules that they need are loaded before them.
    trace-cmd, perf and bpftrace of the kernel's Debian release are available if they can be
    downloaded. The command ends when the shell exits; its exit code is 1 if the kernel log then
    contains a warning."""
    default = catalogue.get_default_kernel_name()
    parser.add_argument(
        "name",
        nargs="?",
        default=default,
        metavar="NAME",
        help=f"name of a kernel in kernels.txt (default: {default})",
    )
    parser.add_argument(
        "--module",
        dest="folders",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="DIR",
        help="also build and load the modules in DIR, which has a Kbuild file or Makefile",
    )
    add_guest_options(parser, tracers.TRACERS_MEMORY)

    def run_lab_shell_command(args: Namespace) -> int:
        request = Request(
            args.name,
            shell.JOB,
            shell.OUT,
            additions=args.additions,
            cpus=args.cpus,
            memory=args.memory,
        )
        folders = [build.require_module_folder(path) for path in args.folders]
        return DONE if shell.run_guest_shell(request, folders).ok else BAD

    return run_lab_shell_command


def add_guest_options(parser: ArgumentParser, memory: int) -> None:
    """Add the options for files, CPUs and memory of a guest."""
    add = parser.add_argument
    add(
        "--add",
        dest="additions",
        type=parse_source_and_destination,
        action="append",
        default=[],
        metavar="SRC:DEST",
        help="copy the file or directory SRC to the path DEST in the guest; may be repeated",
    )
    add(
        "--cpus",
        type=parse_positive_int,
        default=2,
        help="number of CPUs of the guest (default: 2)",
    )
    add(
        "--mem",
        dest="memory",
        type=parse_positive_int,
        default=memory,
        metavar="MIB",
        help=f"memory of the guest in MiB (default: {memory})",
    )


def add_vm_accel_command(parser: ArgumentParser) -> Run:
    parser.add_argument(
        "--kernel",
        default=catalogue.get_default_kernel_name(),
        help="test kernel: a name in kernels.txt (default: the first)",
    )
    return lambda args: print(find_usable_accel(args.kernel, print_step).boot_message)
