# SPDX-License-Identifier: GPL-2.0-only
"""The test-kernel laboratory: fetches kernels, builds for them, boots them."""
