# SPDX-License-Identifier: Apache-2.0
"""The verb `derive`: the equation of motion of a small robot in the letters of a book."""

from __future__ import annotations

import argparse

from robot_dynamics.cli.options import add_robot
from robot_dynamics.cli.output import read_robot
from robot_dynamics.textbook.derivation.derivation import derive
from robot_dynamics.textbook.derivation.notations import NOTATIONS


def add_derive_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `derive`."""
    add_robot(parser)
    add = parser.add_argument
    add('--notation', choices=sorted(NOTATIONS), default='spong', help='letters of a book (spong)')
    add('--numbers', action='store_true', help='write parameters as numbers')
    add('--as', dest='form', choices=['latex', 'python'], default='latex', help='(latex)')
    add('--tip-link', metavar='LINK', help='keep only the joints that move it (all)')


def derive_robot(options: argparse.Namespace) -> int:
    """Print M, C and g of a robot of up to three joints as LaTeX or as a Python module.

    Four joints with --numbers. Needs SymPy: pip install sympy, or in a checkout pip install
    '.[derive]'.
    """
    model = read_robot(options.robot, tip_link=options.tip_link)
    derived = derive(model, options.notation, numbers=options.numbers)
    print(derived.latex() if options.form == 'latex' else derived.python().rstrip())
    return 0
