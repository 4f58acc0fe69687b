# SPDX-License-Identifier: GPL-2.0-only
"""Measuring: the folder of a run, and the tiers that fill it."""
