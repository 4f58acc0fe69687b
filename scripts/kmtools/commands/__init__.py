# SPDX-License-Identifier: GPL-2.0-only
"""The options of each command, and the functions that it calls.

A command is a function that adds its options to a parser and returns the function that runs with
them. kmtools.cli lists the commands with one line of help each; the docstring of the function is
the rest of the help.
"""

from argparse import Namespace
from collections.abc import Callable

# Returns the exit code, or None when all is done.
Run = Callable[[Namespace], int | None]
