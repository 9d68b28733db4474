"""PyBullet as a judge. Imported in a worker process only: it prints, and it can crash.

What it needs to be a fair one: inertias from the file instead of from collision shapes, a fixed
base at the origin, no damping, and no change of anything after the first inverse dynamics, which
caches the model. Fixed joints have no coordinate. Tensors that no body can have it replaces by
zero, which is why `inertials` reads back what it holds. Beyond 128 moving joints its inverse
dynamics returns numbers that are wrong, and says nothing.

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

from robot_dynamics.model.inertia import Inertial
from robot_dynamics.spatial import Array

MOST_JOINTS = 128  # of one robot: MAX_DEGREE_OF_FREEDOM in its SharedMemoryPublic.h

MASS, DIAGONAL, POSITION, ORIENTATION = 0, 2, 3, 4  # of getDynamicsInfo
JOINT_NAME, JOINT_TYPE, LINK_NAME = 1, 2, 12  # of getJointInfo


class PyBulletEngine:
    """One robot, held by PyBullet."""

    def __init__(self, urdf: str, gravity: list[float]):
        """Load a bare URDF; raises RuntimeError if PyBullet refuses it."""
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
        if len(self._moving) > MOST_JOINTS:
            raise RuntimeError(
                f'it computes with at most {MOST_JOINTS} moving joints; this robot has '
                f'{len(self._moving)}, and its torques would be wrong without a word'
            )
        # The default motors hold every joint still.
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
        """Return (joint, the link it moves) of each coordinate, in PyBullet's order."""
        return [
            (self._joints[j][JOINT_NAME].decode(), self._joints[j][LINK_NAME].decode())
            for j in self._moving
        ]

    def inertials(self) -> dict[str, Inertial]:
        """Return what PyBullet holds of each link but the base, in the links' frames."""
        held = {}
        for j, joint in enumerate(self._joints):
            info = pybullet.getDynamicsInfo(self._body, j, physicsClientId=self._client)
            R = np.reshape(pybullet.getMatrixFromQuaternion(info[ORIENTATION]), (3, 3))
            held[joint[LINK_NAME].decode()] = Inertial(
                info[MASS], np.array(info[POSITION]), R @ np.diag(info[DIAGONAL]) @ R.T
            )
        return held

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Any:
        """Return the torques of one state."""
        return pybullet.calculateInverseDynamics(
            self._body, q.tolist(), qd.tolist(), qdd.tolist(), physicsClientId=self._client
        )

    def mass_matrix(self, q: Array) -> Any:
        """Return M(q)."""
        return pybullet.calculateMassMatrix(self._body, q.tolist(), physicsClientId=self._client)
