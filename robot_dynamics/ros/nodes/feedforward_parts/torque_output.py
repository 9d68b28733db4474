# SPDX-License-Identifier: Apache-2.0
"""Torques published by a node that commands motors: limited, guarded, and released at the end.

`~/feedforward_torque`, and as a bridge to ros2_control `effort_controller/commands`, a
Float64MultiArray in the order of the parameter `joints`, as forward_command_controller takes it,
in the unit of the parameter `command_unit`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from typing_extensions import override

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.torque_limiting import Limits, TorqueGate
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros import qos
from robot_dynamics.ros.command_guard import CommandGuard
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part
from robot_dynamics.ros.serialization import joint_state_writer

LAST_ACKNOWLEDGEMENT = Duration(seconds=0.1)  # for the last torque, before the publisher goes
LONGEST_RELEASE = 0.8  # s; at the end of the node the torque is brought down within this time
RELEASE_STEP = 0.005  # s, between two torques meanwhile


class TorqueOutput(Part):
    """Part of a node that commands motors.

    Attributes:
        gate: limits every torque, and keeps the last one.
        guard: blocks the node while another one commands the motors.
        publishers: of torques and, with the bridge, of commands.
        per_torque: (n,) commands of the bridge per N m or N.
    """

    gate: TorqueGate  # of the present robot
    per_torque: Array

    def __init__(self, node: RobotNode, bridge: bool, on_change: Callable[[], None]):
        """Create the publishers.

        Args:
            node: that commands.
            bridge: whether ros2_control is commanded as well.
            on_change: called when the guard begins or ceases to block the node.
        """
        self._node = node
        self._names: tuple[str, ...] = ()
        self._torque = node.create_publisher(JointState, '~/feedforward_torque', qos.STREAM_OUT)
        self._commands: Any = None
        self.publishers = [self._torque]
        if bridge:
            self._commands = node.create_publisher(
                Float64MultiArray, 'effort_controller/commands', qos.STREAM_OUT
            )
            self.publishers.append(self._commands)
        self.guard = node.add(CommandGuard(node, self.publishers, on_change))

    def command(
        self, model: RobotModel, limits: Limits, order: list[int], per_torque: Array
    ) -> None:
        """Command this robot; while the node is active, its joints continue at their last torques.

        Args:
            model: the robot.
            limits: of its torques.
            order: of the joints in `effort_controller/commands`.
            per_torque: see the attribute.
        """
        is_active, names = self._node.active, self._names
        self._names, self._order, self.per_torque = model.joint_names, order, per_torque
        self._writer = joint_state_writer(model, self._node.parameters.frame_prefix)
        if is_active and names == model.joint_names:
            return self.gate.limit(limits)
        before = dict(zip(names, self.gate.last, strict=True)) if is_active else {}
        torque = np.array([before.get(name, 0.0) for name in model.joint_names])
        self.gate = TorqueGate(limits, self._node.health.counts, torque)

    def adjust(self, limits: Limits, per_torque: Array) -> None:
        """Continue with other limits and another scale of the commands; see `command`."""
        self.gate.limit(limits)
        self.per_torque = per_torque

    # -- whether torques are published ------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether a torque was published since the robot was taken, or `close`."""
        return self.gate.is_open

    @property
    def is_blocked(self) -> bool:
        """Whether another node has the motors."""
        return self.guard.blocked

    @property
    def conflict(self) -> str:
        """A sentence that names the other nodes that command the motors, or ''."""
        return self.guard.conflict

    def switch_on(self) -> None:
        """Start softly with the next torque, unless another node commands the motors."""
        self.gate.close()
        self.guard.enable()

    def close(self) -> None:
        """Count as not open until the next torque, which starts softly from the last one."""
        self.gate.close()

    # -- torques ----------------------------------------------------------------------------

    @property
    def last(self) -> Array:
        """The torque (n,) that was published last; zero at first."""
        return self.gate.last

    def reached(self, tau: Array) -> bool:
        """Return whether the last torque is this one (n,), as far as the limits allow."""
        return self.gate.reached(tau)

    def continue_to(self, stamp: int, tau: Array, dt: float) -> None:
        """Publish a torque (n,) within the limits, `dt` [s] after the last one.

        The stamp [ns] is that of the last state.
        """
        self.publish(stamp, self.gate.step(tau, dt))

    def publish(self, stamp: int, tau: Array) -> None:
        """Publish a torque (n,) that has passed the gate, for the state with this stamp, ns."""
        self._torque.publish(self._writer.fill(stamp, tau))
        if self._commands is not None:
            commands = (self.per_torque * tau)[self._order]
            self._commands.publish(Float64MultiArray(data=commands.tolist()))

    @override
    def restart(self) -> None:
        """Begin with a soft start."""
        self.gate.soften()

    @override
    def figures(self) -> dict[str, str]:
        """Return the joints that were at their effort limit since the last report."""
        saturated = zip(self._names, self.gate.saturated(), strict=True)
        names = ', '.join(name for name, hit in saturated if hit)
        return {'joints at their limit': names or 'none'}

    def release(self, stamp: int, tau: Array) -> None:
        """Bring the torque to a last one (n,) within its limits, at most in LONGEST_RELEASE."""
        end = time.monotonic() + LONGEST_RELEASE
        while True:
            time.sleep(RELEASE_STEP)
            dt = RELEASE_STEP if time.monotonic() < end else math.inf
            self.continue_to(stamp, tau, dt)
            if self.gate.reached(tau):
                break
        for publisher in self.publishers:
            publisher.wait_for_all_acked(LAST_ACKNOWLEDGEMENT)
