# SPDX-License-Identifier: GPL-2.0-only
"""The figures of the page; each is drawn from results alone."""
