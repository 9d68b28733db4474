# SPDX-License-Identifier: Apache-2.0
"""Retiming of the trajectories of a node, in a process of its own."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from typing_extensions import override

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.retiming_process import RetimingProcess
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.memory import FrictionModel
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part

RETIME = 'retime'  # value of on_infeasible


class TrajectoryRetiming(Part):
    """Part of a node: retimes one trajectory at a time, the newest.

    The process runs from `configure`, or the change of `on_infeasible` to retime, until `cleanup`,
    or the change to another value.

    Attributes:
        process: where trajectories are retimed.
        thread: it sends them and waits for the replies, one after the other.
    """

    def __init__(self, node: RobotNode):
        """Start nothing."""
        self._node = node
        self.process = RetimingProcess()
        self.thread = ThreadPoolExecutor(max_workers=1)  # started with the first task
        self._task: Future[Trajectory] | None = None

    def begin(
        self,
        arm: Dynamics,
        trajectory: Trajectory,
        effort_limit: Array,
        friction: FrictionModel,
        start: Array,
    ) -> Future[Trajectory]:
        """Return the future result of `retime`; a task that has not begun is cancelled."""
        if self._task is not None:
            self._task.cancel()
        self._task = self.thread.submit(
            self.process.retime, arm, trajectory, effort_limit, friction, start
        )
        return self._task

    @override
    def use(self, arm: Dynamics) -> None:
        """Start the process if it is needed, and let it compile."""
        if self._node.parameters.on_infeasible == RETIME:
            friction = self._node.parameters.friction(arm.model)
            self.thread.submit(self.process.warm, arm, friction)

    @override
    def adopt(self, changes: set[str]) -> None:
        """Start the process, or end it after its present task."""
        if 'on_infeasible' not in changes or self._node.arm is None:
            return
        if self._node.parameters.on_infeasible == RETIME:
            self.use(self._node.arm)
        else:
            self.thread.submit(self.process.close)

    @override
    def cleanup(self) -> None:
        """End the process."""
        self.process.kill()
        self.thread.submit(self.process.close)
