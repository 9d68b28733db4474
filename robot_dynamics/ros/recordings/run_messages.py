"""A recorded run as standard ROS 2 messages, both ways.

    robot_description        std_msgs/String                the URDF, at the beginning
    /parameter_events        rcl_interfaces/ParameterEvent  the simulator's parameters, all of them
                                                            at the beginning; later, new payloads
    ~/placed                 sensor_msgs/JointState         the arm was put there
    joint_effort             sensor_msgs/JointState         the motors were commanded this from now
                                                            on; without efforts: the brakes held
    external_wrench          geometry_msgs/WrenchStamped    this pressed from now on; zero: nothing
    joint_states             sensor_msgs/JointState         a state, as it was published

A message's time in the file counts the steps since the recording began, at the length of a step,
and so never runs backwards. The stamps in the headers are those of the simulation.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import Wrench, WrenchStamped
from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics.ros import messages
from robot_dynamics.ros.recordings.run_file import RecordingError
from robot_dynamics.simulation.commands import Drive, Place, Plant, Push

DESCRIPTION, PARAMETERS = 'robot_description', '/parameter_events'
PLACED, COMMANDED, PUSHED, SEEN = '~/placed', 'joint_effort', 'external_wrench', 'joint_states'
TYPES = {
    DESCRIPTION: String,
    PARAMETERS: ParameterEvent,
    PLACED: JointState,
    COMMANDED: JointState,
    PUSHED: WrenchStamped,
    SEEN: JointState,
}
NOTHING = np.zeros(6)
_RULE = '=' * 80
_NESTED = re.compile(r'(\w+)/(\w+)')


class Written(NamedTuple):
    """A message for a topic of the table above."""

    topic: str
    message: Any


def written(deed: Drive | Push | Place, joint_names: tuple[str, ...], stamp: int) -> Written:
    """Return the message of a deed done at a stamp [ns]."""
    if isinstance(deed, Push):
        n_x, n_y, n_z, f_x, f_y, f_z = (NOTHING if deed.wrench is None else deed.wrench).tolist()
        wrench = Wrench()
        wrench.torque.x, wrench.torque.y, wrench.torque.z = n_x, n_y, n_z
        wrench.force.x, wrench.force.y, wrench.force.z = f_x, f_y, f_z
        message = WrenchStamped(wrench=wrench)
        message.header.frame_id = deed.frame
        topic = PUSHED
    elif isinstance(deed, Place):
        message = JointState(
            name=list(joint_names), position=deed.q.tolist(), velocity=deed.qd.tolist()
        )
        topic = PLACED
    else:
        effort = [] if deed.tau is None else deed.tau.tolist()
        message, topic = JointState(name=list(joint_names), effort=effort), COMMANDED
    message.header.stamp = messages.time_message(stamp)
    return Written(topic, message)


def seen(plant: Plant, joint_names: tuple[str, ...], stamp: int) -> Written:
    """Return the message of the present state."""
    message = JointState(
        name=list(joint_names),
        position=plant.q.tolist(),
        velocity=plant.qd.tolist(),
        effort=plant.effort.tolist(),
    )
    message.header.stamp = messages.time_message(stamp)
    message.header.frame_id = plant.simulator.arm.model.link_names[0]
    return Written(SEEN, message)


def described(urdf: str) -> Written:
    """Return the message of the description."""
    return Written(DESCRIPTION, String(data=urdf))


def deed(topic: str, message: Any) -> Drive | Push | Place:
    """Return the deed of a message on one of the topics PLACED, COMMANDED and PUSHED."""
    if topic == PLACED:
        return Place(np.array(message.position), np.array(message.velocity))
    if topic == COMMANDED:
        return Drive(np.array(message.effort) if len(message.effort) else None)
    F = messages.wrench(message.wrench)
    return Push(message.header.frame_id, F if F.any() else None)


def parameter_event(node: str, values: dict[str, Any], stamp: int, *, new: bool) -> ParameterEvent:
    """Return the event of a node's parameters: all of them when they are new, else changes."""
    listed = [
        Parameter(name, value=list(value) if isinstance(value, tuple) else value)
        for name, value in values.items()
    ]
    event = ParameterEvent(node=node, stamp=messages.time_message(stamp))
    target = event.new_parameters if new else event.changed_parameters
    target.extend(parameter.to_parameter_msg() for parameter in listed)
    return event


def parameter_values(event: ParameterEvent) -> dict[str, Any]:
    """Return the values of an event, by name."""
    listed = (*event.new_parameters, *event.changed_parameters)
    return {item.name: Parameter.from_parameter_msg(item).value for item in listed}


# -- definitions ----------------------------------------------------------------------------


def type_name(message_type: Any) -> str:
    """Return a message type as sensor_msgs/msg/JointState."""
    package = message_type.__module__.split('.')[0]
    return f'{package}/msg/{message_type.__name__}'


@cache
def definition(name: str) -> str:
    """Return the definition of a type, followed by those of all types it is made of.

    Args:
        name: as sensor_msgs/JointState.

    Raises:
        RecordingError: its package has no .msg file.
    """
    text = _msg_file(name).read_text()
    found: dict[str, str] = {}
    _collect(name.split('/')[0], text, found)
    parts = [f'{_RULE}\nMSG: {nested}\n{body}' for nested, body in found.items()]
    return '\n'.join([text, *parts])


def _collect(package: str, text: str, found: dict[str, str]) -> None:
    """Add the definitions of the types that a definition names, and of theirs."""
    for line in text.splitlines():
        field = line.split('#')[0].split()
        if len(field) < 2 or '=' in field[1]:
            continue
        kind = re.sub(r'\[.*\]$|<=\d+$', '', field[0])
        name = kind if '/' in kind else f'{package}/{kind}'
        if (kind[0].islower() and '/' not in kind) or name in found:
            continue
        found[name] = body = _msg_file(name).read_text()
        _collect(name.split('/')[0], body, found)


def _msg_file(name: str) -> Path:
    package, message = name.split('/')
    for share in _share_folders(package):
        file = share / 'msg' / f'{message}.msg'
        if file.is_file():
            return file
    raise RecordingError(f'{package} is installed without msg/{message}.msg: no recording')


def _share_folders(package: str) -> list[Path]:
    from ament_index_python.packages import get_package_share_directory

    try:
        found = [Path(get_package_share_directory(package))]
    except (LookupError, OSError):
        found = []  # wheels leave AMENT_PREFIX_PATH unset
    return [*found, Path(sys.prefix) / 'share' / package]
