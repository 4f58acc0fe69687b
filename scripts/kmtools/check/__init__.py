# SPDX-License-Identifier: GPL-2.0-only
"""Tests: the suites, and what runs and judges them."""
