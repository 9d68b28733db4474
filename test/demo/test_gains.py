"""The gains of the demonstration are stable all along its motion."""

import numpy as np

from robot_dynamics.control import pd_gains
from robot_dynamics.nodes.demo.motion import swing

STEP = 1e-3


def test_every_posture_of_the_motion_is_stable(arm):
    motion = swing(arm, 6.0)
    gains = pd_gains(arm, motion.at(np.linspace(0.0, 6.0, 50)).q, STEP)
    n = arm.model.n
    for M in arm.mass_matrix(motion.at(np.linspace(0.0, 6.0, 23)).q):
        # One step of semi-implicit Euler: v' = v - h M^-1 (Kp e + Kd v),  e' = e + h v'
        stiffness, damping = (np.linalg.solve(M, np.diag(gain)) for gain in (gains.kp, gains.kd))
        velocity = np.hstack([-STEP * stiffness, np.eye(n) - STEP * damping])
        position = np.hstack([np.eye(n), np.zeros((n, n))]) + STEP * velocity
        modes = np.abs(np.linalg.eigvals(np.vstack([position, velocity])))
        assert modes.max() < 1
