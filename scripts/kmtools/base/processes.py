# SPDX-License-Identifier: GPL-2.0-only
"""Runs programs and threads, and ends them before the caller continues."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from kmtools.base.paths import ROOT

# The time between SIGTERM and SIGKILL, in which a program can end by itself.
GRACE_SECONDS = 3.0
# The variable with which programs print English messages: kmarkers recognises only these.
ENGLISH = {"LC_ALL": "C"}
# The programs that run_program() has started and that have not ended.
_running: set[subprocess.Popen[bytes]] = set()


def run_program(
    words: Sequence[object],
    log: Path | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float | None = None,
    read_line: Callable[[str], None] | None = None,
) -> int:
    """Run a program to its end; return its exit code. Raises TimeoutExpired after `seconds`.

    The output is appended to the file `log`; without `log`, it goes to the output of this process.
    If `read_line` is given, it is called with each line of the output instead; `seconds` then does
    not limit the time until the program closes its output. `env` is added to the environment. The
    program runs in a session of its own; all processes that it leaves in this session are ended.
    """
    with contextlib.ExitStack() as stack:
        out: Any = stack.enter_context(log.open("a", encoding="utf-8")) if log else None
        out = subprocess.PIPE if read_line else out
        process = subprocess.Popen(
            [str(word) for word in words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT if read_line else out,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        _running.add(process)
        try:
            if read_line:
                assert process.stdout is not None
                for line in stack.enter_context(process.stdout):
                    read_line(line.decode(errors="replace").strip())
            return process.wait(seconds)
        finally:
            _end_session(process)
            _running.discard(process)


def capture_output(
    words: Sequence[object], cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a short program, with the variables in `env` and ENGLISH; return its exit code and its
    output."""
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**os.environ, **ENGLISH, **(env or {})},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """End all processes of the session that `process` leads: send SIGTERM, wait at most
    GRACE_SECONDS until `process` has ended, and send SIGKILL. On SIGTERM, programs can remove their
    temporary files."""
    _signal_session(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)
    _signal_session(process, signal.SIGKILL)
    process.wait()


def _signal_session(process: subprocess.Popen[bytes], number: int) -> None:
    """Send the signal `number` to all processes of the session that `process` leads."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _discard_output_to_lost_terminal() -> None:
    """Discard further output of this process to a terminal that no longer exists. Otherwise the
    first line that is printed would raise an error, which replaces the KeyboardInterrupt."""
    for descriptor in (1, 2):
        try:
            os.get_terminal_size(descriptor)
        except OSError as error:
            # EIO means that the terminal no longer exists. For a file or a pipe, the error is
            # ENOTTY.
            if error.errno == errno.EIO:
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, descriptor)
                os.close(nothing)


def _terminate_programs(number: int, _: object) -> NoReturn:
    """Send SIGTERM to every running program, whichever thread started it; raise KeyboardInterrupt.
    If the terminal is lost, SIGHUP comes twice, from the kernel and from the shell: the second
    SIGHUP must not interrupt the clean-up after the first."""
    if number == signal.SIGHUP:
        signal.signal(signal.SIGHUP, lambda *_: None)
        _discard_output_to_lost_terminal()
    for process in list(_running):
        _signal_session(process, signal.SIGTERM)
    raise KeyboardInterrupt(number)


@contextmanager
def raise_interrupt_on_signals() -> Iterator[None]:
    """During the `with` block, turn SIGINT, SIGTERM and SIGHUP into a KeyboardInterrupt that holds
    the number of the signal. If the process ignores SIGHUP, as under nohup, SIGHUP stays
    ignored."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, _terminate_programs) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def run_in_thread(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `work` in a thread during the `with` block. At the end of the block, set the event that
    is the argument of `work`, and wait for the thread."""
    stop_event = threading.Event()
    thread = threading.Thread(target=work, args=(stop_event,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop_event.set()
        thread.join()
