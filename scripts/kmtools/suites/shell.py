# SPDX-License-Identifier: GPL-2.0-only
"""Tests the shell of `lab shell` by typing into it on a pseudoterminal."""

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
from kmtools.runner.ask import Ask
from kmtools.runner.ktap import Tally
from kmtools.runner.suite import Suite
from kmtools.suites import kernelsuite, testkernel

LINES, COLUMNS = 33, 77
# The time limit of the first prompt is long because programs may have to be fetched and modules
# built.
FIRST_PROMPT_SECONDS, ANSWER_SECONDS = 900.0, 60.0
PROMPT = "/sys/kernel/debug/kmarkers # "
CONTROL_C = "\x03"
# A line of the kernel's log that ends a run with exit code 1.
WARNING = "echo 'WARNING: CPU: 0 PID: 1 at nowhere' >/dev/kmsg"


# Sources of two modules outside this tree: the second needs the first, and the kernel's own module
# crc7.
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
EVENT = "/sys/kernel/tracing/events/kmarkers/mine_length/enable"
HIT = "echo 7 >/sys/module/second/parameters/length; cat /sys/kernel/tracing/trace"


def write_module(folder: Path, name: str, source: str) -> str:
    """Write the sources of a module that uses kmarkers; returns its folder."""
    where = folder / name
    where.mkdir()
    (where / f"{name}.c").write_text(source)
    (where / "Kbuild").write_text(f"include $(KMARKERS)/kmarkers.mk\nobj-m := {name}.o\n")
    return str(where)


class Typist:
    """Types into a terminal, and reads its output."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self.said = ""

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._terminal, text.encode())

    def wait(self, text: str, seconds: float) -> bool:
        """Tell whether a text appears in time; the output up to it is discarded."""
        deadline = time.monotonic() + seconds
        while text not in self.said and time.monotonic() < deadline:
            if not select.select([self._terminal], [], [], 1.0)[0]:
                continue
            try:
                read = os.read(self._terminal, 4096)
            except OSError:  # nobody has the other end
                break
            self.said += read.decode(errors="replace")
        _, found, self.said = self.said.rpartition(text)
        if not found:
            print(f"# waited for {text!r} and read {self.said[-500:]!r}", flush=True)
        return bool(found)

    def answers(self, line: str, answer: str) -> bool:
        """Type a line; tell whether the output has a text and then the prompt."""
        self.type(f"{line}\n")
        return self.wait(answer, ANSWER_SECONDS) and self.wait(PROMPT, ANSWER_SECONDS)


@contextmanager
def shell(kernel: str, *words: str) -> Iterator[tuple[Typist, subprocess.Popen[bytes], int]]:
    """Start the command on a new pseudoterminal; yields a Typist, the process and a file descriptor
    of the pseudoterminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    command = [sys.executable, str(ROOT / "scripts" / "kmarkers"), "lab", "shell", kernel, *words]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    try:
        yield Typist(ours), process, theirs
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ANSWER_SECONDS)
        process.kill()
        os.close(ours)
        os.close(theirs)


def run(kernel: str, log: Path) -> Tally:
    """Use the shell of a kernel twice: for ordinary commands, and to make the kernel warn."""
    tally = Tally()
    with (
        tempfile.TemporaryDirectory(prefix="kmarkers-modules-") as folder,
        shell(
            kernel,
            "--module",
            write_module(Path(folder), "first", FIRST),
            write_module(Path(folder), "second", SECOND),
        ) as (typist, process, terminal),
    ):
        before = termios.tcgetattr(terminal)
        ready = typist.wait(PROMPT, FIRST_PROMPT_SECONDS)
        tally.judge(ready, "the shell has no prompt")
        size = f"{LINES} {COLUMNS}"
        tally.judge(typist.answers("stty size", size), "stty in the shell has another size")
        event = f"echo 1 >{EVENT}; {HIT}"
        tally.judge(typist.answers(event, "mine_length: length 7"), "no event of the module given")
        client = "insmod /modules/example_client.ko; grep -c example_tick markers/list"
        tally.judge(typist.answers(client, "\n1\r"), "the shell's markers lack those of the client")
        typist.type("sleep 1000\n")
        time.sleep(1)
        typist.type(CONTROL_C)
        tally.judge(typist.answers("echo $((6 * 7))", "\n42\r"), "Ctrl-C does not end a command")
        typist.type("exit\n")
        tally.judge(process.wait(ANSWER_SECONDS) == 0, "the shell does not end with 0")
        tally.judge(termios.tcgetattr(terminal) == before, "the terminal is not as it was")
    with shell(kernel) as (typist, process, _):
        tally.judge(typist.wait(PROMPT, FIRST_PROMPT_SECONDS), "the second shell has no prompt")
        typist.type(f"{WARNING}; exit\n")
        tally.judge(process.wait(ANSWER_SECONDS) == 1, "a warning does not make it end with 1")
    log.write_text(f"{tally.closing_line()}\n")
    return tally


def suites(kernel: str) -> list[Suite]:
    """Return the suite, as a list of one."""
    what = "a shell in the test kernel, on a terminal"
    return [Suite(f"shell-{kernel}", partial(run, kernel), what, kernelsuite.obstacle(kernel), 60)]


def suites_of(ask: Ask, names: Sequence[str]) -> list[Suite]:
    """Return the suite. It builds the modules that it needs itself."""
    return suites(testkernel.kernel_of(ask))
