# SPDX-License-Identifier: Apache-2.0
"""The verb `compare`: agreement and cost of all formulations."""

from __future__ import annotations

import argparse

from robot_dynamics.cli.options import add_gravity, add_robot, count, gravity_in_base, new_picture
from robot_dynamics.cli.output import read_robot
from robot_dynamics.core.model.robots import TEXTBOOK_ROBOTS
from robot_dynamics.validation.formulations import compare, plot


def add_compare_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `compare`."""
    add_robot(parser, further=TEXTBOOK_ROBOTS)
    add_gravity(parser)
    parser.add_argument('--states', type=count(), default=10, help='number of random states (10)')
    parser.add_argument('--picture', type=new_picture, help='figure file; needs matplotlib')


def compare_robot(options: argparse.Namespace) -> int:
    """Compare the derivations of a robot's dynamics; exit code 1 if two of them differ."""
    model = read_robot(options, gravity=gravity_in_base(options))
    comparison = compare(model, states=options.states)
    print(comparison.table())
    if options.picture is not None:
        plot(comparison, options.picture)
    return 0 if comparison.agrees else 1
