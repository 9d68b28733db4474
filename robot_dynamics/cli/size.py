# SPDX-License-Identifier: Apache-2.0
"""The verb `size`: what a motion demands of the drives, those that fit, and largest payloads."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.cli.options import (
    add_parameter,
    add_robot,
    count,
    finite,
    new_file,
    new_picture,
    non_negative,
    positive,
)
from robot_dynamics.cli.recording_options import (
    PER_JOINT,
    add_robot_changes,
    add_source,
    available_effort,
    changed_robot,
    friction,
    recorded,
    recording_named,
)
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.files import write_csv
from robot_dynamics.common.reporting.figures import draw_limits, plain, save, sheet
from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.reporting.numbers import percent, plural
from robot_dynamics.common.reporting.tables import print_table
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.feasibility import Corner, check_feasibility
from robot_dynamics.control.limits import TOLERANCE, described, exceeded
from robot_dynamics.control.sizing import (
    DriveLoad,
    Fit,
    SampledMotion,
    drive_load,
    fit_drives,
    largest_payload,
    read_drives,
)
from robot_dynamics.control.trajectory_file import read_trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.recordings.smoothing import cutoff_of, smooth
from robot_dynamics.ros.feedforward_parameters import FeedforwardParameters

BEYOND_LIMITS = 1  # exit code; of the description, or of all drives of a catalogue
TRAJECTORIES = ('.yaml', '.yml', '.json')  # suffixes; others are those of recordings
POSTURES, MOST_POSTURES = 10_000, 200_000
CELLS = 40  # of the figure of the workspace, along its width
SHOWN = 0.95  # quantile of the payloads that ends the colours of the figure
ROOM, SMALLEST = 1.5, 1e-6  # of axes: relative to the largest value; for joints without load


def add_size_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `size`."""
    add_robot(parser)
    add = parser.add_argument
    motion = 'JointTrajectory as YAML, or a recording: a rosbag2 folder, .mcap, .db3 or .csv file'
    add('motion', type=Path, nargs='?', help=motion)
    add('--motion', dest='motion_of_table', type=Path, metavar='FILE', help='the same, with --dh')
    between = 'of a trajectory, between points without velocities ({})'
    add_parameter(add, '--interpolation', FeedforwardParameters, 'interpolation', between)
    add_source(parser, 'of a recording: ')
    add('--cutoff', type=positive, help='of a recording: cut-off frequency, Hz (where it ends)')
    add_robot_changes(parser)
    add = parser.add_argument_group('the drives').add_argument
    columns = (
        'CSV file with the columns name, peak, rated [N m], speed [rad/s], inertia [kg m^2], all '
        'at the motor, and ratio: turns of the motor per turn of the joint, rad/m of a slide; '
        'exit code 1 if none fits a joint'
    )
    add('--drives', type=Path, metavar='CATALOGUE', help=columns)
    add('--json', type=new_file, help='file for the figures')
    add('--picture', type=new_picture, help='figure of torque over speed; needs matplotlib')
    _add_map_options(parser.add_argument_group('the largest payload over the workspace'))


def _add_map_options(group: Any) -> None:
    """Add the options of the map of payloads."""
    add = group.add_argument
    add('--payload-map', type=new_file, metavar='CSV', help='file: posture, position, payload')
    add('--map-picture', type=new_picture, help='figure of the map; needs matplotlib')
    add('--load-link', metavar='LINK', help='that carries the payload, a point mass (the last)')
    com = 'its position in the frame of the link, m (0 0 0)'
    add('--load-com', type=finite, nargs=3, metavar=('X', 'Y', 'Z'), default=(0, 0, 0), help=com)
    of_joints = (
        'of all joints at once, in either direction, rad/s^2 or m/s^2: one or one per joint'
    )
    add('--acceleration', type=non_negative, **PER_JOINT, default=[0.0], help=f'{of_joints} (0)')
    number = f'random ones within the position limits ({POSTURES:,})'
    add('--postures', type=count(MOST_POSTURES), default=POSTURES, metavar='N', help=number)


def size(options: argparse.Namespace) -> int:
    """Print what a motion demands of the drives, which drives of a catalogue fit, and payloads.

    Torque and speed of each joint, RMS and peak, against the limits of the description; power,
    energy and braking energy. Torques are those of the model, with friction and payload. The RMS
    is that of the motion without a pause: add one to the trajectory if the robot makes one. Exit
    code 1 if the motion is beyond a limit of the description, or no drive fits a joint.
    """
    file = options.motion or options.motion_of_table
    wants_map = options.payload_map is not None or options.map_picture is not None
    if file is None and not wants_map:
        raise ModelError('no motion; expected a trajectory, a recording, or --payload-map')
    if file is None and (given := [x for x in ('drives', 'json', 'picture') if vars(options)[x]]):
        raise ModelError(f'--{given[0]} is of a motion; expected a trajectory or a recording')
    model = changed_robot(options)
    limit = available_effort(model.effort_limit, options, model)
    arm, law = Dynamics(replace(model, effort_limit=limit)), friction(options, model)
    fits = True if file is None else _size_motion(arm, file, law, options)
    if wants_map:
        _map(arm, law, options)
    return 0 if fits else BEYOND_LIMITS


# -- a motion -----------------------------------------------------------------------------------


def _size_motion(
    arm: Dynamics, file: Path, law: JointFriction | None, options: argparse.Namespace
) -> bool:
    """Print and write the load of a motion; return whether it is within limits, and drives fit."""
    drives = None if options.drives is None else read_drives(options.drives)
    motion, steps = _motion(arm, file, law, options)
    load = drive_load(arm, motion, law)
    beyond = _beyond(arm, load) + steps
    _print(arm, load)
    fits = None if drives is None else fit_drives(arm, motion, drives, law)
    if fits is not None:
        _print_fits(arm, fits)
    if options.json is not None:
        write_json(options.json, _as_json(arm, load, fits) | {'beyond_limits': beyond})
    if options.picture is not None:
        _plot(arm, load, fits or [], options.picture)
    print(_verdict(arm, beyond, "the description's" if fits else ''))
    return not beyond and (fits is None or bool(np.any([x.fits for x in fits], axis=0).all()))


def _beyond(arm: Dynamics, load: DriveLoad) -> list[str]:
    """Return the joints beyond limits of the description, each with the used shares."""
    model, motion = arm.model, load.motion
    fastest = np.abs(motion.qdd).max(axis=0)
    with np.errstate(over='ignore', invalid='ignore'):
        used = {
            quantity: largest / np.maximum(limit, np.finfo(float).tiny)
            for quantity, largest, limit in (
                ('effort', np.abs(load.peak), model.effort_limit),
                ('velocity', load.speed, model.velocity_limit),
                ('acceleration', fastest, described(model)),
            )
        }
    found = []
    for j, name in enumerate(model.joint_names):
        words = [
            f'{quantity} {percent(share[j])}'
            for quantity, share in used.items()
            if not share[j] <= 1 + TOLERANCE  # NaN is beyond
        ]
        low, high = motion.q[:, j].min(), motion.q[:, j].max()
        if low < model.lower[j] - TOLERANCE:
            words.append(f'position {low:.4g}, limit {model.lower[j]:.4g}')
        if high > model.upper[j] + TOLERANCE:
            words.append(f'position {high:.4g}, limit {model.upper[j]:.4g}')
        found += [f'{name} ({", ".join(words)})'] if words else []
    return found


def _verdict(arm: Dynamics, beyond: list[str], whose: str) -> str:
    """Return whether a motion is within the limits, and which efforts have none."""
    limits = f'{whose} limits'.strip()
    if beyond:
        return f'beyond {limits}: {", ".join(beyond)}'
    model = arm.model
    unlimited = np.array(model.joint_names)[np.isinf(model.effort_limit)]
    missing = f'; no effort limit: {", ".join(unlimited)}' if len(unlimited) else ''
    return f'within all {limits}{missing}'


def _motion(
    arm: Dynamics, file: Path, law: JointFriction | None, options: argparse.Namespace
) -> tuple[SampledMotion, list[str]]:
    """Return the samples of a file, and limits that are exceeded between them.

    Prints what the samples leave out.
    """
    names = arm.model.joint_names
    if file.suffix.lower() in TRAJECTORIES:
        if options.topic or options.columns or options.cutoff is not None:
            raise ModelError(f'{file}: --topic, --columns and --cutoff are for recordings')
        trajectory = read_trajectory(file, options.interpolation).in_order(names)
        corners = check_feasibility(arm, trajectory, friction=law).corners
        if corners:
            print(
                f'velocities step at {plural(len(corners), "point")}, the first at '
                f'{corners[0].peak.time:.6g} s: without the torques of these steps, see '
                'robot-dynamics trajectory'
            )
        beyond = [reason for _, reason in exceeded(trajectory, {3: arm.model.jerk_limit})]
        return SampledMotion.of_trajectory(trajectory), _steps(corners) + beyond
    with recording_named(file, arm.model):
        recording = recorded(options, file).recording(names)
        cutoff = cutoff_of(recording) if options.cutoff is None else options.cutoff
        stretches, left_out = smooth(recording, cutoff)
    omitted = ', '.join(f'{number} {reason}' for reason, number in left_out.items())
    print(
        f'{file}: low-pass at {cutoff:.3g} Hz, without shorter peaks; omitted samples: '
        f'{omitted or "none"}'
    )
    parts = (
        SampledMotion.of_samples(*(x[one.inner] for x in (one.t, one.q, one.qd, one.qdd)))
        for one in stretches
    )
    return reduce(SampledMotion.followed_by, parts), []


def _steps(corners: Sequence[Corner]) -> list[str]:
    """Return the joints whose effort limit steps of the velocity exceed, with the used share."""
    used: dict[str, float] = {}
    for corner in corners:
        joint, share = corner.peak.joint, corner.peak.share
        if share > 1 + TOLERANCE:
            used[joint] = max(share, used.get(joint, 0.0))
    return [
        f'{joint} (effort {percent(x)} at a step of the velocity)' for joint, x in used.items()
    ]


def _print(arm: Dynamics, load: DriveLoad) -> None:
    """Print the load of the joints, and the energies."""
    model = arm.model
    print(f'{model.name}: {load.motion.duration:.6g} s')
    limits = ('peak', 'limit', 'used')
    powers = ('power peak [W]', 'braking peak [W]', 'braking [J]')
    head = ('joint', 'torque rms', *limits, 'speed rms', *limits, *powers)
    with np.errstate(divide='ignore', invalid='ignore'):
        used = np.abs(load.peak) / model.effort_limit, load.speed / model.velocity_limit
    rows = [
        (
            model.joint_names[j],
            f'{load.rms[j]:.4g} {model.effort_units[j]}',
            *(f'{x[j]:.4g}' for x in (load.peak, model.effort_limit)),
            percent(used[0][j]),
            *(f'{x[j]:.4g}' for x in (load.rms_speed, load.speed, model.velocity_limit)),
            percent(used[1][j]),
            *(f'{x[j]:.4g}' for x in (load.power, load.braking_power, load.braking)),
        )
        for j in range(model.n)
    ]
    print_table(head, rows)
    supplied, braking = load.total_power
    print(
        f'\nall drives: {supplied:.4g} W at most, {braking:.4g} W while braking; '
        f'{load.supplied.sum():.4g} J supplied, {load.braking.sum():.4g} J taken up while '
        f'braking, {load.losses.sum():.4g} J lost in friction'
    )


def _print_fits(arm: Dynamics, fits: list[Fit]) -> None:
    """Print the most used limit of each drive at each joint, and the drives that fit."""
    names = arm.model.joint_names
    print_table(
        ('drive', *names),
        [(fit.drive.name, *(_cell(fit, j) for j in range(len(names)))) for fit in fits],
    )
    print('\ndrives that fit, within their own limits')
    for j, name in enumerate(names):
        fitting = [fit.drive.name for fit in fits if fit.fits[j]]
        print(f'{name}: {", ".join(fitting) or "no drive fits"}')


def _cell(fit: Fit, j: int) -> str:
    """Return the most used limit of a drive at joint j, and its share."""
    used, name = max((float(x[j]), name) for x, name in zip(fit[1:], fit._fields[1:], strict=True))
    return f'{name} {percent(used)}'


def _as_json(arm: Dynamics, load: DriveLoad, fits: list[Fit] | None) -> dict[str, Any]:
    """Return the figures as JSON."""
    model = arm.model
    energies = ('supplied', 'braking', 'losses')
    names = ('rms', 'peak', 'rms_speed', 'speed', 'power', 'braking_power', *energies)
    supplied, braking = load.total_power
    joints = [
        {'name': model.joint_names[j], 'unit': model.effort_units[j]}
        | {name: getattr(load, name)[j] for name in names}
        | {'effort_limit': model.effort_limit[j], 'velocity_limit': model.velocity_limit[j]}
        for j in range(model.n)
    ]
    figures = {
        'duration': load.motion.duration,
        'joints': joints,
        'work': load.work,
        'power': supplied,
        'braking_power': braking,
    }
    if fits is not None:
        figures['drives'] = [
            fit.drive._asdict()
            | {f'{name}_used': list(getattr(fit, name)) for name in ('peak', 'rated', 'speed')}
            | {'fits': [x for x, one in zip(model.joint_names, fit.fits, strict=True) if one]}
            for fit in fits
        ]
    return figures


def _plot(arm: Dynamics, load: DriveLoad, fits: list[Fit], file: Path) -> None:
    """Draw torque over speed of each joint, with its limits and the drives that fit.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    model = arm.model
    figure = sheet(7, 1 + 1.8 * model.n)
    panels = figure.subplots(model.n, 1, squeeze=False)[:, 0]
    for j, panel in enumerate(panels):
        panel.plot(np.abs(load.motion.qd[:, j]), np.abs(load.torque[:, j]), '.', markersize=1)
        panel.set_xlim(0, ROOM * max(load.speed[j], SMALLEST))
        panel.set_ylim(0, ROOM * max(abs(load.peak[j]), SMALLEST))
        panel.axhline(load.rms[j], color='tab:blue', linestyle=':', label='torque rms')
        draw_limits(panel, model.effort_limit[j])
        for fit in fits:
            if fit.fits[j]:
                r, drive = fit.drive.ratio, fit.drive
                speeds, torques = (0, drive.speed / r, drive.speed / r), (drive.peak * r,) * 2
                panel.plot(speeds, (*torques, 0), linewidth=1, label=plain(drive.name))
        panel.set_ylabel(f'{plain(model.joint_names[j])}\n[{model.effort_units[j]}]')
        panel.legend(loc='upper right', fontsize='x-small')
    panels[-1].set_xlabel('speed [rad/s or m/s]')
    save(figure, file)


# -- the map of payloads ------------------------------------------------------------------------


def _map(arm: Dynamics, law: JointFriction | None, options: argparse.Namespace) -> None:
    """Print, write and draw the largest payloads over the workspace."""
    model = arm.model
    link = options.load_link or model.moving_links[-1]
    q = random_postures(model, options.postures)
    found = largest_payload(arm, q, link, options.load_com, options.acceleration, law)
    T = arm.forward_kinematics(q, link)
    position = T[:, :3, 3] + T[:, :3, :3] @ np.asarray(options.load_com, dtype=float)
    mass, names = found.mass, model.joint_names
    least, most = int(mass.argmin()), int(mass.argmax())
    print(f'\nlargest payload on {link}, {plural(len(q), "posture")}: ', end='')
    if np.isinf(mass[least]):
        print('no effort limit bounds it')
    else:
        print(
            f'median {np.median(mass):.4g} kg, from {mass[least]:.4g} kg (by '
            f'{names[found.joint[least]]}) to {mass[most]:.4g} kg'
        )
    if over := int((mass == 0).sum()):
        print(f'in {plural(over, "posture")} the arm alone exceeds an effort limit')
    if options.payload_map is not None:
        head = (*names, 'x', 'y', 'z', 'payload', 'bound by')
        rows = zip(q.tolist(), position.tolist(), mass.tolist(), found.joint, strict=True)
        write_csv(options.payload_map, head, [(*a, *b, m, names[j]) for a, b, m, j in rows])
    if options.map_picture is not None:
        _plot_map(arm, position, mass, options.map_picture)


def _plot_map(arm: Dynamics, position: Array, mass: Array, file: Path) -> None:
    """Draw the smallest of the payloads (k,) in each cell of radius and height of (k, 3)."""
    gravity = arm.model.gravity
    up = -gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 0.0, 1.0])
    height = position @ up
    radius = np.linalg.norm(position - np.outer(height, up), axis=1)
    figure = sheet(7, 6)
    panel = figure.subplots()
    shown = np.isfinite(mass)
    cells = panel.hexbin(
        *(x[shown] for x in (radius, height, mass)), gridsize=CELLS, reduce_C_function=np.min
    )
    if shown.any():
        # Folded postures carry many times the payload of others.
        cells.set_clim(vmax=float(np.quantile(np.ma.compressed(cells.get_array()), SHOWN)))
    figure.colorbar(cells, ax=panel, label='payload in every posture there [kg]')
    panel.set_aspect('equal')
    panel.set_xlabel('distance from the vertical through the base [m]')
    panel.set_ylabel('height above the base [m]')
    save(figure, file)
