"""PD gains for any robot: stable when held over a step, and of the frequency they promise."""

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.samples import planar_2r
from robot_dynamics.nodes.demo.gains import DAMPING, FREQUENCY, pd_gains
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


def test_a_single_joint_gets_the_frequency_and_the_damping():
    arm = Dynamics(planar_2r())
    only = Dynamics(arm.model)
    M = arm.mass_matrix(np.zeros(2))
    gains = pd_gains(only, np.zeros((1, 2)), STEP)
    inertia = np.sqrt(np.diag(M) / np.diag(np.linalg.inv(M)))
    assert np.allclose(gains.kp, FREQUENCY**2 * inertia, rtol=1e-12)
    assert np.allclose(gains.kd, 2 * DAMPING * FREQUENCY * inertia, rtol=1e-12)


def test_a_long_step_makes_them_softer(panda):
    q = np.zeros((1, 7))
    assert (pd_gains(panda, q, 1e-2).kd < pd_gains(panda, q, 1e-3).kd).all()
