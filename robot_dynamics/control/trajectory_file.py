# SPDX-License-Identifier: Apache-2.0
"""Trajectories in YAML files: one trajectory_msgs/msg/JointTrajectory each.

Such a file is an argument of `ros2 topic pub`, and `ros2 topic echo --once` prints one.
"""

from __future__ import annotations

import reprlib
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.files import write_file
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.common.yaml_text import YamlError, is_number, read_yaml, yaml_text
from robot_dynamics.control.trajectory import SMOOTH, Trajectory

FIELDS = ('positions', 'velocities', 'accelerations')
DIGITS = (9, 8, 7)  # decimals of the fields
LARGEST = 2**32  # of both numbers of a duration


def write_trajectory(trajectory: Trajectory, file: Path) -> None:
    """Write the points of a trajectory; derivatives that are not prescribed stay so."""
    lines = [yaml_text({'joint_names': list(trajectory.joint_names)}) + 'points:']
    for k, t in enumerate(trajectory.times):
        fields = []
        for name, digits, row in zip(FIELDS, DIGITS, trajectory.waypoint(k), strict=True):
            if row is not None:
                values = ', '.join(f'{x:.{digits}f}' for x in np.round(row, digits) + 0.0)
                fields.append(f'{name}: [{values}]')
        sec, nanosec = divmod(round(t * SECOND), SECOND)
        fields.append(f'time_from_start: {{sec: {sec}, nanosec: {nanosec}}}')
        lines += [f'- {fields[0]}', *(f'  {field}' for field in fields[1:])]
    write_file(file, '\n'.join(lines) + '\n')


def read_trajectory(file: Path, interpolation: str = SMOOTH) -> Trajectory:
    """Return the trajectory of a file, joints in the order of the file.

    Args:
        file: YAML.
        interpolation: of points without velocities, smooth or linear; see `Trajectory`.

    Raises:
        TrajectoryError: it is not a JointTrajectory; the message names file, point and reason.
    """
    try:
        # What follows a line '---' is another message.
        return _trajectory(read_yaml(file), interpolation)
    except (TrajectoryError, YamlError) as error:
        raise TrajectoryError(f'{file}: {error}') from error


def _trajectory(message: Any, interpolation: str) -> Trajectory:
    if not isinstance(message, dict) or not {'joint_names', 'points'} <= message.keys():
        raise TrajectoryError(
            'expected the keys joint_names and points of a trajectory_msgs/msg/JointTrajectory'
        )
    names = _list('joint_names', message['joint_names'])
    if not all(isinstance(name, str) for name in names):
        raise TrajectoryError(f'joint_names is {reprlib.repr(names)}; expected strings')
    points = _list('points', message['points'])
    for k, point in enumerate(points):
        if not isinstance(point, dict):
            raise TrajectoryError(
                f'point {k} is {reprlib.repr(point)}; expected the fields of a point'
            )
    times = [_seconds(k, point.get('time_from_start')) for k, point in enumerate(points)]
    rows = [
        [_numbers(f'{name} of point {k}', point.get(name)) for k, point in enumerate(points)]
        for name in FIELDS
    ]
    return Trajectory(names, times, *rows, interpolation=interpolation)


def _list(what: str, value: Any) -> list[Any]:
    """Return a list, an empty one for None."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise TrajectoryError(f'{what} is {reprlib.repr(value)}; expected a list')
    return value


def _numbers(what: str, value: Any) -> list[float]:
    """Return a list of numbers, an empty one for None."""
    numbers = _list(what, value)
    for number in numbers:
        if not is_number(number):
            raise TrajectoryError(f'{what}: {reprlib.repr(number)}; expected numbers')
    return numbers


def _seconds(k: int, duration: Any) -> float:
    """Return the time of point k [s]."""
    given: dict[Any, Any] = duration if isinstance(duration, dict) else {'sec': None}
    sec, nanosec = (given.get(name, 0) for name in ('sec', 'nanosec'))
    if not all(type(part) is int and abs(part) < LARGEST for part in (sec, nanosec)):
        raise TrajectoryError(
            f'time_from_start of point {k} is {reprlib.repr(duration)}; '
            'expected integers sec and nanosec'
        )
    return float(sec + nanosec / SECOND)
