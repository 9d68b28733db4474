# SPDX-License-Identifier: Apache-2.0
"""Build a SCARA arm with three joints from its Denavit-Hartenberg table, without a URDF.

python examples/from_dh.py
"""

import numpy as np

import robot_dynamics as rd
from robot_dynamics.core.model import solids

# One row per joint: a [m], alpha [rad], d [m], theta [rad], kind. The third joint moves down.
TABLE = [
    (0.35, 0.0, 0.40, 0.0, 'revolute'),
    (0.25, np.pi, 0.0, 0.0, 'revolute'),
    (0.0, 0.0, 0.10, 0.0, 'prismatic'),
]


def link(mass: float, length: float) -> rd.Inertial:
    """Return a bar along x that ends at the origin of its link frame (standard convention)."""
    bar = solids.box(mass, length, 0.06, 0.06)
    return rd.Inertial(mass, np.array([-length / 2, 0.0, 0.0]), bar.inertia_com)


QUILL = rd.Inertial(1.2, np.array([0.0, 0.0, -0.05]), solids.cylinder(1.2, 0.02, 0.3).inertia_com)


def main() -> None:
    """Print the terms of the equation of motion in one state."""
    model = rd.from_dh(
        TABLE, convention='standard', inertias=[link(6.0, 0.35), link(4.0, 0.25), QUILL]
    )
    arm = rd.Dynamics(model)
    q, qd = np.array([0.3, 0.8, 0.05]), np.array([0.5, -1.0, 0.1])
    M, C, g = arm.terms(q, qd)
    np.set_printoptions(precision=4, suppress=True)
    print('tool position [m]      ', arm.forward_kinematics(q, 'link3')[:3, 3])
    print('mass matrix            ', *M, sep='\n')
    print('Coriolis torque        ', C @ qd)
    # The axis points down, so the force that holds 1.2 kg is negative.
    print('gravity torque         ', g)
    print('to accelerate at 1     ', arm.inverse_dynamics(q, qd, np.ones(3)))


if __name__ == '__main__':
    main()
