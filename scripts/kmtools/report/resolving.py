# SPDX-License-Identifier: GPL-2.0-only
"""Shows the verdicts of a tier (measurement environment) while it is measured: a row for each
benchmark and variant.

The verdicts are computed by the rules of verdicts.py, from the clusters (processes, boots or module
loads) that have ended; the final report uses the samples of all clusters. The computation takes
place between two clusters, when no window is timed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kmtools.analyse import corecycles, location, result_kinds, stats, stopping, verdicts
from kmtools.analyse.slopes import CLONE_SUFFIX, Slope, find_baseline_variant, fit_slopes_of_samples
from kmtools.base.errors import FailedError
from kmtools.measure import choice, collect
from kmtools.measure.rundir import CLUSTER_NOUNS, Tier
from kmtools.measure.samples import LOOP, Sample
from kmtools.report.table import COLOURS, format_amount

# The verdicts that are shown; a row with another verdict is shown as RESOLVING.
DECIDED = (*verdicts.TIMED_VERDICTS, verdicts.IDENTICAL)
RESOLVING, MEASURING, MEASURED = "resolving", "measuring", "measured"
# Widths of the columns for a verdict and for a number. A terminal narrower than NARROW shows only
# one of the two numbers of a row; a terminal narrower than NARROWEST shows none.
WORD, NUMBER, NARROW, NARROWEST = 10, 9, 60, 44
# BLOCK_STRIDE times n is added to the block numbers of the n-th process, so that block numbers
# increase from process to process.
BLOCK_STRIDE = 1_000_000


@dataclass
class LiveRow:
    """The state of a variant as text: the verdict, the added cost, and half the width of the
    interval of this cost."""

    verdict: str
    added: str = ""
    half: str = ""


@dataclass
class LiveVerdicts:
    """The rows of one tier that is being measured: the state so far of each variant that matches a
    pattern in `variants` (all if it is empty), by benchmark and variant."""

    tier: str
    variants: Sequence[str] = ()
    rows: dict[tuple[str, str], LiveRow] = field(default_factory=dict)
    unit: str = ""
    _slopes: dict[str, dict[str, list[Slope]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    def set_current_benchmark(self, benchmark: str) -> None:
        """Show the name of the benchmark that a guest measures now. The numbers of this benchmark
        are unknown until the guest has ended."""
        for row in self.rows.values():
            row.verdict = MEASURED
        self.rows[benchmark, ""] = LiveRow(MEASURING)

    def add_process_samples(self, folder: Path, process: int) -> None:
        """Update the rows with the samples of a process that has ended. Malformed samples are
        ignored here; the final report refuses them."""
        try:
            tier = collect.read_tier_of_raw_folder(self.tier, folder)
            files = [
                collect.read_checked_samples(path, tier, process)
                for path in sorted(folder.glob("*.csv"))
            ]
        except FailedError:
            return
        for every in files:
            samples = choice.select_samples_of_variants(every, self.variants)
            if samples and samples[0].measured == LOOP:
                self._judge_benchmark(tier, samples[0].benchmark, samples)

    def _judge_benchmark(self, tier: Tier, benchmark: str, samples: list[Sample]) -> None:
        """Compute the verdicts on the variants of a benchmark, in core cycles if possible.
        The resolution of the clock is estimated from `samples`, the samples of the last process."""
        core, steps = (
            corecycles.estimate_core_cycle_ratio(tier, samples),
            stats.estimate_clock_resolution(samples),
        )
        known = self._slopes[benchmark]
        scale = core.per_tick if core else 1.0
        steps = {variant: step * scale for variant, step in steps.items()}
        fitted = (
            fit_slopes_of_samples(samples, core.count_core_cycles)
            if core
            else fit_slopes_of_samples(samples)
        )
        for variant, series in fitted.items():
            first = series[0].process * BLOCK_STRIDE
            known[variant] += [slope._replace(block=first + slope.block) for slope in series]
        baseline = find_baseline_variant(known)
        if baseline is None:
            return
        margin = verdicts.find_equivalence_margin(
            tier.unit, benchmark, stats.compute_median_slope(known[baseline])
        )
        alpha = location.ERROR_PROBABILITY
        if stopping.LOOKS_KEY in tier.env:
            alpha = stopping.get_interim_error_probability(
                len({slope.process for slope in known[baseline]})
            )
        clone = baseline + CLONE_SUFFIX
        step = verdicts.choose_coarser_clock_resolution(steps, clone, baseline)
        noise = verdicts.estimate_difference(known[clone], known[baseline], tier.exact, step, alpha)
        group = verdicts.BenchmarkGroup(
            tier, benchmark, {}, known, baseline, margin, noise, steps, None, alpha
        )
        self.unit = "core cycles" if core else tier.unit
        for variant in sorted(set(known) - {baseline, clone}):
            step = group.get_clock_resolution(variant)
            found = verdicts.estimate_difference(
                known[variant], known[baseline], tier.exact, step, alpha
            )
            verdict, _ = verdicts.judge_variant(group, variant, found)
            self.rows[benchmark, variant] = LiveRow(
                verdict if verdict in DECIDED else RESOLVING,
                format_amount(found.delta, signed=True),
                format_amount(found.wide.half_width),
            )

    def render_terminal_lines(self, width: int, height: int) -> list[tuple[str, str]]:
        """Return lines, each with its colour code: a heading, the rows that fit on the screen, and
        the number of measured or resolved rows. The rows of dormant sites are first."""
        if not self.rows:
            noun = CLUSTER_NOUNS[self.tier][0]
            return [("", ""), (f"Rows appear when the first {noun} has ended.", "2")]
        order = sorted(
            self.rows, key=lambda key: result_kinds.KINDS.index(result_kinds.find_result_kind(*key))
        )
        room = max(0, height - 3)
        # Prefer unresolved rows if not all rows fit on the screen.
        first = set(sorted(order, key=lambda key: self.rows[key].verdict != RESOLVING)[:room])
        keys = [key for key in order if key in first]
        shown = [
            (self._format_variant_row(key, width), self._choose_row_colour(key)) for key in keys
        ]
        done = sum(row.verdict not in (RESOLVING, MEASURING) for row in self.rows.values())
        told = f"{done} of {len(order)} rows {'measured' if not self.unit else 'resolved'}"
        more = f"; {len(order) - room} not shown" if len(order) > room else ""
        head = self._format_row(width, "adds", "±", self.unit and f"in {self.unit}")
        return [(head, "2"), *shown, ("", ""), (told + more, "")]

    def _format_row(
        self, width: int, added: str, half_width: str, name: str, verdict: str = ""
    ) -> str:
        """Return a line of the table: the name, the numbers that fit into `width`, and the
        verdict."""
        numbers = f"{added:>{NUMBER}} " if width >= NARROW else ""
        numbers += f"{half_width:>{NUMBER}} " if width >= NARROWEST else ""
        rest = f" {numbers} {verdict:{WORD}}"
        room = max(1, width - len(rest))
        cut = (
            name
            if len(name) <= room
            else f"{name[: room // 2 - 1]}~{name[len(name) - (room + 1) // 2 :]}"
        )
        return f"{cut:{room}.{room}}{rest}".rstrip()

    def _format_variant_row(self, key: tuple[str, str], width: int) -> str:
        row = self.rows[key]
        return self._format_row(width, row.added, row.half, " ".join(key).strip(), row.verdict)

    def _choose_row_colour(self, key: tuple[str, str]) -> str:
        return COLOURS.get(self.rows[key].verdict, "2" if not self.unit else "")
