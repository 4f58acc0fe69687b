# SPDX-License-Identifier: GPL-2.0-only
"""Names of verdicts, and the arguments of command-line options that name verdicts. This file does
not import numpy."""

from __future__ import annotations

SLOWER, FASTER, EQUIVALENT, UNRESOLVED = "slower", "faster", "equivalent", "unresolved"
DIFFERS = "differs"
# Verdicts on a timed difference.
TIMED_VERDICTS = (SLOWER, FASTER, EQUIVALENT, DIFFERS)
# Verdicts on a difference of exact counts of instructions.
MORE, FEWER = "more", "fewer"
IDENTICAL, BASELINE, NO_BASELINE = "identical", "baseline", "no baseline"
# The verdict that replaces one of TIMED_VERDICTS if the numbers support no verdict; see grade.py.
WITHHELD = "withheld"

# The default equivalence margin of a comparison of runs, in percent.
MARGIN = 0.1
# Verdicts of a comparison of runs on a row whose change is not judged.
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
# Arguments of --fail-on in the command history. A shift (lasting change) is slower or faster.
FAIL_ON_SHIFTS = ("slower", "faster", "changed", "costlier")
# The properties of a machine by which runs can be grouped.
MACHINE_PROPERTIES = ("cpu", "microcode", "kernel")
