# SPDX-License-Identifier: Apache-2.0
"""Arms drawn at random that differ from their description as an arm differs from its CAD file."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from recorded_runs import lively

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.recordings import Recording
from robot_dynamics.urdf.loading import parse_urdf

# mass kg, centre of mass m, edges m of a box; then of its joint: origin m, axis, effort N m
PARTS = (
    (4.0, (0, 0.02, 0.08), (0.12, 0.14, 0.18), (0, 0, 0.2), (0, 0, 1), 120),
    (5.5, (0.18, 0, 0.06), (0.42, 0.1, 0.12), (0, 0, 0.16), (0, 1, 0), 120),
    (3.2, (0.14, 0.01, 0), (0.34, 0.09, 0.1), (0.4, 0, 0), (0, 1, 0), 120),
    (1.4, (0, 0.01, 0.05), (0.08, 0.09, 0.14), (0.32, 0, 0), (1, 0, 0), 40),
    (1.1, (0, -0.01, 0.04), (0.07, 0.08, 0.12), (0, 0, 0.11), (0, 1, 0), 40),
    (0.4, (0, 0, 0.02), (0.06, 0.06, 0.05), (0, 0, 0.1), (0, 0, 1), 40),
)
LINK, MASS, COM = 'l6', 2.0, np.array([0.01, -0.02, 0.08])
ROTORS = np.array([0.8, 0.8, 0.5, 0.12, 0.12, 0.06])  # kg m^2, seen at the joint
VISCOUS = np.array([8.0, 8.0, 6.0, 1.5, 1.5, 1.0])  # N m s/rad
COULOMB = np.array([5.0, 6.0, 4.0, 1.5, 1.2, 0.8])  # N m
RATE = 125.0


class Drawn(NamedTuple):
    """A drawn arm."""

    described: RobotModel  # without rotors and friction
    actual: RobotModel  # without a payload
    seed: int

    def recording(self, mass: float = MASS, duration: float = 40.0, motion: int = 0) -> Recording:
        """Return what the arm records with a payload, with noise of 1 %."""
        seed = 1000 * motion + self.seed
        t, q, qd, qdd = lively(self.described, duration, RATE, seed)
        tensor = mass * np.diag([3e-3, 3e-3, 2e-3])
        loaded = self.actual.with_payload(LINK, mass, COM, tensor) if mass else self.actual
        tau = Dynamics(loaded).motor_torque(q, qd, qdd)
        rng = np.random.default_rng(77_000 + seed)
        noisy = [x + 0.01 * x.std(axis=0) * rng.normal(size=x.shape) for x in (qd, tau)]
        return Recording(self.described.joint_names, t, q, *noisy)


def six_joints() -> RobotModel:
    """Return the description: six boxes, neither rotors nor friction."""
    links, joints, parent = ['<link name="base"/>'], [], 'base'
    for i, (m, c, s, origin, axis, effort) in enumerate(PARTS, 1):
        x, y, z = np.square(s) * m / 12
        place, at, turns = (' '.join(map(str, v)) for v in (c, origin, axis))
        tensor = f'ixx="{y + z}" iyy="{x + z}" izz="{x + y}" ixy="0" ixz="0" iyz="0"'
        links.append(
            f'<link name="l{i}"><inertial><origin xyz="{place}"/><mass value="{m}"/>'
            f'<inertia {tensor}/></inertial></link>'
        )
        joints.append(
            f'<joint name="j{i}" type="revolute"><parent link="{parent}"/><child link="l{i}"/>'
            f'<origin xyz="{at}"/><axis xyz="{turns}"/>'
            f'<limit lower="-2.9" upper="2.9" effort="{effort}" velocity="3"/></joint>'
        )
        parent = f'l{i}'
    return parse_urdf(f'<robot name="six">{"".join(links + joints)}</robot>')


def drawn(seed: int, masses: float = 0.08, centres: float = 0.005) -> Drawn:
    """Return an arm whose masses [relative] and centres [m] are off by up to these.

    It has rotors and dry and viscous friction, of half to one and a half of the values above.
    """
    rng = np.random.default_rng(5000 + seed)
    model = six_joints()
    factor = 1 + masses * rng.uniform(-1, 1, model.nb)
    drives = (x * rng.uniform(0.5, 1.5, model.n) for x in (VISCOUS, COULOMB, ROTORS))
    actual = replace(
        model,
        mass=factor * model.mass,
        com=model.com + centres * rng.uniform(-1, 1, model.com.shape),
        inertia_com=factor[:, None, None] * model.inertia_com,
    ).with_actuation(**dict(zip(('viscous', 'coulomb', 'rotor_inertia'), drives, strict=True)))
    return Drawn(model, actual, seed)
