# SPDX-License-Identifier: GPL-2.0-only
"""The floor that all rooms share: paths, errors, processes, files, progress."""
