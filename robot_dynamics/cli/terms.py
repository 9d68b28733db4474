# SPDX-License-Identifier: Apache-2.0
"""The verb `terms`: terms of the equation of motion in one state."""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np

from robot_dynamics.cli.options import add_gravity, add_robot, add_state, gravity_in_base, state
from robot_dynamics.cli.output import gravity_remark, read_robot
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.robots import TEXTBOOK_ROBOTS

DIGITS, MOST_DIGITS = 6, 12  # behind the point; more where all entries are small


def add_terms_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `terms`."""
    add_robot(parser, further=TEXTBOOK_ROBOTS)
    add_state(parser)
    add_gravity(parser)


def terms(options: argparse.Namespace) -> int:
    """Print the mass matrix, Coriolis matrix and gravity torque of a state."""
    arm = Dynamics(read_robot(options, gravity=gravity_in_base(options)))
    q, qd = state(arm.model, options)
    M, C, g = arm.terms(q, qd)
    print(f'joints\n{", ".join(arm.model.joint_names)}\n')
    for name, unit, value in (
        ('mass matrix M', 'kg m^2', M),
        ('Coriolis matrix C', 'kg m^2/s', C),
        ('Coriolis torque C qd', 'N m', C @ qd),
        ('gravity torque g', 'N m', g),
    ):
        print(f'{name}, {_units(arm.model, unit, value.ndim)}\n{_text(value)}\n')
    if remark := gravity_remark(arm.model):
        print(remark)
    return 0


def _units(model: RobotModel, unit: str, axes: int) -> str:
    """Return the unit of a vector or matrix, and those of the entries of prismatic joints.

    Args:
        model: the robot.
        unit: of revolute joints, a power of m less for each index of a prismatic joint.
        axes: indices of an entry.
    """
    once, twice = unit.replace('m^2', 'm').replace('N m', 'N'), unit.replace(' m^2', '')
    names = [model.joint_names[j] for j in np.flatnonzero(~model.angular)]
    if not names:
        return unit
    if axes == 1:
        return once if len(names) == model.n else f'{unit} ({once}: {", ".join(names)})'
    if len(names) == model.n:
        return twice
    return f'{unit} ({once}: row or column of {", ".join(names)}; {twice}: both)'


def _text(value: Array) -> str:
    """Return an array with six digits of its largest entry, without negative zeros."""
    largest = max(float(np.abs(value).max(initial=0)), 10.0**-MOST_DIGITS)
    digits = min(MOST_DIGITS, max(DIGITS, DIGITS - 1 - math.floor(math.log10(largest))))
    with np.printoptions(precision=digits, suppress=True, linewidth=160, threshold=sys.maxsize):
        return str(np.round(value, digits) + 0.0)
