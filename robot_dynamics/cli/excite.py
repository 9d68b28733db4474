# SPDX-License-Identifier: Apache-2.0
"""The verb `excite`: a motion that excites the base parameters, or a reference of servos."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.cli.options import (
    add_robot,
    count,
    finite,
    new_file,
    new_picture,
    non_negative,
    number,
    seed,
)
from robot_dynamics.cli.output import robot_text
from robot_dynamics.cli.recording_options import (
    PER_JOINT,
    add_robot_changes,
    changed_robot,
)
from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.settings import EFFORT
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.control.trajectory_file import write_trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.joint_values import per_joint
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.excitation import servo_report
from robot_dynamics.identification.excitation.capsules import capsules_of
from robot_dynamics.identification.excitation.clearance import Clearance, clearance
from robot_dynamics.identification.excitation.excitation import Limits, limits_of
from robot_dynamics.identification.excitation.excitation_report import plot, text, write_csv
from robot_dynamics.identification.excitation.excitation_search import excite
from robot_dynamics.identification.excitation.servo_reference import (
    SHORTEST,
    excite_servo,
)
from robot_dynamics.simulation.ensembles.progress import progress_bar
from robot_dynamics.urdf.geometry.meshes import mesh_folders
from robot_dynamics.urdf.robot_files import robot_file

LIMITS = {
    'lower': 'position limit, rad or m',
    'upper': 'position limit, rad or m',
    'velocity': 'rad/s or m/s',
    'acceleration': 'rad/s^2 or m/s^2 (else of the description, or 0.25 s to full speed)',
    'effort': 'N m or N',
}


def add_excite_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `excite`."""
    add_robot(parser)
    add_robot_changes(parser)

    motion = parser.add_argument_group('the motion')
    add = motion.add_argument
    add('--period', type=number(0.1, 1000.0), help='period, s (20)')
    add('--harmonics', type=count(100), help='harmonics of the Fourier series (15)')
    add('--repeats', type=count(1000), help='number of periods (3)')
    add(
        '--servo',
        action='store_true',
        help='instead, positions for an arm that takes positions: chirp, steps, slow ramps, rests',
    )
    add('--duration', type=number(SHORTEST, 3600.0), help='of that reference, s (40)')
    add('--start', type=finite, **PER_JOINT, help='present posture: the way from it is checked')
    add('--seed', type=seed, default=0, help='of the random numbers (0)')

    _add_limits(parser.add_argument_group('the limits', 'narrower than those of the description'))
    result = parser.add_argument_group('the result')
    add = result.add_argument
    add('--rate', type=number(1.0, 10_000.0), default=100.0, help='of the points, Hz (100)')
    add('--output', type=new_file, help='YAML file: one trajectory_msgs/msg/JointTrajectory')
    add('--csv', type=new_file, help='file for the curves')
    add('--picture', type=new_picture, help='figure file of the curves; needs matplotlib')


def _add_limits(limits: Any) -> None:
    add = limits.add_argument
    for name, quantity in LIMITS.items():
        add(f'--{name}', type=finite, **PER_JOINT, help=f'{quantity}: one or one per joint')
    share: dict[str, Any] = {'type': number(0.01, 1.0)}
    add('--velocity-scale', **share, default=0.8, help='used share of velocity limits (0.8)')
    add(
        '--effort-margin',
        type=number(0.0, 0.99),
        default=0.2,
        help='unused share of the effort limits (0.2)',
    )
    add('--distance', type=non_negative, default=0.02, help='between links, m (0.02)')
    add('--floor', type=finite, metavar='Z', help='links stay above it, base frame, m (none)')
    add(
        '--floor-links',
        nargs='+',
        metavar='LINK',
        help='that stay above the floor (those that two joints or more move)',
    )


def excite_robot(options: argparse.Namespace) -> int:
    """Write a motion that excites the base parameters, for a recording that identifies them.

    A periodic motion within the limits of positions, velocities, accelerations and efforts,
    without contact between links, optimised for the information on the base parameters. Ramps at
    both ends; the arm goes slowly to the start. Needs threadpoolctl: in a
    checkout pip install '.[identify]'.

    With --servo, a reference of positions for an arm that takes positions, which shows delay,
    damping, inertia, friction and torque limit of its servos: record commands and positions.
    """
    _check_kind(options)
    model = changed_robot(options)
    arm, limits = Dynamics(model), _limits(model, options)
    start = None
    if options.start is not None:
        start = per_joint('--start', options.start, model.joint_names)
    more: dict[str, Any] = {'start': start, 'seed': options.seed}
    more['clearance'] = _clearance(arm, options)
    if options.servo:
        time = options.duration or 40.0
        servo = excite_servo(arm, limits, duration=time, rate=options.rate, **more)
        _write(
            options,
            servo_report.text(servo),
            servo.trajectory(),
            partial(servo_report.write_csv, servo),
            partial(servo_report.plot, servo),
        )
        return 0
    with progress_bar('excitation') as progress:
        found = excite(
            arm,
            limits,
            period=options.period or 20.0,
            harmonics=options.harmonics or 15,
            repeats=options.repeats or 3,
            progress=progress,
            **more,
        )
    _write(
        options,
        text(found),
        found.trajectory(options.rate),
        partial(write_csv, found, rate=options.rate),
        partial(plot, found),
    )
    return 0


def _limits(model: RobotModel, options: argparse.Namespace) -> Limits:
    """Return the limits of the motion; for servos, those of efforts may be missing."""
    given = {
        name: per_joint(f'--{name}', values, model.joint_names)
        for name in LIMITS
        if (values := getattr(options, name)) is not None
    }
    if options.servo and options.effort is None:
        given['effort'] = np.where(np.isfinite(model.effort_limit), np.inf, EFFORT[1])
    return limits_of(
        model,
        **given,
        velocity_scale=options.velocity_scale,
        effort_margin=options.effort_margin,
    )


def _check_kind(options: argparse.Namespace) -> None:
    """Raise RobotDynamicsError for options of the other kind of motion."""
    of_series, of_servo = ('period', 'harmonics', 'repeats'), ('duration',)
    for name in of_series if options.servo else of_servo:
        if getattr(options, name) is not None:
            with_or_without = 'with' if options.servo else 'without'
            raise RobotDynamicsError(f'--{name} is not an option {with_or_without} --servo')


def _write(
    options: argparse.Namespace,
    shown: str,
    trajectory: Trajectory,
    write_curves: Callable[[Path], None],
    draw: Callable[[Path], None],
) -> None:
    """Print a summary, and write what the options ask for."""
    print(shown)
    if options.output is not None:
        write_trajectory(trajectory, options.output)
    if options.csv is not None:
        write_curves(options.csv)
    if options.picture is not None:
        draw(options.picture)


def _clearance(arm: Dynamics, options: argparse.Namespace) -> Clearance:
    """Return the distances to be kept; shapes that are missing are named."""
    file = robot_file(options.robot)
    capsules, remarks = capsules_of(robot_text(options), mesh_folders(file, options.package_path))
    for remark in remarks:
        print(f'warning: {remark}', file=sys.stderr)
    if not capsules:
        print('warning: no shapes of links: contact between them is not checked', file=sys.stderr)
    if options.floor is None:
        return clearance(arm, capsules, distance=options.distance)
    links = options.floor_links or _outer_links(arm.model)
    return clearance(
        arm, capsules, distance=options.distance, floor=options.floor, floor_links=links
    )


def _outer_links(model: RobotModel) -> list[str]:
    """Return the links that two joints or more move."""
    return [
        link
        for link in model.link_names
        if len(model.support(int(model.frame_body[model.frame_index(link)]))) > 1
    ]
