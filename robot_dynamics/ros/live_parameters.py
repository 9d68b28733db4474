"""Names of nodes that are not converted yet."""

from robot_dynamics.ros.joint_state_input import velocity_filter
from robot_dynamics.ros.parameters import (
    LONGEST_DIFFERENCE,
    LiveRobotParameters,
    VaryingRobotParameters,
)
from robot_dynamics.ros.robot_source import payload_link

__all__ = [
    'LONGEST_DIFFERENCE',
    'LiveRobotParameters',
    'VaryingRobotParameters',
    'payload_link',
    'velocity_filter',
]
