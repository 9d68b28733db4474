"""PD gains for any robot: frequency, damping, and stability of the held torque."""

import numpy as np
import pytest
import urdf_text

from robot_dynamics.control.gains import (
    DAMPING,
    FREQUENCY,
    PER_STEP,
    feedback_numbers,
    pd_gains,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError, ShapeError
from robot_dynamics.model.samples import planar_2r
from robot_dynamics.model.urdf import load_urdf, parse_urdf
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
    for q in (np.zeros(3), np.zeros((1, 3)), np.zeros((0, 2)), np.zeros((1, 1, 2)), 0.0):
        with pytest.raises(ShapeError, match=r'q has shape .*; it must be \(2,\) or \(m, 2\)'):
            pd_gains(arm, q, STEP)
    with pytest.raises(ValueError, match=r'time_step is 0\.0 s'):
        pd_gains(arm, np.zeros((1, 2)), 0.0)
    with pytest.raises(ValueError, match='frequency is nan rad/s'):
        pd_gains(arm, np.zeros(2), STEP, frequency=np.nan)
    with pytest.raises(ShapeError, match=r'kd has shape \(3,\)'):
        feedback_numbers(arm, np.zeros(2), np.ones(3), STEP)


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
    at_limit = 2 * STEP / feedback_numbers(panda, q, kd, STEP).arm
    assert feedback_numbers(panda, q, kd, at_limit).arm == pytest.approx(2.0)
    assert np.abs(velocity_after(M, kd, v, 1.02 * at_limit, 3000)).max() > 1e3
    assert np.abs(velocity_after(M, kd, v, 0.98 * at_limit, 3000)).max() < 0.1


def test_the_number_of_a_joint_is_the_largest_of_the_postures():
    panda = Dynamics(load_urdf(share_file('urdf/panda.urdf')))
    q = np.random.default_rng(3).uniform(-1, 1, (9, 7))
    kd = np.array([11.0, 43.0, 5.3, 14.0, 0.95, 1.2, 0.21])
    numbers = feedback_numbers(panda, q, kd, 2e-3)
    for j in range(7):
        step = np.zeros(7)
        step[j] = 1.0  # the acceleration of joint j for a unit torque at joint j alone
        free = [
            panda.forward_dynamics(row, 0 * row, panda.gravity_torque(row) + step) for row in q
        ]
        assert numbers.joints[j] == pytest.approx(
            2e-3 * kd[j] * max(qdd[j] for qdd in free), rel=1e-8
        )
    assert numbers.arm >= numbers.joints.max()


def test_a_rotor_makes_a_light_joint_stable():
    model = load_urdf(share_file('urdf/panda.urdf'))
    q, kd = np.zeros(7), np.full(7, 10.0)
    bare = feedback_numbers(Dynamics(model), q, kd, STEP)
    rotors = feedback_numbers(Dynamics(model.with_actuation(rotor_inertia=0.5)), q, kd, STEP)
    assert bare.joints[6] > 2  # gains of one size for all joints: unstable at the wrist
    assert rotors.arm <= STEP * 10.0 / 0.5


def test_joints_without_mass_are_named():
    model = parse_urdf(
        urdf_text.robot(
            urdf_text.link('a'), urdf_text.link('b', ''), urdf_text.joint('idle', 'a', 'b')
        )
    )
    for function in (pd_gains, lambda arm, q, h: feedback_numbers(arm, q, 1.0, h)):
        with pytest.raises(ModelError, match='move no mass: idle'):
            function(Dynamics(model), [0.0], STEP)


def test_a_singular_mass_matrix_is_an_error_and_huge_gains_are_not():
    # Two joints on one axis with a massless link between them: M is [[I, I], [I, I]].
    turning = urdf_text.joint('a_b', 'a', 'b'), urdf_text.joint('b_c', 'b', 'c')
    model = parse_urdf(
        urdf_text.robot(
            urdf_text.link('a'), urdf_text.link('b', ''), urdf_text.link('c'), *turning
        )
    )
    with pytest.raises(ModelError, match='mass matrix is singular'):
        feedback_numbers(Dynamics(model), [0.2, 0.3], 1.0, STEP)
    numbers = feedback_numbers(Dynamics(planar_2r()), [0.2, 0.3], [1e300, 0.0], STEP)
    assert numbers.arm == pytest.approx(numbers.joints[0], rel=1e-12)
    assert feedback_numbers(Dynamics(planar_2r()), [0.2, 0.3], 0.0, STEP).arm == 0
