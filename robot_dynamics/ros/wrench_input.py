"""External wrenches received by a node."""

from __future__ import annotations

from typing import NamedTuple

from geometry_msgs.msg import WrenchStamped

from robot_dynamics.control.joint_state import finite
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.spatial import Array

COMPONENTS = ('torque.x', 'torque.y', 'torque.z', 'force.x', 'force.y', 'force.z')


class ExternalWrench(NamedTuple):
    """A wrench on a frame, in that frame's axes."""

    stamp: int  # ns
    frame: str
    F: Array  # (6,) angular part first, N m and N


class WrenchInput:
    """Part of a node: keeps the newest wrench on `external_wrench`.

    Attributes:
        newest: the last valid one since the node was activated; None without one.
    """

    def __init__(self, node: RobotNode):
        """Subscribe; the node has the parameter input_timeout."""
        self._node = node
        self.newest: ExternalWrench | None = None
        node.create_subscription(
            WrenchStamped, 'external_wrench', self._on_wrench, qos.JOINT_STATES_IN
        )

    def activate(self) -> None:
        """Drop a wrench received before."""
        self.newest = None

    def at(self, stamp: int) -> ExternalWrench | None:
        """Return the newest wrench if it is within input_timeout of a stamp [ns], else None."""
        longest = self._node.parameters.input_timeout * messages.SECOND
        if self.newest is None or abs(stamp - self.newest.stamp) > longest:
            return None
        return self.newest

    def _on_wrench(self, message: WrenchStamped) -> None:
        if not self._node.active:
            return
        frame = self._node.own_frame(message.header.frame_id)
        F = messages.wrench(message.wrench)
        try:
            self._node.arm.model.frame_index(frame)
            finite(F, COMPONENTS, 'external_wrench')
        except RobotDynamicsError as error:
            return self._node.reject('external wrench', error)
        self.newest = ExternalWrench(messages.nanoseconds(message.header.stamp), frame, F)
