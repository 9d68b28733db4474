# SPDX-License-Identifier: Apache-2.0
"""Time-optimal motion of a Panda along a path within its effort limits, by toppra.

Uniform time scaling (`slow_down`) keeps the speed profile of a trajectory; toppra chooses the
profile. It needs the inverse dynamics and the limits. toppra is not a dependency of this package:

pip install toppra
python examples/time_optimal.py
"""

import numpy as np
import toppra
import toppra.algorithm
import toppra.constraint

import robot_dynamics as rd
from robot_dynamics.control.feasibility import check_feasibility, slow_down
from robot_dynamics.control.trajectory import Trajectory

SHARE = 0.9  # of the effort limits: the rest is for viscous friction, which toppra does not model
RATE = 100.0  # of the points, Hz


def main() -> tuple[Trajectory, Trajectory]:
    """Print and return the motions: scaled uniformly, and time-optimal."""
    arm = rd.Dynamics(rd.load_urdf('panda')).with_payload('panda_link8', 2.0, com=[0, 0, 0.1])
    model = arm.model
    points = np.array(
        [
            [0.0, -0.8, 0.0, -2.3, 0.0, 1.6, 0.8],
            [0.5, 0.1, 0.3, -1.8, 0.2, 1.9, 0.5],
            [1.0, 0.6, 0.2, -1.2, 0.4, 1.7, 0.2],
            [1.4, 0.2, -0.2, -1.6, 0.1, 1.5, 0.6],
        ]
    )
    path = toppra.SplineInterpolator(np.linspace(0.0, 1.0, len(points)), points)
    limits = [
        toppra.constraint.JointVelocityConstraint(model.velocity_limit),
        toppra.constraint.JointTorqueConstraint(
            arm.inverse_dynamics,
            SHARE * np.outer(model.effort_limit, [-1.0, 1.0]),
            model.coulomb,
        ),
    ]
    gridpoints = np.linspace(0.0, 1.0, 201)
    timed = toppra.algorithm.TOPPRA(limits, path, gridpoints=gridpoints).compute_trajectory()
    t = np.linspace(0.0, timed.duration, 1 + round(RATE * timed.duration))
    sampled = Trajectory(model.joint_names, t, timed(t), timed(t, 1), timed(t, 2))
    # Between its grid points toppra may exceed a limit slightly.
    optimal = slow_down(arm, sampled)

    # The same path in 0.5 s, at rest at both ends, then scaled uniformly.
    u = np.linspace(0.0, 1.0, 51)
    s, ds = u**3 * (10 - 15 * u + 6 * u**2), 30 * u**2 * (1 - u) ** 2
    T = 0.5
    q, qd = path(s), path(s, 1) * (ds / T)[:, None]
    uniform = slow_down(arm, Trajectory(model.joint_names, T * u, q, qd))

    for name, motion in (('scaled uniformly', uniform), ('time-optimal', optimal)):
        worst = check_feasibility(arm, motion).worst
        print(
            f'{name:17} {motion.duration:.3f} s, at most {worst.share:.0%} of the effort limit '
            f'({worst.joint})'
        )
    return uniform, optimal


if __name__ == '__main__':
    main()
