# SPDX-License-Identifier: GPL-2.0-only
"""Measuring: the folder of a run, and what fills it in each tier."""
