# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the suite `processors`: its rows, their boots, and the table of results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakelab import use_fake_qemu
from kmtools.base.errors import UnableError
from kmtools.lab import bochs, catalogue, emulator
from kmtools.runner.ask import SuiteRequest
from kmtools.suites import kernelpage, kernelsuite, pairs, processors
from kmtools.suites.pairs import Combination

ROW = Combination("6.1", "EPYC", "off", 4, "full")
# A kernel other than the kernel of the first row.
OTHER_KERNEL = next(
    row.kernel
    for row in pairs.choose_tested_combinations()
    if row.kernel != pairs.choose_tested_combinations()[0].kernel
)
FOUND = ["Retpolines; untrained return thunk", "9", "0", "0", "80", "2026-11-24"]


@pytest.mark.parametrize("is_bochs", [False, True])
def test_each_possible_pair_of_settings_is_in_a_row(is_bochs: bool) -> None:
    rows = [row for row in pairs.choose_tested_combinations() if row.is_bochs == is_bochs]
    possible = pairs.list_bochs_combinations() if is_bochs else pairs.list_qemu_combinations()
    wanted = set().union(*(row.pairs_of_values for row in possible))
    assert wanted == set().union(*(row.pairs_of_values for row in rows))
    assert len(rows) < len(possible) / 3
    assert rows == [row for row in pairs.choose_tested_combinations() if row.is_bochs == is_bochs]
    for row in rows:
        others = (other.pairs_of_values for other in rows if other != row)
        assert row.pairs_of_values - set().union(*others), f"other rows have all pairs of {row}"


def test_all_listed_combinations_are_possible() -> None:
    for row in pairs.list_qemu_combinations() + pairs.list_bochs_combinations():
        assert row.preemption in pairs.KERNELS[row.kernel]
        if row.mitigations == pairs.CALL_DEPTH:
            assert row.kernel not in ("5.10", "6.1") and row.model == "Skylake-Server"
    newest = [row.preemption for row in pairs.list_qemu_combinations() if row.kernel == "7.2"]
    assert set(newest) == {"full", "lazy"}


def test_kernels_of_processor_rows_are_in_kernels_txt() -> None:
    for kernel in pairs.KERNELS:
        assert not catalogue.find_kernel_entry(kernel).debug_kinds


def test_boot_request_has_the_parameters_of_its_row(tmp_path: Path) -> None:
    asked = processors.make_boot_request(ROW, tmp_path, tmp_path)
    assert asked.append == "mitigations=off preempt=full"
    assert (asked.cpus, asked.model, asked.one_thread) == (4, "EPYC", True)
    two = processors.make_boot_request(
        replace(ROW, cpus=2, preemption=pairs.AS_BUILT), tmp_path, tmp_path
    )
    assert two.append == "mitigations=off" and not two.one_thread
    assert (asked.accel, asked.bochs) == ("tcg", "")
    assert asked.settings["KMARKERS_CYCLES"] == processors.FEW_CYCLES
    assert two.settings["KMARKERS_CYCLES"] == kernelsuite.SLOW_SETTINGS["KMARKERS_CYCLES"]
    options = emulator.make_accelerator_options("tcg", "vm", 4, True, asked.model)
    assert options[options.index("-cpu") + 1] == "EPYC"


def test_boot_request_has_the_parameters_of_its_bochs_row(tmp_path: Path) -> None:
    row = Combination("6.12", "ryzen", "off", 2, "none")
    assert row.cells[1] == "Bochs ryzen"
    asked = processors.make_boot_request(row, tmp_path, tmp_path)
    assert (asked.bochs, asked.model, asked.cpus) == ("ryzen", "max", 2)
    assert asked.append.startswith("mitigations=off preempt=none nokaslr tsc=reliable ")
    assert f"tsc_early_khz={bochs.INSTRUCTIONS_PER_SECOND // 1000}" in asked.append
    assert asked.timeout > processors.make_boot_request(ROW, tmp_path, tmp_path).timeout
    assert asked.settings["KMARKERS_SUITES"] == processors.BOCHS_SUITES


def test_processor_suites_begin_with_cases_and_modules() -> None:
    for suites in (processors.SUITES, processors.FEW_SUITES, processors.BOCHS_SUITES):
        assert suites.startswith("cases modules ")


def test_mitigations_are_parsed_from_the_output() -> None:
    status = (
        "# spectre_v2: Mitigation: Retpolines; IBPB: disabled; STIBP: disabled\n"
        "# retbleed: Mitigation: untrained return thunk; SMT disabled\n"
        "# spec_rstack_overflow: Not affected\n"
    )
    said = "spectre_v2: Retpolines; retbleed: untrained return thunk"
    assert processors.format_mitigations(status) == said
    assert processors.format_mitigations("# retbleed: Not affected\n") == "Not affected"


@pytest.fixture(name="page")
def make_page_without_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a kernels.md without the processor table; return it."""
    page = tmp_path / "kernels.md"
    page.write_text("# Kernels\n\n## Stock kernels\n\nsome\n")
    monkeypatch.setattr(kernelpage, "PAGE", page)
    monkeypatch.setattr(processors, "KEPT", tmp_path / "build" / "processors.md")
    return page


def test_processor_row_that_never_ran_is_marked_as_not_run(page: Path) -> None:
    processors.publish_processor_results()
    text = page.read_text()
    rows = pairs.choose_tested_combinations()
    assert text.startswith("# Kernels\n\n## Stock kernels\n\nsome\n")
    assert f"0 of {len(rows)} rows were run." in text
    for row in rows:
        assert f"| {' | '.join(row.cells)} | {kernelpage.NOT_RUN} |" in text
    for name in ("FRED", "INVLPGB"):
        assert f"| with {name} | any | any | any | {kernelpage.NOT_RUN} |" in text


def test_result_of_a_processor_row_is_kept_until_its_next_run(page: Path) -> None:
    rows = pairs.choose_tested_combinations()
    processors.store_combination_results({tuple(rows[0].cells): FOUND})
    before = page.read_text()
    processors.publish_processor_results()
    assert page.read_text() != before
    processors.store_combination_results({tuple(rows[1].cells): FOUND})
    assert processors.read_stored_combination_results() == {
        tuple(row.cells): FOUND for row in rows[:2]
    }
    assert processors.read_page_results(page) == {tuple(rows[0].cells): FOUND}
    assert processors.select_combinations([], [], only_missing=True) == rows[2:]
    assert processors.select_combinations([], [1, 3], only_missing=True) == [rows[2]]
    assert {
        row.kernel for row in processors.select_combinations(["5.10"], [], only_missing=False)
    } == {"5.10"}


def test_committed_page_has_all_processor_rows() -> None:
    text = kernelpage.PAGE.read_text()
    lines = [line for line in text.splitlines() if line.count(" | ") == 10]
    shown = [tuple(line.strip("| ").split(" | ")[:5]) for line in lines[1:]]
    wanted = [tuple(row.cells) for row in pairs.choose_tested_combinations()]
    assert [cells for cells in shown if cells in wanted] == wanted


@pytest.mark.parametrize(("verdict", "failed"), [("ok", "0"), ("not ok", "🔴 **1 FAILED**")])
def test_result_of_a_processor_row_is_in_its_table_cells(
    laboratory: Path, verdict: str, failed: str
) -> None:
    monkey = pytest.MonkeyPatch()
    monkey.setattr(processors, "LOGS", laboratory / "logs")
    said = f'printf "{verdict} 1 x\\n1..1\\n" >"$status"; finish {int(verdict != "ok")}\n'
    (laboratory / "modules").mkdir()
    (laboratory / "modules" / "x.ko").touch()
    row = replace(ROW, kernel=catalogue.get_default_kernel_name())
    with monkey.context(), use_fake_qemu(laboratory, said):
        tally, cells = processors.run_combination_tests(row, laboratory / "modules")
    monkey.undo()
    assert len(tally.failed) == (verdict != "ok")
    assert cells[2] == failed
    assert kernelsuite.JOBS.joinpath("row.sh").is_file()


@pytest.mark.parametrize("number", [0, 1000])
def test_unknown_processor_row_number_is_refused(number: int) -> None:
    with pytest.raises(UnableError, match=f"no row {number}; the rows have the numbers 1 to"):
        processors.select_combinations([], [1, number], only_missing=False)


@pytest.mark.parametrize(
    ("kernel", "numbers", "refused"),
    [("6.1-rt", "", True), (OTHER_KERNEL, "1", True), (OTHER_KERNEL, "", False), ("", "1", False)],
)
def test_kernel_without_a_processor_row_is_refused(
    kernel: str, numbers: str, refused: bool
) -> None:
    request = SuiteRequest("named", kernel, {"numbers": numbers})
    (suite,) = processors.make_requested_processor_suites(request, ["processors"])
    found = suite.obstacle()
    assert found.startswith(f"no such row has kernel {kernel}; rows have kernels 6.1, ") is refused
    assert bool(found) is refused
