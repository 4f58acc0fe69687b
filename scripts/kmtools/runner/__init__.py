# SPDX-License-Identifier: GPL-2.0-only
"""Runs tests: the list of tests, suites, their results and their times."""
