"""The verb `evaluate`: recorded efforts against the model."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.cli.options import (
    finite,
    new_file,
    new_picture,
    non_negative,
    nonzero,
    positive,
)
from robot_dynamics.cli.output import concise_warnings
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError, ShapeError
from robot_dynamics.identification import (
    Bag,
    Evaluation,
    RecordingError,
    by_joint,
    evaluate,
    read_bag,
    text,
)
from robot_dynamics.identification.report import as_json, plot, write_csv
from robot_dynamics.model.robot_model import STANDARD_GRAVITY, RobotModel
from robot_dynamics.spatial import Array, rotation_rpy
from robot_dynamics.urdf.loading import load_urdf, parse_urdf


def add_evaluate_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `evaluate`."""
    add = parser.add_argument
    add('bag', type=Path, help='a rosbag2 folder, or an .mcap or .db3 file')
    add('--robot', type=Path, help='.urdf or .xacro file (the robot_description of the recording)')
    add('--topic', default='', help='of the joint states (the only one with efforts)')

    robot = parser.add_argument_group('the robot')
    add = robot.add_argument
    add('--tip-link', metavar='LINK', help='keep only the joints that move it (all)')
    add('--lock', nargs='+', metavar='JOINT=X', default=[], help='joints to lock, at X')
    add('--payload', nargs='+', metavar='X', help='LINK MASS [X Y Z]: a point mass on a link')
    for name, quantity in (
        ('gravity', 'gravity vector, m/s^2 (0 0 -9.81)'),
        ('base-orientation', 'roll, pitch, yaw of the base, rad (0 0 0)'),
    ):
        add(f'--{name}', type=finite, nargs=3, metavar='X', help=quantity)
    per_joint: dict[str, Any] = {'nargs': '+', 'metavar': 'X'}
    drive: dict[str, Any] = {'type': non_negative, **per_joint}
    add('--viscous', **drive, help="viscous friction, one or one per joint (the URDF's)")
    add('--coulomb', **drive, help="dry friction, one or one per joint (the URDF's)")
    add('--rotor-inertia', **drive, help='seen at the joint, one or one per joint (0)')

    efforts = parser.add_argument_group('the efforts')
    add = efforts.add_argument
    add(
        '--effort-scale',
        type=nonzero,
        **per_joint,
        help='factor to N m or N: one or one per joint (1)',
    )
    add(
        '--effort-gravity-compensated',
        action='store_true',
        help='they do not include the gravity torque',
    )
    add('--cutoff', type=positive, help='cut-off frequency, Hz (where the motion ends)')
    add('--load-link', default='', metavar='LINK', help='link of a possible payload (the last)')

    result = parser.add_argument_group('the result')
    add = result.add_argument
    add(
        '--max-rms',
        type=positive,
        **per_joint,
        help='exit code 1 if a residual is larger, N m or N',
    )
    add('--max-relative', type=positive, help='the same, relative to the effort')
    add('--json', type=new_file, help='file for the figures')
    add('--csv', type=new_file, help='file for the curves')
    add('--picture', type=new_picture, help='figure file of the curves; needs matplotlib')


def evaluate_recording(options: argparse.Namespace) -> int:
    """Compare recorded efforts with a model; exit code 1 if a residual is larger than allowed.

    Residuals are root mean squares, after a low-pass. Needs rosbags: pip install rosbags, or in a
    checkout pip install '.[bags]'.
    """
    bag = read_bag(options.bag, options.topic, description=options.robot is None)
    with concise_warnings():
        arm = Dynamics(_robot(options, bag))
    names = arm.model.joint_names
    allowed = None if options.max_rms is None else _per_joint(names, 'max-rms', options.max_rms)
    scale = _per_joint(names, 'effort-scale', options.effort_scale or [1.0])
    try:
        found = evaluate(
            arm,
            by_joint(bag.samples, names),
            effort_scale=scale,
            effort_gravity_compensated=options.effort_gravity_compensated,
            cutoff=options.cutoff,
            load_link=options.load_link,
        )
    except RecordingError as error:
        raise RecordingError(f'{options.bag}: {error}') from error
    print(f'{options.bag}, {bag.topic}')
    print(text(found))
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(found), indent=2) + '\n')
    if options.csv is not None:
        write_csv(found, options.csv)
    if options.picture is not None:
        plot(found, options.picture)
    return _exit_code(found, allowed, options.max_relative)


def _robot(options: argparse.Namespace, bag: Bag) -> RobotModel:
    """Return the model of the options. Raises ModelError if there is none."""
    R = rotation_rpy(*(options.base_orientation or (0.0, 0.0, 0.0)))
    chosen = {
        # in the base frame
        'gravity': R.T @ np.array(options.gravity or STANDARD_GRAVITY),
        'tip_link': options.tip_link,
        'locked_joints': _locked(options.lock),
    }
    if options.robot is not None:
        model = load_urdf(options.robot, **chosen)
    elif bag.description:
        model = parse_urdf(bag.description, **chosen)
    else:
        raise ModelError(f'{options.bag} has no robot_description: name a file, --robot FILE')
    drives = {
        name: _per_joint(model.joint_names, name.replace('_', '-'), values)
        for name in ('viscous', 'coulomb', 'rotor_inertia')
        if (values := getattr(options, name)) is not None
    }
    model = model.with_actuation(**drives)
    return model if options.payload is None else _loaded(model, options.payload)


def _locked(words: list[str]) -> dict[str, float]:
    locked = {}
    for word in words:
        joint, _, position = word.partition('=')
        locked[joint] = _number('lock', position or '0')
    return locked


def _loaded(model: RobotModel, words: list[str]) -> RobotModel:
    if len(words) not in (2, 5):
        raise ModelError(f'--payload {" ".join(words)}: expected LINK MASS or LINK MASS X Y Z')
    mass, *com = (_number('payload', word) for word in words[1:])
    return model.with_payload(words[0], mass, com or (0.0, 0.0, 0.0))


def _number(option: str, word: str) -> float:
    try:
        return finite(word)
    except argparse.ArgumentTypeError as error:
        raise ModelError(f'--{option}: {error}') from None


def _per_joint(names: tuple[str, ...], option: str, values: list[float]) -> Array:
    if len(values) not in (1, len(names)):
        raise ShapeError(
            f'--{option} has {len(values)} values; expected one, or {len(names)} for '
            f'{", ".join(names)}'
        )
    return np.broadcast_to(np.array(values), (len(names),))


def _exit_code(found: Evaluation, allowed: Array | None, relative: float | None) -> int:
    """Return 0 if no residual is larger than allowed; otherwise print those and return 1."""
    residual, size = found.rms_residual, found.rms_effort
    limits = [] if allowed is None else [allowed]
    if relative is not None:
        limits.append(relative * size)
    failed = False
    for limit in limits:
        for j in np.flatnonzero(residual > limit):
            failed = True
            name, unit = found.joint_names[j], found.units[j]
            print(
                f'FAIL: {name} has a residual of {residual[j]:.3g} {unit}, {limit[j]:.3g} allowed'
            )
    if limits and not failed:
        print('PASS: no residual is larger than allowed')
    return int(failed)
