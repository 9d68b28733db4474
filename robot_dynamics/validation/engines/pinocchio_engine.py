"""Pinocchio as a judge. It takes every inertia as it is written.

Continuous joints, two entries (cos, sin) of its q, are put back to one angle.

Source: Pinocchio documentation, buildModelFromXML, rnea, crba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio

from robot_dynamics.model.inertia import Inertial
from robot_dynamics.spatial import Array


class PinocchioEngine:
    """One robot, held by Pinocchio."""

    def __init__(self, urdf: str, gravity: list[float]):
        """Load a bare URDF; raises RuntimeError if Pinocchio refuses it."""
        self.version = f'Pinocchio {pinocchio.__version__}'
        try:
            self._model = pinocchio.buildModelFromXML(urdf)
        except ValueError as error:
            raise RuntimeError(str(error)) from None
        self._model.gravity.linear = np.array(gravity)
        self._data = self._model.createData()

    def joints(self) -> list[tuple[str, str]]:
        """Return (joint, the link it moves) of each coordinate, in Pinocchio's order."""
        # The first body frame of a joint is the link right behind it.
        link = {
            int(frame.parentJoint): frame.name
            for frame in reversed(list(self._model.frames))
            if frame.type == pinocchio.FrameType.BODY
        }
        return [(self._model.names[j], link[j]) for j in range(1, self._model.njoints)]

    def inertials(self) -> dict[str, Inertial]:
        """Return nothing: Pinocchio adds up what is fixed together, and changes none of it."""
        return {}

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Any:
        """Return the torques of one state."""
        return pinocchio.rnea(self._model, self._data, self._configuration(q), qd, qdd).copy()

    def mass_matrix(self, q: Array) -> Any:
        """Return M(q)."""
        M = pinocchio.crba(self._model, self._data, self._configuration(q))
        # Older versions fill the upper triangle only.
        return np.triu(M) + np.triu(M, 1).T

    def _configuration(self, q: Array) -> Array:
        entries = []
        for joint, position in zip(list(self._model.joints)[1:], q, strict=True):
            continuous = joint.nq == 2
            entries += [np.cos(position), np.sin(position)] if continuous else [position]
        return np.array(entries)
