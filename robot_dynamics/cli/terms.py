# SPDX-License-Identifier: Apache-2.0
"""The verb `terms`: terms of the equation of motion in one state."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from robot_dynamics.cli.options import add_gravity, add_robot, add_state, gravity_in_base, state
from robot_dynamics.cli.output import gravity_remark, read_robot
from robot_dynamics.core.dynamics import Dynamics


def add_terms_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `terms`."""
    add_robot(parser)
    add_state(parser)
    add_gravity(parser)


def terms(options: argparse.Namespace) -> int:
    """Print the mass matrix, Coriolis matrix and gravity torque of a state."""
    arm = Dynamics(read_robot(options, gravity=gravity_in_base(options)))
    q, qd = state(arm.model, options)
    M, C, g = arm.terms(q, qd)
    with np.printoptions(precision=6, suppress=True, linewidth=160, threshold=sys.maxsize):
        for name, value in (
            ('joints', ', '.join(arm.model.joint_names)),
            ('mass matrix M', M),
            ('Coriolis matrix C', C),
            ('Coriolis torque C qd', C @ qd),
            ('gravity torque g', g),
        ):
            print(f'{name}\n{value}\n')
    if remark := gravity_remark(arm.model):
        print(remark)
    return 0
