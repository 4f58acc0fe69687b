# SPDX-License-Identifier: GPL-2.0-only
"""Names of verdicts, and the arguments of command-line options that name verdicts. This file does
not import numpy."""

from __future__ import annotations

SLOWER, FASTER, EQUIVALENT, UNRESOLVED = "slower", "faster", "equivalent", "unresolved"
DIFFERS = "differs"
# Verdicts on a timed difference.
TIMED_VERDICTS = (SLOWER, FASTER, EQUIVALENT, DIFFERS)
# Verdicts on a difference of exact counts of instructions.
MORE, FEWER, IDENTICAL = "more", "fewer", "identical"
# The words in place of a verdict: for the baseline itself, and in a benchmark without a baseline.
BASELINE, NO_BASELINE = "baseline", "no baseline"
# The verdict that replaces one of TIMED_VERDICTS if the numbers support no verdict; see grade.py.
WITHHELD = "withheld"

# The default equivalence margin of a comparison of runs, in percent.
MARGIN = 0.1
# Verdicts of a comparison of runs on a row whose change is not judged. NOT_JUDGED: the row is a
# whole row (see rows.py), and the user did not ask to judge whole rows. MISSING: only run A has the
# row. NEW: only run B has the row. NOT_COMPARABLE: both runs have the row, but measured it in
# different ways.
NOT_JUDGED, MISSING, NEW, NOT_COMPARABLE = "not judged", "missing", "new", "not comparable"

CHANGED = (SLOWER, FASTER, MORE, FEWER)
# Arguments of --fail-on, and the verdicts that each stands for.
FAIL_ON_VERDICTS = {
    **{verdict: (verdict,) for verdict in (*CHANGED, DIFFERS, UNRESOLVED, WITHHELD, MISSING)},
    # --fail-on missing also fails for rows that cannot be compared.
    MISSING: (MISSING, NOT_COMPARABLE),
    "changed": CHANGED,
    "costlier": (SLOWER, MORE),
}
# Arguments of --fail-on of `kmarkers history`. A shift (lasting change of a row) has the verdict
# slower or faster; "changed" stands for both verdicts, "costlier" for slower.
FAIL_ON_SHIFTS = ("slower", "faster", "changed", "costlier")
# The properties of a machine by which runs can be grouped.
MACHINE_PROPERTIES = ("cpu", "microcode", "kernel")
