# SPDX-License-Identifier: Apache-2.0
"""Wrench of the environment on a frame of an arm, estimated from external torques.

    model    what the environment exerts at the origin of the frame
    wrench   a moment and a force
    force    a force alone: more directions can be felt, where the contact is at the origin

A direction of the force that the arm does not feel is left out of the estimate, and listed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.tool_wrench import ToolWrench, tool_wrench
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.programs import Robot

PRIOR = (10.0, 10.0, 10.0, 50.0, 50.0, 50.0)  # N m and N, standard deviations
FLOOR = 0.05  # N m or N: least standard deviation of an external torque
FELT = 3.0  # N, largest standard deviation of a force that is felt
DIRECTIONS = {'wrench': (0, 1, 2, 3, 4, 5), 'force': (3, 4, 5)}


class ContactWrench(NamedTuple):
    """A wrench on a frame, in its axes at its origin; unfelt directions of the force are zero."""

    F: Array  # (6,) moment N m, force N
    covariance: Array  # (3, 3) of the force, N^2
    unfelt: Array  # (m, 3) unit vectors: directions of the force that the arm does not feel
    unexplained: Array  # (n,) external torques that no wrench on the frame exerts, N m or N


class ContactWrenchEstimator:
    """Estimator of the wrench on one frame of an arm."""

    def __init__(self, arm: Dynamics, frame: str, model: str = 'wrench'):
        """Compile.

        Args:
            arm: the arm.
            frame: that the environment touches.
            model: one of `DIRECTIONS`.

        Raises:
            FrameNotFound: the arm has no such frame.
        """
        arm.tree.frame(frame)
        self._directions = DIRECTIONS[model]
        prior = [PRIOR[k] for k in self._directions]

        def estimate(robot: Robot, q: Any, r: Any, sigma: Any) -> ToolWrench:
            return tool_wrench(robot.tree, q, r, sigma, frame, prior, self._directions)

        inputs = dict.fromkeys(('q', 'r', 'sigma'), arm.model.n)
        key = f'tool_wrench {frame} {model}'
        self._estimate = arm.programs.compiled(key, estimate, inputs, result=ToolWrench).call

    def estimate(self, q: Array, r: Array, sigma: Array) -> ContactWrench:
        """Return the wrench that explains external torques.

        Args:
            q: (n,) joint positions, rad or m.
            r: (n,) external torques, N m or N.
            sigma: (n,) their standard deviations in free motion at rest.
        """
        found = self._estimate(q, r, np.hypot(sigma, FLOOR))
        F = np.zeros(6)
        F[list(self._directions)] = found.F
        covariance = found.P[-3:, -3:]
        values, vectors = np.linalg.eigh(covariance)
        unfelt = vectors[:, values > FELT**2].T
        # f <- f - V V^T f
        F[3:] -= unfelt.T @ (unfelt @ F[3:])
        return ContactWrench(F, covariance, unfelt, found.unexplained)
