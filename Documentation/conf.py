# SPDX-License-Identifier: GPL-2.0-only
"""Sphinx's configuration of the handbook; kmtools.report.handbook prepares the pages."""

import os

project = "kmarkers"
author = "kmarkers developers"
# Set Sphinx's variable "copyright"; a plain assignment would redefine a builtin of Python.
globals()["copyright"] = author
release = os.environ.get("KMARKERS_VERSION", "")
version = release

extensions = ["myst_parser"]
# The folder raw/ contains no pages, only files that pages include.
exclude_patterns = ["raw"]
myst_heading_anchors = 4
c_id_attributes = ["__user", "__init", "__percpu", "__always_inline"]

html_theme = "furo"
html_title = f"kmarkers {release}"
html_last_updated_fmt = os.environ.get("KMARKERS_COMMIT")
html_copy_source = False
html_show_sphinx = False
highlight_language = "none"
