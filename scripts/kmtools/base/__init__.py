# SPDX-License-Identifier: GPL-2.0-only
"""Code that all packages share: paths, errors, processes, files, progress."""
