# SPDX-License-Identifier: GPL-2.0-only
"""The suites of `kmarkers check`; each module implements one or more suites."""
