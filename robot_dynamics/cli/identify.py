# SPDX-License-Identifier: Apache-2.0
"""The verb `identify`: a model that predicts recorded efforts."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

from robot_dynamics.cli.identify_servo import NO_EFFORTS, add_servo_options, identify_servos
from robot_dynamics.cli.options import add_gravity, finite, new_file, new_report, nonzero
from robot_dynamics.cli.output import Progress, concise_warnings
from robot_dynamics.cli.recording_options import (
    add_chain,
    add_compensated_efforts,
    add_recording,
    chosen,
    description_of,
    payload_of,
    recorded,
    recording_named,
    recordings_named,
    robot_parameters,
)
from robot_dynamics.common.errors import ModelError, RobotDynamicsError
from robot_dynamics.common.files import write_file, write_files
from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.model.joint_values import per_joint
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.estimation.estimation import identify
from robot_dynamics.identification.estimation.excitation_check import RefusedError, refused
from robot_dynamics.identification.estimation.friction_choice import AUTO
from robot_dynamics.identification.estimation.identification_records import (
    EFFORTS,
    Identification,
    PayloadRecording,
)
from robot_dynamics.identification.estimation.identification_report import as_json, text
from robot_dynamics.identification.estimation.identified_files import (
    IDENTIFIED_VALUES,
    estimated_links,
    identified_changes,
    missing_in_urdf,
    node_parameters,
)
from robot_dynamics.identification.estimation.identified_validation import UNKNOWN, WORSE
from robot_dynamics.identification.estimation.simulator_files import (
    isaaclab_text,
    mjcf_changes,
)
from robot_dynamics.recordings import Recording, read_coupling, read_recording
from robot_dynamics.recordings.recording import stated
from robot_dynamics.ros.parameter_files import check_identified
from robot_dynamics.urdf.editing import Change, edited
from robot_dynamics.urdf.identified import marked
from robot_dynamics.urdf.loading import is_mjcf, parse_urdf
from robot_dynamics.urdf.mjcf.editing import edited_mjcf
from robot_dynamics.urdf.mjcf.loading import read_mjcf

EXIT_CODES = {WORSE: 1, UNKNOWN: 3}  # of verdicts


def add_identify_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `identify`."""
    add_recording(parser, '+')
    robot = parser.add_argument_group('the robot')
    add_chain(robot)
    add_gravity(robot)
    efforts = add_compensated_efforts(parser)
    _add_scale(efforts)
    _add_payload(efforts)
    efforts.add_argument(
        '--coupling', type=Path, help='YAML file of motors that turn by several joints'
    )
    fit = parser.add_argument_group('the fit')
    fit.add_argument(
        '--friction',
        choices=[*LAWS, AUTO],
        default=AUTO,
        help='friction law; auto: the one with the least residual held out (auto)',
    )
    fit.add_argument('--test', type=Path, help='recording for validation (the last third)')
    add_servo_options(parser)
    result = parser.add_argument_group('the result')
    add = result.add_argument
    add(
        '--output',
        type=new_file,
        help='URDF, or .xml of a robot of MJCF; and beside it .yaml, parameters of the nodes',
    )
    add('--isaaclab', type=new_file, help='Python file with the actuators for Isaac Lab 3')
    add('--force', action='store_true', help='identify in spite of a refusal, and write --output')
    add('--json', type=new_file, help='file for the figures')
    add('--report', type=new_report, help='HTML file of the report; needs matplotlib')


def _add_scale(efforts: argparse._ArgumentGroup) -> None:
    """Add what the recorded efforts are: scale, kind and delay."""
    efforts.add_argument(
        '--effort-scale',
        type=_scale,
        nargs='+',
        metavar='X',
        help='factor to N m or N: one or one per joint (1); of currents JOINT=X: '
        'known scales of some joints determine the rest',
    )
    efforts.add_argument(
        '--efforts',
        choices=(*EFFORTS, NO_EFFORTS),
        help='what was measured: torques of the drives, currents of the motors, torques on the '
        'link side of the rotors (as the header of a CSV file says, else torques), or none: '
        'position servos, from commands and positions',
    )
    efforts.add_argument(
        '--delay',
        type=finite,
        metavar='S',
        help='by which they are later than the motion, s (estimated, and removed if certain; '
        'beyond 0.02 if motion that is not fitted confirms it)',
    )


def _add_payload(efforts: argparse._ArgumentGroup) -> None:
    """Add the recording with a payload, which shows the scale of currents."""
    efforts.add_argument(
        '--payload-bag',
        type=Path,
        help='a recording with a payload of known mass: the scale of currents',
    )
    efforts.add_argument(
        '--payload',
        nargs='+',
        metavar='X',
        help='that payload, LINK MASS [X Y Z]: kg, and m of a point mass in the frame of the link '
        '(centre of mass and tensor are estimated)',
    )


def identify_robot(options: argparse.Namespace) -> int:
    """Identify inertias and friction from recordings; exit code 1 if the result is worse.

    Exit code 3 if the recording is too short to tell. Needs cvxpy, clarabel and rosbags: in a
    checkout pip install '.[identify,bags]'.
    """
    if options.efforts == NO_EFFORTS:
        return identify_servos(options)
    _check(options)
    bags = [recorded(options, file) for file in options.bag]
    urdf = description_of(options, {bag.description for bag in bags} - {''})
    with concise_warnings():
        # What another identification has found beside its URDF is identified anew.
        model = parse_urdf(urdf, **chosen(options), unset_parameters=())
    arm, names = Dynamics(model), model.joint_names
    estimated = estimated_links(model, urdf)
    coupling = None if options.coupling is None else read_coupling(options.coupling, names)
    recordings = []
    for file, bag in zip(options.bag, bags, strict=True):
        with recording_named(file, model):
            recordings.append(_stated(options, bag.recording(names)))
    test = None if options.test is None else _recording(options, options.test, model)
    payload = _payload(options, model)
    by_file = dict(zip(options.bag, recordings, strict=True))
    by_file |= {} if test is None else {options.test: test}
    by_file |= {} if payload is None else {options.payload_bag: payload.recording}
    with recordings_named(by_file, model, options.cutoff):
        found = identify(
            arm,
            recordings,
            efforts=options.efforts,
            friction=options.friction,
            test=test,
            effort_scale=_effort_scale(options, names),
            effort_gravity_compensated=options.effort_gravity_compensated,
            cutoff=options.cutoff,
            delay=options.delay,
            payload=payload,
            kept=estimated.kept,
            coupling=coupling,
            refuse=_overridden if options.force else refused,
            progress=Progress(),
        )
    for file, bag in zip(options.bag, bags, strict=True):
        print(f'{file}, {bag.topic}')
    print(text(found))
    return _write(options, found, urdf, identified_changes(found, urdf, estimated))


def _write(
    options: argparse.Namespace, found: Identification, urdf: bytes, changes: list[Change]
) -> int:
    """Write the files of the options; return the exit code."""
    v = found.validation
    if options.json is not None:
        write_json(options.json, as_json(found))
    wanted = [file for file in (options.output, options.isaaclab) if file is not None]
    if options.force or v.harmless:
        contents = _contents(options, found, urdf, changes)
        write_files(contents)
        if contents:
            print(f'written: {", ".join(map(str, contents))}')
    else:
        for file in wanted:
            print(f'{file} is not written: {_reason(found)}; --force writes it')
    if options.report is not None:
        from robot_dynamics.identification.estimation.identification_page import html

        write_file(options.report, html(found, ', '.join(map(str, options.bag))))
    return EXIT_CODES.get(v.verdict, 0)


def _contents(
    options: argparse.Namespace, found: Identification, urdf: bytes, changes: list[Change]
) -> dict[Path, str | bytes]:
    """Return the contents of the files of the result by path, once they are checked."""
    contents: dict[Path, str | bytes] = {}
    if options.output is not None:
        identified, parameters = edited(urdf, changes), options.output.with_suffix('.yaml')
        bags = [bag for bag in (*options.bag, options.payload_bag) if bag is not None]
        names = [bag.resolve().name for bag in bags]
        text = node_parameters(found, robot_parameters(options), names)
        missing = missing_in_urdf(found)
        identified = marked(identified, parameters.name, missing, IDENTIFIED_VALUES)
        _check_written(options, identified, None if found.coupling is not None else text)
        if options.output.suffix == '.xml':
            robot = read_mjcf(options.robot, **options.xacro_arguments)
            new = mjcf_changes(found, changes, robot)
            contents |= edited_mjcf(options.robot, new, options.output)
        else:
            contents[options.output] = identified
        contents[parameters] = text
    if options.isaaclab is not None:
        contents[options.isaaclab] = isaaclab_text(found)
    return contents


def _reason(found: Identification) -> str:
    """Return why a model is not written."""
    v = found.validation
    worse = ', '.join(np.array(found.model.joint_names)[v.certainly_worse])
    if v.verdict == WORSE:
        return f'the model is {WORSE}'
    if v.verdict == UNKNOWN:
        where = f', and it is larger on {worse}' if worse else ''
        return f'the recording {UNKNOWN} whether the residual is smaller{where}: record longer'
    return f'the model is {v.verdict}, and worse on {worse}'


def _overridden(error: RefusedError) -> None:
    """Print a refusal that --force overrides."""
    print(f'refused, overridden by --force: {error}', file=sys.stderr)


def _check_written(options: argparse.Namespace, urdf: bytes, parameters: str | None) -> None:
    """Raise ModelError unless the nodes load a URDF and its parameters, if there are any."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # those of the description are known
            parse_urdf(urdf, **chosen(options))
            if parameters is not None:
                check_identified(urdf, parameters)
    except RobotDynamicsError as error:
        raise ModelError(
            f'{options.output} is not written: the nodes reject it: {error}'
        ) from error


def _check(options: argparse.Namespace) -> None:
    if (options.payload is None) != (options.payload_bag is None):
        raise ModelError('--payload-bag and --payload belong together; expected both or neither')
    of_mjcf = options.robot is not None and is_mjcf(options.robot)
    endings = ('.urdf', '.xml') if of_mjcf else ('.urdf',)
    if options.output is not None and options.output.suffix not in endings:
        raise ModelError(
            f'--output {options.output}: expected a name that ends in {" or ".join(endings)}'
        )
    of_simulator = options.isaaclab
    if options.output is not None and options.output.suffix == '.xml':
        of_simulator = options.output
    if of_simulator is not None and options.coupling is not None:
        raise ModelError(
            f'{of_simulator} has friction and rotors of joints; expected no --coupling, with '
            'which they are those of motors'
        )
    same = options.robot is not None and options.output is not None
    if same and options.output.resolve() == options.robot.resolve():
        raise ModelError(f'--output {options.output} is the description: expected another file')


def _recording(options: argparse.Namespace, path: Path, model: RobotModel) -> Recording:
    with recording_named(path, model):
        source = read_recording(path, options.topic, False, options.columns)
        return _stated(options, source.recording(model.joint_names))


def _stated(options: argparse.Namespace, recording: Recording) -> Recording:
    """Return a recording with the unit of the options; numbers alone are a scale of all joints."""
    scale = options.effort_scale or []
    scaled = bool(scale) and not any(joint for joint, _ in scale)
    return stated(recording, options.efforts, scaled)


def _payload(options: argparse.Namespace, model: RobotModel) -> PayloadRecording | None:
    if options.payload_bag is None:
        return None
    link, mass, com = payload_of(options.payload)
    recording = _recording(options, options.payload_bag, model)
    known = len(options.payload) > 2
    return PayloadRecording(recording, link, mass, np.array(com) if known else None)


def _scale(word: str) -> tuple[str, float]:
    """Return joint and factor of JOINT=X; X alone has the joint ''."""
    joint, _, value = word.rpartition('=')
    return joint, nonzero(value)


def _effort_scale(
    options: argparse.Namespace, names: tuple[str, ...]
) -> Array | dict[str, float] | None:
    """Return the factors of all joints (n,), or those of some by name."""
    if options.effort_scale is None:
        return None
    joints, values = zip(*options.effort_scale, strict=True)
    if not any(joints):
        return per_joint('--effort-scale', list(values), names)
    if unknown := [joint for joint in joints if joint not in names]:
        raise ModelError(
            f'--effort-scale names {unknown[0] or "no joint"}; expected JOINT=X of '
            f'{", ".join(names)}, or numbers alone'
        )
    return dict(options.effort_scale)
