# SPDX-License-Identifier: Apache-2.0
"""The verb `gains`: PD gains for a control rate."""

from __future__ import annotations

import argparse

import numpy as np

from robot_dynamics.cli.options import add_parameter, add_robot, positive
from robot_dynamics.cli.output import read_robot
from robot_dynamics.common.reporting.tables import aligned
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.yaml_text import parameters_text, quoted
from robot_dynamics.control import feedback_eigenvalue, free_inertias, pd_gains
from robot_dynamics.control.gains import FREQUENCY
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.states import POSTURES, random_postures
from robot_dynamics.ros.feedforward_parameters import FeedforwardParameters
from robot_dynamics.ros.parameter_files import read_back

DIGITS = 4  # significant, of the gains


def add_gains_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gains`."""
    add_robot(parser)
    add = parser.add_argument
    rate = 'of the joint states, Hz ({:g})'
    add_parameter(add, '--rate', FeedforwardParameters, 'expected_rate', rate)
    add(
        '--frequency',
        type=positive,
        default=FREQUENCY,
        help=f'frequency of the controlled joints, rad/s; a low rate lowers it ({FREQUENCY:g})',
    )
    add('--tip-link', metavar='LINK', help='keep only the joints that move it (all)')


def gains(options: argparse.Namespace) -> int:
    """Print PD gains for a control rate, from the mass matrix, as parameters of feedforward_node.

    Comments give the feedback number kd dt (M^-1)_jj of each joint, the largest of random postures
    within the position limits. A joint is unstable above 2; the node warns above 1.
    """
    model = read_robot(options, limited=True, tip_link=options.tip_link)
    arm, q, h = Dynamics(model), random_postures(model), 1 / options.rate
    exact = pd_gains(arm, q, h, frequency=options.frequency)
    kp, kd = _rounded(exact.kp), _rounded(exact.kd)
    numbers = h * np.array(kd) / free_inertias(arm, q)
    parameters = {
        **({} if options.tip_link is None else {'tip_link': options.tip_link}),
        'joints': list(model.joint_names),
        'expected_rate': options.rate,
        'kp': kp,
        'kd': kd,
    }
    text = parameters_text(parameters, '/**/feedforward_node')
    read_back(text, FeedforwardParameters).settings(model)
    print(
        f'# {quoted(model.name)} at {options.rate:g} Hz, '
        f'the largest of {POSTURES} random postures:\n'
        f'# eigenvalue of dt M^-1 Kd, unstable above 2: {feedback_eigenvalue(arm, q, kd, h):.3g}\n'
        '# kd dt (M^-1)_jj:'
    )
    names = [quoted(name) for name in model.joint_names]
    rows = [(f'#   {name}', f'{x:.3g}') for name, x in zip(names, numbers, strict=True)]
    print(*aligned(rows), sep='\n')
    print(text, end='')
    return 0


def _rounded(values: Array) -> list[float]:
    return [float(f'{value:.{DIGITS}g}') for value in values]
