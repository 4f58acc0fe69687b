# SPDX-License-Identifier: GPL-2.0-only
"""Draws the figures, with matplotlib 3.6 or later. These functions draw into an Axes or a Figure:

    costs.draw_costs(axes, panel)          rows with intervals; the margin dotted, the noise shaded
    costs.draw_panel_pair(figure, pair)          published costs, and the costs of this run
    lines.draw_chart(axes, chart)          curves with their names at their ends

The panels, pairs and charts are data, made from the results of a run without matplotlib by
panels.make_cost_panels(), panels.make_site_panels(), panels.make_count_panels(),
cost_figure.make_dormant_cost_panel(), charts.make_switching_charts() and
thenandnow.make_panel_pair(). sheets.py has all figures of a run by name, and canvas.py converts
these figures to files and to elements of the page. examples/notebook has examples."""

from __future__ import annotations

import os

from kmtools.base.paths import ROOT

# Directory for matplotlib's list of fonts, which would otherwise be in the home directory.
# matplotlib reads the variable on import, which happens after this module was imported.
os.environ.setdefault("MPLCONFIGDIR", str(ROOT / "build" / "matplotlib"))
