# SPDX-License-Identifier: GPL-2.0-only
"""What all packages share: paths, errors, processes, files, progress."""
