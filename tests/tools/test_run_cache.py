# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the cache of samples and results, which avoids reading samples and computing
results again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import rawdata
from kmtools.measure import collect, samples
from kmtools.measure.run_cache import RunCache
from kmtools.measure.rundir import RunError

LOOP = rawdata.Bench("loop", {"none": 2.0, "none-clone": 2.0, "x": 3.0})
SITES = rawdata.Bench("other", {"none": 2.0, "none-clone": 2.0})


@pytest.fixture(name="raw")
def write_raw_processes(tmp_path: Path) -> Path:
    """Write raw samples of four processes; the last two lack one benchmark."""
    for number in range(1, 5):
        benches = [LOOP, SITES] if number < 3 else [LOOP]
        rawdata.write_raw_folder(tmp_path / f"raw/process-{number}", blocks=4, benches=benches)
    return tmp_path / "raw"


def test_incremental_reading_equals_reading_at_once(raw: Path) -> None:
    reader = collect.Reader()
    for most in (1, 2, 2, 4):
        found = reader.load_tier("native", raw, most)
        assert found == collect.load_raw_folder("native", raw, most)
    assert {row.block for row in found.rows if row.benchmark == "loop"} == set(range(16))


def test_samples_of_a_process_are_read_once(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, whole = [], samples.read_raw_samples

    def read_and_record(path: Path, *rest: object) -> object:
        read.append(path.parent.name)
        return whole(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(samples, "read_raw_samples", read_and_record)
    reader = collect.Reader()
    for most in (2, 3, None):
        reader.load_tier("native", raw, most)
    # Rename the directory after the last process, as `kmarkers bench` does. No file is read again.
    reader.load_tier("native", raw.rename(raw.with_name("native")))
    assert sorted(read) == sorted(["process-1", "process-2"] * 2 + ["process-3", "process-4"])


def test_process_with_an_invalid_file_is_read_again(raw: Path) -> None:
    """If a file of a process is invalid, the next load reads all files of this process again, also
    the file that was read before the error."""
    reader, broken = collect.Reader(), raw / "process-2" / "other.csv"
    good = broken.read_text(encoding="utf-8")
    reader.load_tier("native", raw, 1)
    broken.write_text("# schema=3\n", encoding="utf-8")
    with pytest.raises(RunError, match="schema 3"):
        reader.load_tier("native", raw)
    broken.write_text(good, encoding="utf-8")
    assert reader.load_tier("native", raw) == collect.load_raw_folder("native", raw)


def test_selection_of_variants_does_not_change_the_cache(raw: Path) -> None:
    reader = collect.Reader()
    whole = reader.load_tier("native", raw)
    count = len(whole.rows)
    fewer = collect.keep_chosen_variants(whole, ["nothing-else", "none"])
    assert 0 < len(fewer.rows) < count
    assert len(reader.load_tier("native", raw).rows) == count


def test_results_are_recomputed_only_if_samples_or_tier_change(raw: Path) -> None:
    made: list[int] = []

    def record_row_count(rows: object, _: object) -> list[int]:
        made.append(len(rows))  # type: ignore[arg-type]
        return [len(made)]

    cache = RunCache()
    two = collect.load_raw_folder("native", raw, 2)
    assert [cache.compute_results(two.rows, two.tier, record_row_count) for _ in range(2)] == [
        [1],
        [1],
    ]
    four = collect.load_raw_folder("native", raw)
    assert cache.compute_results(four.rows, four.tier, record_row_count) == [2]
    other = replace(four.tier, env={**four.tier.env, "looks": "1"})
    assert cache.compute_results(four.rows, other, record_row_count) == [3]
    elsewhere = replace(four.tier, kernel="another")
    assert cache.compute_results(four.rows, elsewhere, record_row_count) == [4]
    assert cache.compute_results(four.rows, other, record_row_count) == [3]
    assert made == [len(two.rows), len(four.rows), len(four.rows), len(four.rows)]
