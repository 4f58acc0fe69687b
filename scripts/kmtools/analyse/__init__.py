# SPDX-License-Identifier: GPL-2.0-only
"""Computes results from samples: statistics, verdicts, comparison with published numbers."""
