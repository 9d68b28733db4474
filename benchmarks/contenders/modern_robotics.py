# SPDX-License-Identifier: Apache-2.0
"""Adapter of the code of the book Modern Robotics: Python code for serial chains.

Source: K. M. Lynch, F. C. Park, Modern Robotics, chapter 8: InverseDynamics, MassMatrix,
GravityForces, ForwardDynamics.
"""

from __future__ import annotations

import itertools
from importlib.metadata import version
from typing import Any

import modern_robotics as mr
import numpy as np

from benchmarks.contenders import Call, Local, RobotRefused
from benchmarks.functions import State
from benchmarks.robots import Robot
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RobotModel


class ModernRobotics(Local):
    """One serial chain in the code of the book."""

    def __init__(self, robot: Robot):
        model = robot.model
        if not np.array_equal(model.parent, np.arange(model.nb) - 1):
            raise RobotRefused('Modern Robotics: the robot branches')
        self._gravity = np.array(model.gravity)
        self._chain = _screws(model)
        names = list(model.joint_names)
        super().__init__(f'Modern Robotics {version("modern_robotics")}', names, names)

    def calls(self, state: State) -> dict[str, Call]:
        (q, qd, qdd, tau), g, chain, free = state, self._gravity, self._chain, np.zeros(6)
        return {
            'inverse_dynamics': lambda: mr.InverseDynamics(q, qd, qdd, g, free, *chain),
            'mass_matrix': lambda: mr.MassMatrix(q, *chain),
            'gravity_torque': lambda: mr.GravityForces(q, g, *chain),
            'forward_dynamics': lambda: mr.ForwardDynamics(q, qd, tau, g, free, *chain),
        }

    def results(self, function: str, returned: Any) -> list[Array]:
        return [np.array(returned)]


def _screws(model: RobotModel) -> tuple[list[Array], list[Array], Array]:
    """Return M_{i-1,i}, G_i and the space screws S; link frames at the centres of mass."""
    homes, screws, inertias = [np.eye(4)], [], []
    T_0i = np.eye(4)
    for i in range(model.nb):
        T_0i = T_0i @ model.placement[i]
        R, p = T_0i[:3, :3], T_0i[:3, 3]
        z = R @ model.axis[i]
        # S = (w, -w x p), or (0, v)
        screws.append(np.r_[z, np.cross(p, z)] if model.revolute[i] else np.r_[np.zeros(3), z])
        home = T_0i.copy()
        home[:3, 3] = p + R @ model.com[i]
        homes.append(home)
        G = np.zeros((6, 6))
        G[:3, :3], G[3:, 3:] = model.inertia_com[i], model.mass[i] * np.eye(3)
        inertias.append(G)
    relative = [np.linalg.solve(a, b) for a, b in itertools.pairwise(homes)]
    return [*relative, np.eye(4)], inertias, np.array(screws).T


def load(robot: Robot) -> ModernRobotics:
    return ModernRobotics(robot)
