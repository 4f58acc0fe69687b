# SPDX-License-Identifier: GPL-2.0-only
"""From samples to results: statistics, verdicts, published numbers."""
