"""Whole turns of continuous joints: positions that differ by 2 pi are the same."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array

TURN = 2 * np.pi  # rad


class WholeTurns:
    """Brings positions into the turn that is nearest to others.

    Attributes:
        any: whether the robot has a continuous joint.
    """

    def __init__(self, model: RobotModel):
        """Find the joints without position limits that turn one body by their coordinate."""
        unlimited = np.isinf(model.lower) & np.isinf(model.upper)
        ratios = np.abs(model.S)
        single = ((ratios != 0).sum(axis=0) == 1) & (ratios.max(axis=0) == 1)
        revolute = (ratios * model.revolute[:, None]).max(axis=0) == 1
        self._joints = unlimited & single & revolute
        self.any = bool(self._joints.any())

    def nearest(self, q: Array, present: Array) -> Array:
        """Return the positions (n,) in the turns nearest to others (n,)."""
        return q + self._offset(q, present) if self.any else q

    def trajectory(self, trajectory: Trajectory, present: Array) -> Trajectory:
        """Return a trajectory of all joints that begins in the turns nearest to q (n,)."""
        offset = self._offset(trajectory.points[0, 0], present)
        return trajectory.shifted(offset) if offset.any() else trajectory

    def _offset(self, q: Array, present: Array) -> Array:
        return np.where(self._joints, TURN * np.round((present - q) / TURN), 0.0)
