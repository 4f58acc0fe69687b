# SPDX-License-Identifier: GPL-2.0-only
"""Names of verdicts, and words of the command line about them. They need no numpy."""

from __future__ import annotations

SLOWER, FASTER, EQUIVALENT, UNRESOLVED = "slower", "faster", "equivalent", "unresolved"
DIFFERS = "differs"
# The verdicts that say something about a timed difference.
SAID = (SLOWER, FASTER, EQUIVALENT, DIFFERS)
# Verdicts on exact counts, which say nothing about time.
MORE, FEWER = "more", "fewer"
IDENTICAL, BASELINE, NO_BASELINE = "identical", "baseline", "no baseline"
# In place of a verdict in SAID, where the numbers do not support one; see grade.py.
WITHHELD = "withheld"

# The margin in percent that holds unless another one is declared.
MARGIN = 0.1
NOT_JUDGED, MISSING, NEW, NOT_COMPARABLE = "not judged", "missing", "new", "not comparable"

CHANGED = (SLOWER, FASTER, MORE, FEWER)
# What --fail-on can name, and the verdicts it stands for.
FAILURES = {
    **{verdict: (verdict,) for verdict in (*CHANGED, DIFFERS, UNRESOLVED, WITHHELD, MISSING)},
    # A row that cannot be compared counts as missing from the second run.
    MISSING: (MISSING, NOT_COMPARABLE),
    "changed": CHANGED,
    "costlier": (SLOWER, MORE),
}
# What --fail-on can name for shifts, which have no other verdicts.
SHIFTS = ("slower", "faster", "changed", "costlier")
# The properties of a machine by which runs can be grouped.
PROPERTIES = ("cpu", "microcode", "kernel")
