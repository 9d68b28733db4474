# SPDX-License-Identifier: Apache-2.0
"""The verb `excite`: a motion that excites the base parameters."""

from __future__ import annotations

import argparse
import sys
from typing import Any

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
from robot_dynamics.control.trajectory_file import write_trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.joint_values import per_joint
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.excitation.capsules import capsules_of
from robot_dynamics.identification.excitation.clearance import Clearance, clearance
from robot_dynamics.identification.excitation.excitation import limits_of
from robot_dynamics.identification.excitation.excitation_report import plot, text, write_csv
from robot_dynamics.identification.excitation.excitation_search import excite
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
    add('--period', type=number(0.1, 1000.0), default=20.0, help='period, s (20)')
    add('--harmonics', type=count(100), default=15, help='harmonics of the Fourier series (15)')
    add('--repeats', type=count(1000), default=3, help='number of periods (3)')
    add('--start', type=finite, **PER_JOINT, help='present posture: the way from it is checked')
    add('--seed', type=seed, default=0, help='of the random numbers (0)')

    limits = parser.add_argument_group('the limits', 'narrower than those of the description')
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

    result = parser.add_argument_group('the result')
    add = result.add_argument
    add('--rate', type=number(1.0, 10_000.0), default=100.0, help='of the points, Hz (100)')
    add('--output', type=new_file, help='YAML file: one trajectory_msgs/msg/JointTrajectory')
    add('--csv', type=new_file, help='file for the curves')
    add('--picture', type=new_picture, help='figure file of the curves; needs matplotlib')


def excite_robot(options: argparse.Namespace) -> int:
    """Write a motion that excites the base parameters, for a recording that identifies them.

    A periodic motion within the limits of positions, velocities, accelerations and efforts,
    without contact between links, optimised for the information on the base parameters. Ramps at
    both ends; the arm goes slowly to the start. Needs threadpoolctl: in a
    checkout pip install '.[identify]'.
    """
    model = changed_robot(options)
    arm, names = Dynamics(model), model.joint_names
    given = {
        name: per_joint(f'--{name}', values, names)
        for name in LIMITS
        if (values := getattr(options, name)) is not None
    }
    limits = limits_of(
        model,
        **given,
        velocity_scale=options.velocity_scale,
        effort_margin=options.effort_margin,
    )
    start = None if options.start is None else per_joint('--start', options.start, names)
    distances = _clearance(arm, options)
    with progress_bar('excitation') as progress:
        found = excite(
            arm,
            limits,
            period=options.period,
            harmonics=options.harmonics,
            repeats=options.repeats,
            clearance=distances,
            start=start,
            seed=options.seed,
            progress=progress,
        )
    print(text(found))
    if options.output is not None:
        write_trajectory(found.trajectory(options.rate), options.output)
    if options.csv is not None:
        write_csv(found, options.csv, options.rate)
    if options.picture is not None:
        plot(found, options.picture)
    return 0


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
