# SPDX-License-Identifier: GPL-2.0-only
"""The tests, a module for one or more suites."""
