# SPDX-License-Identifier: Apache-2.0
"""The verb `evaluate`: recorded efforts against the model."""

from __future__ import annotations

import argparse

import numpy as np

from robot_dynamics.cli.options import new_file, new_picture, positive
from robot_dynamics.cli.output import concise_warnings
from robot_dynamics.cli.recording_options import (
    PER_JOINT,
    add_efforts,
    add_recording,
    add_robot_changes,
    measured,
    model_origin,
    recorded,
    recorded_robot,
    recording_named,
    recording_of,
)
from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.joint_values import per_joint
from robot_dynamics.evaluation import Evaluation, evaluate, text
from robot_dynamics.evaluation.evaluation_report import as_json, plot, write_csv


def add_evaluate_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `evaluate`."""
    add_recording(parser)
    add_robot_changes(parser)
    add = add_efforts(parser).add_argument
    add('--load-link', default='', metavar='LINK', help='link of a possible payload (the last)')

    result = parser.add_argument_group('the result')
    add = result.add_argument
    add(
        '--max-rms',
        type=positive,
        **PER_JOINT,
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
    bag = recorded(options)
    with concise_warnings():
        arm = Dynamics(recorded_robot(options, bag))
    names = arm.model.joint_names
    allowed = None if options.max_rms is None else per_joint('--max-rms', options.max_rms, names)
    with recording_named(options.bag, arm.model):
        found = evaluate(
            arm,
            recording_of(options, bag, arm.model),
            load_link=options.load_link,
            **measured(options, arm.model),
        )
    print(f'{options.bag}, {bag.topic}')
    print(text(found))
    origin = model_origin(options)
    print(origin)
    if options.json is not None:
        write_json(options.json, as_json(found) | {'model': origin})
    if options.csv is not None:
        write_csv(found, options.csv)
    if options.picture is not None:
        plot(found, options.picture)
    return _exit_code(found, allowed, options.max_relative)


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
