# SPDX-License-Identifier: Apache-2.0
"""Adapter of Robotics Toolbox for Python, for a separate process.

Its coriolis does not support a robot read from a URDF without visuals.

Source: P. Corke's Robotics Toolbox documentation: Robot.URDF, rne, inertia, gravload, accel.
"""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import roboticstoolbox

from benchmarks.contenders import Call, Local, RobotRefused
from benchmarks.functions import State
from benchmarks.robots import Robot
from robot_dynamics.common.spatial import Array


class Toolbox(Local):
    """One robot in the toolbox."""

    def __init__(self, robot: Robot):
        self._robot = _loaded(robot.urdf)
        self._robot.gravity = np.array(robot.model.gravity)
        names = list(robot.model.joint_names)
        joints = [link._joint_name for link in self._robot.links if link.isjoint]
        super().__init__(f'Robotics Toolbox {version("roboticstoolbox-python")}', names, joints)

    def calls(self, state: State) -> dict[str, Call]:
        (q, qd, qdd, tau), robot = state, self._robot
        return {
            'inverse_dynamics': lambda: robot.rne(q, qd, qdd),
            'mass_matrix': lambda: robot.inertia(q),
            'gravity_torque': lambda: robot.gravload(q),
            'forward_dynamics': lambda: robot.accel(q, qd, tau),
        }

    def results(self, function: str, returned: Any) -> list[Array]:
        return [np.array(returned)]


def _loaded(urdf: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'robot.urdf'
        path.write_text(urdf, encoding='utf-8')
        try:
            return roboticstoolbox.Robot.URDF(str(path))
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise RobotRefused(f'Robotics Toolbox: {error}') from None


def load(robot: Robot) -> Toolbox:
    return Toolbox(robot)
