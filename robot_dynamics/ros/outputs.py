"""Where torques go: to `~/feedforward_torque` and, as a bridge to ros2_control, to a controller.

The bridge is `effort_controller/commands`, a Float64MultiArray in the order of the parameter
`joints`, as forward_command_controller takes it.
"""

from __future__ import annotations

from typing import Any

from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros import qos
from robot_dynamics.ros.messages import torque_writer
from robot_dynamics.spatial import Array

LAST_WORD = Duration(seconds=0.1)  # for the last torque to arrive, before the publisher goes


class TorqueOutput:
    """The publishers of a node that commands motors."""

    def __init__(self, node: Any, bridge: bool):
        """Create them on a node, the one to ros2_control if `bridge`."""
        self._frame_prefix = node.parameters.frame_prefix
        self._torque = node.create_publisher(JointState, '~/feedforward_torque', qos.STREAM_OUT)
        self._commands = (
            node.create_publisher(Float64MultiArray, 'effort_controller/commands', qos.STREAM_OUT)
            if bridge
            else None
        )

    @property
    def publishers(self) -> list[Any]:
        """Those there are."""
        return [self._torque] if self._commands is None else [self._torque, self._commands]

    def use(self, model: RobotModel, order: list[int]) -> None:
        """Write this robot's joints; `order` is that of the commands."""
        self._writer, self._order = torque_writer(model, self._frame_prefix), order

    def publish(self, stamp: int, tau: Array) -> None:
        """Publish a torque (n,) for the state with this stamp, ns."""
        self._torque.publish(self._writer.fill(stamp, tau))
        if self._commands is not None:
            self._commands.publish(Float64MultiArray(data=tau[self._order].tolist()))

    def wait_until_heard(self) -> None:
        """Wait a moment for the last torque to arrive where somebody listens."""
        for publisher in self.publishers:
            publisher.wait_for_all_acked(LAST_WORD)
