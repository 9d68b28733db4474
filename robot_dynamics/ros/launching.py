# SPDX-License-Identifier: Apache-2.0
"""Checked arguments of the launch files, and values computed from the robot.

A launch file computes all of them before it starts a node: a later error ends the launch, but may
leave nodes running.
"""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from robot_dynamics.common.errors import ModelError, RobotDynamicsError
from robot_dynamics.control import pd_gains
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.ros.namespaces import EXPECTED, is_namespace
from robot_dynamics.urdf.link_frames import link_frames
from robot_dynamics.urdf.loading import load_urdf, parse_urdf, urdf_text
from robot_dynamics.urdf.xacro_process import xacro_arguments

RESPAWN_DELAY = 1.0  # s

BOOLEAN = ['true', 'false']
# Keywords of DeclareLaunchArgument, by name: those of both launch files.
SHARED_ARGUMENTS: dict[str, dict[str, Any]] = {
    'namespace': {'default_value': '', 'description': 'Namespace of every node and topic.'},
    'frame_prefix': {
        'default_value': '',
        'description': 'Prefix of link names in tf and messages, for several robots, such as '
        'left/.',
    },
    'autostart': {
        'default_value': 'true',
        'choices': BOOLEAN,
        'description': 'Nodes configure and activate themselves; if false, a lifecycle manager '
        'does.',
    },
    'quick_discovery': {
        'default_value': 'true',
        'choices': BOOLEAN,
        'description': 'Fast DDS announces nodes quickly and drops killed nodes after 2 s.',
    },
    'xacro_arguments': {
        'default_value': '',
        'description': 'Arguments of a .xacro file, each as name:=value, separated by spaces.',
    },
    'rviz': {'default_value': 'true', 'choices': BOOLEAN, 'description': 'Start rviz2.'},
    'on_exit': {
        'default_value': 'continue',
        'choices': ['continue', 'respawn', 'shutdown'],
        'description': 'When a node of robot_dynamics ends: the others continue, it is started '
        'again after 1 s, or the launch ends.',
    },
    'log_level': {
        'default_value': 'info',
        'choices': ['debug', 'info', 'warn', 'error', 'fatal'],
        'description': 'Log level of the nodes of robot_dynamics.',
    },
}


class LaunchArgumentError(RobotDynamicsError, ValueError):
    """The value of a launch argument is wrong; the message begins with its name."""


def number(arguments: Mapping[str, str], name: str, low: float, high: float) -> float:
    """Return the number that an argument holds.

    Raises:
        LaunchArgumentError: it is not a finite number between `low` and `high`.
    """
    text = arguments[name]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and low <= value <= high):
        raise LaunchArgumentError(
            f'{name} is {text!r}; expected a finite number, {low:g} to {high:g}'
        )
    return value


def check_files(arguments: Mapping[str, str], *names: str) -> None:
    """Check that the arguments of these names are existing files. Raises LaunchArgumentError."""
    for name in names:
        if not Path(arguments[name]).is_file():
            raise LaunchArgumentError(f'{name} is {arguments[name]!r}; expected an existing file')


def check_namespace(arguments: Mapping[str, str]) -> None:
    """Check the argument `namespace`. Raises LaunchArgumentError."""
    if not is_namespace(arguments['namespace']):
        raise LaunchArgumentError(f'namespace is {arguments["namespace"]!r}; {EXPECTED}')


def when_it_ends(on_exit: str, shutdown: Callable[..., Any]) -> dict[str, Any]:
    """Return the keywords of a launch_ros Node for a value of the argument `on_exit`.

    Args:
        on_exit: continue, respawn or shutdown.
        shutdown: the class of the action that ends a launch, launch.actions.Shutdown.
    """
    if on_exit == 'respawn':
        return {'respawn': True, 'respawn_delay': RESPAWN_DELAY}
    if on_exit == 'shutdown':
        return {'on_exit': shutdown(reason='a node of robot_dynamics has ended')}
    return {}


def description(file: str, xacro_words: str) -> str:
    """Return the URDF text of a description, expanded if it is xacro.

    Args:
        file: the argument `robot_description_file`.
        xacro_words: the argument `xacro_arguments`.

    Raises:
        LaunchArgumentError: an argument is malformed, or the file is missing, cannot be
            expanded, or describes no robot.
    """
    name, given = 'robot_description_file', _given(xacro_words)
    check_files({name: file}, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # the nodes log them
            text = urdf_text(file, given)
            parse_urdf(text)
        return text if isinstance(text, str) else text.decode('utf-8-sig')
    except (RobotDynamicsError, UnicodeDecodeError) as error:
        raise LaunchArgumentError(f'{name} is {file!r}: {error}') from error


def _given(xacro_words: str) -> dict[str, str]:
    try:
        return xacro_arguments(shlex.split(xacro_words))
    except ValueError as error:  # ModelError is one
        raise LaunchArgumentError(f'xacro_arguments is {xacro_words!r}: {error}') from error


def root_link(text: str) -> str:
    """Return the root link of a URDF text. Raises ModelError."""
    return link_frames(text).root


def feedback_gains(
    file: str | Path, time_step: float, xacro_words: str = ''
) -> dict[str, list[float] | float]:
    """Return kp, kd and expected_rate for a robot whose torque is held over a time step.

    As in the demo, for random postures within the position limits.

    Args:
        file: its .urdf or .xacro file.
        time_step: s.
        xacro_words: arguments of the .xacro file, separated by spaces.

    Raises:
        ModelError: the description is rejected, or a joint moves no mass.
    """
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # the nodes log them
        model = load_urdf(file, xacro_arguments=_given(xacro_words))
    try:
        gains = pd_gains(Dynamics(model), random_postures(model), time_step)
    except ModelError as error:
        raise ModelError(f'{file}: {error}') from error
    return {
        'kp': gains.kp.tolist(),
        'kd': gains.kd.tolist(),
        'expected_rate': 1 / time_step,
    }
