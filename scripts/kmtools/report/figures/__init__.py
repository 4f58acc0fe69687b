# SPDX-License-Identifier: GPL-2.0-only
"""The figures, by matplotlib 3.6 and later. Each is a function that draws into an Axes or Figure:

    costs.draw_costs(axes, panel)          rows with intervals; the margin dotted, the noise shaded
    costs.draw_pair(figure, pair)          published costs, and ours beside them
    lines.draw_chart(axes, chart)          curves with their names at their ends

Their panels, pairs and charts are made from the results of a run without matplotlib, by
panels.forest(), panels.sites(), panels.counts(), cost_figure.panel(), charts.switching() and
thenandnow.pair(). sheets.py has all figures of a run by name, and canvas.py makes files and parts
of the page of them. examples/notebook shows it.
"""

from __future__ import annotations

import os

from kmtools.base.paths import ROOT

# matplotlib keeps a list of fonts, which it would write into the home directory. It reads this
# variable when it is imported, which all modules of this package do later.
os.environ.setdefault("MPLCONFIGDIR", str(ROOT / "build" / "matplotlib"))
