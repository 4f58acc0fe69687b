# SPDX-License-Identifier: GPL-2.0-only
"""Renders results for people: tables, figures, the HTML page, comparisons of runs."""
