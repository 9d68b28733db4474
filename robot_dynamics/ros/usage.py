"""Text of `--help` for a node: purpose, topics, services and parameters."""

from __future__ import annotations

import math
import textwrap
from typing import Any, NamedTuple

from robot_dynamics.ros.parameters import Spec, specs

WIDTH = 99
JOINT_STATE = 'sensor_msgs/msg/JointState'
TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'
ARRAY = 'std_msgs/msg/Float64MultiArray'
STRING = 'std_msgs/msg/String'
WRENCH = 'geometry_msgs/msg/WrenchStamped'
INERTIA = 'geometry_msgs/msg/InertiaStamped'
DIAGNOSTICS = 'diagnostic_msgs/msg/DiagnosticArray'
TRIGGER, SET_BOOL = 'std_srvs/srv/Trigger', 'std_srvs/srv/SetBool'


class Interface(NamedTuple):
    """Purpose of a node, and its topics and services with their types."""

    purpose: str
    subscriptions: dict[str, str]
    publications: dict[str, str]
    services: dict[str, str]


_DESCRIPTION = {'robot_description': STRING}
_STATES = {'joint_states': JOINT_STATE}
_PAYLOAD = {'payload': INERTIA, '~/set_payload': INERTIA}
_HEALTH = {'/diagnostics': DIAGNOSTICS}
_PAYLOAD_OUT = {'~/payload': INERTIA}

INTERFACES = {
    'dynamics_node': Interface(
        'Publishes the terms of the equation of motion for every joint state.',
        {
            **_DESCRIPTION,
            **_STATES,
            **_PAYLOAD,
            'external_wrench': WRENCH,
            'reference': TRAJECTORY,  # with acceleration_source: reference
        },
        {
            '~/gravity_torque': JOINT_STATE,
            '~/coriolis_torque': JOINT_STATE,
            '~/inertia_torque': JOINT_STATE,
            '~/inverse_dynamics_torque': JOINT_STATE,
            '~/friction_torque': JOINT_STATE,
            '~/external_torque': JOINT_STATE,
            '~/effort_residual': JOINT_STATE,
            '~/mass_matrix': ARRAY,
            '~/coriolis_matrix': ARRAY,
            **_PAYLOAD_OUT,
            **_HEALTH,
        },
        {},
    ),
    'feedforward_node': Interface(
        'Publishes the torque to follow a trajectory: feed-forward of the model, and feedback.',
        {
            **_DESCRIPTION,
            **_STATES,
            **_PAYLOAD,
            'joint_trajectory': TRAJECTORY,
            'reference': TRAJECTORY,
        },
        {
            '~/feedforward_torque': JOINT_STATE,
            'effort_controller/commands': ARRAY,  # with publish_commands
            '~/joint_trajectory_with_effort': TRAJECTORY,
            '~/status': STRING,
            **_PAYLOAD_OUT,
            **_HEALTH,
        },
        {'~/enable': SET_BOOL},
    ),
    'simulator_node': Interface(
        'Simulates an effort-controlled arm.',
        {
            **_DESCRIPTION,
            'joint_effort': JOINT_STATE,
            'effort_controller/commands': ARRAY,
            'external_wrench': WRENCH,
        },
        {
            **_STATES,
            '/clock': 'rosgraph_msgs/msg/Clock',  # with publish_clock
            **_HEALTH,
        },
        {
            '~/pause': TRIGGER,
            '~/resume': TRIGGER,
            '~/step': TRIGGER,
            '~/reset': TRIGGER,
            '~/record': SET_BOOL,
        },
    ),
    'pybullet_validator_node': Interface(
        'Compares the torques of dynamics_node with those of a reference engine.',
        {
            **_DESCRIPTION,
            **_STATES,
            'dynamics_node/payload': INERTIA,
            '~/set_payload': INERTIA,
            'dynamics_node/gravity_torque': JOINT_STATE,
            'dynamics_node/coriolis_torque': JOINT_STATE,
            'dynamics_node/inertia_torque': JOINT_STATE,
            'dynamics_node/inverse_dynamics_torque': JOINT_STATE,
            'dynamics_node/mass_matrix': ARRAY,
        },
        {'~/residual': JOINT_STATE, '~/report': DIAGNOSTICS, **_PAYLOAD_OUT, **_HEALTH},
        {'~/reset': TRIGGER},
    ),
    'markers_node': Interface(
        'Publishes weights, joint torques, inertias and manipulability as markers for rviz.',
        {**_DESCRIPTION, **_STATES, **_PAYLOAD},
        {'~/markers': 'visualization_msgs/msg/MarkerArray', **_PAYLOAD_OUT, **_HEALTH},
        {},
    ),
    'state_publisher_node': Interface(
        'Publishes the transforms of all links for joint states, and the robot description.',
        {**_DESCRIPTION, **_STATES},
        {
            '/tf': 'tf2_msgs/msg/TFMessage',
            '/tf_static': 'tf2_msgs/msg/TFMessage',
            'robot_description': STRING,  # if a parameter gives it
            **_HEALTH,
        },
        {},
    ),
}


def usage(node: str, table: type) -> str:
    """Return the help text of a node.

    Args:
        node: the name of its executable.
        table: its parameters.
    """
    interface = INTERFACES[node]
    lines = [
        f'usage: {node} [--help] [--ros-args [-p NAME:=VALUE] [-r FROM:=TO] [--params-file FILE]]',
        '',
        interface.purpose,
    ]
    for title, names in (
        ('subscriptions', interface.subscriptions),
        ('publications', interface.publications),
        ('services', interface.services),
    ):
        if names:
            lines += ['', f'{title}:']
            lines += [f'  {name:32} {kind}' for name, kind in names.items()]
    lines += ['', 'parameters:']
    for name, spec in specs(table).items():
        lines.append(f'  {name} ({_values(spec)})')
        lines += textwrap.wrap(
            spec.description, WIDTH, initial_indent=' ' * 6, subsequent_indent=' ' * 6
        )
    lines += ['', 'All names in the graph may be remapped; ~ stands for the name of the node.']
    return '\n'.join(lines)


def _values(spec: Spec) -> str:
    """Return the default of a parameter, its range, and when it may change."""
    default: Any = list(spec.default) if isinstance(spec.default, tuple) else spec.default
    words = [f'default {str(default).lower() if isinstance(default, bool) else repr(default)}']
    if spec.choices:
        words.append(' or '.join(spec.choices))
    if math.isfinite(spec.low) or math.isfinite(spec.high):
        zero = '0, or ' if spec.smallest else ''
        words.append(f'{zero}{spec.smallest or spec.low:g} to {spec.high:g}')
    if spec.live:
        words.append('may change while running')
    elif spec.description_of_robot:
        words.append('may change while unconfigured')
    return '; '.join(words)
