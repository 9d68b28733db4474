# SPDX-License-Identifier: Apache-2.0
"""Recordings of commands and positions, of arms that need not measure efforts.

    log = read_commands('run', commands='/position_controller/commands')
    recording, = log.recordings(arm.model.joint_names)
    recording.command, recording.q

| file | measured | commanded |
|---|---|---|
| rosbag2 | feedback of a controller | its reference |
| | joint states | joint states, trajectories of one point, or arrays in the model's order |
| CSV | columns `q` | columns `command`, and `command_qd`, `feedforward` |
| LeRobot | `observation.state` | `action` |

Commands are held: with each measurement stands the last command that was recorded at or before
it, joint by joint. The time between is part of the delay that an identification finds. Time is
that of the headers where both have it, or else that of the recorder, for the order of commands and
measurements alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.common.stamps import SECOND
from robot_dynamics.recordings.bag import (
    JOINT_STATE,
    BagError,
    Contents,
    bag_contents,
    joint_sample,
    same_topic,
)
from robot_dynamics.recordings.held_commands import commanded
from robot_dynamics.recordings.lerobot import is_dataset, read_episodes
from robot_dynamics.recordings.recording import (
    JointSample,
    Recording,
    RecordingError,
)
from robot_dynamics.recordings.recording_files import SUFFIXES, read_csv

TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'
ARRAY = 'std_msgs/msg/Float64MultiArray'
CONTROLLER = 'control_msgs/msg/JointTrajectoryControllerState'
COMMANDS = (CONTROLLER, JOINT_STATE, TRAJECTORY, ARRAY)
ORDERED = 'the commands have no names: they are taken in the order of the joints of the model'
EMPTY = np.zeros(0)
BAG, CSV, LEROBOT = 'rosbag2 recording', 'CSV file', 'LeRobot data set'
OPTIONS = {
    BAG: ('--topic', '--commands'),
    CSV: ('--columns',),
    LEROBOT: ('--columns', '--units'),
}


@dataclass(frozen=True, eq=False)
class CommandLog:
    """Measured positions and commands of one robot.

    Attributes:
        topic: where they are in the file, for people.
        description: URDF text; empty if there is none.
        recordings: returns the recordings of these joints: one, or one for each episode.
            Raises RecordingError as `commanded`, and BagError as `CsvFile.recording`.
    """

    topic: str
    description: str
    recordings: Callable[[Sequence[str]], list[Recording]]


def read_commands(
    path: str | Path,
    *,
    topic: str = '',
    commands: str = '',
    columns: Sequence[str] = (),
    units: str = '',
    description: bool = True,
) -> CommandLog:
    """Return positions and commands of a rosbag2 recording, a CSV file or a LeRobot data set.

    Args:
        path: a folder or a file.
        topic: of a bag, of the joint states; by default the only one, but for the commands, or
            the feedback of the controller.
        commands: of a bag, the topic of the commands; by default the state of the only controller.
        columns: of a CSV file as of `read_recording`, with `command`; of a LeRobot data set the
            joints of its values in turn, '-' for one that is not used.
        units: 'degrees' or 'radians', of a LeRobot data set, which does not state it.
        description: of a bag, read the robot description as well.

    Raises:
        BagError: the file cannot be read, lacks a topic or a column, or an option is missing or
            of another kind of file.
    """
    path, kind = Path(path), BAG
    if not path.exists():
        raise BagError(f'{path}: no such file or folder')
    if path.suffix.lower() in SUFFIXES:
        kind = CSV
    elif is_dataset(path):
        kind = LEROBOT
    given = {'--topic': topic, '--commands': commands, '--columns': columns, '--units': units}
    for name, value in given.items():
        if value and name not in OPTIONS[kind]:
            raise BagError(f'{path}: {name} is not an option of a {kind}')
    if kind == CSV:
        file = read_csv(path, columns)
        return CommandLog('columns', '', lambda names: [file.commanded(names)])
    if kind == BAG:
        return _of_bag(path, topic, commands, description)
    episodes = read_episodes(path, columns, units)
    return CommandLog(
        'action and observation.state',
        '',
        lambda names: [commanded(one.samples, one.commands, names) for one in episodes],
    )


def _of_bag(path: Path, topic: str, commands: str, description: bool) -> CommandLog:
    with bag_contents(path) as contents:
        wanted, kind = _command_topic(contents, path, commands)
        if kind == CONTROLLER and not topic:
            measured, topic = _feedback(contents, wanted), wanted
        else:
            topic = _measured_topic(contents, path, topic, wanted)
            measured = [joint_sample(*one) for one in contents.messages(topic, JOINT_STATE)]
        given = [_command(path, kind, wanted, *one) for one in contents.messages(wanted, kind)]
        text = contents.description(path) if description else ''
    named = topic if topic == wanted else f'{topic}, commands on {wanted}'

    def recordings(names: Sequence[str]) -> list[Recording]:
        ordered = [_named(one, tuple(names), f'{path}, {wanted}') for one in given]
        found = commanded(measured, ordered, names)
        unnamed = any(not one.names for one in given)
        return [replace(found, notes=(*found.notes, ORDERED)) if unnamed else found]

    return CommandLog(named, text, recordings)


def _command_topic(contents: Contents, path: Path, wanted: str) -> tuple[str, str]:
    """Return the topic of the commands and its type. Raises BagError."""
    there = {topic: kind for kind in COMMANDS for topic in contents.topics(kind)}
    listed = ', '.join(f'{topic} ({kind})' for topic, kind in there.items()) or 'none'
    if wanted:
        found = [topic for topic in there if same_topic(topic, wanted)]
        if not found:
            raise BagError(f'{path}: no commands on {wanted}; expected one of: {listed}')
        return found[0], there[found[0]]
    controllers = [topic for topic, kind in there.items() if kind == CONTROLLER]
    if len(controllers) != 1:
        raise BagError(
            f'{path}: {len(controllers)} topics of a controller state; expected --commands TOPIC, '
            f'one of: {listed}'
        )
    return controllers[0], CONTROLLER


def _measured_topic(contents: Contents, path: Path, wanted: str, commands: str) -> str:
    """Return the topic of the measured positions. Raises BagError."""
    topics = [topic for topic in contents.topics(JOINT_STATE) if topic != commands]
    found = [topic for topic in topics if not wanted or same_topic(topic, wanted)]
    if len(found) != 1:
        raise BagError(
            f'{path}: {len(found)} topics of measured joint states; expected --topic TOPIC, one '
            f'of: {", ".join(topics) or "none"}'
        )
    return found[0]


def _feedback(contents: Contents, topic: str) -> list[JointSample]:
    """Return the measured states of a controller."""
    return [
        _sample(message, logged, _either(message, 'feedback', 'actual'))
        for logged, message in contents.messages(topic, CONTROLLER)
    ]


def _command(path: Path, kind: str, topic: str, logged: int, message: Any) -> JointSample:
    """Return a command as a sample; without names if the message has none. Raises BagError."""
    if kind == JOINT_STATE:
        return joint_sample(logged, message)
    if kind == ARRAY:
        return JointSample(0, logged, (), np.asarray(message.data), EMPTY, EMPTY)
    if kind == CONTROLLER:
        return _sample(message, logged, _either(message, 'reference', 'desired'))
    if len(message.points) != 1:
        raise BagError(
            f'{path}: a trajectory of {len(message.points)} points on {topic}; expected one '
            'point, the command that is held: record the state topic of the controller'
        )
    return _sample(message, logged, message.points[0])


def _either(message: Any, new: str, old: str) -> Any:
    """Return a point of a controller state, by its name since Humble or before."""
    return getattr(message, new) if hasattr(message, new) else getattr(message, old)


def _sample(message: Any, logged: int, point: Any) -> JointSample:
    """Return the point of a trajectory as a sample."""
    stamp = message.header.stamp.sec * SECOND + message.header.stamp.nanosec
    values = point.positions, point.velocities, point.effort
    return JointSample(stamp, logged, tuple(message.joint_names), *values)


def _named(one: JointSample, names: tuple[str, ...], where: str) -> JointSample:
    """Return a command with the names of the model if it has none. Raises RecordingError."""
    if one.names:
        return one
    if len(one.position) != len(names):
        raise RecordingError(
            f'{where}: {len(one.position)} numbers without names; expected {len(names)}, for '
            f'{", ".join(names)}'
        )
    return one._replace(names=names)
