# SPDX-License-Identifier: Apache-2.0
"""Adapter of MuJoCo. The state is already in its memory; copying is not timed.

Contacts and limits are disabled. The inverse dynamics of MuJoCo also computes positions and
velocities of bodies, cameras and tendons, which is part of the time of a call. MuJoCo has no C; g
is inverse dynamics at rest.

Source: MuJoCo documentation: mj_inverse, mj_forward, mj_step, "Modeling: URDF extensions".
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from benchmarks.contenders import Call, Local, RobotRefused
from benchmarks.functions import State
from benchmarks.robots import Robot
from robot_dynamics.common.spatial import Array

COMPILER = {'fusestatic': 'true', 'discardvisual': 'true', 'balanceinertia': 'false'}
OFF = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT


class MuJoCo(Local):
    """One robot in MuJoCo."""

    def __init__(self, robot: Robot):
        self.model = compiled(robot)
        joints = [self.model.joint(j).name for j in range(self.model.njnt)]
        names = list(robot.model.joint_names)
        super().__init__(f'MuJoCo {mujoco.__version__}', names, joints)

    def calls(self, state: State) -> dict[str, Call]:
        model = self.model
        moving, still, driven = (mujoco.MjData(model) for _ in range(3))
        moving.qpos[:], moving.qvel[:], moving.qacc[:] = state.q, state.qd, state.qdd
        still.qpos[:] = state.q
        driven.qpos[:], driven.qvel[:], driven.qfrc_applied[:] = state.q, state.qd, state.tau

        def inverse(data: Any) -> Any:
            mujoco.mj_inverse(model, data)
            return data.qfrc_inverse

        def mass() -> Any:
            mujoco.mj_kinematics(model, still)
            mujoco.mj_comPos(model, still)
            mujoco.mj_crb(model, still)
            return still

        def forward() -> Any:
            mujoco.mj_forward(model, driven)
            return driven.qacc

        return {
            'inverse_dynamics': lambda: inverse(moving),
            'mass_matrix': mass,
            'gravity_torque': lambda: inverse(still),
            'forward_dynamics': forward,
        }

    def results(self, function: str, returned: Any) -> list[Array]:
        if function != 'mass_matrix':
            return [np.array(returned)]
        # Column by column, because the storage of the matrix differs between versions.
        M = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(M.T, np.eye(self.model.nv), strict=True):
            product = np.zeros(self.model.nv)
            mujoco.mj_mulM(self.model, returned, product, unit)
            column[:] = product
        return [M]


def compiled(robot: Robot) -> mujoco.MjModel:
    """Return the robot as MuJoCo's model. Raises RobotRefused."""
    root = ElementTree.fromstring(robot.urdf)
    extension = ElementTree.SubElement(root, 'mujoco')
    ElementTree.SubElement(extension, 'compiler', COMPILER)
    try:
        model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding='unicode'))
    except ValueError as error:
        raise RobotRefused(f'MuJoCo: {error}') from None
    model.opt.gravity[:] = robot.model.gravity
    model.opt.disableflags |= OFF
    return model


def load(robot: Robot) -> MuJoCo:
    return MuJoCo(robot)
