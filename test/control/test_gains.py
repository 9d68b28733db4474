"""PD gains for any robot: of the frequency and the damping they promise."""

import numpy as np

from robot_dynamics.control.gains import DAMPING, FREQUENCY, pd_gains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.samples import planar_2r
from robot_dynamics.model.urdf import load_urdf
from robot_dynamics.resources import share_file

STEP = 1e-3


def test_a_single_joint_gets_the_frequency_and_the_damping():
    arm = Dynamics(planar_2r())
    only = Dynamics(arm.model)
    M = arm.mass_matrix(np.zeros(2))
    gains = pd_gains(only, np.zeros((1, 2)), STEP)
    inertia = np.sqrt(np.diag(M) / np.diag(np.linalg.inv(M)))
    assert np.allclose(gains.kp, FREQUENCY**2 * inertia, rtol=1e-12)
    assert np.allclose(gains.kd, 2 * DAMPING * FREQUENCY * inertia, rtol=1e-12)


def test_a_long_step_makes_them_softer():
    panda = Dynamics(load_urdf(share_file('urdf/panda.urdf')))
    q = np.zeros((1, 7))
    assert (pd_gains(panda, q, 1e-2).kd < pd_gains(panda, q, 1e-3).kd).all()
