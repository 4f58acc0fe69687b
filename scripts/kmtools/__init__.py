# SPDX-License-Identifier: GPL-2.0-only
"""The tools of kmarkers: the command, and a package for each kind of its work."""
