# SPDX-License-Identifier: GPL-2.0-only
"""Judges of the measuring itself: copies of the same code, and simulated noise. Not installed."""
