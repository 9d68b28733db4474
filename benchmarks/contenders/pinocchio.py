# SPDX-License-Identifier: Apache-2.0
"""Adapter of Pinocchio's Python binding, the reference of all ratios.

`M, C, g` calls three functions in sequence, because computeAllTerms has no C.

Source: Pinocchio documentation: rnea, crba, computeCoriolisMatrix, computeGeneralizedGravity, aba,
computeRNEADerivatives, computeABADerivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from benchmarks.contenders import Call, Local
from benchmarks.functions import FUNCTIONS, State
from benchmarks.robots import Robot
from robot_dynamics.common.spatial import Array


class Pinocchio(Local):
    """One robot in Pinocchio."""

    def __init__(self, robot: Robot):
        self.model = pin.buildModelFromXML(robot.urdf)
        self.model.gravity.linear = np.array(robot.model.gravity)
        self.data = self.model.createData()
        joints = list(self.model.names)[1:]
        super().__init__(f'Pinocchio {pin.__version__}', list(robot.model.joint_names), joints)

    def configuration(self, q: Array) -> Array:
        """Return the configuration (..., nq): a continuous joint has the entries cos, sin."""
        columns = []
        for joint, position in zip(
            list(self.model.joints)[1:], np.moveaxis(q, -1, 0), strict=True
        ):
            columns += [np.cos(position), np.sin(position)] if joint.nq == 2 else [position]
        return np.ascontiguousarray(np.stack(columns, axis=-1))

    def calls(self, state: State) -> dict[str, Call]:
        model, data = self.model, self.data
        q, (_, qd, qdd, tau) = self.configuration(state.q), state
        return {
            'inverse_dynamics': lambda: pin.rnea(model, data, q, qd, qdd),
            'mass_matrix': lambda: pin.crba(model, data, q),
            'coriolis_matrix': lambda: pin.computeCoriolisMatrix(model, data, q, qd),
            'gravity_torque': lambda: pin.computeGeneralizedGravity(model, data, q),
            'terms': lambda: (
                pin.crba(model, data, q),
                pin.computeCoriolisMatrix(model, data, q, qd),
                pin.computeGeneralizedGravity(model, data, q),
            ),
            'forward_dynamics': lambda: pin.aba(model, data, q, qd, tau),
            'inverse_dynamics_derivatives': lambda: pin.computeRNEADerivatives(
                model, data, q, qd, qdd
            ),
            'forward_dynamics_derivatives': lambda: pin.computeABADerivatives(
                model, data, q, qd, tau
            ),
        }

    def results(self, function: str, returned: Any) -> list[Array]:
        names = FUNCTIONS[function].results
        arrays = returned if len(names) > 1 else [returned]
        return [
            symmetric(a) if name in ('M', 'M_inverse') else np.array(a)
            for name, a in zip(names, arrays, strict=True)
        ]


def symmetric(M: Array) -> Array:
    """Return the full mass matrix; older versions fill the upper triangle only."""
    return np.triu(M) + np.triu(M, 1).T


def load(robot: Robot) -> Pinocchio:
    return Pinocchio(robot)
