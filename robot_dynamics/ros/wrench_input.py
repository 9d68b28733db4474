# SPDX-License-Identifier: Apache-2.0
"""External wrenches received by a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile
from typing_extensions import override

from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.joint_reading import finite
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part

COMPONENTS = ('torque.x', 'torque.y', 'torque.z', 'force.x', 'force.y', 'force.z')


class StampedWrench(NamedTuple):
    """A wrench on a frame, in that frame's axes."""

    stamp: int  # ns
    frame: str
    F: Array  # (6,) angular part first, N m and N


class WrenchInput(Part):
    """Part of a node: finite wrenches on frames of the robot.

    Attributes:
        newest: the last valid one since the node was activated; None without one.
    """

    def __init__(
        self,
        node: RobotNode,
        use: Callable[[StampedWrench], None] = lambda _: None,
        profile: QoSProfile = qos.JOINT_STATES_IN,
        what: str = 'external wrench',
        accept: Callable[[StampedWrench], StampedWrench | None] = lambda wrench: wrench,
    ):
        """Subscribe.

        Args:
            node: of this part.
            use: called with each valid wrench.
            profile: quality of service.
            what: name of the wrenches; their topic is it with underscores.
            accept: returns what is used of a wrench; None: nothing. A RobotDynamicsError that it
                raises rejects the wrench.
        """
        self._node, self._use, self._accept = node, use, accept
        self._topic = what.replace(' ', '_')
        self.newest: StampedWrench | None = None
        self._has_stopped = False  # at the last joint state
        node.subscribe(WrenchStamped, self._topic, what, self._read, self._take, profile)

    @override
    def restart(self) -> None:
        """Drop a wrench received before."""
        self.newest, self._has_stopped = None, False

    @override
    def status(self) -> Status | None:
        """Return a WARN while a wrench that is not zero is too old to count."""
        if not self._has_stopped:
            return None
        return health.WARN, f'{self._topic} has stopped: it counts as zero'

    @property
    def size(self) -> float:
        """Largest component of the newest wrench, N m or N; 0 without one."""
        return 0.0 if self.newest is None else float(np.abs(self.newest.F).max())

    def at(self, stamp: int) -> StampedWrench | None:
        """Return the newest wrench if it is within input_timeout of a stamp [ns], else None."""
        longest = self._node.parameters.input_timeout * SECOND
        wrench = self.newest
        is_old = wrench is not None and abs(stamp - wrench.stamp) > longest
        self._has_stopped = wrench is not None and is_old and bool(wrench.F.any())
        return None if is_old else wrench

    def joint_torque(
        self,
        arm: Dynamics,
        q: Array,
        stamp: int,
        largest: Callable[[Array, Array], float] = lambda F, tau: np.inf,
    ) -> Array | None:
        """Return J^T F (n,) of the newest wrench at positions (n,); None as of `at`.

        Args:
            arm: the arm.
            q: (n,) its positions.
            stamp: of the state, ns.
            largest: returns up to which factor a wrench (6,) with the torque (n,) is used.
        """
        wrench = self.at(stamp)
        if wrench is None:
            return None
        # The message is in the frame's own axes, the argument of wrench_torque in the world's.
        R = arm.forward_kinematics(q, wrench.frame)[:3, :3]
        size = float(np.abs(wrench.F).max()) or 1.0  # the torque of a unit wrench is finite
        F = np.concatenate([R @ (wrench.F[:3] / size), R @ (wrench.F[3:] / size)])
        tau = arm.wrench_torque(q, F, wrench.frame)
        with np.errstate(over='ignore'):
            return np.asarray(min(size, largest(F, tau)) * tau)

    def _read(self, message: WrenchStamped) -> StampedWrench | None:
        frame = self._node.own_frame(message.header.frame_id)
        self._node.base.model.frame_index(frame)
        F = finite(messages.wrench(message.wrench), COMPONENTS, self._topic)
        return self._accept(StampedWrench(messages.nanoseconds(message.header.stamp), frame, F))

    def _take(self, wrench: StampedWrench) -> None:
        self.newest = wrench
        self._use(wrench)
