# SPDX-License-Identifier: GPL-2.0-only
"""Fetches test kernels, builds modules for them, and boots them in virtual machines."""
