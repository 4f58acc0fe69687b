# SPDX-License-Identifier: GPL-2.0-only
"""Writes the progress of `bench` for other programs: one JSON object per line, to a file or a pipe.

Every object has `event` and `seconds`, the time since the start. Events:
- step: a step begins; `text` describes it, `number` is its number, `of` the number of all steps;
- share: a part of a step is completed: `done` of `of`; `text` describes it;
- tier: `measured` is true if a tier was measured; if not, `why` is the reason;
- pilot: the differences that the benchmarks of the tier `tier` can detect; see interim.py;
- look: an interim analysis of the tier `tier`: the rows that are resolved so far; see interim.py;
- end: `code` is the exit code, `run` the folder of the run.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, TextIO

from kmtools.base.errors import UnableError, explain_error
from kmtools.base.progress import Progress


class Events:
    """Writes events to a file or a pipe. If the reader of the pipe exits, the measurement
    continues, and no more events are written."""

    def __init__(self, path: str | None) -> None:
        """Open the file or pipe `path`; if `path` is None, no events are written. UnableError if
        the file cannot be opened."""
        self._began = time.monotonic()
        self._stream: TextIO | None = None
        if path is None:
            return
        try:
            self._stream = Path(path).open("w", encoding="utf-8")  # noqa: SIM115  kept open
        except OSError as error:
            raise UnableError(f"--progress {path}: {explain_error(error)}") from None

    def write_event(self, event: str, **parts: Any) -> None:
        """Write the event `event` with the fields `parts`."""
        if self._stream is None:
            return
        seconds = round(time.monotonic() - self._began, 3)
        line = json.dumps({"event": event, "seconds": seconds, **parts})
        try:
            print(line, file=self._stream, flush=True)
        except OSError:
            self._stream = None


class JsonProgress(Progress):
    """Progress that is shown on the terminal and written as events."""

    def __init__(self, total: int, events: Events) -> None:
        """Start the clock; `total` is the number of steps."""
        super().__init__(total)
        self._events = events

    def begin_step(self, text: str, usual: str = "") -> None:
        """Print the next step, and write it as an event."""
        super().begin_step(text, usual)
        self._events.write_event("step", number=self.number, of=self.total, text=text)

    def show_completed_share(self, done: float, total: float, text: str) -> None:
        """Show the completed part of the step, and write it as an event."""
        super().show_completed_share(done, total, text)
        self._events.write_event("share", done=done, of=total, text=text)
