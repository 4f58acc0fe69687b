# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the measurement method: A/A copies, and simulated noise. Not installed."""
