"""PD gains for any robot: of the frequency and the damping they promise."""

import numpy as np
import pytest

from robot_dynamics.control.gains import DAMPING, FREQUENCY, PER_STEP, pd_gains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ShapeError
from robot_dynamics.model.samples import planar_2r
from robot_dynamics.model.urdf import load_urdf
from robot_dynamics.resources import share_file

STEP = 1e-3


def test_every_joint_gets_the_frequency_and_the_damping():
    arm = Dynamics(planar_2r())
    q = np.array([[0.0, 0.0], [0.3, 1.2], [-1.0, 2.5]])
    gains = pd_gains(arm, q, STEP)
    locked = np.mean([np.diag(M) for M in arm.mass_matrix(q)], axis=0)
    free = np.min([1 / np.diag(np.linalg.inv(M)) for M in arm.mass_matrix(q)], axis=0)
    inertia = np.sqrt(locked * free)
    assert np.allclose(gains.kp, FREQUENCY**2 * inertia, rtol=1e-12)
    assert np.allclose(gains.kd, 2 * DAMPING * FREQUENCY * inertia, rtol=1e-12)


def test_feedback_is_stable_over_a_step_wherever_the_motion_leads():
    panda = Dynamics(load_urdf(share_file('urdf/panda.urdf')))
    q = np.random.default_rng(0).uniform(-1, 1, (20, 7))
    kd = np.diag(pd_gains(panda, q, 0.02).kd)
    largest = [
        np.abs(np.linalg.eigvals(np.linalg.solve(M, kd))).max() for M in panda.mass_matrix(q)
    ]
    assert 0.02 * max(largest) == pytest.approx(PER_STEP, rel=1e-9)


def test_a_long_step_makes_them_softer():
    panda = Dynamics(load_urdf(share_file('urdf/panda.urdf')))
    q = np.zeros((1, 7))
    assert (pd_gains(panda, q, 1e-2).kd < pd_gains(panda, q, 1e-3).kd).all()


def test_what_is_no_motion_or_no_step_is_refused():
    arm = Dynamics(planar_2r())
    for q in (np.zeros(2), np.zeros((1, 3))):
        with pytest.raises(ShapeError, match=r'q has shape .*; it must be \(m, 2\)'):
            pd_gains(arm, q, STEP)
    with pytest.raises(ValueError, match=r'time_step is 0\.0 s'):
        pd_gains(arm, np.zeros((1, 2)), 0.0)
