# SPDX-License-Identifier: Apache-2.0
"""`identify --efforts none`: position servos from commands and positions."""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_dynamics.cli.options import nonzero
from robot_dynamics.cli.output import Progress, concise_warnings
from robot_dynamics.cli.recording_options import (
    PER_JOINT,
    add_commands,
    chosen,
    description_of,
    recorded_commands,
    recording_named,
    robot_parameters,
)
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.files import write_file, write_files
from robot_dynamics.common.reporting.figures import encoded
from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.joint_values import per_joint
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.servo.servo_files import (
    servo_isaaclab,
    servo_missing,
    servo_mjcf,
    servo_parameters,
    servo_urdf,
)
from robot_dynamics.identification.servo.servo_identification import identify_servo
from robot_dynamics.identification.servo.servo_report import as_json, plot, text
from robot_dynamics.identification.servo.servo_result import ServoIdentification
from robot_dynamics.recordings import Recording
from robot_dynamics.urdf.identified import marked
from robot_dynamics.urdf.loading import parse_urdf

NO_EFFORTS = 'none'  # value of --efforts
OF_EFFORTS = ('effort_scale', 'payload', 'payload_bag', 'coupling', 'delay')


def add_servo_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of position servos to a parser that has `add_source`."""
    group = parser.add_argument_group(f'position servos, --efforts {NO_EFFORTS}')
    add_commands(group)
    gain = {**PER_JOINT, 'type': nonzero}
    group.add_argument(
        '--kp', **gain, help='known stiffness, N m/rad or N/m, one or one per joint'
    )
    group.add_argument(
        '--kd', **gain, help='known gain of commanded velocities, N m s/rad or N s/m'
    )
    group.add_argument(
        '--zero',
        choices=('fixed', 'fit'),
        default='fixed',
        help="errors of the encoders' zeros, which gravity shows (fixed: none)",
    )


def identify_servos(options: argparse.Namespace) -> int:
    """Identify position servos; exit code 1 if a joint is predicted no better than by commands."""
    _check(options)
    logs = [recorded_commands(options, file) for file in options.bag]
    urdf = description_of(options, {log.description for log in logs} - {''})
    with concise_warnings():
        model = parse_urdf(urdf, **chosen(options), unset_parameters=())
    recordings = [one for file in options.bag for one in _read(options, file, model)]
    test = None if options.test is None else _read(options, options.test, model)
    found = identify_servo(
        Dynamics(model),
        recordings,
        kp=_gains('--kp', options.kp, model),
        kd=_gains('--kd', options.kd, model),
        zero=options.zero,
        test=test,
        refuse=not options.force,
        progress=Progress(),
    )
    print(text(found))
    return _write(options, found, urdf)


def _gains(name: str, values: list[float] | None, model: RobotModel) -> Array | None:
    return None if values is None else per_joint(name, values, model.joint_names)


def _read(options: argparse.Namespace, file: Path, model: RobotModel) -> list[Recording]:
    with recording_named(file, model):
        return recorded_commands(options, file).recordings(model.joint_names)


def _check(options: argparse.Namespace) -> None:
    given = [name for name in OF_EFFORTS if getattr(options, name) is not None]
    if given:
        words = ', '.join(f'--{name.replace("_", "-")}' for name in given)
        raise ModelError(f'{words} with --efforts {NO_EFFORTS}; expected recorded efforts for it')
    if options.output is not None and options.output.suffix not in ('.urdf', '.xml'):
        raise ModelError(f'--output {options.output}: expected a name that ends in .urdf or .xml')
    both = options.output is not None and options.robot is not None
    if both and options.output.resolve() == options.robot.resolve():
        raise ModelError(f'--output {options.output} is the description: expected another file')


def _write(options: argparse.Namespace, found: ServoIdentification, urdf: bytes) -> int:
    """Write the files of the options; return the exit code."""
    if options.json is not None:
        write_json(options.json, as_json(found))
    if options.report is not None:
        write_file(options.report, _page(found, options))
    if found.worse and not options.force:
        wanted = [str(file) for file in (options.output, options.isaaclab) if file is not None]
        if wanted:
            names = ', '.join(found.worse)
            print(f'{", ".join(wanted)} not written: no better on {names}; --force writes it')
        return 1
    contents = _contents(options, found, urdf)
    write_files(contents)
    if contents:
        print(f'written: {", ".join(map(str, contents))}')
    return 1 if found.worse else 0


def _contents(
    options: argparse.Namespace, found: ServoIdentification, urdf: bytes
) -> dict[Path, str | bytes]:
    """Return the contents of the files of the result by path."""
    contents: dict[Path, str | bytes] = {}
    if options.output is not None:
        parameters = options.output.with_suffix('.yaml')
        names = [bag.resolve().name for bag in options.bag]
        if options.output.suffix == '.xml':
            contents[options.output] = servo_mjcf(found)
        else:
            new = servo_urdf(found, urdf)
            contents[options.output] = marked(new, parameters.name, servo_missing(found))
        contents[parameters] = servo_parameters(found, robot_parameters(options), names)
    if options.isaaclab is not None:
        contents[options.isaaclab] = servo_isaaclab(found)
    return contents


def _page(found: ServoIdentification, options: argparse.Namespace) -> str:
    """Return the report as an HTML page: the text, and the tracking errors as a picture."""
    from base64 import b64encode
    from html import escape

    picture = b64encode(encoded(plot(found), 'svg')).decode()
    title = escape(', '.join(map(str, options.bag)))
    return (
        f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title></head><body>'
        f'<h1>Servos identified from {title}</h1><pre>{escape(text(found))}</pre>'
        f'<img alt="tracking errors before and after" src="data:image/svg+xml;base64,{picture}">'
        '</body></html>\n'
    )
