# SPDX-License-Identifier: Apache-2.0
"""The verb `trajectory`: whether the drives of a robot can follow a trajectory."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.cli.options import (
    add_parameter,
    add_robot,
    new_file,
    new_picture,
    number,
    positive,
)
from robot_dynamics.cli.recording_options import (
    PER_JOINT,
    add_robot_changes,
    available_effort,
    changed_robot,
    friction,
)
from robot_dynamics.common.reporting.figures import draw_limits, joint_panels, save
from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.reporting.numbers import percent
from robot_dynamics.common.reporting.tables import print_table
from robot_dynamics.control import violations
from robot_dynamics.control.feasibility import (
    MOST_NAMED,
    Feasibility,
    check_feasibility,
    slow_down,
)
from robot_dynamics.control.retiming import Section, retime, sections
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.control.trajectory_file import read_trajectory, write_trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.model.joint_values import per_joint
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.recordings.drives import Drives
from robot_dynamics.ros.feedforward_parameters import FeedforwardParameters

INFEASIBLE = 1  # exit code
# Share of the limits that a written trajectory leaves free: torques respond to the second
# differences of positions and times, which are rounded in a file.
ROUNDING = 1e-4
SAMPLES = 2000  # of a curve in the picture
BRIEF = 0.02  # share of the duration; shorter sections are not printed


def add_trajectory_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `trajectory`."""
    add = parser.add_argument
    add('file', type=Path, help='YAML file: one trajectory_msgs/msg/JointTrajectory')
    add_robot(parser, '--robot')
    between = (
        'motion between points without velocities ({}); linear: the velocity steps at each point'
    )
    add_parameter(add, '--interpolation', FeedforwardParameters, 'interpolation', between)
    add_robot_changes(parser)
    limits = parser.add_argument_group('the limits', 'narrower than those of the description')
    add = limits.add_argument
    per_drive: dict[str, Any] = {'type': positive, **PER_JOINT}
    add('--effort', **per_drive, help='effort limit, N m or N: one or one per joint')
    add('--velocity', **per_drive, help='velocity limit, rad/s or m/s: one or one per joint')
    add(
        '--effort-margin',
        type=number(0.0, 0.99),
        default=0.0,
        help='unused share of the effort limits, for feedback and errors of the model (0)',
    )
    step = 'time in which drives follow a step of the velocity, s ({:g})'
    add_parameter(add, '--corner-time', FeedforwardParameters, 'corner_time', step)
    result = parser.add_argument_group('the result')
    add = result.add_argument
    add(
        '--slow-down',
        type=new_file,
        metavar='OUT',
        help='write the motion at its largest feasible speed',
    )
    fastest = 'write the fastest motion along its path, from rest to rest'
    add('--fastest', type=new_file, metavar='OUT', help=fastest)
    add('--json', type=new_file, help='JSON file of the results')
    add('--picture', type=new_picture, help='figure file of the torques; needs matplotlib')


def trajectory(options: argparse.Namespace) -> int:
    """Compare torques and velocities of a trajectory with the limits; exit code 1 if infeasible.

    Torques include friction and payload, and are computed between the points as well. The largest
    feasible speed is one factor for the whole motion; none where gravity alone exceeds a limit.
    """
    given = read_trajectory(options.file, options.interpolation)
    arm = Dynamics(_limited(changed_robot(options), options))
    motion = given.in_order(arm.model.joint_names)
    law = friction(options, arm.model)
    found = check_feasibility(arm, motion, friction=law, corner_time=options.corner_time)
    # Positions, and an end in motion, which no speed changes.
    others = [reason for reason in violations(motion, arm.model) if reason not in found.reasons]
    _print(arm, motion, found, others)
    if options.slow_down is not None:
        _write_slowed(arm, motion, found, others, law, options)
    fastest = None if options.fastest is None else _write_fastest(arm, motion, law, options)
    if options.json is not None:
        figures = _as_json(motion, found, others)
        if fastest is not None:
            figures['fastest'] = _fastest_as_json(fastest, sections(arm, fastest, law))
        write_json(options.json, figures)
    if options.picture is not None:
        _plot(arm, motion, found, fastest, Drives(friction=law), options.picture)
    return INFEASIBLE if found.reasons or others else 0


def _limited(model: RobotModel, options: argparse.Namespace) -> RobotModel:
    """Return the model with limits narrowed by the options, and the margin."""
    effort, velocity = (
        np.minimum(
            limit, np.inf if given is None else per_joint(f'--{name}', given, model.joint_names)
        )
        for name, limit, given in (
            ('effort', model.effort_limit, options.effort),
            ('velocity', model.velocity_limit, options.velocity),
        )
    )
    effort = (1 - options.effort_margin) * available_effort(effort, options, model)
    return replace(model, effort_limit=effort, velocity_limit=velocity)


def _print(arm: Dynamics, motion: Trajectory, found: Feasibility, others: list[str]) -> None:
    """Print the peaks of the joints and the result."""
    print(f'{arm.model.name}: {len(motion.times)} points, {motion.duration:g} s')
    head = ('joint', 'torque', 'at [s]', 'limit', 'used', 'velocity', 'limit')
    rows = [
        (
            peak.joint,
            f'{peak.torque:.4g} {peak.unit}',
            f'{peak.time:.3f}',
            f'{peak.limit:.4g}',
            percent(peak.share),
            f'{velocity:.4g}',
            f'{limit:.4g}',
        )
        for peak, velocity, limit in zip(
            found.peaks, found.velocity, found.velocity_limit, strict=True
        )
    ]
    print_table(head, rows)
    print()
    for corner in sorted(found.corners, key=lambda corner: -corner.peak.share)[:MOST_NAMED]:
        print(
            f'corner: point {corner.point} at {corner.peak.time:.3f} s, joint {corner.joint!r}, '
            f'{corner.step:.4g} {corner.unit}; {percent(corner.peak.share)} of a limit is used'
        )
    if motion.times[0] > 0:
        print(f'the way to the first point, at {motion.times[0]:g} s, is not checked')
    for reason in (*found.reasons, *others):
        print(f'infeasible: {reason}')
    worst = found.worst
    if found.obstacle:
        print(found.obstacle)
    elif found.reasons:
        duration = motion.duration / found.speed
        print(f'largest feasible speed: {percent(found.speed)}, {duration:.6g} s')
    elif not others:
        print(
            f'feasible: {percent(found.margin)} of the effort limits is unused (joint '
            f'{worst.joint!r} at {worst.time:.3f} s)'
        )


def _as_json(motion: Trajectory, found: Feasibility, others: list[str]) -> dict[str, Any]:
    """Return the figures as JSON."""
    worst = found.worst
    joints = [
        {
            'name': peak.joint,
            'unit': peak.unit,
            'torque': peak.torque,
            'time': peak.time,
            'limit': peak.limit,
            'velocity': velocity,
            'velocity_limit': limit,
        }
        for peak, velocity, limit in zip(
            found.peaks, found.velocity, found.velocity_limit, strict=True
        )
    ]
    return {
        'feasible': not (found.reasons or others),
        'margin': found.margin,
        'joint': worst.joint,
        'time': worst.time,
        'torque': worst.torque,
        'speed': found.speed,
        'duration': motion.duration,
        'reasons': [*found.reasons, *others],
        'joints': joints,
        'corners': [
            {
                'point': corner.point,
                'time': corner.peak.time,
                'joint': corner.joint,
                'step': corner.step,
                'torque_joint': corner.peak.joint,
                'torque': corner.peak.torque,
                'limit': corner.peak.limit,
            }
            for corner in found.corners
        ],
    }


def _write_slowed(
    arm: Dynamics,
    motion: Trajectory,
    found: Feasibility,
    others: list[str],
    law: JointFriction | None,
    options: argparse.Namespace,
) -> None:
    """Write the trajectory at its largest feasible speed, or print why there is none."""
    file = options.slow_down
    reasons = [found.obstacle, *others] if found.obstacle else others
    if reasons:
        print(f'{file} is not written: {"; ".join(reasons)}')
        return
    effort = (1 - ROUNDING) * arm.model.effort_limit
    slowed = slow_down(arm, motion, effort, friction=law, corner_time=options.corner_time)
    write_trajectory(slowed, file)
    share = motion.duration / slowed.duration
    print(f'{file}: {slowed.duration:.6g} s, {percent(share)} of the speed')


def _write_fastest(
    arm: Dynamics, motion: Trajectory, law: JointFriction | None, options: argparse.Namespace
) -> Trajectory:
    """Write the fastest motion along the path, print what bounds it, and return it."""
    effort = (1 - ROUNDING) * arm.model.effort_limit
    fastest = retime(arm, motion, effort, friction=law)
    write_trajectory(fastest, options.fastest)
    print(f'{options.fastest}: {fastest.duration:.6g} s instead of {motion.duration:.6g} s')
    long = [
        section
        for section in sections(arm, fastest, law)
        if section.end - section.start >= BRIEF * fastest.duration
    ]
    print_table(
        ('from [s]', 'to [s]', 'bound by', 'of joint', 'used'),
        [(f'{x.start:.3f}', f'{x.end:.3f}', x.limit, x.joint, percent(x.share)) for x in long],
    )
    return fastest


def _fastest_as_json(fastest: Trajectory, found: list[Section]) -> dict[str, Any]:
    """Return the figures of the fastest motion as JSON."""
    return {
        'duration': fastest.duration,
        'sections': [section._asdict() for section in found],
    }


def _plot(
    arm: Dynamics,
    motion: Trajectory,
    found: Feasibility,
    fastest: Trajectory | None,
    drives: Drives,
    file: Path,
) -> None:
    """Draw the torque of each joint with its limits, as given, slowed down and at the fastest.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    names = [f'{peak.joint}\n[{peak.unit}]' for peak in found.peaks]
    figure, panels = joint_panels(names, 8, 1.3)
    axes = panels[:, 0]
    curves = [(motion, 'as given', 'tab:blue')]
    if 0 < found.speed < 1 and found.reasons:
        curves.append((motion.at_speed(found.speed), f'at {percent(found.speed)}', 'tab:green'))
    if fastest is not None:
        curves.append((fastest, 'fastest', 'tab:orange'))
    for curve, label, color in curves:
        t = np.linspace(curve.times[0], curve.duration, SAMPLES)
        q, qd, qdd = curve.sample(t)
        tau = drives.effort(arm, q, qd, qdd)
        for panel, x in zip(axes, tau.T, strict=True):
            panel.plot(t, x, linewidth=1, color=color, label=label)
    for panel, peak in zip(axes, found.peaks, strict=True):
        draw_limits(panel, -peak.limit, peak.limit)
    axes[0].legend(loc='upper right')
    save(figure, file)
