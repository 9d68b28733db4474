# SPDX-License-Identifier: Apache-2.0
"""The verb `validate`: comparison with a reference engine."""

from __future__ import annotations

import argparse

from robot_dynamics.cli.options import add_gravity, add_robot, count, gravity_in_base, number, seed
from robot_dynamics.cli.output import read_robot, robot_text
from robot_dynamics.validation.comparison import TOLERANCE, validate
from robot_dynamics.validation.engine_report import NOTHING_COMPARED
from robot_dynamics.validation.engines import ENGINES


def add_validate_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `validate`."""
    add_robot(parser)
    add_gravity(parser)
    add = parser.add_argument
    add('--states', type=count(), default=100, help='number of random states (100)')
    add('--seed', type=seed, default=0, help='seed of the random states (0)')
    add(
        '--tolerance',
        type=number(above=0.0, high=1.0),
        default=TOLERANCE,
        help='largest relative difference that passes (1e-6)',
    )
    add(
        '--engine',
        choices=ENGINES,
        action='append',
        help='candidate for the reference engine; may be repeated',
    )
    add(
        '--second',
        choices=ENGINES,
        action='append',
        help='additional engine to compare with; may be repeated',
    )
    add(
        '--allow-missing',
        action='store_true',
        help='exit code 0 instead of 3 if nothing was compared (NO ENGINE, NOT COMPARABLE)',
    )


def validate_robot(options: argparse.Namespace) -> int:
    """Compare a robot's dynamics with a physics engine.

    Exit code 1 if they differ, 3 if nothing was compared. The reference is PyBullet; where it is
    missing or changes an inertia of the URDF, MuJoCo or Pinocchio are used, and the report names
    the reason.
    """
    model = read_robot(options, gravity=gravity_in_base(options))
    report = validate(
        robot_text(options),
        model=model,
        states=options.states,
        seed=options.seed,
        tolerance=options.tolerance,
        engines=options.engine or ENGINES,
        additional_engines=options.second or (),
    )
    print(report)
    missing = report.exit_code == NOTHING_COMPARED
    return 0 if missing and options.allow_missing else report.exit_code
