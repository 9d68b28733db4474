# SPDX-License-Identifier: Apache-2.0
"""Parameters of the control law `cartesian_impedance`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.impedance import Impedance
from robot_dynamics.control.pose_following import PoseLimits
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros.parameters import ParameterError, parameter
from robot_dynamics.ros.robot_parameters import LiveRobotParameters

CARTESIAN = 'cartesian_impedance'
PAIR = 'of rotation and of translation'


@dataclass(frozen=True)
class ImpedanceParameters(LiveRobotParameters):
    """Parameters of a frame on a spring and a damper."""

    impedance__frame: str = parameter(
        '',
        'Link or frame that cartesian_impedance holds on a spring; empty: that law is not '
        'available.',
    )
    impedance__translational_stiffness: tuple[float, ...] = parameter(
        [600.0],
        'Stiffness, N/m; one or three, along the axes of the target.',
        (0.0, 1e5),
        live=True,
    )
    impedance__rotational_stiffness: tuple[float, ...] = parameter(
        [30.0],
        'Stiffness, N m/rad; one or three, about the axes of the target.',
        (0.0, 1e4),
        live=True,
    )
    impedance__damping_ratio: float = parameter(
        0.7, 'Damping ratio of every natural mode of the frame.', (0.0, 10.0), live=True
    )
    impedance__posture_stiffness: tuple[float, ...] = parameter(
        [0.0],
        'Stiffness towards the joint reference in the null space, N m/rad or N/m; one or one per '
        'joint. Above 0 the law is not passive.',
        (0.0, 1e4),
        live=True,
    )
    impedance__posture_damping: float = parameter(
        5.0, 'Rate at which motion in the null space decays, 1/s.', (0.0, 1e3), live=True
    )
    impedance__max_velocity: tuple[float, ...] = parameter(
        [1.0, 0.25],
        f'Largest velocity of the target, {PAIR}, rad/s and m/s.',
        (1e-3, 100.0),
        size=2,
        live=True,
    )
    impedance__max_acceleration: tuple[float, ...] = parameter(
        [4.0, 1.0],
        f'Largest acceleration of the target, {PAIR}, rad/s^2 and m/s^2.',
        (1e-3, 1e3),
        size=2,
        live=True,
    )
    impedance__max_distance: tuple[float, ...] = parameter(
        [0.5, 0.1],
        f'Largest distance of the target from the frame, {PAIR}, rad and m.',
        (1e-3, 3.0),
        size=2,
        live=True,
    )
    max_target_force: float = parameter(
        100.0,
        'Largest force of target_wrench for a robot that has a joint without effort limit, N. '
        'A wrench whose torque exceeds half of an effort limit is scaled as well.',
        (0.0, 1e6),
        live=True,
    )
    max_target_torque: float = parameter(
        20.0, 'Likewise, largest torque of target_wrench, N m.', (0.0, 1e6), live=True
    )

    def impedance(self, model: RobotModel) -> Impedance:
        """Return stiffness and damping. Raises ParameterError for a list of another length."""
        for name in ('translational_stiffness', 'rotational_stiffness'):
            values = getattr(self, f'impedance__{name}')
            if len(values) not in (1, 3):
                raise ParameterError(
                    f'impedance.{name} has {len(values)} values; expected one, or three'
                )
        return Impedance(
            np.resize(self.impedance__translational_stiffness, 3),
            np.resize(self.impedance__rotational_stiffness, 3),
            np.array(self.impedance__damping_ratio),
            self.of_joints('impedance__posture_stiffness', model),
            np.array(self.impedance__posture_damping),
        )

    @property
    def pose_limits(self) -> PoseLimits:
        """Limits of the target."""
        return PoseLimits(
            self.impedance__max_velocity,
            self.impedance__max_acceleration,
            self.impedance__max_distance,
        )
