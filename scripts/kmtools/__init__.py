# SPDX-License-Identifier: GPL-2.0-only
"""The Python tools of kmarkers: the command kmarkers (cli.py), and the packages that implement
it."""
