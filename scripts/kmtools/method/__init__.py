# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the measurement method, with A/A clones and with simulated noise. These modules are not
installed."""
