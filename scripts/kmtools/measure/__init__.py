# SPDX-License-Identifier: GPL-2.0-only
"""Measures the tiers (measurement environments) of a run, and manages the folder of the run."""
