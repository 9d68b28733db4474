# SPDX-License-Identifier: Apache-2.0
"""Options of the verbs that compare a recording with a model, and the model they describe."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from robot_dynamics.cli.options import (
    add_gravity,
    add_robot,
    finite,
    gravity_in_base,
    mounting,
    non_negative,
    nonzero,
    positive,
)
from robot_dynamics.cli.output import load_robot, read_robot, robot_text
from robot_dynamics.common.errors import ModelError, RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.kinematics import jacobian
from robot_dynamics.core.model.joint_values import per_joint
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.recordings import (
    Bag,
    CommandLog,
    Recording,
    RecordingError,
    read_commands,
    read_recording,
)
from robot_dynamics.recordings.drives import Drives
from robot_dynamics.recordings.lerobot import UNITS
from robot_dynamics.recordings.recording import MissingJointsError, stated
from robot_dynamics.recordings.recording_files import CsvFile
from robot_dynamics.recordings.smoothing import cutoff_of, smooth
from robot_dynamics.ros.parameter_files import is_identified, read_parameters, standard_errors
from robot_dynamics.ros.robot_parameters import MeasuredParameters
from robot_dynamics.urdf.loading import parse_urdf

PER_JOINT: dict[str, Any] = {'nargs': '+', 'metavar': 'X'}


def add_recording(parser: argparse.ArgumentParser, number: str | None = None) -> None:
    """Add the argument `bag`, the robot, `--topic` and `--columns`.

    Args:
        parser: of the verb.
        number: of recordings, as `nargs`.
    """
    add = parser.add_argument
    add('bag', type=Path, nargs=number, help='a rosbag2 folder, or an .mcap, .db3 or .csv file')
    add_robot(parser, '--robot', absent='the robot_description of the recording')
    add_source(parser)


def add_source(group: Any, when: str = '') -> None:
    """Add `--topic` and `--columns`, which choose signals, to a parser or a group of it."""
    add = group.add_argument
    add('--topic', default='', help=f'{when}of the joint states (the only one with efforts)')
    add(
        '--columns',
        nargs='+',
        metavar='NAME',
        default=[],
        help=f'{when}names of the columns of a CSV file, such as time q qd effort; -: not used '
        '(those of its header)',
    )


def add_commands(group: Any) -> None:
    """Add `--commands` and `--units` to a parser or a group of it that has `add_source`."""
    add = group.add_argument
    add(
        '--commands',
        metavar='TOPIC',
        default='',
        help='of the commanded positions in a bag: joint states, one-point trajectories, arrays '
        'in the order of the joints, or the state of a controller (the only one of the last)',
    )
    add(
        '--units',
        choices=tuple(UNITS),
        default='',
        help='of the positions of a LeRobot data set, which does not state it',
    )


def recorded_commands(options: argparse.Namespace, file: Path) -> CommandLog:
    """Return positions and commands of a file, with its description unless a robot is given.

    Args:
        options: of `add_recording` and `add_commands`.
        file: a rosbag2 recording, a CSV file or a LeRobot data set.

    Raises BagError as `read_commands`.
    """
    return read_commands(
        file,
        topic=options.topic,
        commands=options.commands,
        columns=options.columns,
        units=options.units,
        description=options.robot is None,
    )


def recorded(options: argparse.Namespace, file: Path | None = None) -> Bag | CsvFile:
    """Return a recording of the options, with its description unless a robot is given.

    Args:
        options: of `add_recording`.
        file: one of several recordings.
    """
    return read_recording(
        file or options.bag,
        options.topic,
        description=options.robot is None,
        columns=options.columns,
    )


def add_chain(group: Any) -> None:
    """Add `--tip-link` and `--lock`, which choose the joints, to a parser or a group of it."""
    add = group.add_argument
    add('--tip-link', metavar='LINK', help='keep only the joints that move it (all)')
    add('--lock', nargs='+', metavar='JOINT=X', default=[], help='joints to lock, at X')


def add_robot_changes(parser: argparse.ArgumentParser) -> None:
    """Add the options that change the robot of the description."""
    robot = parser.add_argument_group('the robot')
    add_chain(robot)
    add = robot.add_argument
    point = 'LINK MASS [X Y Z]: a point mass at (X Y Z) m in the frame of a link (0 0 0)'
    add('--payload', nargs='+', metavar='X', help=point)
    add_gravity(robot)
    add(
        '--params',
        action=_ReadParameters,
        default=MeasuredParameters(),
        metavar='FILE',
        help='parameters that identify has written beside the URDF: joints, gravity, friction, '
        'rotors, efforts; options replace them',
    )
    parser.set_defaults(params_file=None)
    drive: dict[str, Any] = {'type': non_negative, **PER_JOINT}
    add('--viscous', **drive, help="viscous friction, one or one per joint (the URDF's)")
    add('--coulomb', **drive, help="dry friction, one or one per joint (the URDF's)")
    add('--rotor-inertia', **drive, help='seen at the joint, one or one per joint (0)')


def add_efforts(parser: argparse.ArgumentParser) -> Any:
    """Add the options of the recorded efforts, and return their group."""
    efforts = add_compensated_efforts(parser)
    add_scale(efforts)
    return efforts


def add_scale(efforts: Any) -> None:
    """Add `--effort-scale` and `--efforts` to the group of the efforts."""
    efforts.add_argument(
        '--effort-scale',
        type=nonzero,
        **PER_JOINT,
        help='factor to N m or N: one or one per joint (1; currents need it)',
    )
    efforts.add_argument(
        '--efforts',
        choices=('torques', 'currents'),
        help='what was measured (as the header of a CSV file says; a bag does not)',
    )


def add_compensated_efforts(parser: argparse.ArgumentParser) -> Any:
    """Add the options of the recorded efforts but their scale, and return their group."""
    efforts = add_compensation(parser)
    efforts.add_argument(
        '--cutoff', type=positive, help='cut-off frequency, Hz (where the motion ends)'
    )
    return efforts


def add_compensation(parser: argparse.ArgumentParser) -> Any:
    """Add `--effort-gravity-compensated`, and return the group of the efforts."""
    efforts = parser.add_argument_group('the efforts')
    efforts.add_argument(
        '--effort-gravity-compensated',
        action='store_true',
        help='they do not include the gravity torque',
    )
    return efforts


class _ReadParameters(argparse.Action):
    """Keep the parameters of a file as `params`, and its path as `params_file`."""

    @override
    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        try:
            namespace.params, namespace.params_file = identified(values), Path(values)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from error


def identified(file: str) -> MeasuredParameters:
    """Return the parameters of a file, in N m or N."""
    try:
        given = read_parameters(Path(file), MeasuredParameters)
    except (RobotDynamicsError, OSError) as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if reason := given.unknown_scale():
        raise argparse.ArgumentTypeError(f'{file}: {reason}')
    return given


def chosen(options: argparse.Namespace, given: MeasuredParameters | None = None) -> dict[str, Any]:
    """Return the arguments of `parse_urdf` for the options of `add_chain` and `add_gravity`.

    Args:
        options: they replace
        given: the parameters of a file.
    """
    given = given or MeasuredParameters()
    return {
        'gravity': gravity_in_base(options, given),
        'tip_link': options.tip_link or given.tip_link or None,
        'locked_joints': _locked(options.lock) if options.lock else given.locked(),
    }


def reading(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `parse_urdf` for the options of `add_robot_changes`."""
    unset = options.params.unset()
    if options.rotor_inertia is not None:
        unset.discard('rotor_inertia')
    return chosen(options, options.params) | {'unset_parameters': unset}


def recorded_robot(options: argparse.Namespace, bag: Bag | CsvFile | CommandLog) -> RobotModel:
    """Return the model of the options. Raises ModelError if there is none."""
    return changed(described_robot(options, bag), options)


def described_robot(options: argparse.Namespace, bag: Bag | CsvFile | CommandLog) -> RobotModel:
    """Return the model of the description, without changes. Raises ModelError without one."""
    if options.robot is not None:
        return load_robot(options, **reading(options))
    if bag.description:
        return parse_urdf(bag.description, **reading(options))
    raise ModelError(f'{options.bag} has no robot_description: name a file, --robot FILE')


def changed(model: RobotModel, options: argparse.Namespace) -> RobotModel:
    """Return the model with friction, rotors and payload of the options."""
    model = actuated(model, options)
    return model if options.payload is None else model.with_payload(*payload_of(options.payload))


def actuated(model: RobotModel, options: argparse.Namespace) -> RobotModel:
    """Return the model with friction and rotors of the options, or else of the parameters."""
    given: MeasuredParameters = options.params
    drives = given.coulomb_friction(model)
    if (rotors := given.of_joints('rotor_inertia', model)).any():
        drives['rotor_inertia'] = rotors
    drives |= {
        name: per_joint(f'--{name.replace("_", "-")}', values, model.joint_names)
        for name in ('viscous', 'coulomb', 'rotor_inertia')
        if (values := getattr(options, name)) is not None
    }
    return model.with_actuation(**drives)


def changed_robot(options: argparse.Namespace) -> RobotModel:
    """Return the model of a description with the changes of the options; print its warnings."""
    if reason := _unknown_scale(options):
        print(f'warning: {reason}', file=sys.stderr)
    return changed(read_robot(options, limited=True, **reading(options)), options)


def _unknown_scale(options: argparse.Namespace) -> str:
    """Return why an identified description without `--params` is not in N m and kg, or ''."""
    if options.robot is None or options.params_file is not None:
        return ''
    beside = options.robot.with_suffix('.yaml')
    if not is_identified(beside):
        return ''
    reason = read_parameters(beside, MeasuredParameters).unknown_scale()
    return reason and f'{beside}: {reason}'


def friction(options: argparse.Namespace, model: RobotModel) -> JointFriction | None:
    """Return the friction of `--params`, None for that of the model or of options."""
    own = options.params == MeasuredParameters() or options.viscous or options.coulomb
    given: MeasuredParameters = options.params
    return None if own else given.friction(model)


def available_effort(limit: Array, options: argparse.Namespace, model: RobotModel) -> Array:
    """Return what effort limits (n,) leave beside the offset of `--params`.

    The drives measure, and limit, the torque with the offset.
    """
    given: MeasuredParameters = options.params
    return np.asarray(np.maximum(limit - np.abs(given.of_joints('effort_offset', model)), 0.0))


def model_origin(options: argparse.Namespace) -> str:
    """Return whether the model is identified or described, with files and dates.

    `identify` writes a description, which has the links, and beside it the file of `--params`.
    """
    file, robot = options.params_file, options.robot
    beside = None if robot is None else robot.with_suffix('.yaml')
    if beside is not None and not is_identified(beside):
        beside = None
    if file is None:
        if beside is not None:
            return (
                f'model: links identified ({_dated(robot)}), drives described only; expected '
                f'--params {beside}'
            )
        return 'model: described only'
    if not is_identified(file):
        return f'model: described, with the parameters of {file}'
    if beside is not None and beside.samefile(file):
        return f'model: identified ({_dated(file)})'
    return f'model: drives identified ({_dated(file)}), links described only'


def _dated(file: Path) -> str:
    return f'{file}, {date.fromtimestamp(file.stat().st_mtime)}'


def measured(options: argparse.Namespace, model: RobotModel) -> dict[str, Any]:
    """Return the arguments of `evaluate` for the measured efforts, of `add_efforts`, `--params`.

    Raises ShapeError as `per_joint`.
    """
    given: MeasuredParameters = options.params
    offset = given.of_joints('effort_offset', model)
    return {
        'effort_scale': effort_scale(options, model),
        'effort_gravity_compensated': compensated(options),
        'cutoff': options.cutoff,
        'drives': Drives(
            offset,
            given.effort_delay,
            friction(options, model),
            given.velocity_lag,
            {} if options.params_file is None else standard_errors(options.params_file, model),
        ),
    }


def compensated(options: argparse.Namespace) -> bool:
    """Return whether the efforts do not include the gravity torque."""
    given: MeasuredParameters = options.params
    return bool(options.effort_gravity_compensated) or given.effort_gravity_compensated


def effort_scale(options: argparse.Namespace, model: RobotModel) -> Array | None:
    """Return the factors (n,) of the recorded efforts, None if there are none.

    A file in which all are 1 is of efforts in N m or N: it states none of currents.
    Raises ShapeError as `per_joint`.
    """
    given: MeasuredParameters = options.params
    if options.effort_scale is None:
        scale = given.of_joints('effort_scale', model)
        return scale if (scale != 1).any() else None
    return per_joint('--effort-scale', options.effort_scale, model.joint_names)


def recording_of(options: argparse.Namespace, bag: Bag | CsvFile, model: RobotModel) -> Recording:
    """Return the samples of a model, with the unit that the options state.

    Raises RecordingError as `by_joint` and `stated`.
    """
    scaled = effort_scale(options, model) is not None
    return stated(bag.recording(model.joint_names), options.efforts, scaled)


@contextmanager
def recording_named(file: Path | str, model: RobotModel) -> Iterator[None]:
    """Give errors of a recording the name of its file, and options that leave out joints."""
    try:
        yield
    except MissingJointsError as error:
        advice = without(model, error.joints)
        raise RecordingError(f'{file}: {error}{advice}') from error
    except RecordingError as error:
        raise type(error)(f'{file}: {error}') from error


@contextmanager
def recordings_named(
    recordings: Mapping[Path, Recording], model: RobotModel, cutoff: float | None
) -> Iterator[None]:
    """Give errors of several recordings the name of the one that is bad by itself, or of all.

    Args:
        recordings: by their files.
        model: as of `recording_named`.
        cutoff: Hz, of the low-pass; None: that of each recording.
    """
    try:
        yield
    except RecordingError as error:
        for file, recording in recordings.items():
            with recording_named(file, model):
                smooth(recording, cutoff_of(recording) if cutoff is None else cutoff)
        with recording_named(', '.join(map(str, recordings)), model):
            raise error


def without(model: RobotModel, missing: Sequence[str]) -> str:
    """Return the options that keep the other joints of a model, as the end of a sentence.

    Args:
        model: with all of its joints.
        missing: names of joints that are not recorded.
    """
    others = set(model.joint_names) - set(missing)
    if not others:
        return ''
    # A joint moves a link if it has a column in its Jacobian.
    q = np.random.default_rng(0).uniform(-1, 1, model.n)
    chains = {
        link: {model.joint_names[j] for j in np.flatnonzero(jacobian(model, q, link).any(axis=0))}
        for link in reversed(model.link_names)
    }
    tips = [link for link, joints in chains.items() if others <= joints]
    options = [f'--lock {" ".join(missing)}']
    if tips:
        tip = min(tips, key=lambda link: len(chains[link]))
        fixed = [name for name in missing if name in chains[tip]]
        lock = f' --lock {" ".join(fixed)}' if fixed else ''
        options.insert(0, f'--tip-link {tip}{lock}')
    return f'; expected {" or ".join(options)} (JOINT=X where a joint is not at 0)'


def _locked(words: list[str]) -> dict[str, float]:
    locked = {}
    for word in words:
        joint, _, position = word.partition('=')
        locked[joint] = _number('lock', position or '0')
    return locked


def payload_of(words: list[str]) -> tuple[str, float, list[float]]:
    """Return link, mass [kg] and centre of mass [m] of `--payload`. Raises ModelError."""
    if len(words) not in (2, 5):
        raise ModelError(f'--payload {" ".join(words)}: expected LINK MASS or LINK MASS X Y Z')
    mass, *com = (_number('payload', word) for word in words[1:])
    return words[0], mass, com or [0.0, 0.0, 0.0]


def _number(option: str, word: str) -> float:
    try:
        return finite(word)
    except argparse.ArgumentTypeError as error:
        raise ModelError(f'--{option}: {error}') from None


def description_of(options: argparse.Namespace, recorded: set[str]) -> bytes:
    """Return the URDF text; that of a xacro file is its expansion.

    Args:
        options: of the verb.
        recorded: the different descriptions in the recordings.
    """
    files = ', '.join(map(str, options.bag))
    if options.robot is not None:
        contents = robot_text(options)
        if options.robot.suffix == '.xacro':
            print(f'{options.robot} is expanded: the result is a URDF', file=sys.stderr)
    elif len(recorded) == 1:
        (contents,) = recorded
    elif recorded:
        raise ModelError(f'{files} have different robot_descriptions: name a file, --robot FILE')
    else:
        raise ModelError(f'{files} has no robot_description: name a file, --robot FILE')
    return contents if isinstance(contents, bytes) else contents.encode()


def robot_parameters(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that concern the robot as parameters of the nodes."""
    locked: dict[str, float] = chosen(options)['locked_joints']
    parameters = {
        'tip_link': options.tip_link,
        'locked_joints': list(locked),
        'locked_positions': list(locked.values()),
        **mounting(options),
        'effort_gravity_compensated': options.effort_gravity_compensated,
    }
    return {name: value for name, value in parameters.items() if value}
