# SPDX-License-Identifier: Apache-2.0
"""Adapter of PyBullet, for a separate process: it prints, and can crash beside other libraries.

Its functions take lists, whose creation is not timed. It has inverse dynamics and the mass matrix.

Source: PyBullet Quickstart Guide, loadURDF, calculateInverseDynamics, calculateMassMatrix.
"""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pybullet

from benchmarks.contenders import Call, Local, RobotRefused
from benchmarks.functions import State
from benchmarks.robots import Robot
from robot_dynamics.common.spatial import Array

JOINT_NAME, JOINT_TYPE = 1, 2  # of getJointInfo


class PyBullet(Local):
    """One robot in PyBullet."""

    def __init__(self, robot: Robot):
        pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(*robot.model.gravity)
        self._body = _loaded(robot.urdf)
        infos = [
            pybullet.getJointInfo(self._body, j) for j in range(pybullet.getNumJoints(self._body))
        ]
        joints = [i[JOINT_NAME].decode() for i in infos if i[JOINT_TYPE] != pybullet.JOINT_FIXED]
        for link in range(-1, len(infos)):
            pybullet.changeDynamics(
                self._body, link, linearDamping=0.0, angularDamping=0.0, jointDamping=0.0
            )
        names = list(robot.model.joint_names)
        super().__init__(f'PyBullet {version("pybullet")}', names, joints)

    def calls(self, state: State) -> dict[str, Call]:
        body = self._body
        q, qd, qdd, rest = (x.tolist() for x in (state.q, state.qd, state.qdd, 0.0 * state.q))
        return {
            'inverse_dynamics': lambda: pybullet.calculateInverseDynamics(body, q, qd, qdd),
            'mass_matrix': lambda: pybullet.calculateMassMatrix(body, q),
            'gravity_torque': lambda: pybullet.calculateInverseDynamics(body, q, rest, rest),
        }

    def results(self, function: str, returned: Any) -> list[Array]:
        return [np.array(returned)]


def _loaded(urdf: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'robot.urdf'
        path.write_text(urdf, encoding='utf-8')
        try:
            return int(
                pybullet.loadURDF(
                    str(path), useFixedBase=True, flags=pybullet.URDF_USE_INERTIA_FROM_FILE
                )
            )
        except pybullet.error as error:
            raise RobotRefused(f'PyBullet: {error}') from None


def load(robot: Robot) -> PyBullet:
    return PyBullet(robot)
