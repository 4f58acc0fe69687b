# SPDX-License-Identifier: GPL-2.0-only
"""Measures the tiers of a run, and manages its folder."""
