# SPDX-License-Identifier: GPL-2.0-only
"""What reads the sources."""
