# SPDX-License-Identifier: GPL-2.0-only
"""Tests that each published number has a successor (a benchmark that repeats the measurement), or a
reason for having none."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from kmtools.analyse import published, summary
from kmtools.base.errors import FailedError
from kmtools.base.paths import ROOT
from kmtools.measure import objects
from kmtools.measure.rundir import UNIT_EMULATED, UNIT_GUEST, UNIT_TSC
from kmtools.report.figures import thenandnow
from nativeprograms import run_kmbench
from verdictrows import make_result

# The number of published rows that a benchmark of kmarkers repeats. The other 12 of 111 rows are
# times of programs in kernels that only users can build.
CONTINUED = 99


def test_kmbench_lists_benchmarks_of_published_rows(native_programs: None) -> None:
    """kmbench lists each benchmark and variant that repeats a published measurement in user
    space."""
    lines = dict(line.split(":", 1) for line in run_kmbench("list").stdout.splitlines())
    names = {(name, variant) for name, words in lines.items() for variant in words.split()}
    assert published.find_missing_successor_variants(names, "") == []


@pytest.mark.long
def test_published_rows_are_measured_in_object_files() -> None:
    rows = objects.measure_object_sizes()
    assert published.find_missing_successor_variants(rows, "objects") == []
    assert rows["call-sites", "recorded-entries"] > 100


def test_published_row_without_a_benchmark_is_found() -> None:
    assert "empty-loop:nop-p6" in published.find_missing_successor_variants(set(), "")
    assert "marker-enabled:kprobe-on-probe" in published.find_missing_successor_variants(
        {("empty-loop", "none")}, "kernel"
    )


def test_99_of_111_published_rows_are_measured_again() -> None:
    assert published.count_published_rows_with_successor() == (CONTINUED, 111)


@pytest.mark.parametrize(
    ("stated", "delta", "wrong"),
    [
        ("12.3", 12.36, False),
        ("12.3", 12.399, False),
        ("12.3", 12.4, True),
        ("12.3", 12.2, True),
        ("12.3", 12.201, False),
        ("-0.5", 0.5, True),
        ("40", 40.9, False),
        ("40", 41.0, True),
        ("40", None, False),
        (None, 40.0, False),
    ],
)
def test_published_delta_off_by_its_last_digit_is_wrong(
    stated: str | None, delta: float | None, wrong: bool
) -> None:
    one = replace(
        published.read_published_numbers()[0], delta=delta,
        delta_stated=None if stated is None else Decimal(stated),
    )  # fmt: skip
    assert one.is_stated_delta_wrong is wrong
    entry = one.to_json_entry()
    assert (entry["delta"], entry["stated_delta_is_wrong"]) == (delta, wrong)
    assert entry["delta_stated"] == (None if stated is None else float(stated))


def test_published_total_is_divided_by_its_loop_count() -> None:
    row = {"total_cycles": "300157", "loops": "100000", "published": "3.00", "unit": "cycles/call"}
    assert published.parse_published_value(row) == (3.00157, "cycles/loop")
    for lacking in ("total_cycles", "loops"):
        assert published.parse_published_value(row | {lacking: ""}) == (3.0, "cycles/call")


def test_result_entry_has_published_numbers_of_its_tier() -> None:
    """The delta of 2006 is 4.003164 - 1.5026497. A published row is left out of results in user
    space if the benchmark measures something else in user space."""
    ancestors = published.read_published_ancestors()
    (entry, guest, emulated) = (
        summary.make_result_entry(make_result("empty-loop", "marker-immediate", unit=u), ancestors)
        for u in (UNIT_TSC, UNIT_GUEST, UNIT_EMULATED)
    )
    assert (entry["published"], entry["published_delta"]) == (4.003164, 2.500514)
    assert guest["published_rows"] == entry["published_rows"] != []
    assert (emulated["published"], emulated["published_rows"]) == (None, [])
    probe = ("marker-enabled", "register-args-empty-probe")
    rows = [
        summary.make_result_entry(make_result(*probe, tier=tier), ancestors)["published_rows"]
        for tier in ("native", "metal")
    ]
    assert [len(one) for one in rows] == [0, 1]


def test_program_times_are_not_compared_with_cycles() -> None:
    """Numbers of whole programs, here pings in packets per second, are not compared with cycles."""
    row, base = (
        make_result("macro-ping", "marker-immediate"),
        make_result("macro-ping", "absent", None),
    )
    pings = published.read_published_ancestors()["macro-ping", "marker-immediate"]
    assert [(number.is_number_of_whole_program, number.delta) for number in pings] == [(True, -5)]
    assert (
        summary.make_result_entry(row, published.read_published_ancestors())["published_rows"] == []
    )
    assert thenandnow.pair_published_costs([base, row], pings) == {}


@pytest.fixture(name="sites", scope="module")
def measure_site_sizes() -> dict[str, dict[str, int]]:
    """Return the sizes of sites in bytes, keyed by form of the site, then by part of the object
    file."""
    return {site.form: dict(site.sizes) for site in objects.measure_all_site_forms()}


def test_sites_add_the_expected_bytes_to_object_files(sites: dict[str, dict[str, int]]) -> None:
    """A site adds the size of its nop to the text, and a note adds nothing. A function without a
    site adds nothing to any part."""
    assert set(sites["none"].values()) == {0}
    assert sites["sdt-note"]["text"] == 0
    likely = {form: sizes["text-likely"] for form, sizes in sites.items()}
    assert likely["none"] == likely["sdt-note"] == 0
    assert (likely["sdt-nop"], likely["sdt-split"]) == (1, 5)
    assert likely["marker-jump"] == likely["sdt-jump"] == likely["sdt-breakpoint"] == 7
    tables = {form: sites[form]["tables"] for form in sites if form in objects.SDT_FLAVOURS}
    # A site of flavour jump or breakpoint needs 16 more bytes: a struct sdt_origin for its copies.
    jumps = dict.fromkeys(("sdt-jump", "sdt-breakpoint"), 28)
    assert tables == {**dict.fromkeys(tables, 12), **jumps}
    assert sites["sdt-jump"]["data"] == sites["sdt-breakpoint"]["data"] == 8
    # The out-of-line text of a marker has at most 24 bytes, and a move of 3 bytes for each of two
    # arguments.
    unlikely = {form: sizes["text-unlikely"] for form, sizes in sites.items()}
    assert max(unlikely[form] for form in sites if form.startswith("marker-")) <= 24 + 2 * 3
    for sizes in sites.values():
        assert sizes["text"] == sizes["text-likely"] + sizes["text-unlikely"]


def test_disassembly_includes_out_of_line_code() -> None:
    """The disassembly of a form includes its out-of-line code."""
    code = {site.form: site.code for site in objects.measure_all_site_forms()}
    assert "sdt_fire" in code["sdt-jump"] and "marker_call_probes" in code["marker-jump"]
    assert code["none"].count("\t") == 1


@pytest.mark.parametrize(
    ("section", "part"),
    [
        (".text", "text"), (".text.unlikely", "text"), (".rodata.str1.1", "strings"),
        ("__markers_strings", "strings"), ("kmarkers_strings", "strings"), (".data.rel", "data"),
        (".bss", "data"), ("__markers", "data"), ("kmarkers_data", "data"),
        ("kmarkers_sites", "tables"), ("__jump_table", "tables"), (".note.stapsdt", "tables"),
        (".discard.x", "tables"), ("kmarkers_heads", None), (".note.gnu.property", None),
        (".comment", None), (".debug_info", None), (".rela.text", None), (".eh_frame", None),
    ],
)  # fmt: skip
def test_elf_section_belongs_to_a_part_of_the_object(section: str, part: str | None) -> None:
    assert objects.find_object_part_of_section(section) == part


def test_size_of_a_site_is_the_growth_by_16_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy adds 0x30 bytes of text, 6 of which belong to the function without a site, and 24
    bytes of tables. 0x1a bytes of text are before the return."""
    head = "  0 .text  {:08x}  0\n      CONTENTS\n  1 kmarkers_x  {:08x}  0\n  2 .data  4  0\n"

    def return_object_listing(words: list[object], *_: object) -> SimpleNamespace:
        copies = 17 if "-17." in str(words[-1]) else 1
        text = head.format(0x30 * copies + 3, 24 * copies + 8)
        if "-d" in words:
            text = "  0:\t90   \tnop\n  1a:\tc3                   \tret\n  1b:\tc3  \tret\n"
        if "-dr" in words:
            text = "x:\n\n0 <f0>:\n 1a: ret\n\n0 <f1>:\n\n5 <f0.cold>:\n 5: ud2\n"
        return SimpleNamespace(stdout=text, returncode=0)

    monkeypatch.setattr("kmtools.base.processes.capture_output", return_object_listing)
    site = objects.measure_site_form("sdt-nop", tmp_path, Counter(text=6, data=0))
    assert site.sizes == {
        "text": 42, "text-likely": 26, "text-unlikely": 16, "data": 0, "tables": 24, "strings": 0,
    }  # fmt: skip
    assert site.code == "0 <f0>:\n 1a: ret\n\n5 <f0.cold>:\n 5: ud2"
    assert (tmp_path / "sdt-nop-17.c").read_text().count("void f") == 17


def test_function_entries_of_all_shared_sources_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An entry has 8 bytes. Sources with variants of benchmarks are not compiled, and a source
    without functions has no table of entries. A source that does not compile is named."""
    tables = {
        "base/a.c": "  3 .text  00000040\n  4 __mcount_loc 00000018  0\n",
        "base/b.c": "  3 .data  00000040\n",
        "native/c.c": "  4 __mcount_loc 00000100  0\n",
    }
    compiled: list[str] = []

    def return_compiler_output(words: list[object], *_: object) -> SimpleNamespace:
        if words[0] == "make":
            return SimpleNamespace(stdout="\n".join(["bench_modules/ops_x.c", *tables]))
        if words[0] == "gcc":
            compiled.append(str(Path(str(words[-1])).relative_to(ROOT)))
            assert "-mrecord-mcount" in words and Path(str(words[-2])).parent.is_dir()
            return SimpleNamespace(returncode=int(not tables), stderr=" no header\n")
        return SimpleNamespace(stdout=tables[compiled[-1]])

    monkeypatch.setattr("kmtools.base.processes.capture_output", return_compiler_output)
    assert objects.count_recorded_function_entries() == 3 + 32
    assert compiled == [*tables]
    tables.clear()
    monkeypatch.setattr(objects, "VARIANT_SOURCES", "none")
    with pytest.raises(FailedError, match=r"^bench_modules/ops_x\.c does not compile: no header$"):
        objects.count_recorded_function_entries()
