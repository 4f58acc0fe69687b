# SPDX-License-Identifier: GPL-2.0-only
"""The figures of the page; each is made from results alone."""
