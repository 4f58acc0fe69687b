# SPDX-License-Identifier: GPL-2.0-only
"""Runs tests: suites, their results and their times."""
