# SPDX-License-Identifier: GPL-2.0-only
"""The commands of kmarkers: their options, and the functions that run them.

Each command is a function that adds its options to an argparse parser, and returns the function
that runs the command with the parsed options. kmtools.cli has the list of commands with a line of
help for each; the docstring of the command's function is the rest of its help.
"""

from argparse import Namespace
from collections.abc import Callable

# The function that runs a command. Its argument is the parsed options, its result the exit code
# (None means 0).
Run = Callable[[Namespace], int | None]
