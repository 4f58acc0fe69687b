# SPDX-License-Identifier: GPL-2.0-only
"""What each command is told, and what it calls; kmtools.cli lists them."""

from argparse import Namespace
from collections.abc import Callable

# A command describes its options to a parser and returns what runs with them; that returns its exit
# code, or None when all is done.
Run = Callable[[Namespace], int | None]
