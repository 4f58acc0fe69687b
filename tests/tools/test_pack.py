# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `kmarkers pack`: a packed run has the results of the run, but no personal details."""

from __future__ import annotations

import gzip
import io
import json
import platform
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import manyruns
import pytest
from kmtools.base import processes
from kmtools.base.errors import BAD, DONE, UNABLE
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.commands import exporting
from kmtools.measure import pack
from kmtools.measure.rundir import RunError
from kmtools.report import reference, report

HOST, USER, SERIAL = "workshop7", "arabella", "PF-123456"
# Fields of env.json with values that contain personal details. A packed run must not contain these
# details.
DETAILS: dict[tuple[str, ...], Any] = {
    ("machine", "hostname"): HOST,
    ("machine", "serial"): {"board": SERIAL},
    ("machine", "product"): f"Laptop of {USER}",
    ("kernel", "cmdline"): {"notable": ["nosmt"], "sha256": "f00d", "text": "root=/dev/mapper/x"},
    ("kernel", "version"): f"#1 SMP {USER}@{HOST}.example.org",
    ("tools", "gcc"): "/home/x/bin/gcc 12.2",
    ("run",): {"quick": False, "missing": [], "resume": "make bench RESUME=/srv/x"},
    ("date",): "2026-11-28T11:08:21Z",
}
GONE = (HOST, USER, SERIAL, "f00d", "/dev/mapper", "/home", "/srv", "/tmp", "RESUME")


def change_env_json(run: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change env.json of a run."""
    file = run / "env.json"
    env = json.loads(file.read_text())
    change(env)
    file.write_text(json.dumps(env))


@pytest.fixture(name="run")
def make_run_with_personal_details(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a run with simulated personal details, such as the names of machine and user. Make an
    empty directory the working directory."""
    (made,) = manyruns.write_simulated_runs(tmp_path / "runs", 1)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.setattr(platform, "node", lambda: HOST)
    monkeypatch.setenv("SUDO_USER", USER)
    kernel = f"6.1.0-{USER}+"

    def add_details(env: dict[str, Any]) -> None:
        for (*folders, name), value in DETAILS.items():
            part = env
            for folder in folders:
                part = part.setdefault(folder, {})
            part[name] = value
        (tier,) = env["tiers"]
        tier["kernel"] = env["kernel"]["release"] = kernel
        tier["env"] |= {"cpu_model": "AMD EPYC", "lacks:peer-fprobe": f"/home/{USER}/x is missing"}
        tier["vm"] = {"accel": "kvm", "cmdline": "console=ttyS0 x=/tmp/y", "qemu": "QEMU 10"}

    change_env_json(made, add_details)
    samples = made / "samples.csv"
    samples.write_text(samples.read_text().replace("native,6.1.0-test,", f"native,{kernel},"))
    return made


def read_packed_files(archive: Path) -> dict[str, str]:
    """Return the text of each file in a packed run."""
    with zipfile.ZipFile(archive) as opened:
        found = {name: opened.read(name) for name in opened.namelist()}
    return {
        name: (gzip.decompress(content) if name.endswith(".gz") else content).decode()
        for name, content in found.items()
    }


def test_packed_run_has_no_personal_details(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", str(run)]) == DONE
    (file,) = Path().iterdir()
    assert file.name == "20261128T110821Z-AMD-EPYC.zip"
    members = read_packed_files(file)
    assert [*members] == [f"{file.stem}/env.json", f"{file.stem}/samples.csv.gz"]
    text = "\n".join(members.values()) + capsys.readouterr().out
    assert [detail for detail in GONE if detail in text] == []
    env = json.loads(members[f"{file.stem}/env.json"])
    (tier,) = env["tiers"]
    assert tier["kernel"] == env["kernel"]["release"] == "6.1.0-(removed)+"
    assert tier["vm"] == {"accel": "kvm", "qemu": "QEMU 10"}
    assert tier["env"]["lacks:peer-fprobe"] == "(removed) is missing"
    assert env["kernel"]["cmdline"] == {"notable": ["nosmt"]} and env["run"] == {"quick": False}
    assert env["machine"]["cpu"] == {"model_name": "AMD EPYC", "microcode": "0x1000065"}


def test_all_commands_read_an_unpacked_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", str(run), "--output", "packed.zip"]) == DONE
    with zipfile.ZipFile("packed.zip") as opened:
        opened.extractall()
    (unpacked,) = (path for path in Path().iterdir() if path.is_dir())
    assert main(["report", str(unpacked), "--no-figures"]) == DONE
    capsys.readouterr()
    tables = []
    for folder in (run, unpacked):
        assert main(["report", str(folder), "--no-figures"]) == DONE
        capsys.readouterr()
        assert main(["table", str(folder)]) == DONE
        tables.append(capsys.readouterr().out.partition("\n")[2].partition("not measured")[0])
    assert tables[0] == tables[1] and "marker-generic" in tables[0]
    assert main(["compare", str(run), str(unpacked), "--all"]) == DONE
    assert " slower" not in capsys.readouterr().out


def test_listing_is_printed_before_the_archive_is_written(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = ""

    def record_output_and_write(path: Path, content: bytes) -> None:
        nonlocal printed
        printed = capsys.readouterr().out
        path.write_bytes(content)

    monkeypatch.setattr(exporting, "write_requested_file", record_output_and_write)
    assert main(["pack", str(run), "--output", "x.zip"]) == DONE
    assert next(iter(read_packed_files(Path("x.zip")).values())) in printed
    assert "samples of the benchmarks getppid-quiet (native), memcpy-4096 (native)" in " ".join(
        printed.split()
    )


def test_packing_a_run_twice_gives_the_same_bytes(run: Path) -> None:
    for name in ("a.zip", "b.zip"):
        assert main(["pack", str(run), "--output", name]) == DONE
    assert Path("a.zip").read_bytes() == Path("b.zip").read_bytes()


def mark_run_as_quick(env: dict[str, Any]) -> None:
    env["run"]["quick"] = True


def mark_run_as_incomplete(env: dict[str, Any]) -> None:
    why = {"tier": "metal", "why": "the run ended too early"}
    env["run"] |= {"missing": [why], "resume": "make bench RESUME=x"}


def mark_tier_as_emulated(env: dict[str, Any]) -> None:
    env["tiers"][0]["env"]["emulated"] = "1"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (mark_run_as_quick, "is not packed. QUICK RUN"),
        (mark_run_as_incomplete, "Not measured: metal, because the run ended too early."),
        (mark_tier_as_emulated, "each of its tiers ran on an emulated CPU"),
    ],
)
def test_quick_incomplete_or_emulated_run_is_refused(
    run: Path,
    change: Callable[[dict[str, Any]], None],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change_env_json(run, change)
    assert main(["pack", str(run)]) == BAD
    shown = capsys.readouterr()
    assert said in shown.err and shown.out == "" and [*Path().iterdir()] == []


def set_source_with_local_changes(env: dict[str, Any]) -> None:
    env["source"] = {"commit": "abc", "dirty": True}


def set_source_without_commit(env: dict[str, Any]) -> None:
    env["source"] = {"commit": None, "dirty": None}


def set_source_with_commit(env: dict[str, Any]) -> None:
    env["source"] = {"commit": "abc", "dirty": False}


def mark_tsc_as_not_invariant(env: dict[str, Any]) -> None:
    set_source_with_commit(env)
    env["tiers"][0]["env"]["invariant_tsc"] = "0"


def add_emulated_tier(env: dict[str, Any]) -> None:
    """Add an emulated tier, whose numbers are always poor."""
    set_source_with_commit(env)
    env["tiers"].append({"tier": "vm", "kernel": "6.1", "env": {"emulated": "1"}, "vm": {}})


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        (set_source_with_commit, []),
        (set_source_with_local_changes, ["its sources had local changes"]),
        (set_source_without_commit, ["its sources are of no known commit"]),
        (
            mark_tsc_as_not_invariant,
            ["native, kernel 6.1.0-(.*): poor numbers: a time stamp counter that is not"],
        ),
    ],
)
def test_listing_says_why_the_collection_would_not_accept_the_run(
    run: Path,
    change: Callable[[dict[str, Any]], None],
    faults: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A run that the collection would not accept is packed nevertheless."""
    change_env_json(run, change)
    assert main(["pack", str(run), "--output", "x.zip"]) == DONE
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("pack: ")]
    assert len(said) == len(faults) and Path("x.zip").exists()
    for line, fault in zip(said, faults):
        assert re.match(f"pack: results/metal would not accept this run: {fault}", line)


def test_pack_accepts_a_run_with_an_emulated_tier(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_env_json(run, add_emulated_tier)
    samples = run / "samples.csv"
    lines = samples.read_text().splitlines()
    emulated = [line.replace("TSC cycles", "ticks (emulated)") for line in lines[2:]]
    lines += [re.sub("^native,[^,]*,", "vm,6.1,", line) for line in emulated]
    samples.write_text("".join(f"{line}\n" for line in lines))
    assert main(["pack", str(run), "--output", "x.zip"]) == DONE
    assert "pack: " not in capsys.readouterr().out


def test_git_ignores_what_commands_write_into_a_contributed_run(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tree" / "results" / "metal"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / ".gitignore", tmp_path / "tree")
    assert main(["pack", str(run), "--output", "x.zip"]) == DONE
    with zipfile.ZipFile("x.zip") as opened:
        opened.extractall(folder)
    (unpacked,) = folder.iterdir()
    assert main(["report", str(unpacked), "--no-figures"]) == DONE
    assert main(["compare", str(run), str(unpacked)]) == DONE
    # A report with figures also writes these files.
    (unpacked / "figures").mkdir()
    for name in ("report.html", "figures/one.svg"):
        (unpacked / name).touch()
    git = ["git", "-C", str(tmp_path / "tree")]
    subprocess.run([*git, "init", "-q"], check=True)
    listed = processes.capture_output([*git, "ls-files", "--others", "--exclude-standard"]).stdout
    names = sorted(line.rpartition("/")[2] for line in listed.splitlines() if "/" in line)
    assert names == ["env.json", "estimates.json", "samples.csv.gz"]
    assert (unpacked / "summary.json").exists()


def test_grades_are_unknown_without_numpy(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change_env_json(run, set_source_with_commit)
    monkeypatch.setattr(report, "has_python_package", lambda _: False)
    assert main(["pack", str(run), "--output", "x.zip"]) == DONE
    assert "its grades are unknown, because they need the package" in capsys.readouterr().out


def test_pack_refuses_a_folder_that_is_no_run(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run.parent / "other").mkdir()
    assert main(["pack", str(run.parent / "missing")]) == UNABLE
    assert main(["pack", str(run.parent / "other")]) == UNABLE
    samples = run / "samples.csv"
    samples.write_text(samples.read_text()[:-20])
    assert main(["pack", str(run)]) == BAD
    shown = capsys.readouterr()
    assert (
        "the folder of the run does not exist" in shown.err
        and "not the folder of a run" in shown.err
    )
    assert "last line is incomplete" in shown.err
    assert shown.out == "" and [*Path().iterdir()] == []


def test_pack_keeps_an_existing_output_file(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.zip").write_text("mine")
    assert main(["pack", str(run), "--output", "mine.zip"]) == UNABLE
    assert "mine.zip exists already" in capsys.readouterr().err
    assert main(["pack", str(run), "--output", "none/x.zip"]) == UNABLE
    assert Path("mine.zip").read_text() == "mine" and [*Path().iterdir()] == [Path("mine.zip")]


def test_commands_tell_how_to_unpack_a_packed_run(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pack", str(run), "--output", "x.zip"]) == DONE
    for words in (["table", "x.zip"], ["compare", str(run), "x.zip"], ["report", "x.zip"]):
        assert main(words) in (BAD, UNABLE)
        assert "unpack the run by python3 -m zipfile -e x.zip" in capsys.readouterr().err


def test_reference_run_that_names_its_machine_is_refused(run: Path) -> None:
    for text in (f"6.1.0-{HOST}", "gcc in /home/x"):
        with pytest.raises(RunError, match="a name or a path of this machine"):
            reference.require_no_private_data({"kernel": {"release": text}})
    reference.require_no_private_data({"kernel": {"release": "6.1.0-56-amd64"}})


@pytest.mark.parametrize(
    ("names", "text", "shown"),
    [
        ([], "bob: /home/bob/x: /usr/home /tmp, /tmp;", "bob: #: /usr/home #, #;"),
        (["bob"], "bob bobby xbob bob7 7bob BOB _bob_ bob-x", "# bobby xbob bob7 7bob BOB _#_ #-x"),
        (["a.b", "bob"], "aXb a.b bob", "aXb # #"),
        (["bob"], "a/home/bob ./srv/x /root", "# ./srv/x #"),
        ([], "/var/home/bob/a /nfs/home/bob,/export/home/bob: /data/Users/bob;", "# #,#: #;"),
        ([], "home/bob CC=/x/home/bob/gcc a-home/bob /data/bob", "# CC=# a-home/bob /data/bob"),
        (["bob"], "/tmpx /work/a,b /Users/x y", "/tmpx #,b # y"),
    ],
)  # fmt: skip
def test_only_whole_names_and_personal_paths_are_removed(
    names: list[str], text: str, shown: str
) -> None:
    assert pack.make_personal_detail_remover(names)(text) == shown.replace("#", "(removed)")


def test_host_and_user_names_of_three_letters_are_personal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer names come first, because they are replaced first: a shorter name may be a part of a
    longer name. Common names, such as root, are left out."""
    monkeypatch.setattr(platform, "node", lambda: "pc1.example.org")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/bo"))
    monkeypatch.setattr("getpass.getuser", lambda: "arabella")
    for name, value in (("SUDO_USER", "eve"), ("USER", "root"), ("LOGNAME", "localhost")):
        monkeypatch.setenv(name, value)
    found = [*pack.list_personal_names()]
    assert found[:2] == ["pc1.example.org", "arabella"] and sorted(found[2:]) == ["eve", "pc1"]


@pytest.mark.parametrize(
    ("value", "shape", "kept"),
    [
        ({"a": 1, "b": 2}, {"a": pack.COPY, "c": pack.COPY}, {"a": 1}),
        ({"a": "x", "b": 2}, {"*": pack.TEXT}, {"a": "X", "b": None}),
        (["x", "y", 3], [pack.TEXT], ["X", "Y", None]),
        ({"a": "x"}, [pack.TEXT], None),
        (["x"], {"*": pack.TEXT}, None),
        ("x", {"*": pack.TEXT}, None),
        ({"a": "x"}, pack.COPY, {"a": "x"}),
        (["x"], pack.TEXT, None),
    ],
)
def test_packed_fields_of_an_unexpected_type_become_null(value: Any, shape: Any, kept: Any) -> None:
    assert pack.select_and_redact_fields(value, shape, str.upper) == kept


@pytest.mark.parametrize(
    ("env", "name"),
    [
        (
            {"date": "2026-11-28T11:08:21Z", "machine": {"cpu": {"model_name": "A(R) B-C @ 3é"}}},
            "20261128T110821Z-A-R-B-C-3",
        ),
        ({"date": "2026", "machine": {"cpu": {"model_name": None}}}, "2026-unknown-CPU"),
        ({"machine": None}, "None-unknown-CPU"),
    ],
)
def test_packed_run_is_named_after_date_and_cpu(env: dict[str, Any], name: str) -> None:
    assert pack.make_packed_name(env) == name


def test_listing_counts_samples_and_hardware_events() -> None:
    """Instead of the counts of hardware events, the listing has only the number of these counts.
    The env.json of the run is not changed."""
    text = "# schema=2\nhead\nnative,k,1,b\nnative,k,1,b\nvm,k,1,a\n"
    env: dict[str, Any] = {
        "tiers": [{"tier": "native", "counters": [1, 2, 3]}, {"tier": "vm", "counters": []}]
    }
    said = pack.describe_packed_content("n", env, gzip.compress(text.encode()))
    assert '"counters": "3 counts of hardware events"' in said and '"counters": []' in said
    assert said.startswith("n/env.json: {\n") and env["tiers"][0]["counters"] == [1, 2, 3]
    end = "n/samples.csv.gz: 3 samples of the benchmarks a (vm), b (native)"
    assert " ".join(said.split()).endswith(end)


def test_archive_is_compressed_and_has_no_dates() -> None:
    with zipfile.ZipFile(
        io.BytesIO(pack.make_zip_archive("f", {"b": b"x" * 999, "a": b""}))
    ) as opened:
        found = opened.infolist()
        assert opened.read("f/b") == b"x" * 999
    assert [entry.filename for entry in found] == ["f/b", "f/a"]
    assert {entry.date_time for entry in found} == {(1980, 1, 1, 0, 0, 0)}
    assert {entry.external_attr >> 16 for entry in found} == {0o644}
    assert found[0].compress_size < 100
