# SPDX-License-Identifier: GPL-2.0-only
"""Tests of measurements in clusters: processes, boots and module loads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from kmtools.base import processes
from kmtools.measure import clusters, rundir
from kmtools.measure.clusters import Show, get_cluster_folder, measure_clusters
from kmtools.report.resolving import LiveVerdicts


class FakeClock:
    """A simulated clock, and clusters (processes or boots) that take ten seconds each. `calls` has
    the number and the benchmarks of each measured cluster."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.calls: list[tuple[int, list[str]]] = []
        self.said: list[str] = []
        self.shown: list[tuple[float, float, str]] = []
        monkeypatch.setattr(clusters, "now", lambda: self.now)

    def measure_cluster(
        self, part: Path, number: int, benchmarks: Sequence[str], show: Show
    ) -> None:
        self.calls.append((number, [*benchmarks]))
        show(1, 4, "loop")
        part.mkdir()
        self.now += 10

    def record_progress(self, done: float, total: float, text: str) -> None:
        self.shown.append((done, total, text))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    return FakeClock(monkeypatch)


@pytest.mark.parametrize(
    ("tier", "budget", "expected"),
    [
        ("native", 29, "native: the time limit was reached after 2 processes"),
        ("vm", 29, "vm: the time limit was reached after 2 boots"),
        ("vm", 19, "vm: the time limit was reached after 1 boot"),
        ("metal", 29, "metal: the time limit was reached after 2 module loads"),
        ("metal", 5, "metal: the time limit was reached after 1 module load"),
    ],
)
def test_messages_call_a_cluster_process_boot_or_module_load(
    tier: str, budget: float, expected: str, tmp_path: Path, clock: FakeClock
) -> None:
    done = measure_clusters(
        tmp_path / "raw",
        clock.measure_cluster,
        tier=tier,
        clusters=9,
        budget=budget,
        show=clock.record_progress,
        say=clock.said.append,
    )
    assert clock.said == [expected] and f"after {done} " in expected
    noun = rundir.CLUSTER_NOUNS[tier][0]
    assert [text for *_, text in clock.shown] == [
        f"{noun} {number} of 9, loop" for number in range(1, done + 1)
    ]
    assert LiveVerdicts(tier).render_terminal_lines(80, 24)[1][0] == (
        f"Rows appear when the first {noun} has ended."
    )


def test_progress_is_the_larger_share_of_clusters_or_of_time(
    tmp_path: Path, clock: FakeClock
) -> None:
    """The larger share counts: 1.25 of 4 clusters are 5/16, and 20 of 40 seconds are one half."""
    measure_clusters(
        tmp_path / "a", clock.measure_cluster, clusters=4, show=clock.record_progress, budget=1000
    )
    assert clock.shown == [
        (1 + 4 * number, 16, f"process {number + 1} of 4, loop") for number in range(4)
    ]
    clock.shown.clear()
    clock.now = 0
    measure_clusters(
        tmp_path / "b", clock.measure_cluster, clusters=16, show=clock.record_progress, budget=40
    )
    assert [done / total for done, total, _ in clock.shown] == [1 / 64, 0.25, 0.5, 0.75]


def test_choose_benchmarks_steers_and_ends_a_measurement(tmp_path: Path, clock: FakeClock) -> None:
    """Clusters that were complete before are not measured again, but choose_benchmarks() is
    called for them."""
    ended: list[tuple[str, int]] = []
    answers: dict[int, list[str] | None] = {2: ["b"], 4: []}
    directory = tmp_path / "raw.parts"
    get_cluster_folder(directory, 1).mkdir(parents=True)
    (directory / "process-9.partial").mkdir()
    done = measure_clusters(
        tmp_path / "raw",
        clock.measure_cluster,
        tier="vm",
        clusters=9,
        benchmarks=["a", "b"],
        on_cluster_end=lambda part, number: ended.append((part.name, number)),
        choose_benchmarks=lambda folder, number: answers.get(number) if folder == directory else [],
    )
    assert done == 4
    assert clock.calls == [(2, ["a", "b"]), (3, ["b"]), (4, ["b"])]
    assert ended == [(f"process-{number}", number) for number in range(1, 5)]
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == [
        f"process-{number}" for number in range(1, 5)
    ]
    assert not directory.exists()


def test_each_output_line_of_a_program_is_read() -> None:
    """Lines of stdout and stderr are read, including a last line without a line feed and bytes that
    are not UTF-8."""
    lines: list[str] = []
    script = "echo a; echo ' b ' >&2; printf '\\377\\n'; echo $WORD; printf c; exit 3"
    code = processes.run_program(["sh", "-c", script], env={"WORD": "w"}, read_line=lines.append)
    assert (code, lines) == (3, ["a", "b", "\ufffd", "w", "c"])


def test_program_is_ended_if_reading_its_lines_fails() -> None:
    lines: list[str] = []

    def interrupt_after_line(line: str) -> None:
        lines.append(line)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        processes.run_program(
            ["sh", "-c", "echo $$; exec sleep 600"], read_line=interrupt_after_line
        )
    assert not Path("/proc", lines[0]).exists()
