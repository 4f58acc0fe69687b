# SPDX-License-Identifier: GPL-2.0-only
"""Tests of command-line arguments: their forms, their defaults, and what each command does with
them."""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kmtools.analyse import rounds as analysed_rounds
from kmtools.analyse import words as verdict_words
from kmtools.base.errors import BAD, DONE, UNABLE, FailedError, UnableError
from kmtools.base.paths import ROOT
from kmtools.cli import main
from kmtools.commands import check, comparing, lab, macro, many, plotting, publish, results, run
from kmtools.lab import added, build, cache, catalogue, database, kernels, shell
from kmtools.lab.machine import Request
from kmtools.measure import bench as measuring
from kmtools.measure import (
    benchmark_names,
    benchrun,
    choice,
    collect,
    fetch,
    objects,
    rounds,
    rundir,
)
from kmtools.measure.benchrun import Plan
from kmtools.measure.macro import CommandTime
from kmtools.report import history as histories
from kmtools.report import impact, rates
from kmtools.report import report as reporting
from kmtools.runner import registry


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        *((comparing.parse_percent, text, value)
          for text, value in (("0", 0.0), ("0.1%", 0.1), ("99.9", 99.9), ("100", None),
                              ("-0.1", None), ("nan", None), ("5%%", None), ("x", None))),
        *((plotting.parse_figure_width, text, value)
          for text, value in (("60", 60.0), ("600", 600.0), ("59.9", None), ("600.1", None))),
        *((run.parse_tiers, text, value)
          for text, value in (("native", ["native"]), ("icount,vm", ["vm", "icount"]),
                              ("vm,vm", ["vm"]), ("vm,", None), ("vm, icount", None))),
        *((run.parse_tier_and_folder, text, value)
          for text, value in (("vm=a=b", ("vm", Path("a=b"))), ("vm=", None), ("vm", None),
                              ("cloud=a", None), ("=a", None))),
        *((run.parse_tier_and_source, text, value)
          for text, value in (("vm=ssh://a/b=c", ("vm", "ssh://a/b=c")), ("cloud=debugfs", None))),
    ],
)  # fmt: skip
def test_option_values_are_parsed_or_refused(
    parse: Callable[[str], object], text: str, value: object
) -> None:
    if value is None:
        with pytest.raises(ArgumentTypeError):
            parse(text)
    else:
        assert parse(text) == value


def test_verdicts_in_an_option_are_separated_by_commas() -> None:
    known = verdict_words.FAIL_ON_SHIFTS
    assert comparing.parse_verdicts("slower, faster", known) == ["slower", "faster"]
    with pytest.raises(ArgumentTypeError, match=r"^'missing' is not one of slower, faster, chan"):
        comparing.parse_verdicts("slower,missing", known)
    assert comparing.describe_verdict_words(known) == (
        "slower, faster, changed (slower, faster), costlier (slower)"
    )
    all_words = comparing.describe_verdict_words(verdict_words.FAIL_ON_VERDICTS)
    assert "missing, " in all_words and "changed (slower, faster, more, fewer)" in all_words


def test_verdicts_of_several_options_are_joined() -> None:
    parser = ArgumentParser()
    comparing.add_compare_command(parser)
    args = parser.parse_args(["a", "b", "--fail-on", "slower", "--fail-on", "more,missing"])
    assert args.fail_on == ["slower", "more", "missing"]
    assert (args.margin, args.whole, args.all) == (0.1, False, False)
    assert (args.markdown, args.json, args.junit, args.html) == (None,) * 4


def test_output_file_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnableError, match=f"no/file: there is no folder {tmp_path}/no$"):
        comparing.write_requested_file(tmp_path / "no" / "file", "")
    comparing.write_requested_file(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"


def test_missing_program_or_module_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, mode in (("program", 0o755), ("text", 0o644)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (tmp_path / "folder").mkdir()
    assert run.parse_program_path("program") == f"{tmp_path}/program"
    for text in ("text", "folder", "none", ""):
        with pytest.raises(ArgumentTypeError, match=f"^'{text}' is not an executable program$"):
            run.parse_program_path(text)
        with pytest.raises(
            ArgumentTypeError, match=f"^'{text}' is not a folder with a Kbuild file"
        ):
            run.parse_module_folder(text)
    for name in ("Kbuild", "Makefile"):
        (tmp_path / "folder" / name).touch()
        assert run.parse_module_folder("folder") == f"{tmp_path}/folder"
        with monkeypatch.context() as inside, pytest.raises(ArgumentTypeError):
            inside.chdir(tmp_path / "folder")
            run.parse_module_folder("")
        (tmp_path / "folder" / name).unlink()


def test_file_for_a_guest_has_an_absolute_destination(tmp_path: Path) -> None:
    source = tmp_path / "a:b"
    source.touch()
    assert lab.parse_source_and_destination(f"{source}:/c") == (source, "/c")
    for text in (f"{source}:c", f"{source}:", ":/c", f"{source}"):
        with pytest.raises(ArgumentTypeError, match="is not SRC:DEST with an absolute DEST"):
            lab.parse_source_and_destination(text)
    with pytest.raises(ArgumentTypeError, match=f"^{tmp_path}/none does not exist$"):
        lab.parse_source_and_destination(f"{tmp_path}/none:/c")
    assert lab.parse_existing_file(str(source)) == source
    with pytest.raises(ArgumentTypeError, match=f"^{tmp_path} is not a file$"):
        lab.parse_existing_file(str(tmp_path))


@pytest.mark.parametrize("ok", [True, False])
def test_vm_run_passes_its_options_to_the_guest(
    ok: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If no option chooses the accelerator, a line on stderr names it."""
    job, requests = tmp_path / "job", []
    failures: list[object] = []
    job.touch()

    def record_boot_request(request: Request, _: object) -> SimpleNamespace:
        requests.append(request)
        return SimpleNamespace(ok=ok)

    monkeypatch.setattr(lab, "boot_guest", record_boot_request)
    monkeypatch.setattr(lab, "print_boot_failure", failures.append)
    monkeypatch.setattr(
        lab, "find_usable_accel", lambda name, _: SimpleNamespace(boot_message=f"boots {name}")
    )
    code = DONE if ok else BAD
    assert main(["vm", "run", "--kernel", "6.1", "--job", str(job)]) == code
    assert capsys.readouterr() == ("", "boots 6.1\n")
    words = ["--kernel", "6.12", "--tier", "icount", "--modules", "m", "--job", str(job)]
    words += ["--out", "o", "--timeout", "7", "--append", "x y", "--nmi", "2.5", "--secure-boot"]
    words += ["--accel", "tcg", "--cpus", "3", "--mem", "512"]
    words += ["--add", f"{job}:/a", "--add", f"{job}:/b"]
    assert main(["vm", "run", *words]) == code
    assert requests == [
        Request("6.1", job, ROOT / "build" / "vm", additions=[]),
        Request(
            *("6.12", job, Path("o"), "icount", Path("m"), [(job, "/a"), (job, "/b")]),
            timeout=7.0, append="x y", nmi=2.5, secure_boot=True, accel="tcg", cpus=3, memory=512,
        ),
    ]  # fmt: skip
    assert (requests[0].timeout, requests[0].cpus, requests[0].memory) == (300.0, 2, 1024)
    assert len(failures) == (0 if ok else 2)
    words = ["--tier", "icount", "--kernel", "6.1", "--job", str(job)]
    assert main(["vm", "run", *words]) == code
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("option", ["--nmi=-5", "--nmi=nan", "--timeout=-1", "--timeout=x"])
def test_negative_number_for_a_boot_is_refused(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job").touch()
    monkeypatch.setattr(lab, "boot_guest", pytest.fail)
    monkeypatch.setattr(lab, "find_usable_accel", pytest.fail)
    with pytest.raises(SystemExit) as caught:
        main(["vm", "run", "--job", str(tmp_path / "job"), option])
    name, _, value = option.partition("=")
    assert caught.value.code == 2
    assert f"argument {name}: '{value}' is not a number of 0 or more" in capsys.readouterr().err


@pytest.mark.parametrize("ok", [True, False])
def test_lab_shell_builds_modules_in_the_given_order(
    ok: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Request, list[Path]]] = []

    def record_shell_request(request: Request, folders: list[Path]) -> SimpleNamespace:
        calls.append((request, folders))
        return SimpleNamespace(ok=ok)

    monkeypatch.setattr(shell, "run_guest_shell", record_shell_request)
    monkeypatch.setattr(build, "require_module_folder", lambda path: tmp_path / path)
    words = ["6.1", "--module", "c", "a", "--module", "b", "--cpus", "3", "--mem", "9"]
    assert main(["lab", "shell", *words]) == (DONE if ok else BAD)
    ((request, folders),) = calls
    assert [path.name for path in folders] == ["c", "a", "b"]
    assert request == Request("6.1", shell.JOB, shell.OUT, additions=[], cpus=3, memory=9)


@pytest.mark.parametrize(
    ("codes", "exit_code", "count"), [([0, 0], DONE, 2), ([2], BAD, 1), ([0, 2], BAD, 2)]
)
def test_lab_build_fails_if_modules_do_not_build(
    codes: list[int], exit_code: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modules outside the tree are not built if the modules of kmarkers cannot be built."""
    left = iter(codes)
    calls: list[object] = []

    def build_modules(*args: object, **_: object) -> int:
        calls.append(args)
        return next(left)

    monkeypatch.setattr(build, "build_modules", build_modules)
    assert main(["lab", "build", "6.1", "--src", "S", "--out", "O"]) == exit_code
    assert len(calls) == count


def test_lab_commands_pass_arguments_to_kernel_functions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[object] = []

    def add_kernel(*args: object) -> SimpleNamespace:
        calls.append(args)
        return SimpleNamespace(name="mine", release="6.5-x")

    monkeypatch.setattr(added, "add_kernel", add_kernel)
    monkeypatch.setattr(added, "remove_kernel", calls.append)
    monkeypatch.setattr(kernels, "fetch_kernels", lambda *args: calls.append(args))
    monkeypatch.setattr(kernels, "print_kernel_table", lambda: calls.append("list"))
    monkeypatch.setattr(cache, "clean_cache", lambda: calls.append("clean"))
    monkeypatch.setattr(database, "write_compile_database", lambda name: f"commands of {name}")
    monkeypatch.setattr(
        lab, "find_usable_accel", lambda name, _: SimpleNamespace(boot_message=f"boots {name}")
    )
    words = ["mine", "--image", "a", "b", "--headers", "c", "--suite", "sid"]
    for line in (["add", *words], ["remove", "mine"], ["fetch"], ["fetch", "x", "--update"],
                 ["list"], ["clean"], ["compile-commands", "--kernel", "6.12"]):  # fmt: skip
        assert main(["lab", *line]) == DONE
    assert main(["vm", "accel", "--kernel", "6.12"]) == DONE
    assert calls == [
        ("mine", [Path("a"), Path("b"), Path("c")], "sid"), "mine", ([], False), (["x"], True),
        "list", "clean",
    ]  # fmt: skip
    assert capsys.readouterr().out.splitlines() == [
        "kernel mine is added; its release is 6.5-x", "commands of 6.12", "boots 6.12"
    ]  # fmt: skip


def make_one_second_times(*labels_and_numbers: str) -> list[CommandTime]:
    """Return a time of 1 s for each name LABEL BOOT [ROUND]."""
    words = [name.split() for name in labels_and_numbers]
    return [CommandTime(w[0], w[1], "6.1", 1.0, int([*w, "0"][2])) for w in words]


def test_kernel_with_the_fewest_boots_is_booted_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several times from one boot count as one boot. If several kernels have the fewest boots, the
    next kernel is drawn from these."""
    drawn: list[list[str]] = []

    def choose_last_label(labels: list[str]) -> str:
        drawn.append(labels)
        return labels[-1]

    monkeypatch.setattr("random.choice", choose_last_label)
    times = make_one_second_times("a 1", "a 2", "b 3", "b 3", "b 3", "c 4", "c 5", "d 6")
    assert macro.choose_next_label(times) == "d"
    assert drawn == [["b", "d"]]


@pytest.mark.parametrize(
    ("on", "off", "label", "command", "runs", "expected"),
    [
        (None, None, None, [], None, ""),
        (None, None, None, [], 1, ""),
        (None, None, "l", ["x"], None, ""),
        ("a", "b", None, ["x"], None, ""),
        ("a", "b", "l", ["x"], None, ""),
        ("a", None, "l", ["x"], None, "--on, --off and COMMAND must be given together"),
        (None, "b", "l", ["x"], None, "--on, --off and COMMAND must be given together"),
        ("a", "b", "l", [], None, "--on, --off and COMMAND must be given together"),
        (None, None, "l", [], None, "--label and COMMAND must both be given"),
        (None, None, None, ["x"], None, "--label and COMMAND must both be given"),
    ],
)
def test_macro_refuses_incomplete_arguments(
    on: str | None,
    off: str | None,
    label: str | None,
    command: list[str],
    runs: int | None,
    expected: str,
) -> None:
    args = Namespace(on=on, off=off, label=label, command=command, runs=runs)
    if expected:
        with pytest.raises(UnableError, match=f"^{expected}"):
            macro.require_valid_macro_arguments(args)
    else:
        macro.require_valid_macro_arguments(args)


@pytest.mark.parametrize(
    ("arguments", "calls", "expected"),
    [
        (["--label", "b", "--", "x"], [("b", 20, ["x"])], "kernel to boot next: "),
        (["--label", "b", "--runs", "3", "--", "x"], [("b", 3, ["x"])], "kernel to boot next: "),
        (["--on", "n", "--off", "f", "--", "x", "y z"],
         [("x 'y z'", 40, ["x", "y z"], {"on": "n", "off": "f"})], ""),
        (["--on", "n", "--off", "f", "--runs", "5", "--label", "b", "--", "x"],
         [("b", 5, ["x"], {"on": "n", "off": "f"})], ""),
        ([], [], ""),
    ],
)  # fmt: skip
def test_macro_measures_20_runs_or_40_rounds_by_default(
    arguments: list[str],
    calls: list[object],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The next kernel to boot is named only after times of a kernel were added."""
    asked: list[object] = []

    def record_macro_arguments(path: Path, *more: object) -> list[CommandTime]:
        asked.append(more)
        return make_one_second_times("a 1", "b 2")

    monkeypatch.setattr(macro, "record_times", record_macro_arguments)
    monkeypatch.setattr(rounds, "record_rounds", record_macro_arguments)
    monkeypatch.setattr(
        macro, "load_command_times", lambda path: make_one_second_times("a 1", "b 2")
    )
    assert main(["macro", "--times", "t", *arguments]) == DONE
    assert asked == calls
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "kernel  boots  runs  seconds   ratio  95 % interval",
        "a           1     1    1.000       -  -",
    ]
    assert lines[2].startswith("b           1     1    1.000  1.0000  two boots")
    assert [line.startswith("kernel to boot next: ") for line in lines[3:]] == [True] * bool(
        expected
    )


@pytest.mark.parametrize("number", ["0", "-1", "1_000", "2.5"])
def test_macro_refuses_a_number_of_runs_that_is_no_whole_number_above_0(
    number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["macro", "--times", "t", f"--runs={number}", "--label", "b", "--", "x"])
    assert f"--runs: '{number}' is not a whole number above 0" in capsys.readouterr().err


def test_macro_prints_a_margin_for_rounds_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = [["a", "b", "c", "d", "e", "f", "g"], ["11", "22", "33", "44", "55", "66", "77"]]
    monkeypatch.setattr(analysed_rounds, "make_added_time_table", lambda times: table)
    macro.print_time_comparisons(make_one_second_times("a 1 1"))
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "a   b    c   d   e   f  g", "11  22  33  44  55  66  77",
        f"margin: {analysed_rounds.MARGIN:g} % of the time that COMMAND takes in the state off",
    ]  # fmt: skip
    macro.print_time_comparisons(make_one_second_times("a 1"))
    assert "margin" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["reference"], "reference needs RUN_DIR, the folder of a run in results/local"),
        (["html", "run"], "html accepts neither RUN_DIR nor --out"),
        (["times", "--out", "x"], "times accepts neither RUN_DIR nor --out"),
    ],
)
def test_only_publish_reference_accepts_a_folder(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["publish", *arguments]) == UNABLE
    assert capsys.readouterr().err == f"publish: {expected}\n"


def test_publish_calls_the_writer_of_each_document(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    functions = {writer.partition(":")[2] for writer in publish.WRITERS.values()}

    def make_fake_writers_module(name: str) -> SimpleNamespace:
        def make_recording_writer(function: str) -> Callable[[], None]:
            return lambda: calls.append(f"{name}:{function}")

        own = {function: make_recording_writer(function) for function in functions}
        reference = {
            "write_reference_run": lambda *args: calls.append(args),
            "REFERENCE": Path("ref"),
        }
        return SimpleNamespace(**own, **reference)

    monkeypatch.setattr(publish, "import_module", make_fake_writers_module)
    for name in publish.WRITERS:
        assert main(["publish", name]) == DONE
    assert calls == [*publish.WRITERS.values()]
    assert main(["publish", "reference", "a"]) == main(["publish", "reference", "a", "--out", "o"])
    assert calls[-2:] == [(Path("a"), Path("ref")), (Path("a"), Path("o"))]


def test_impact_without_a_tier_with_real_caches_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the run was quick, a line before the table says so."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "env.json").write_text('{"tiers": []}')
    monkeypatch.setattr("kmtools.analyse.summary.read_summary", lambda path: {"results": [path]})
    monkeypatch.setattr(impact, "render_impact_section", lambda rows: [])
    assert main(["impact", "x"]) == BAD
    assert "no tier with real caches" in capsys.readouterr().err
    monkeypatch.setattr(impact, "render_impact_section", lambda rows: [str(*rows), "b"])
    assert main(["impact", "x"]) == DONE
    assert capsys.readouterr().out == "x\nb\n"
    quick = '{"tiers": [], "run": {"quick": true, "missing": []}}'
    (tmp_path / "x" / "env.json").write_text(quick)
    assert main(["impact", "x"]) == DONE
    assert capsys.readouterr().out == f"{rundir.QUICK}\n\nx\nb\n"


@pytest.mark.parametrize("command", ["impact", "rates"])
@pytest.mark.parametrize("text", ["{}", '{"tiers": [{"tier": "native"}]}'])
def test_env_json_with_wrong_tiers_is_refused(
    command: str,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "env.json").write_text(text)
    monkeypatch.setattr("kmtools.analyse.summary.read_summary", lambda path: {"results": []})
    monkeypatch.setattr(impact, "render_impact_section", lambda rows: ["a"])
    assert main([command, str(tmp_path)]) == BAD
    assert f"{command}: {tmp_path / 'env.json'}: tiers" in capsys.readouterr().err
    assert main([command, str(tmp_path / "none")]) == UNABLE


@pytest.mark.parametrize(
    ("arguments", "rate", "drawn", "expected"),
    [
        ([], 1e6, 0, ""),
        (["--rate", "5e3", "--figure", "f.svg"], 5e3, 1, ""),
        (
            ["--figure", "f.jpg"],
            None,
            0,
            "f.jpg: the suffix of a figure must be .svg, .png or .pdf",
        ),
        (["--figure", "f"], None, 0, "f: the suffix of a figure must be .svg, .png or .pdf"),
        (["--figure", "f.png"], 1e6, 0, "the figure cannot be drawn: no ink"),
    ],
)
def test_rates_refuses_a_figure_of_unknown_format(
    arguments: list[str],
    rate: float | None,
    drawn: int,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A wrong suffix is refused before anything is printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "env.json").write_text('{"tiers": []}')

    def render_charts_as_text(charts: object, description: str, kind: str) -> bytes:
        return f"{kind} {charts}".encode()

    library = "kmtools.report.figures.library"
    monkeypatch.setattr("kmtools.analyse.summary.read_summary", lambda path: {})
    monkeypatch.setattr(rates, "compute_mechanism_costs", lambda *args: ["costs"])
    monkeypatch.setattr(rates, "make_rate_charts", lambda found: f"chart of {found}")
    monkeypatch.setattr(rates, "render_rates_text", lambda found, rate: f"{found} at {rate}")
    monkeypatch.setattr(f"{library}.find_matplotlib_fault", lambda: "no ink" if expected else "")
    monkeypatch.setattr(
        f"{library}.import_canvas_module",
        lambda: SimpleNamespace(render_figure_file=render_charts_as_text),
    )
    assert main(["rates", ".", *arguments]) == (UNABLE if expected else DONE)
    shown = capsys.readouterr()
    assert shown.out == ("" if rate is None else f"['costs'] at {rate}\n")
    assert shown.err == (f"rates: {expected}\n" if expected else "")
    found = [path.read_text() for path in tmp_path.iterdir() if path.name != "env.json"]
    assert found == ["svg chart of ['costs']"] * drawn


@pytest.mark.parametrize(
    ("tools", "missing"), [((), "gcc"), (("objdump",), "gcc"), (("gcc",), "objdump")]
)
def test_missing_program_to_measure_sizes_of_sites_is_named(
    tools: Sequence[str],
    missing: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in tools:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["sites"]) == UNABLE
    said = capsys.readouterr().err
    assert said.startswith("sites: gcc and objdump are needed ") and f"'{missing}'" in said


def test_command_sites_prints_a_table_of_sizes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If forms of a site are named on the command line, the table is followed by their code,
    otherwise by the number of recorded function entries."""
    sizes = dict.fromkeys(objects.PARTS, 5)
    forms = [SimpleNamespace(form=form, sizes=sizes | {"text": text}, code=f"code of {form}")
             for form, text in (("none", 12345), ("marker-generic", 6), ("marker-immediate", 7))
    ]  # fmt: skip
    monkeypatch.setattr(objects, "measure_all_site_forms", lambda: iter(forms))
    monkeypatch.setattr(objects, "count_recorded_function_entries", lambda: 7)
    assert main(["sites"]) == DONE
    head, first, *others = capsys.readouterr().out.splitlines()
    assert head.split("  ")[0] == "bytes of a site" and head.endswith("  strings")
    assert first.startswith("none              12345  ") and first.endswith("        5")
    assert others[0].startswith("marker-generic        6  ")
    assert len(others) == 4 and others[2] == "" and others[3].startswith("gcc records 7 function")
    assert main(["sites", "marker-generic", "none"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["none", "marker-generic"]
    assert lines[3:] == ["", "none:", "code of none", "", "marker-generic:",
                         "code of marker-generic"]  # fmt: skip
    assert main(["sites", "none", "x", "marker"]) == UNABLE
    assert "'marker' is not one of the forms none, marker-generic" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("found", "exit_code"),
    [
        (["slower"], BAD), (["faster"], DONE), ([], DONE), (["refused"], BAD),
        (["faster", "slower"], BAD),
    ],
)  # fmt: skip
def test_exit_code_of_history_is_1_after_a_costlier_shift_or_refused_run(
    found: list[str],
    exit_code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shifts = [SimpleNamespace(verdict=word) for word in found if word != "refused"]
    refused = {"a": "why"} if "refused" in found else {}
    history = SimpleNamespace(shifts=shifts, refused=refused)
    asked: list[object] = []

    def return_history(*args: object) -> SimpleNamespace:
        asked.append(args)
        return history

    monkeypatch.setattr(histories, "load_history", return_history)
    monkeypatch.setattr(histories, "render_history_json", lambda history: "{}")
    monkeypatch.setattr(histories, "render_history_text", lambda history: "text")
    words = ["x", "--fail-on", "costlier", "--margin", "2", "--json", str(tmp_path / "j")]
    assert main(["history", *words]) == exit_code
    assert asked == [(Path("x"), 2.0)]
    assert (tmp_path / "j").read_text() == "{}" and capsys.readouterr().out == "text\n"


def test_machine_names_are_read_one_per_line(tmp_path: Path) -> None:
    (tmp_path / "names").write_bytes(b" one \n\n \ntwo words\r\n\xff\n")
    assert many.read_machine_names(tmp_path / "names") == ["one", "two words", "\udcff"]


def test_fleet_refuses_to_group_by_an_unknown_property(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "x", "--by", "cpu, colour"]) == UNABLE
    said = "fleet: --by: 'colour' is not one of cpu, microcode, kernel\n"
    assert capsys.readouterr().err == said


def make_bench_args(**more: object) -> Namespace:
    """Return the options of `kmarkers bench`; only the options in `more` have a value."""
    names = ("kernel", "seed", "tiers", *benchrun.USER_FIELDS)
    given = {**dict.fromkeys(names), "host": False, "quick": False, **more}
    return Namespace(**given)


OLD = Plan(["native"], "6.12", 7, True, {}, ["loop"], [], 9, 60)


@pytest.mark.parametrize(
    ("options", "resumed", "wanted"),
    [
        ({}, None, (["native", "vm", "icount"], "6.1", 1, False, None, None)),
        ({"seed": 0}, None, (["native", "vm", "icount"], "6.1", 0, False, None, None)),
        ({"host": True}, None, (["native", "metal"], "6.1", 1, False, None, None)),
        ({"program": "p"}, None, (["native"], "6.1", 1, False, None, None)),
        ({"module": "m", "blocks": 3}, None, (["vm", "icount"], "6.1", 1, False, None, 3)),
        ({"tiers": ["vm"], "kernel": "6.12"}, None, (["vm"], "6.12", 1, False, None, None)),
        ({"quick": True}, None, (["native", "vm", "icount"], "6.1", 1, True, None, None)),
        ({}, OLD, (["native"], "6.12", 7, True, ["loop"], 9)),
        ({"seed": 0, "tiers": ["vm"], "blocks": 5}, OLD, (["vm"], "6.12", 0, True, ["loop"], 5)),
    ],
)
def test_missing_bench_options_are_taken_from_the_resumed_run(
    options: dict[str, object],
    resumed: Plan | None,
    wanted: tuple[object, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catalogue, "get_default_kernel_name", lambda: "6.1")
    monkeypatch.setattr(catalogue, "find_kernel_entry", lambda name: None)
    monkeypatch.setattr(run, "require_matching_patterns", lambda tiers, options: None)
    made: list[tuple[Any, ...]] = []
    monkeypatch.setattr(measuring, "make_run_plan", lambda *args: made.append(args))
    run.make_plan_from_options(make_bench_args(**options), resumed)
    ((tiers, kernel, seed, quick, chosen),) = made
    found = ([*tiers], kernel, seed, quick, chosen["benchmarks"] or None, chosen["blocks"] or None)
    assert found == wanted


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"host": True, "module": "m"}, "tier metal is not measured with --module: load the"),
        ({"program": "p", "tiers": ["vm"]}, "tier vm is not measured with --program; choose from"
         " native$"),
        ({"module": "m", "tiers": ["native"]},
         "tier native is not measured with --module; choose from vm, icount$"),
    ],
)  # fmt: skip
def test_tier_that_is_not_measured_is_refused(
    options: dict[str, object], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "find_kernel_entry", lambda name: None)
    with pytest.raises(UnableError, match=f"^{expected}"):
        run.make_plan_from_options(make_bench_args(**options), None)


@pytest.mark.parametrize(
    ("options", "call"),
    [
        ({"benchmarks": ["b"]}, ("tiers", ["native"], ["b"], ())),
        ({"variants": ["v"]}, ("tiers", ["native"], (), ["v"])),
        ({"program": "p", "variants": ["v"]}, ("program", "p", (), ["v"])),
        ({"module": "m", "variants": ["v"]}, None),
    ],
)
def test_bench_patterns_are_checked_against_known_names(
    options: dict[str, object], call: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[object] = []
    monkeypatch.setattr(choice, "select_matching_benchmarks",
                        lambda *args: calls.append(("program", *args)))  # fmt: skip
    monkeypatch.setattr(benchmark_names, "require_tier_patterns_match",
                        lambda *args: calls.append(("tiers", *args)))  # fmt: skip
    run.require_matching_patterns(["native"], dict.fromkeys(benchrun.USER_FIELDS) | options)
    assert calls == ([call] if call else [])


@pytest.mark.parametrize(
    ("measured", "interrupted", "failed", "missing", "whole", "exit_code"),
    [
        (["native"], False, False, [], True, DONE),
        (["native"], False, False, ["vm"], True, UNABLE),
        (["native"], False, False, [], False, UNABLE),
        (["native"], False, True, [], True, BAD),
        ([], False, False, ["vm"], True, UNABLE),
        (["native"], True, False, [], True, 130),
        ([], True, True, ["vm"], True, 130),
    ],
)
def test_bench_exits_with_the_code_of_its_worst_step(
    measured: list[str],
    interrupted: bool,
    failed: bool,
    missing: list[str],
    whole: bool,
    exit_code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Measured tiers are merged and reported, also after an interruption."""
    steps: list[object] = []

    class FakeBench:
        """A bench that measures nothing."""

        cache = None

        def __init__(self, *_: object) -> None:
            self.progress = SimpleNamespace(begin_step=lambda *words: steps.append(words))

        def measure_missing_tiers(self) -> None:
            if interrupted:
                raise KeyboardInterrupt

        def merge_samples(self) -> None:
            steps.append("merged")

    def record_report(*_: object, **__: object) -> bool:
        steps.append("reported")
        return whole

    monkeypatch.setattr(run, "Bench", FakeBench)
    monkeypatch.setattr(reporting, "report_run", record_report)
    monkeypatch.setattr(benchrun, "describe_bench_run", lambda made: {"missing": missing})
    obstacles = {"vm": {"failed": failed}, "icount": {"failed": False}}
    made: Any = SimpleNamespace(
        path=Path("x"), obstacles=obstacles, list_measured_tiers=lambda: measured
    )
    assert run.measure_and_report(made, SimpleNamespace()) == exit_code  # type: ignore[arg-type]
    assert steps == ([("plotting", "15 s"), "merged", "reported"] if measured else [])
    assert ("interrupted" in capsys.readouterr().err) == interrupted


@pytest.mark.parametrize(("missing", "samples"), [([], True), (["vm"], True), (["vm"], False)])
def test_missing_tiers_are_printed_with_the_command_that_measures_them(
    missing: list[str],
    samples: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    entries = [{"tier": tier, "why": "no disk"} for tier in missing]
    described = {"missing": entries, "resume": "kmarkers bench --resume x"}
    monkeypatch.setattr(benchrun, "describe_bench_run", lambda made: described)
    run.print_missing_tiers(SimpleNamespace(has_samples=lambda: samples))  # type: ignore[arg-type]
    lines = ["bench: not measured: vm, because no disk"] * len(missing)
    lines += ["bench: to measure the missing tiers: kmarkers bench --resume x"] * (
        bool(missing) and samples
    )
    assert capsys.readouterr() == ("", "".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize(("whole", "exit_code"), [(True, DONE), (False, UNABLE)])
def test_report_with_medians_only_has_exit_code_2(
    whole: bool, exit_code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def record_report_request(_: Path, figures: bool) -> bool:
        asked.append(figures)
        return whole

    monkeypatch.setattr(reporting, "report_run", record_report_request)
    assert main(["report", "x"]) == main(["report", "x", "--no-figures"]) == exit_code
    assert asked == [True, False]


@pytest.mark.parametrize(
    ("needs", "kernel", "full", "calls"),
    [
        ([""], "", False, [[]]),
        ([""], "6.1", False, [["6.1"]]),
        (["--lint", "", "--lint"], "", False, [["--lint"], []]),
        (["--lint"], "6.1", False, [["--lint"]]),
        (["--fleet", ""], "", True, [["--tools"], ["--fleet"], []]),
    ],
)
def test_check_runs_each_needed_setup_command_once(
    needs: list[str],
    kernel: str,
    full: bool,
    calls: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`kmarkers check` then starts again without the option --setup. If a call of scripts/setup
    fails, the failure is reported, and the remaining calls are still made."""
    asked: list[Sequence[object]] = []
    started: list[object] = []

    def run_setup(words: Sequence[object], check: bool) -> subprocess.CompletedProcess[str]:
        asked.append(words)
        return subprocess.CompletedProcess([], int(len(asked) == 1))

    monkeypatch.setattr("subprocess.run", run_setup)
    monkeypatch.setattr("os.execv", lambda *words: started.append(words))
    words = ["kmarkers", "check", "--setup", "a", "--setu", "--set", "full", "-o", "seed=1", ""]
    monkeypatch.setattr("sys.argv", words)
    rows = [registry.Test("a", "", "user space", "short", "m:f", 1.0, need) for need in needs]
    check.install_tools_and_restart(rows, kernel, full)
    assert asked == [[ROOT / "scripts" / "setup", *words] for words in calls]
    again = ["check", "a", "--set", "full", "-o", "seed=1", ""]
    command = [sys.executable, str(ROOT / "scripts" / "kmarkers"), *again]
    assert started == [(sys.executable, command)]
    assert capsys.readouterr().err.count("scripts/setup failed") == 1


def test_collect_keeps_fetched_samples_only_if_all_checks_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Raw folders come first, then archives, then other sources. Fetched samples are kept in the
    run only if all checks pass."""
    merged: list[list[tuple[str, Path]]] = []

    def fetch_samples(place: object, folder: Path) -> None:
        folder.mkdir()
        (folder / "from").write_text(str(place))

    def fail_first_merge(path: Path, raw: list[tuple[str, Path]]) -> None:
        merged.append(raw)
        if len(merged) == 1:
            raise FailedError("bad")

    monkeypatch.setattr(fetch, "fetch_archive", fetch_samples)
    monkeypatch.setattr(fetch, "fetch_from_source", fetch_samples)
    monkeypatch.setattr(collect, "merge_raw_folders", fail_first_merge)
    monkeypatch.setattr(collect, "print_window_totals", lambda *args: None)
    monkeypatch.setattr(run, "store_estimates_if_numpy_installed", lambda path: None)
    words = ["--from", "metal=debugfs", "--archive", "vm=a.tar", "--raw", "native=n"]
    assert main(["collect", str(tmp_path), *words]) == BAD
    assert not (tmp_path / "raw").exists()
    assert main(["collect", str(tmp_path), *words]) == DONE
    found = [(tier, folder.name) for tier, folder in merged[1]]
    assert found == [("native", "n"), ("vm", "0-vm"), ("metal", "1-metal")]
    kept = {path.parent.name: path.read_text() for path in tmp_path.rglob("from")}
    assert kept == {"vm": "a.tar", "metal": "debugfs"}


def test_interrupted_copy_of_samples_leaves_the_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, source = tmp_path / "raw" / "vm", tmp_path / "source"
    for folder in (kept, source):
        folder.mkdir(parents=True)
        (folder / "env").write_text(folder.name)

    def copy_and_interrupt(_: object, copy: Path) -> None:
        copy.mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shutil.copytree", copy_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            run.replace_folder(kept, source)
    assert [path.name for path in kept.parent.iterdir()] == ["vm"]
    assert (kept / "env").read_text() == "vm"
    run.replace_folder(kept, source)
    assert (kept / "env").read_text() == "source"
    assert [path.name for path in kept.parent.iterdir()] == ["vm"]


def test_module_files_are_recognised_by_their_suffix(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def record_site_files(files: object) -> int:
        asked.append(files)
        return 7

    monkeypatch.setattr(results, "print_module_sites", record_site_files)
    assert main(["sites", "a.ko", "b.ko.xz"]) == 7
    assert asked == [["a.ko", "b.ko.xz"]]


def test_export_without_a_format_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "x"]) == UNABLE
    said = "export: no output file is given: use --parquet, --openmetrics or --trace\n"
    assert capsys.readouterr() == ("", said)


def test_packed_run_is_in_a_file_named_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "kmtools.measure.pack.pack_run", lambda run: ("2026 cpu", "content", b"123")
    )
    monkeypatch.setattr(
        "kmtools.commands.exporting.list_publication_faults", lambda run: [f"{run} is poor"]
    )
    assert main(["pack", "x"]) == main(["pack", "x", "--output", "y"]) == DONE
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "2026 cpu.zip": b"123",
        "y": b"123",
    }
    said = "content\npack: results/metal would not accept this run: x is poor\n"
    assert capsys.readouterr().out == f"{said}2026 cpu.zip: 3 bytes\n{said}y: 3 bytes\n"


@pytest.mark.parametrize(
    ("arguments", "folder", "kind", "pixels"),
    [([], "run/figures", "svg", 744), (["--format=png", "--width=100"], "run/figures", "png", 378),
     (["--out=x/y"], "x/y", "svg", 744)],
)  # fmt: skip
def test_plot_writes_figures_to_the_run_or_to_the_chosen_folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    folder: str,
    kind: str,
    pixels: int,
) -> None:
    """There are 96 pixels in an inch of 25.4 mm."""

    def draw_figure_as_text(sheet: str, how: tuple[str, float], *_style: object) -> bytes:
        return f"{sheet} {how[0]} {how[1]:.0f}".encode()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0})
    monkeypatch.setattr(plotting, "select_figures", lambda *_: {"b": "one", "a": "two"})
    monkeypatch.setattr(plotting, "draw_figure", draw_figure_as_text)
    assert main(["plot", "run", *arguments]) == DONE
    files = [Path(folder, f"{name}.{kind}") for name in "ba"]
    assert capsys.readouterr().out == "".join(f"{path}\n" for path in files)
    assert [path.read_text() for path in files] == [f"one {kind} {pixels}", f"two {kind} {pixels}"]


@pytest.mark.parametrize("error", [ValueError("a\n b"), UnableError("too large")])
def test_error_of_matplotlib_names_the_style(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the user gave no style, the error of matplotlib is raised unchanged."""
    asked: list[tuple[object, ...]] = []

    def raise_drawing_error(*args: object) -> bytes:
        asked.append(args)
        raise error

    sheet: Any = SimpleNamespace(parts=["part"], words="words")
    monkeypatch.setattr("kmtools.report.figures.canvas.render_figure_file", raise_drawing_error)
    with pytest.raises(UnableError) as raised:
        plotting.draw_figure(sheet, ("png", 743.9999), Path("own"), {"a": "b"})
    told = "own: matplotlib cannot draw in this style: ValueError: a b"
    assert str(raised.value) == (told if isinstance(error, ValueError) else "too large")
    with pytest.raises(type(error)) as kept:
        plotting.draw_figure(sheet, ("svg", 744.04), None, None)
    assert kept.value is error
    assert asked == [(["part"], "words", "png", 744.0, {"a": "b"}),
                     (["part"], "words", "svg", 744.0, None)]  # fmt: skip
