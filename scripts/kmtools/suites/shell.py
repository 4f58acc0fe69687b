# SPDX-License-Identifier: GPL-2.0-only
"""Tests `lab shell`: types commands into the shell on a pseudoterminal, and reads its output."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from kmtools.base.paths import ROOT
from kmtools.runner.ask import SuiteRequest
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

# The size of the pseudoterminal in characters.
LINES, COLUMNS = 33, 77
# Time limits for the first prompt, including the time to download programs and build modules, and
# for the answer to a command.
FIRST_PROMPT_SECONDS, ANSWER_SECONDS = 900.0, 60.0
PROMPT = "/sys/kernel/debug/kmarkers # "
CONTROL_C = "\x03"
# A shell command that writes a warning to the kernel's log. `lab shell` must then exit with 1.
WARNING = "echo 'WARNING: CPU: 0 PID: 1 at nowhere' >/dev/kmsg"


# Sources of two modules outside this tree. The module `second` depends on the module `first`, and
# on the module crc7 of the kernel's package.
FIRST = """
#include <linux/module.h>
#include <kmarkers/marker.h>
unsigned int mine_work(unsigned int length);
unsigned int mine_work(unsigned int length)
{
	trace_mark(mine_length, "length %u", length);
	return length;
}
EXPORT_SYMBOL_GPL(mine_work);
MODULE_LICENSE("GPL");
"""
SECOND = """
#include <linux/crc7.h>
#include <linux/module.h>
unsigned int mine_work(unsigned int length);
static int set_length(const char *value, const struct kernel_param *param)
{
	return mine_work(crc7_be(0, "", 0) + 7) == 7 ? 0 : -EINVAL;
}
static const struct kernel_param_ops ops = { .set = set_length };
module_param_cb(length, &ops, NULL, 0200);
MODULE_LICENSE("GPL");
"""
# The file that enables the trace event of the marker mine_length, and a command that hits this
# marker.
EVENT = "/sys/kernel/tracing/events/kmarkers/mine_length/enable"
HIT = "echo 7 >/sys/module/second/parameters/length; cat /sys/kernel/tracing/trace"


def write_module_source(folder: Path, name: str, source: str) -> str:
    """Write the source and the Kbuild file of the module `name`, which uses kmarkers, to a
    directory below `folder`; return this directory."""
    where = folder / name
    where.mkdir()
    (where / f"{name}.c").write_text(source, encoding="utf-8")
    (where / "Kbuild").write_text(
        f"include $(KMARKERS)/kmarkers.mk\nobj-m := {name}.o\n", encoding="utf-8"
    )
    return str(where)


class Typist:
    """Types text into a terminal, and reads the output of the terminal."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self.said = ""

    def type_text(self, text: str) -> None:
        """Write a text to the terminal."""
        os.write(self._terminal, text.encode())

    def read_until_text(self, text: str, seconds: float) -> bool:
        """Wait for a text in the output; return True if the text appears within `seconds`. The
        output is discarded up to the end of this text."""
        deadline = time.monotonic() + seconds
        while text not in self.said and time.monotonic() < deadline:
            if not select.select([self._terminal], [], [], 1.0)[0]:
                continue
            try:
                read = os.read(self._terminal, 4096)
            except OSError:  # the shell has closed its side of the pseudoterminal
                break
            self.said += read.decode(errors="replace")
        _, found, self.said = self.said.rpartition(text)
        if not found:
            print(f"# waited for {text!r} and read {self.said[-500:]!r}", flush=True)
        return bool(found)

    def type_command_and_expect(self, line: str, answer: str) -> bool:
        """Type the command `line`; return True if its output has the text `answer`, and the prompt
        follows."""
        self.type_text(f"{line}\n")
        return self.read_until_text(answer, ANSWER_SECONDS) and self.read_until_text(
            PROMPT, ANSWER_SECONDS
        )


def open_pseudoterminal(lines: int, columns: int) -> tuple[int, int]:
    """Open a pseudoterminal of `lines` lines and `columns` columns; return two file descriptors:
    the side of this process, and the side on which a program runs."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    return ours, theirs


def wait_for_exit_code(process: subprocess.Popen[bytes]) -> int | None:
    """Wait for the end of a process; return its exit code, or None after ANSWER_SECONDS."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(ANSWER_SECONDS)
    return None


@contextmanager
def start_lab_shell(
    kernel: str, *words: str
) -> Iterator[tuple[Typist, subprocess.Popen[bytes], int]]:
    """Start `kmarkers lab shell` on a new pseudoterminal; yield a Typist, the process, and the file
    descriptor of the side on which the shell runs."""
    ours, theirs = open_pseudoterminal(LINES, COLUMNS)
    command = [sys.executable, str(ROOT / "scripts" / "kmarkers"), "lab", "shell", kernel, *words]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    try:
        yield Typist(ours), process, theirs
    finally:
        process.terminate()
        wait_for_exit_code(process)
        process.kill()
        os.close(ours)
        os.close(theirs)


def run_lab_shell_sessions(kernel: str, log: Path) -> Tally:
    """Start `lab shell` twice: first to test ordinary commands, then to test that a warning of the
    kernel changes the exit code."""
    tally = Tally()
    with (
        tempfile.TemporaryDirectory(prefix="kmarkers-modules-") as folder,
        start_lab_shell(
            kernel,
            "--module",
            write_module_source(Path(folder), "first", FIRST),
            write_module_source(Path(folder), "second", SECOND),
        ) as (typist, process, terminal),
    ):
        before = termios.tcgetattr(terminal)
        ready = typist.read_until_text(PROMPT, FIRST_PROMPT_SECONDS)
        tally.add_result(ready, "the shell has no prompt")
        size = f"{LINES} {COLUMNS}"
        tally.add_result(
            typist.type_command_and_expect("stty size", size),
            f"stty in the shell does not print the terminal size {size}",
        )
        event = f"echo 1 >{EVENT}; {HIT}"
        tally.add_result(
            typist.type_command_and_expect(event, "mine_length: length 7"),
            "no trace event of the module given with --module",
        )
        client = "insmod /modules/example_client.ko; grep -c example_tick markers/list"
        tally.add_result(
            typist.type_command_and_expect(client, "\n1\r"),
            "markers/list lacks the marker of example_client",
        )
        typist.type_text("sleep 1000\n")
        time.sleep(1)
        typist.type_text(CONTROL_C)
        tally.add_result(
            typist.type_command_and_expect("echo $((6 * 7))", "\n42\r"),
            "Ctrl-C does not end a command",
        )
        typist.type_text("exit\n")
        tally.add_result(wait_for_exit_code(process) == 0, "the exit code of the shell is not 0")
        tally.add_result(
            termios.tcgetattr(terminal) == before, "the terminal settings are not restored"
        )
    with start_lab_shell(kernel) as (typist, process, _):
        tally.add_result(
            typist.read_until_text(PROMPT, FIRST_PROMPT_SECONDS), "the second shell has no prompt"
        )
        typist.type_text(f"{WARNING}; exit\n")
        tally.add_result(
            wait_for_exit_code(process) == 1, "the exit code after a kernel warning is not 1"
        )
    log.write_text(f"{tally.format_summary()}\n", encoding="utf-8")
    return tally


def make_shell_suites(kernel: str) -> list[Suite]:
    """Return a list of one suite, which types commands into `lab shell` of a kernel."""
    what = "lab shell: a shell in the test kernel on a terminal"
    return [
        Suite(
            f"shell-{kernel}",
            partial(run_lab_shell_sessions, kernel),
            what,
            kernelsuite.make_boot_obstacle_finder(kernel),
            60,
        )
    ]


def make_requested_shell_suites(suite_request: SuiteRequest, names: Sequence[str]) -> list[Suite]:
    """Return a list of one suite, for the requested kernel. This suite does not wait until modules
    are built, because `lab shell` builds modules itself."""
    return make_shell_suites(testkernel.choose_kernel(suite_request))
