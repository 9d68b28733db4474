# SPDX-License-Identifier: Apache-2.0
"""Adapter to MuJoCo, which rejects physically inconsistent inertias.

Source: MuJoCo documentation, "Modeling: URDF extensions", and the API reference of mj_rne,
mj_mulM.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial

COMPILER = {'fusestatic': 'false', 'discardvisual': 'true', 'balanceinertia': 'false'}


class MuJoCoEngine:
    """One robot, loaded into MuJoCo."""

    def __init__(self, urdf: str, gravity: list[float]):
        """Load a bare URDF; raise RuntimeError if MuJoCo rejects it."""
        self.version = f'MuJoCo {mujoco.__version__}'
        robot = ElementTree.fromstring(urdf)
        extension = ElementTree.SubElement(robot, 'mujoco')
        ElementTree.SubElement(extension, 'compiler', COMPILER)
        try:
            self._model = mujoco.MjModel.from_xml_string(
                ElementTree.tostring(robot, encoding='unicode')
            )
        except ValueError as error:
            raise RuntimeError(str(error)) from None
        self._model.opt.gravity[:] = gravity
        self._data = mujoco.MjData(self._model)

    def joints(self) -> list[tuple[str, str]]:
        """Return (joint, link it moves) of each coordinate, in MuJoCo's order."""
        return [
            (self._model.joint(j).name, self._model.body(self._model.jnt_bodyid[j]).name)
            for j in range(self._model.njnt)
        ]

    def inertials(self) -> dict[str, Inertial]:
        """Return the inertia that MuJoCo uses for each link but the base, in the link's frame."""
        inertials = {}
        for i in range(1, self._model.nbody):
            entries = np.zeros(9)
            mujoco.mju_quat2Mat(entries, self._model.body_iquat[i])
            R = entries.reshape(3, 3)
            inertials[self._model.body(i).name] = Inertial(
                float(self._model.body_mass[i]),
                self._model.body_ipos[i].copy(),
                R @ np.diag(self._model.body_inertia[i]) @ R.T,
            )
        return inertials

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Any:
        """Return the torques of one state."""
        self._data.qpos[:], self._data.qvel[:], self._data.qacc[:] = q, qd, qdd
        mujoco.mj_fwdPosition(self._model, self._data)
        mujoco.mj_fwdVelocity(self._model, self._data)
        tau = np.zeros(self._model.nv)
        mujoco.mj_rne(self._model, self._data, 1, tau)
        return tau

    def mass_matrix(self, q: Array) -> Any:
        """Return M(q)."""
        self._data.qpos[:] = q
        mujoco.mj_fwdPosition(self._model, self._data)
        M = np.zeros((self._model.nv, self._model.nv))
        # Column by column: the matrix's own storage differs between versions.
        for column, unit in zip(M.T, np.eye(self._model.nv), strict=True):
            product = np.zeros(self._model.nv)
            mujoco.mj_mulM(self._model, self._data, product, unit)
            column[:] = product
        return M

    def joint_frames(self, q: Array) -> tuple[Any, Any, Any]:
        """Return axes, origins and moved masses of the joints."""
        self._data.qpos[:] = q
        mujoco.mj_kinematics(self._model, self._data)
        bodies = self._model.jnt_bodyid
        masses = self._model.body_subtreemass[bodies]
        return self._data.xaxis.copy(), self._data.xpos[bodies], masses
