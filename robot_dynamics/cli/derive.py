# SPDX-License-Identifier: Apache-2.0
"""The verb `derive`: the equation of motion of a small robot in the letters of a book."""

from __future__ import annotations

import argparse
import sys
import time

from robot_dynamics.cli.options import add_gravity, add_robot, gravity_in_base
from robot_dynamics.cli.output import gravity_remark, read_robot
from robot_dynamics.core.model.robots import TEXTBOOK_ROBOTS
from robot_dynamics.textbook.derivation.derivation import derive
from robot_dynamics.textbook.derivation.notations import NOTATIONS

QUIET = 1.0  # s, after which the steps are shown


def add_derive_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `derive`."""
    add_robot(parser, further=TEXTBOOK_ROBOTS)
    add_gravity(parser)
    add = parser.add_argument
    add(
        '--notation',
        choices=sorted(NOTATIONS),
        default='spong',
        help='book whose letters are used (spong)',
    )
    add('--numbers', action='store_true', help='write parameters as numbers')
    add(
        '--as',
        dest='form',
        choices=['latex', 'python', 'regressor'],
        default='latex',
        help='M, C and g as LaTeX or Python; Y and Theta of tau = Y Theta (latex)',
    )
    add('--tip-link', metavar='LINK', help='keep only the joints that move it (all)')


def derive_robot(options: argparse.Namespace) -> int:
    """Print M, C and g, or Y and Theta, of a robot of up to three joints.

    With --numbers, of up to four. Needs SymPy: pip install sympy, or in a checkout pip install
    '.[derive]'.
    """
    model = read_robot(options, gravity=gravity_in_base(options), tip_link=options.tip_link)
    derived = derive(model, options.notation, numbers=options.numbers, progress=_Progress())
    forms = {
        'latex': derived.latex,
        'python': derived.python,
        'regressor': derived.regressor_latex,
    }
    print(forms[options.form]().rstrip())
    if remark := gravity_remark(model):
        print(f'note: {remark}', file=sys.stderr)
    return 0


class _Progress:
    """Writes the steps of a derivation that takes long to standard error."""

    def __init__(self) -> None:
        self._began: float | None = None

    def __call__(self, step: str) -> None:
        if self._began is None:
            self._began = time.monotonic()
        elif time.monotonic() - self._began > QUIET:
            print(f'derive: {step} ...', file=sys.stderr, flush=True)
