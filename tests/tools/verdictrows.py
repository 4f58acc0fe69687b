# SPDX-License-Identifier: GPL-2.0-only
"""Makes results with given values, for tests of reports."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from kmtools.analyse.corecycles import CoreCycleRatio
from kmtools.analyse.density import SiteCost
from kmtools.analyse.lateness import NOT_LATE
from kmtools.analyse.slopes import Slope
from kmtools.analyse.stats import Interval
from kmtools.analyse.verdicts import BASELINE, EQUIVALENT, Result
from kmtools.measure.rundir import UNIT_TSC, Tier

CORE = CoreCycleRatio("estimated", 1.5)


def make_tier(name: str = "native", emulated: bool = False, **env: str) -> Tier:
    """Return a tier (measurement environment) with a suitable CPU and clock; `env` replaces fields
    of the env file."""
    known = {"invariant_tsc": "1", "hypervisor": "none", "emulated": "0", **env}
    unit = "ticks (emulated)" if emulated else UNIT_TSC
    return Tier(name, "6.12", "instructions" if name == "icount" else unit, emulated, known, {})


def make_result(benchmark: str, variant: str, delta: float | None = 0.0, **changed: Any) -> Result:
    """Return a result whose added cost is `delta` ± 0.1, relative to the baseline `none` of 100
    ticks. `changed` replaces fields of the result."""
    ci = None if delta is None else Interval(delta - 0.1, delta + 0.1)
    middle = delta or 0.0
    values: dict[str, Any] = {
        "tier": "native", "kernel": "6.12", "benchmark": benchmark, "variant": variant,
        "unit": UNIT_TSC, "n": 8, "median": 100.0 + middle, "baseline": "none", "delta": delta,
        "ci": Interval(99.9 + middle, 100.1 + middle), "delta_ci": ci, "time_ci": ci,
        "layout_ci": ci, "noise_floor": 0.1, "margin": 0.25, "detectable": 0.35,
        "verdict": EQUIVALENT if delta is not None else BASELINE,
        "is_clone": variant.endswith("-clone"), "note": "", "correlation": 1.0, "windows": 100,
        "flagged": 0, "late": NOT_LATE, "flags": {}, "resolution": 0.0, "core": CORE, "slopes": [],
        "alpha": 0.05,
        "deltas": [Slope.from_fraction(block, block % 4, Fraction(middle)) for block in range(8)],
    }  # fmt: skip
    return Result(**{**values, **changed})


def make_site_cost(benchmark: str, flavour: str, cost: float, half: float = 0.1) -> SiteCost:
    """Return the cost of a dormant site, with the interval `cost` ± `half`."""
    ci = Interval(cost - half, cost + half)
    return SiteCost("native", "6.12", benchmark, flavour, UNIT_TSC, [1, 4], 8, cost, ci, 10.0,
                    CORE, 0.4)  # fmt: skip
