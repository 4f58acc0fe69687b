# SPDX-License-Identifier: GPL-2.0-only
"""A pseudoterminal for tests of programs: it emulates the screen, types keys, and changes the size
of the terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence

SECONDS = 60.0
TOKEN = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])|\x1b\[?[?\d;]*$|[\r\n]|[^\x1b\r\n]+|\x1b")


class Terminal:
    """Runs a program on a pseudoterminal. `screen` is the visible text, and `said` is all output.
    `beyond` is the number of columns by which the longest line exceeds the width. `other` is true
    if the alternate screen is shown, `cursor` if the cursor is visible, and `wraps` if long lines
    are wrapped."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        """Start the program `command`; `size` is width and height."""
        self.said, self.colours, self.beyond = "", 0, 0
        self.other, self.cursor, self.wraps = False, True, True
        self._left, self._x, self._y = "", 0, 0
        self.lines: dict[int, str] = {}
        self.status: int | None = None
        self.pid, self._fd = pty.fork()
        if not self.pid:
            os.execve(command[0], list(command), dict(env))
        self.resize(*size)

    def resize(self, width: int, height: int) -> None:
        """Change the size of the terminal; the kernel sends SIGWINCH to the program."""
        self.width = width
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def type_keys(self, keys: str) -> None:
        """Send `keys` to the program, as if a user typed them."""
        os.write(self._fd, keys.encode())

    @property
    def screen(self) -> str:
        """Return the visible lines."""
        return "\n".join(self.lines.get(y, "") for y in range(max(self.lines, default=-1) + 1))

    def read_until(self, done: Callable[[], bool]) -> None:
        """Read output until done() is true; fail after a time limit."""
        end = time.monotonic() + SECONDS
        while not done():
            assert time.monotonic() < end, (
                f"the program has not shown what was expected in time; screen:\n{self.screen}"
            )
            self._read_output()

    def wait_for_exit(self) -> int:
        """Read output until the program ends; return its exit code."""
        self.read_until(lambda: self.status is not None)
        assert self.status is not None
        return os.waitstatus_to_exitcode(self.status)

    def hang_up_and_wait(self) -> int:
        """Remove the terminal, as a lost connection does; return the exit code of the program."""
        os.close(self._fd)
        self._fd = os.open(os.devnull, os.O_RDONLY)
        end = time.monotonic() + SECONDS
        while not (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            assert time.monotonic() < end, "timeout"
            time.sleep(0.05)
        self.status = ended[1]
        return os.waitstatus_to_exitcode(self.status)

    def close(self) -> None:
        """Kill the process group of the program, which may ignore SIGHUP."""
        if self.status is None:
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)

    def _read_output(self) -> None:
        if not select.select([self._fd], [], [], 0.2)[0]:
            return
        try:
            self._interpret_output(os.read(self._fd, 65536).decode(errors="replace"))
        except OSError:  # the program has ended
            self.status = os.waitpid(self.pid, 0)[1]

    def _interpret_output(self, text: str) -> None:
        self.said += text
        text, self._left = self._left + text, ""
        for match in TOKEN.finditer(text):
            if match[3]:
                self._apply_escape_sequence(match[1], match[2], match[3])
            elif match[0].startswith("\x1b"):
                self._left = match[0]
            elif match[0] == "\r":
                self._x = 0
            elif match[0] == "\n":
                self._y += 1
            else:
                self._put_text(match[0])

    def _apply_escape_sequence(self, private: str, number: str, letter: str) -> None:
        if private:
            names = {"1049": "other", "25": "cursor", "7": "wraps"}
            setattr(self, names[number], letter == "h")
        if (private, number) == ("?", "1049"):
            self.lines, self._x, self._y = {}, 0, 0
        elif letter == "H":
            self._x = self._y = 0
        elif letter == "K":
            self.lines[self._y] = self.lines.get(self._y, "")[: self._x]
        elif letter == "J":
            self.lines = {y: line for y, line in self.lines.items() if y <= self._y}
        elif letter == "m":
            self.colours += 1

    def _put_text(self, text: str) -> None:
        line = self.lines.get(self._y, "").ljust(self._x)
        self.lines[self._y] = line[: self._x] + text + line[self._x + len(text) :]
        self._x += len(text)
        self.beyond = max(self.beyond, self._x - self.width)
