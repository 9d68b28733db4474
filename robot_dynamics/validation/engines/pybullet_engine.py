# SPDX-License-Identifier: Apache-2.0
"""Adapter to PyBullet; imported in worker processes only, since it prints and can crash.

Set for a fair comparison: inertias from the file instead of from collision shapes, a fixed base at
the origin, no damping. Nothing may change after the first inverse dynamics, which caches the
model. Fixed joints have no coordinate. PyBullet replaces physically inconsistent tensors by zero,
so `inertials` reads its values back. Beyond 128 moving joints its inverse dynamics returns wrong
numbers without an error.

Source: PyBullet Quickstart Guide, loadURDF, calculateInverseDynamics, calculateMassMatrix,
getDynamicsInfo.
"""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pybullet

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial

MAX_JOINTS = 128  # of one robot: MAX_DEGREE_OF_FREEDOM in its SharedMemoryPublic.h

MAX_LINK_STATES = 127  # links of one robot; of more, getLinkState fails for all

MASS, DIAGONAL, POSITION, ORIENTATION = 0, 2, 3, 4  # of getDynamicsInfo
JOINT_NAME, JOINT_TYPE, LINK_NAME, AXIS, PARENT = 1, 2, 12, 13, 16  # of getJointInfo
# of getLinkState; its pose of the link's own frame has single precision
COM, COM_ORIENTATION, COM_IN_LINK, COM_ORIENTATION_IN_LINK = range(4)


class PyBulletEngine:
    """One robot, loaded into PyBullet."""

    def __init__(self, urdf: str, gravity: list[float]):
        """Load a bare URDF; raise RuntimeError if PyBullet rejects it."""
        self.version = f'PyBullet {version("pybullet")}'
        self._client = pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(*gravity, physicsClientId=self._client)
        self._body = self._loaded(urdf)
        count = pybullet.getNumJoints(self._body, physicsClientId=self._client)
        self._joints = [
            pybullet.getJointInfo(self._body, j, physicsClientId=self._client)
            for j in range(count)
        ]
        for link in range(-1, count):
            pybullet.changeDynamics(
                self._body,
                link,
                linearDamping=0.0,
                angularDamping=0.0,
                jointDamping=0.0,
                physicsClientId=self._client,
            )
        self._moving = [
            j for j, joint in enumerate(self._joints) if joint[JOINT_TYPE] != pybullet.JOINT_FIXED
        ]
        if len(self._moving) > MAX_JOINTS:
            raise RuntimeError(
                f'{len(self._moving)} moving joints; PyBullet computes correct torques for at '
                f'most {MAX_JOINTS}'
            )
        # The default velocity motors hold every joint at rest.
        for j in self._moving:
            pybullet.setJointMotorControl2(
                self._body, j, pybullet.VELOCITY_CONTROL, force=0.0, physicsClientId=self._client
            )

    def _loaded(self, urdf: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'robot.urdf'
            path.write_text(urdf, encoding='utf-8')
            try:
                return int(
                    pybullet.loadURDF(
                        str(path),
                        useFixedBase=True,
                        flags=pybullet.URDF_USE_INERTIA_FROM_FILE,
                        physicsClientId=self._client,
                    )
                )
            except pybullet.error as error:
                raise RuntimeError(f'loadURDF: {error}') from None

    def joints(self) -> list[tuple[str, str]]:
        """Return (joint, link it moves) of each coordinate, in PyBullet's order."""
        return [
            (self._joints[j][JOINT_NAME].decode(), self._joints[j][LINK_NAME].decode())
            for j in self._moving
        ]

    def inertials(self) -> dict[str, Inertial]:
        """Return the inertia that PyBullet uses for each link but the base, in its frame."""
        inertials = {}
        for j, joint in enumerate(self._joints):
            info = pybullet.getDynamicsInfo(self._body, j, physicsClientId=self._client)
            R = np.reshape(pybullet.getMatrixFromQuaternion(info[ORIENTATION]), (3, 3))
            inertials[joint[LINK_NAME].decode()] = Inertial(
                info[MASS], np.array(info[POSITION]), R @ np.diag(info[DIAGONAL]) @ R.T
            )
        return inertials

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Any:
        """Return the torques of one state."""
        return pybullet.calculateInverseDynamics(
            self._body, q.tolist(), qd.tolist(), qdd.tolist(), physicsClientId=self._client
        )

    def mass_matrix(self, q: Array) -> Any:
        """Return M(q)."""
        return pybullet.calculateMassMatrix(self._body, q.tolist(), physicsClientId=self._client)

    def joint_frames(self, q: Array) -> tuple[Any, Any, Any] | None:
        """Return axes, origins and moved masses of the joints; before any inverse dynamics."""
        if len(self._joints) > MAX_LINK_STATES:
            return None
        client = {'physicsClientId': self._client}
        masses = [body.mass for body in self.inertials().values()]
        for j in reversed(range(len(masses))):
            parent = self._joints[j][PARENT]
            if parent >= 0:
                masses[parent] += masses[j]
        for j, position in zip(self._moving, q.tolist(), strict=True):
            pybullet.resetJointState(self._body, j, position, **client)
        axes, origins = [], []
        for j in self._moving:
            state = pybullet.getLinkState(self._body, j, computeForwardKinematics=True, **client)
            # R_wc: of the inertial frame, in whose axes the joint's axis is; R_lc: in the link's
            R_wc, R_lc = (
                np.reshape(pybullet.getMatrixFromQuaternion(state[k]), (3, 3))
                for k in (COM_ORIENTATION, COM_ORIENTATION_IN_LINK)
            )
            axes.append(R_wc @ self._joints[j][AXIS])
            origins.append(state[COM] - R_wc @ R_lc.T @ state[COM_IN_LINK])
        return np.array(axes), np.array(origins), np.array(masses)[self._moving]
