# SPDX-License-Identifier: GPL-2.0-only
"""What people read: tables, figures, the page, comparisons."""
