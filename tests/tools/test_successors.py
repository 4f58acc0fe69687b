# SPDX-License-Identifier: GPL-2.0-only
"""Every published number leads to something that a run contains, or to a reason why it cannot."""

from __future__ import annotations

import pytest
from kmtools.analyse import published, summary
from kmtools.measure import objects
from kmtools.report.figures import thenandnow
from nativeprograms import kmbench
from verdictrows import result

# Of 111 rows, 12 are times of programs under kernels that only their users can build.
CONTINUED = 99


def test_successors_in_user_space_are_in_its_list(native_programs: None) -> None:
    """kmbench has every benchmark and variant that an alias names."""
    lines = dict(line.split(":", 1) for line in kmbench("list").stdout.splitlines())
    names = {(name, variant) for name, words in lines.items() for variant in words.split()}
    assert published.unknown(names, "") == []


def test_successors_in_objects_are_read_from_them() -> None:
    rows = objects.rows()
    assert published.unknown(rows, "objects") == []
    assert rows["call-sites", "recorded-entries"] > 100


def test_an_alias_that_leads_nowhere_is_found() -> None:
    assert "empty-loop:nop-p6" in published.unknown(set(), "")
    assert "marker-enabled:kprobe-on-probe" in published.unknown({("empty-loop", "none")}, "kernel")


def test_so_many_published_rows_are_continued() -> None:
    assert published.continued() == (CONTINUED, 111)


def test_times_of_whole_programs_stand_beside_no_cycles() -> None:
    """Pings were published in packets per second, and a successor may be timed on a real CPU."""
    row, base = result("macro-ping", "marker-immediate"), result("macro-ping", "absent", None)
    pings = published.ancestors()["macro-ping", "marker-immediate"]
    assert [(number.whole, number.delta) for number in pings] == [(True, -5)]
    assert summary.as_json(row, published.ancestors())["published_rows"] == []
    assert thenandnow.join([base, row], pings) == {}


@pytest.fixture(scope="module")
def sites() -> dict[str, dict[str, int]]:
    """Sizes by form and part."""
    return {site.form: dict(site.sizes) for site in objects.all_sites()}


def test_sites_have_the_bytes_that_are_promised(sites: dict[str, dict[str, int]]) -> None:
    """Text up to the return: of a nop its bytes, of a note nothing."""
    likely = {form: sizes["text-likely"] for form, sizes in sites.items()}
    assert likely["none"] == likely["sdt-note"] == 0
    assert (likely["sdt-nop"], likely["sdt-split"]) == (1, 5)
    assert likely["marker-jump"] == likely["sdt-jump"] == likely["sdt-breakpoint"] == 7
    tables = {form: sites[form]["tables"] for form in sites if form in objects.SDT_FLAVOURS}
    # Of a jump also 16 for what it leads to, and the pointer that copies of it have in common.
    jumps = dict.fromkeys(("sdt-jump", "sdt-breakpoint"), 28)
    assert tables == {**dict.fromkeys(tables, 12), **jumps}
    assert sites["sdt-jump"]["data"] == sites["sdt-breakpoint"]["data"] == 8
    for sizes in sites.values():
        assert sizes["text"] == sizes["text-likely"] + sizes["text-unlikely"]


def test_the_code_of_a_site_is_shown() -> None:
    """What a form adds is in its disassembly, also what the compiler moved away."""
    code = {site.form: site.code for site in objects.all_sites()}
    assert "sdt_fire" in code["sdt-jump"] and "marker_probe_call" in code["marker-jump"]
    assert code["none"].count("\t") == 1
