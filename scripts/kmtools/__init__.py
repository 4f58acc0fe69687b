# SPDX-License-Identifier: GPL-2.0-only
"""The tools of kmarkers: one command, and a room for each thing that it does."""
