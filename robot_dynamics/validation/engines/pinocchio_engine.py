# SPDX-License-Identifier: Apache-2.0
"""Adapter to Pinocchio, which uses every inertia unchanged.

Its configuration has two entries (cos, sin) per continuous joint; ours has the angle.

Source: Pinocchio documentation, buildModelFromXML, rnea, crba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial


class PinocchioEngine:
    """One robot, loaded into Pinocchio."""

    def __init__(self, urdf: str, gravity: list[float]):
        """Load a bare URDF; raise RuntimeError if Pinocchio rejects it."""
        self.version = f'Pinocchio {pinocchio.__version__}'
        try:
            self._model = pinocchio.buildModelFromXML(urdf)
        except ValueError as error:
            raise RuntimeError(str(error)) from None
        self._model.gravity.linear = np.array(gravity)
        self._data = self._model.createData()

    def joints(self) -> list[tuple[str, str]]:
        """Return (joint, link it moves) of each coordinate, in Pinocchio's order."""
        # The first body frame of a joint is the link that the joint moves.
        link = {
            int(frame.parentJoint): frame.name
            for frame in reversed(list(self._model.frames))
            if frame.type == pinocchio.FrameType.BODY
        }
        return [(self._model.names[j], link[j]) for j in range(1, self._model.njoints)]

    def inertials(self) -> dict[str, Inertial]:
        """Return none: Pinocchio merges links fixed together, without changing inertias."""
        return {}

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Any:
        """Return the torques of one state."""
        return pinocchio.rnea(self._model, self._data, self._configuration(q), qd, qdd).copy()

    def mass_matrix(self, q: Array) -> Any:
        """Return M(q)."""
        M = pinocchio.crba(self._model, self._data, self._configuration(q))
        # Older versions fill the upper triangle only.
        return np.triu(M) + np.triu(M, 1).T

    def joint_frames(self, q: Array) -> tuple[Any, Any, Any]:
        """Return axes, origins and moved masses of the joints."""
        J = pinocchio.computeJointJacobians(self._model, self._data, self._configuration(q))
        J = J.reshape(6, -1).T  # (6,) for a single joint
        pinocchio.computeSubtreeMasses(self._model, self._data)
        # A column is (v, w): w is the axis of a revolute joint, v of a prismatic one.
        axes = np.where(J[:, 3:].any(axis=1)[:, None], J[:, 3:], J[:, :3])
        origins = [pose.translation.copy() for pose in list(self._data.oMi)[1:]]
        return axes, np.array(origins), np.array(list(self._data.mass)[1:])

    def _configuration(self, q: Array) -> Array:
        entries = []
        for joint, position in zip(list(self._model.joints)[1:], q, strict=True):
            continuous = joint.nq == 2
            entries += [np.cos(position), np.sin(position)] if continuous else [position]
        return np.array(entries)
