# SPDX-License-Identifier: Apache-2.0
"""The verb `payload`: the payload that an arm carried in a recording."""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_dynamics.cli.options import new_file, number
from robot_dynamics.cli.output import concise_warnings
from robot_dynamics.cli.recording_options import (
    add_efforts,
    add_recording,
    add_robot_changes,
    measured,
    model_origin,
    recorded,
    recorded_robot,
    recording_named,
    recording_of,
    recordings_named,
)
from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.estimation.covariance import INEXACT
from robot_dynamics.identification.payload.payload import FRICTION, estimate_payload
from robot_dynamics.identification.payload.payload_report import as_json, text
from robot_dynamics.ros.robot_parameters import MeasuredParameters


def add_payload_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `payload`."""
    add_recording(parser)
    parser.add_argument('--link', required=True, metavar='LINK', help='that carries the payload')
    parser.add_argument(
        '--unloaded',
        type=Path,
        metavar='BAG',
        help='a motion of the same arm without the payload, recorded alike, which tells errors of '
        'the model from it',
    )
    add_robot_changes(parser)
    efforts = add_efforts(parser)
    efforts.add_argument(
        '--scale-error',
        type=number(0.0, 1.0),
        default=INEXACT,
        help=f'standard deviation of the scale of the efforts of each joint ({INEXACT:g})',
    )
    efforts.add_argument(
        '--friction',
        choices=FRICTION,
        default=FRICTION[0],
        help='fitted with the payload in addition to that of the model (estimated), or that of '
        'the model, without offsets',
    )
    result = parser.add_argument_group('the result')
    result.add_argument('--json', type=new_file, help='file for the figures')


def payload(options: argparse.Namespace) -> int:
    """Print mass, centre of mass and inertia of the payload in a recording, with errors.

    From a motion, with standard errors, which include those of the model; from postures at rest,
    with the bounds that dry friction sets. The model is the arm without the payload, best one that
    `identify` has found. Needs rosbags: pip install rosbags, or in a checkout
    pip install '.[bags]'.
    """
    bag = recorded(options)
    with concise_warnings():
        arm = Dynamics(recorded_robot(options, bag))
    unloaded = None
    if options.unloaded is not None:
        with recording_named(options.unloaded, arm.model):
            unloaded = recording_of(options, recorded(options, options.unloaded), arm.model)
    with recording_named(options.bag, arm.model):
        recording = recording_of(options, bag, arm.model)
    by_file = {options.bag: recording}
    by_file |= {} if unloaded is None else {options.unloaded: unloaded}
    with recordings_named(by_file, arm.model, options.cutoff):
        found = estimate_payload(
            arm,
            recording,
            options.link,
            friction=options.friction,
            scale_error=options.scale_error,
            unloaded=unloaded,
            identified=options.params != MeasuredParameters(),
            **measured(options, arm.model),
        )
    found = found._replace(notes=(*found.notes, *recording.notes))
    print(text(found))
    if found.determined:
        words = ' '.join(f'{x:.4g}' for x in (found.mass, *found.com))
        print(f'as an option of the other verbs: --payload {found.link} {words}')
    origin = model_origin(options)
    print(origin)
    if options.json is not None:
        write_json(options.json, as_json(found) | {'model': origin})
    return 0
