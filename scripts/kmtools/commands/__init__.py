# SPDX-License-Identifier: GPL-2.0-only
"""What each command is told, and what it calls.

A command is a function that describes its options to a parser and returns what runs with them.
kmtools.cli lists them with a line each; what help says besides is the function's docstring.
"""

from argparse import Namespace
from collections.abc import Callable

# Returns the exit code, or None when all is done.
Run = Callable[[Namespace], int | None]
