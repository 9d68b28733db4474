# SPDX-License-Identifier: Apache-2.0
"""PD gains for any robot: frequency, damping, and stability of the held torque."""

import numpy as np
import pytest
import urdf_text

from robot_dynamics.common.errors import InertialWarning, ModelError, ShapeError
from robot_dynamics.common.resources import share_file
from robot_dynamics.control.gains import (
    DAMPING,
    FREQUENCY,
    PER_STEP,
    feedback_eigenvalue,
    free_inertias,
    pd_gains,
)
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.urdf.loading import load_urdf, parse_urdf

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


def test_feedback_is_stable_over_a_step_along_the_motion():
    panda = Dynamics(load_urdf(share_file('urdf/panda.urdf')))
    q = np.random.default_rng(0).uniform(-1, 1, (20, 7))
    kd = np.diag(pd_gains(panda, q, 0.02).kd)
    largest = [
        np.abs(np.linalg.eigvals(np.linalg.solve(M, kd))).max() for M in panda.mass_matrix(q)
    ]
    assert 0.02 * max(largest) == pytest.approx(PER_STEP, rel=1e-9)


def test_a_long_step_reduces_the_gains():
    panda = Dynamics(load_urdf(share_file('urdf/panda.urdf')))
    q = np.zeros((1, 7))
    assert (pd_gains(panda, q, 1e-2).kd < pd_gains(panda, q, 1e-3).kd).all()


def test_invalid_motions_and_steps_are_rejected():
    arm = Dynamics(planar_2r())
    for q in (np.zeros(3), np.zeros((1, 3)), np.zeros((0, 2)), np.zeros((1, 1, 2)), 0.0):
        with pytest.raises(ShapeError, match=r'q has shape .*; it must be \(2,\) or \(m, 2\)'):
            pd_gains(arm, q, STEP)
    with pytest.raises(ValueError, match=r'time_step is 0\.0 s'):
        pd_gains(arm, np.zeros((1, 2)), 0.0)
    for frequency in (np.nan, np.inf, 0.0, -20.0):
        with pytest.raises(ValueError, match=f'frequency is {frequency} rad/s'):
            pd_gains(arm, np.zeros(2), STEP, frequency=frequency)
    with pytest.raises(ShapeError, match=r'q has shape'):
        free_inertias(arm, np.zeros(3))


def test_one_posture_needs_no_second_axis():
    panda = Dynamics(load_urdf(share_file('urdf/panda.urdf')))
    q = np.linspace(-0.5, 1.0, 7)
    for one, row in zip(pd_gains(panda, q, STEP).kd, pd_gains(panda, [q], STEP).kd, strict=True):
        assert one == row


def test_a_lower_frequency_keeps_the_damping_ratio():
    arm = Dynamics(planar_2r())
    stiff, soft = (pd_gains(arm, [0.3, 1.2], STEP, frequency=w) for w in (20.0, 5.0))
    assert np.allclose(soft.kp, stiff.kp / 16, rtol=1e-12)
    assert np.allclose(soft.kd, stiff.kd / 4, rtol=1e-12)


def test_a_frequency_beyond_what_the_step_allows_has_no_effect():
    panda, q, h = Dynamics(load_urdf(share_file('urdf/panda.urdf'))), np.zeros((1, 7)), 1e-2
    gains, faster = (pd_gains(panda, q, h, frequency=w) for w in (1e3, 1e6))
    np.testing.assert_allclose(faster.kd, gains.kd, rtol=1e-9)
    assert feedback_eigenvalue(panda, q, faster.kd, h) == pytest.approx(PER_STEP)


def velocity_after(M, kd, v, h, steps):
    """Return velocities under a damping torque that is held over each step, in NumPy alone."""
    for _ in range(steps):
        v = v - h * np.linalg.solve(M, kd * v)
    return v


def test_feedback_above_the_limit_diverges_and_below_it_converges():
    panda = Dynamics(load_urdf(share_file('urdf/panda.urdf')))
    q = np.array([0.3, -0.5, 0.2, -1.8, 0.4, 1.9, -0.3])
    kd = np.array([40.0, 60.0, 30.0, 30.0, 3.0, 3.0, 1.0])
    M, v = panda.mass_matrix(q), np.array([1.0, -2.0, 0.5, 1.5, -1.0, 0.3, 0.7])
    at_limit = 2 * STEP / feedback_eigenvalue(panda, q, kd, STEP)
    assert feedback_eigenvalue(panda, q, kd, at_limit) == pytest.approx(2.0)
    assert np.abs(velocity_after(M, kd, v, 1.02 * at_limit, 3000)).max() > 1e3
    assert np.abs(velocity_after(M, kd, v, 0.98 * at_limit, 3000)).max() < 0.1


def test_the_free_inertia_of_a_joint_is_the_least_of_the_postures():
    panda = Dynamics(load_urdf(share_file('urdf/panda.urdf')))
    q = np.random.default_rng(3).uniform(-1, 1, (9, 7))
    inertias = free_inertias(panda, q)
    for j in range(7):
        unit = np.zeros(7)
        unit[j] = 1.0  # torque at joint j alone, beside what holds the arm
        qdd = [panda.forward_dynamics(x, 0 * x, panda.gravity_torque(x) + unit)[j] for x in q]
        assert inertias[j] == pytest.approx(1 / max(qdd), rel=1e-8)


def test_a_single_joint_is_no_more_stable_than_the_arm():
    panda = Dynamics(load_urdf(share_file('urdf/panda.urdf')))
    q = np.random.default_rng(3).uniform(-1, 1, (9, 7))
    kd = np.array([11.0, 43.0, 5.3, 14.0, 0.95, 1.2, 0.21])
    largest = (kd * STEP / free_inertias(panda, q)).max()
    assert largest <= feedback_eigenvalue(panda, q, kd, STEP) <= 7 * largest


def test_a_rotor_adds_to_the_free_inertia():
    model = load_urdf(share_file('urdf/panda.urdf'))
    q = np.zeros(7)
    assert free_inertias(Dynamics(model), q)[6] < 10 * STEP / 2  # kd = 10 at 1 kHz is unstable
    assert free_inertias(Dynamics(model.with_actuation(rotor_inertia=0.5)), q).min() >= 0.5


def test_joints_without_mass_have_no_free_inertia_and_no_gains():
    idle = urdf_text.joint('idle', 'b', 'c')
    links = urdf_text.link('a'), urdf_text.link('b'), urdf_text.link('c', '')
    with pytest.warns(InertialWarning):
        arm = Dynamics(
            parse_urdf(urdf_text.robot(*links, urdf_text.joint('moving', 'a', 'b'), idle))
        )
    inertias = free_inertias(arm, [0.1, 0.2])
    assert inertias[0] == pytest.approx(arm.mass_matrix([0.1, 0.2])[0, 0])
    assert inertias[1] == 0
    with pytest.raises(ModelError, match='move no mass: idle'):
        pd_gains(arm, [0.1, 0.2], STEP)


def test_a_singular_mass_matrix_is_reported():
    # Two joints on one axis with a massless link between them: M is [[I, I], [I, I]].
    turning = urdf_text.joint('a_b', 'a', 'b'), urdf_text.joint('b_c', 'b', 'c')
    links = urdf_text.link('a'), urdf_text.link('b', ''), urdf_text.link('c')
    arm = Dynamics(parse_urdf(urdf_text.robot(*links, *turning)))
    assert (free_inertias(arm, [0.2, 0.3]) == 0).all()
    for function in (pd_gains, lambda arm, q, h: feedback_eigenvalue(arm, q, [1.0, 1.0], h)):
        with pytest.raises(ModelError, match='mass matrix is singular'):
            function(arm, [0.2, 0.3], STEP)
