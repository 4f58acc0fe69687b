# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers report` with 200 damaged runs: either an error message names the damaged file,
or the page escapes all names."""

from __future__ import annotations

import json
import random
import re
import shutil
from pathlib import Path

import pytest
import rawdata
from kmtools.base.errors import FailedError
from kmtools.cli import main
from kmtools.measure import rundir
from kmtools.report import reference

RUNS = 200
WORDS = (b"nan", b"-1", b"1e99", b"9" * 40, b"<script>alert(1)</script>", b"", b'"', b"\0", b"\xff",
         b"\r", b",", b"\n", b"null", b"{", b"]", b"0", b"native", b"\xe2\x80\xae")  # fmt: skip
LOOP = rawdata.Bench("empty-loop", {"none": 1.0, "none-clone": 1.0, "x": 2.0})
# Damaged numbers of an env file, and the end of the error message.
DAMAGED = (
    *(("layouts:empty-loop:x", value, "1, 2, 4 or 8") for value in ("x", "", "3", "0", "-1")),
    ("planned:empty-loop", f"{'9' * 20} blocks in 40 s", "like '8 blocks in 40 s'"),
    *((name, "9" * 20, "a whole number") for name in ("tsc_khz", "planned_processes", "blocks")),
    *((name, "1x", "a whole number") for name in ("cold_buffer_bytes", "last_cache_bytes")),
    *((name, "nan", "a number") for name in ("seconds", "steal_seconds", "tsc_khz_spread")),
)


def damage_bytes_at_random(text: bytes, rng: random.Random) -> bytes:
    """Return `text`, the bytes of a file, with random damage: truncated, a field or byte replaced,
    a line doubled or removed."""
    kind = rng.randrange(5)
    if kind == 0:
        return text[: rng.randrange(len(text))]
    if kind == 1:
        fields = list(re.finditer(rb"[^,\n\":{}\[\] ]+", text))
        field = rng.choice(fields)
        return text[: field.start()] + rng.choice(WORDS) + text[field.end() :]
    if kind == 2:
        at = rng.randrange(len(text))
        return text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
    lines = text.split(b"\n")
    at = rng.randrange(len(lines))
    if kind == 3:
        return b"\n".join([*lines[:at], lines[at], *lines[at:]])
    return b"\n".join([*lines[:at], *lines[at + 1 :]])


@pytest.fixture(scope="module")
def undamaged_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    raw = rawdata.write_raw_folder(folder / "raw", 8, 1, [LOOP], emulated="0")
    assert main(["collect", str(folder / "run"), f"--raw=native={raw}"]) == 0
    return folder / "run"


def test_a_damaged_run_is_refused_or_escaped(
    undamaged_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`kmarkers report` of each damaged run either succeeds, or prints an error message with the
    name of the damaged file. An exception fails this test."""
    ends = {0: 0, 1: 0}
    for seed in range(RUNS):
        rng = random.Random(seed)
        run = tmp_path / str(seed)
        shutil.copytree(undamaged_run, run)
        file = run / rng.choice(["samples.csv", "samples.csv", "env.json"])
        file.write_bytes(damage_bytes_at_random(file.read_bytes(), rng))
        capsys.readouterr()
        code = main(["report", str(run)])
        said = capsys.readouterr().err
        assert code in ends, (seed, said)
        ends[code] += 1
        if code:
            assert file.name in said and "Traceback" not in said, (seed, said)
            where = file.name == "env.json" or re.search(r"samples\.csv:\d+: |truncated", said)
            assert where, (seed, said)
        else:
            page = (run / "report.html").read_text()
            assert "<script" not in page, seed
        shutil.rmtree(run)
    assert min(ends.values()) > 10


@pytest.mark.parametrize(
    ("part", "value", "expected"),
    [
        ("kernel", {"config": 5}, "kernel.config is 5, not an object or null"),
        ("run", {"missing": [], "resume": None}, "run.resume is null, not a string"),
        ("tiers", {"processes": "x"}, 'tiers[0].processes is "x", not a whole number or null'),
        ("tiers", {"counters": 5}, "tiers[0].counters is 5, not an array"),
        ("kernel", {"config": {"options": [1]}}, "kernel.config.options is [1], not an object or"),
        *(
            ("tiers", {"env": {name: value}}, f"tiers[0].env.{name} is '{value[:40]}', not {words}")
            for name, value, words in DAMAGED
        ),
    ],
)
def test_damaged_field_of_env_json_is_named(
    undamaged_run: Path, tmp_path: Path, part: str, value: dict[str, object], expected: str
) -> None:
    env = json.loads((undamaged_run / "env.json").read_text())
    env[part] = [{**env[part][0], **value}] if part == "tiers" else value
    file = tmp_path / "env.json"
    file.write_text(json.dumps(env))
    with pytest.raises(FailedError, match=re.escape(f"{file}: {expected}")):
        rundir.read_env(file)


def test_tier_that_env_json_has_twice_is_named(undamaged_run: Path, tmp_path: Path) -> None:
    env = json.loads((undamaged_run / "env.json").read_text())
    env["tiers"] *= 2
    (tmp_path / "env.json").write_text(json.dumps(env))
    with pytest.raises(FailedError, match=r"tiers\[1\] has the same tier and kernel as tiers\[0\]"):
        rundir.read_env(tmp_path / "env.json")


@pytest.mark.parametrize(("name", "value", "words"), DAMAGED)
def test_damaged_number_in_a_raw_folder_is_named(
    name: str, value: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = rawdata.write_raw_folder(tmp_path / "raw", 4, 1, [LOOP], emulated="0")
    with (raw / "env").open("a") as file:
        file.write(f"{name}={value}\n")
    assert main(["collect", str(tmp_path / "run"), f"--raw=native={raw}"]) == 1
    assert f"{raw}/env: {name} is '{value[:40]}', not {words}" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [({"source": {}}, "env.json lacks 'dirty'"), ({}, "env.json lacks 'source'"),
     ({"source": {"dirty": False, "commit": None}, "date": None}, "results, 1 figures")],
)  # fmt: skip
def test_run_without_its_sources_or_date_is_published_or_refused(
    undamaged_run: Path,
    tmp_path: Path,
    changed: dict[str, object],
    expected: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = tmp_path / "run"
    shutil.copytree(undamaged_run, run)
    env = json.loads((run / "env.json").read_text())
    del env["source"]
    (run / "env.json").write_text(json.dumps({**env, **changed}))
    assert main(["report", str(run), "--no-figures"]) == 0
    (run / "figures").mkdir(exist_ok=True)
    (run / "figures" / "headline.svg").touch()
    monkeypatch.setattr(reference, "require_no_private_data", lambda _: None)
    main(["publish", "reference", str(run), "--out", str(tmp_path / "out")])
    found = capsys.readouterr()
    assert expected in found.out + found.err
    assert (tmp_path / "out").exists() == ("figures" in expected)


@pytest.mark.parametrize("part", ["machine", "kernel", "source", "date"])
def test_report_is_made_without_properties_of_the_machine(
    undamaged_run: Path, tmp_path: Path, part: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(undamaged_run, run)
    env = json.loads((run / "env.json").read_text())
    del env[part]
    (run / "env.json").write_text(json.dumps(env))
    assert main(["report", str(run)]) == 0
    assert (run / "report.html").is_file()
