# SPDX-License-Identifier: GPL-2.0-only
"""The command check house. It imports few modules: a circle of others cannot stop it."""

from argparse import ArgumentParser

from kmtools.check import house
from kmtools.commands import Run


def check_house(parser: ArgumentParser) -> Run:
    """Measure how the sources are laid out: floors, circles, names and sizes; 1 for a breach.

    scripts/kmtools/check/house.toml is the table that they are measured against.
    """
    parser.add_argument("--draw", action="store_true", help=f"write {house.DRAWN} first")
    return lambda args: house.show(args.draw)
